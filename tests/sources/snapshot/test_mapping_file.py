"""The way back from pseudonyms: complete, for the user alone, and never in the snapshot."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.pod import Pod
from kschedctl.sources.snapshot.anonymize import with_pseudonyms
from kschedctl.sources.snapshot.capture import Capture
from kschedctl.sources.snapshot.header import SnapshotHeader
from kschedctl.sources.snapshot.mapping_file import check_mapping, write_mapping
from tests.builders import make_pod


def test_pseudonyms_lead_back() -> None:
    captured = Capture(
        SnapshotHeader(kschedctl_version="1"), {Pod: [make_pod("web-1", namespace="shop", labels={"team": "red"})]}
    )
    hidden, originals = with_pseudonyms(captured)
    [pod] = hidden.objects[Pod]
    assert originals[pod.name] == "web-1"
    assert originals[pod.namespace] == "shop"
    assert {originals[key]: originals[value] for key, value in pod.metadata.labels.items()} == {"team": "red"}


def test_the_file_is_for_the_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "names.json"
    file.write_text("old")
    file.chmod(0o644)
    write_mapping({"pod-1": "web"}, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"pod-1": "web"}
    assert [path.name for path in tmp_path.iterdir()] == ["names.json"]


@pytest.mark.parametrize(
    ("name", "force", "problem"),
    [
        ("out/names.json", True, "would be part of the snapshot"),
        ("out", True, "would be part of the snapshot"),
        ("nowhere/names.json", False, "there is no such folder"),
        ("folder", True, "is a folder"),
        ("there.json", False, "already exists"),
    ],
)
def test_files_that_are_not_written(tmp_path: Path, name: str, force: bool, problem: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.json").touch()
    with pytest.raises(InputError, match=problem):
        check_mapping(tmp_path / name, tmp_path / "out", force=force)


def test_a_file_gives_way_where_that_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "there.json").touch()
    check_mapping(tmp_path / "there.json", tmp_path / "out", force=True)
