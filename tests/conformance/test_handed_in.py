"""``python -m conformance show FILE``: a case that a user recorded, with both answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1"},
    "status": {"allocatable": {"cpu": "1", "pods": "110"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod-1", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
}
HELPLESS = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
SAME = f"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, {HELPLESS}"


@pytest.mark.parametrize(
    ("theirs", "status", "told"),
    [
        pytest.param({"reason": "Unschedulable", "message": SAME}, 0, "1.36 recorded: equal\n", id="equal"),
        pytest.param(
            {"reason": "Unschedulable", "message": SAME.replace("Insufficient cpu", "Too many pods")},
            1,
            "1.36 recorded: differs\n kube-scheduler: 0/1 nodes are available: 1 Too many pods.",
            id="another message",
        ),
        pytest.param(
            {"node": "node-1"},
            1,
            "put it on node-1\n ours:           NodeResourcesFit: Insufficient cpu\n",
            id="a pod that runs",
        ),
    ],
)
def test_a_file_is_shown_with_both_answers(
    theirs: dict[str, Any], status: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.json"
    path.write_text(
        json.dumps({"id": "recorded", "objects": [NODE], "pod": POD, "theirs": {"release": "1.36", **theirs}})
    )
    assert main(["show", str(path)]) == status
    assert told in capsys.readouterr().out
