"""The answers for several pods: a summary in the first line, and the rules and the snapshot once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import make_node, make_pod, write_snapshot
from tests.cli.in_process import run

NODES = [make_node("a", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})]


def printed(folder: Path, command: str, n_pods: int, *options: str) -> list[str]:
    pods = [
        make_pod(f"web-{i}", requests={"cpu": "99" if i == 0 else "1"}, labels={"app": str(i)}) for i in range(n_pods)
    ]
    snapshot = write_snapshot(folder, NODES, pods)
    names = [f"default/web-{i}" for i in range(n_pods)]
    return run(command, *names, "--snapshot", str(snapshot), *options, columns=160).out.splitlines()


@pytest.mark.parametrize("n_pods", [2, 9])
def test_several_pods_have_a_summary_first(n_pods: int, tmp_path: Path) -> None:
    text = printed(tmp_path, "explain", n_pods, "--label", "a:disk=ssd")
    fit = "1 fits" if n_pods == 2 else "8 fit"
    alone = "each decided independently, against the unchanged snapshot"
    assert text[0] == f"{n_pods} pods: 1 fits nowhere, {fit}; {alone}."
    assert sum("rules of Kubernetes" in line for line in text) == 1
    assert sum(line.startswith("what if: ") for line in text) == 1
    # The subject of each pod stays.
    assert sum(line.startswith("wants ") for line in text) == n_pods


def test_many_pods_are_printed_as_they_are_decided(tmp_path: Path) -> None:
    text = printed(tmp_path, "explain", 12)
    assert text[0] == "12 pods, each decided independently, against the unchanged snapshot"
    assert sum("rules of Kubernetes" in line for line in text) == 1


def test_one_pod_has_its_verdict_first(tmp_path: Path) -> None:
    text = printed(tmp_path, "explain", 1)
    assert text[0].startswith("default/web-0 fits on none of 1 node")
    assert sum("rules of Kubernetes" in line for line in text) == 1


def test_several_preemptions_have_a_summary_first(tmp_path: Path) -> None:
    text = printed(tmp_path, "preempt", 3)
    assert text[0] == "3 pods: 2 fit, 0 would evict others, 1 stays pending."
    assert sum("rules of Kubernetes" in line for line in text) == 1
