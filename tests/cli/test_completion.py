"""Completion as the shells and kubectl ask for it."""

from __future__ import annotations

import subprocess
import sysconfig

import pytest

SCRIPTS = sysconfig.get_path("scripts")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ba"], ["batch"]),
        (["explain", "--kubern"], ["--kubernetes-version"]),
        (["explain", "a b", "--no-"], ["--no-admission", "--no-color"]),
    ],
)
def test_kubectl_gets_what_could_come_next(words: list[str], offered: list[str]) -> None:
    command = [f"{SCRIPTS}/kubectl_complete-ksched", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*offered, ":0"]
