"""The comparison of the differential runs, checked on hand-written steps."""

from pathlib import Path
from typing import Any

import pytest

from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import LONG_AGO, load_engine, make_node, make_pod, write_snapshot
from tests.live.differential.comparison import differences
from tests.live.differential.scenery import APPS, GATE, Scenery

REFUSED = (
    "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
    "scheduling."
)


def pod(name: str, version: int, *, node: str = "", message: str = "", **meta: Any) -> dict[str, Any]:
    said = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version), **meta},
        "spec": {"nodeName": node} if node else {},
        "status": {"conditions": said} if message else {},
    }


@pytest.fixture
def cluster(tmp_path: Path) -> LoadedCluster:
    """Return a cluster with free capacity for one pod of 1 CPU on node a, and two on node b."""
    nodes = [make_node("a", cpu="1"), make_node("b", cpu="2")]
    waiting = [make_pod(name, requests={"cpu": "1"}) for name in ("one", "two", "three", "four")]
    write_snapshot(tmp_path, nodes, [*waiting, make_pod("large", requests={"cpu": "9"})])
    return load_engine(tmp_path, kubernetes_version="1.37")


@pytest.mark.parametrize(
    ("after", "found"),
    [
        pytest.param([pod("one", 2, node="b")], [], id="where we would put it"),
        pytest.param([pod("one", 2, node="a")], ["default/one is on a, ours: "], id="elsewhere"),
        pytest.param([pod("one", 2, message=REFUSED)], ["default/one\n  says '0/2 nodes "], id="refused, and it fits"),
        pytest.param(
            [pod("one", 3, node="b"), pod("two", 2, node="a")],
            ["default/two is on a, ours: "],
            id="it comes first, whatever was written first: b is best for the other, too",
        ),
    ],
)
def test_a_pod_has_its_turn(cluster: LoadedCluster, after: list[dict[str, Any]], found: list[str]) -> None:
    before = [pod(each["metadata"]["name"], 1) for each in after]
    said = differences(before, after, cluster, "one")
    assert [text.startswith(f"(default/one's turn) {start}") for text, start in zip(said, found, strict=True)] == [
        True
    ] * len(found)


@pytest.mark.parametrize(
    ("message", "all_were_tried", "differs"),
    [
        pytest.param("something else", False, False, id="what was said before is not looked at"),
        pytest.param("something else", True, True, id="unless all were tried"),
        pytest.param("", True, True, id="nothing said"),
    ],
)
def test_pods_that_wait(cluster: LoadedCluster, message: str, all_were_tried: bool, differs: bool) -> None:
    pods = [pod("large", 1, message=message)]
    assert bool(differences(pods, pods, cluster, all_were_tried=all_were_tried)) is differs


@pytest.mark.parametrize(
    ("was_going", "is_going", "differs"),
    [
        pytest.param((), ("low",), False, id="the victim that we name"),
        pytest.param((), ("other",), True, id="another one"),
        pytest.param((), (), True, id="nobody"),
        pytest.param(("low",), ("low",), False, id="the victim goes already"),
    ],
)
def test_victims(tmp_path: Path, was_going: tuple[str, ...], is_going: tuple[str, ...], differs: bool) -> None:
    high = make_pod("high", requests={"cpu": "1"}, priority=10)
    low = make_pod("low", node="a", requests={"cpu": "1"}, terminating="low" in was_going)
    write_snapshot(tmp_path, [make_node("a", cpu="1")], [high, low, make_pod("other", node="a", priority=10)])
    cluster = load_engine(tmp_path, kubernetes_version="1.37")

    def pods(version: int, going: tuple[str, ...], message: str) -> list[dict[str, Any]]:
        gone = {"deletionTimestamp": LONG_AGO}
        running = [pod(name, version, node="a", **(gone if name in going else {})) for name in ("low", "other")]
        return [pod("high", version, message=message), *running]

    after = pods(2, is_going, cluster.decide("default/high").message)
    after[0]["status"]["nominatedNodeName"] = "a"
    assert bool(differences(pods(1, was_going, ""), after, cluster, "high")) is differs


def test_pods_at_the_gate_are_left_out(cluster: LoadedCluster) -> None:
    held = pod("one", 2, node="a")
    held["spec"]["schedulingGates"] = [{"name": GATE}]
    assert differences([pod("one", 1)], [held], cluster, all_were_tried=True) == []


def test_a_seed_makes_the_same_scenery_again() -> None:
    one, two, other = Scenery(3), Scenery(3), Scenery(4)
    assert (one.nodes, one.objects, one.workloads) == (two.nodes, two.objects, two.workloads)
    assert one.workloads != other.workloads
    names = {workload["metadata"]["name"].partition("-")[0] for workload in one.workloads}
    assert names <= set(APPS)
