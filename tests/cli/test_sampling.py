"""``--sampling`` of the installed command, on clusters of more and of fewer than 100 nodes."""

from pathlib import Path

import pytest

from tests.builders import make_node, make_pod, write_snapshot
from tests.cli.transcript import run_installed
from tests.sampling_clusters import many_nodes, pod_of_turn


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    nodes = [make_node("a", cpu="1"), *many_nodes(148), make_node("z", cpu="64", memory="256Gi")]
    bound = [pod_of_turn(i, node) for i, node in enumerate(("z", "n131", "a"))]
    write_snapshot(folder, nodes, [*bound, make_pod("web", requests={"cpu": "1", "memory": "1Gi"})])
    return folder


def printed(folder: Path, command: str) -> str:
    return " ".join(line.strip() for line in run_installed(f"kschedctl {command} --snapshot cluster.json", folder))


def test_explain(folder: Path) -> None:
    whole = printed(folder, "explain default/web --sampling")
    assert "is scheduled to one of" in whole
    assert "most likely z (101 of 150 starts): kube-scheduler stops at 100 feasible nodes." in whole
    by_default = printed(folder, "explain default/web")
    assert "is scheduled to z (score" in by_default
    assert "all nodes are scored; kube-scheduler stops at 100 feasible nodes" in by_default
    assert "kschedctl explain default/web --snapshot cluster.json --sampling" in by_default


def test_verify(folder: Path) -> None:
    whole = printed(folder, "verify --sampling")
    counts = (
        "1 on a best node of all, 1 on a best node of a sample, 1 on a node that only a later change would explain."
    )
    assert f"Of the 3 pods that were scheduled last: {counts}" in whole
    assert "default/p01 n131" in " ".join(whole.split())
    # Neither a sample nor a later change is a difference.
    assert "? 1" not in whole
