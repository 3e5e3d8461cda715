"""Fixtures of the tests of snapshots."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one during the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
