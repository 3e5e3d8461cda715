"""The number of failures that a pod can survive, compared with trying every set of nodes."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.explain import failure_tolerance as module
from kschedctl.questions.explain.answer import WithstandingData
from kschedctl.questions.explain.failure_tolerance import withstand
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.whatif.nodes import without_nodes
from tests.builders import HOSTNAME, ZONE, make_cluster, make_node, make_pod
from tests.strategies import pods, worlds

WEB = {"app": "web"}
IN_THREE_ZONES = [make_node(f"{zone}{i}", zone=zone) for zone in "abc" for i in (1, 2)]


def found(nodes: list[Node], running: list[Pod], pod: Pod) -> WithstandingData | None:
    scheduler = Scheduler(make_cluster(nodes, running))
    return withstand(scheduler, scheduler.decide(pod))


def fits_without(cluster: Cluster, pod: Pod, names: tuple[str, ...]) -> bool:
    """Report whether the pod fits on a node of the cluster without these nodes, decided from scratch."""
    left = without_nodes(cluster, [cluster.nodes.row[name] for name in names], release=LATEST).cluster
    return bool(Scheduler(left).decide(pod).best)


def spread(key: str, **fields: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": WEB}
    own = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [{**own, **fields}]


def near(kind: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "db"}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@given(data=st.data())
def test_what_is_told_is_what_trying_every_set_finds(data: st.DataObject) -> None:
    world = data.draw(worlds("requests", "podAffinity", "ports", of_nodes=("labels", "taints", "offers")))
    pod = data.draw(pods("requests", "spread", "podAffinity", "nodeAffinity", "ports"))
    cluster = world.cluster
    scheduler = Scheduler(cluster)
    decision = scheduler.decide(pod)
    told = withstand(scheduler, decision)
    if told is None:
        assert not decision.best
        return
    names = cluster.nodes.names
    fewest = next(
        size
        for size in range(1, len(names) + 1)
        if any(not fits_without(cluster, pod, chosen) for chosen in combinations(names, size))
    )
    # So few nodes are tried to the end.
    assert told.exact
    assert told.stands == fewest - 1
    assert len(told.last) == fewest
    assert not fits_without(cluster, pod, told.last)
    for zone in told.zones:
        lost = tuple(node.name for node in world.nodes if node.metadata.labels.get(ZONE) == zone.zone)
        assert zone.nodes == len(lost)
        assert bool(zone.left) == fits_without(cluster, pod, lost)


@given(data=st.data())
def test_what_is_told_holds_where_little_can_be_tried(data: st.DataObject) -> None:
    world = data.draw(worlds("podAffinity", of_nodes=("labels",)))
    pod = data.draw(pods("spread", "podAffinity"))
    scheduler = Scheduler(world.cluster)
    decision = scheduler.decide(pod)
    assume(decision.best)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEWEST_TRIED", 8)
        patch.setattr(module, "_MOST_NODES", 0)
        told = withstand(scheduler, decision)
    assert told is not None
    names = world.cluster.nodes.names
    for size in range(1, told.stands + 1):
        assert all(fits_without(world.cluster, pod, chosen) for chosen in combinations(names, size))
    if told.last:
        assert not fits_without(world.cluster, pod, told.last)
    if told.exact:
        assert len(told.last) == told.stands + 1


@given(data=st.data())
def test_nodes_that_stand_for_each_other_leave_as_many(data: st.DataObject) -> None:
    """Every node has a twin without pods, so that equivalent nodes exist."""
    world = data.draw(worlds("podAffinity", "requests", of_nodes=("labels",)))
    twins = [make_node(f"{node.name}-twin", labels=_without_host(node)) for node in world.nodes]
    pod = data.draw(pods("spread", "podAffinity", "requests"))
    cluster = make_cluster([*world.nodes, *twins], world.pods, *world.namespaces)
    decision = Scheduler(cluster).decide(pod)
    for group in module._alike(decision):
        left = {n_fits(without_nodes(cluster, [row], release=LATEST).cluster, pod) for row in group}
        assert len(left) == 1, [cluster.nodes.names[row] for row in group]


def n_fits(cluster: Cluster, pod: Pod) -> int:
    statuses = Scheduler(cluster).decide(pod).statuses
    return len(statuses.feasible) if statuses is not None else 0


def _without_host(node: Node) -> dict[str, str]:
    return {key: value for key, value in node.metadata.labels.items() if key != HOSTNAME}


CASES: dict[str, tuple[list[Node], list[Pod], Pod, int, int]] = {
    "filters that look at one node each: the nodes that it fits on": (
        [make_node("a"), make_node("b"), make_node("c", cpu="1")],
        [],
        make_pod(requests={"cpu": "2"}),
        1,
        2,
    ),
    "affinity: the node with the pod that it wants to be near": (
        IN_THREE_ZONES,
        [make_pod("db", labels={"app": "db"}, node="a1")],
        make_pod(labels=WEB, affinity=near("podAffinity", ZONE)),
        0,
        1,
    ),
    "two such pods, one in each of two zones": (
        IN_THREE_ZONES,
        [make_pod("db-1", labels={"app": "db"}, node="a1"), make_pod("db-2", labels={"app": "db"}, node="b1")],
        make_pod(labels=WEB, affinity=near("podAffinity", ZONE)),
        1,
        2,
    ),
    "anti-affinity: a pod that goes makes room": (
        IN_THREE_ZONES[:3],
        [make_pod("db", labels={"app": "db"}, node="b1")],
        make_pod(labels=WEB, affinity=near("podAntiAffinity", HOSTNAME)),
        1,
        2,
    ),
}


@pytest.mark.parametrize(("nodes", "running", "pod", "stands", "n_last"), CASES.values(), ids=CASES)
def test_the_fewest_losses(nodes: list[Node], running: list[Pod], pod: Pod, stands: int, n_last: int) -> None:
    told = found(nodes, running, pod)
    assert told is not None
    assert (told.stands, len(told.last), told.exact) == (stands, n_last, True)


def test_a_zone_that_takes_the_others_along_is_told() -> None:
    running = [make_pod("db", labels={"app": "db"}, node="a1")]
    told = found(IN_THREE_ZONES, running, make_pod(labels=WEB, affinity=near("podAffinity", ZONE)))
    assert told is not None
    assert [(zone.zone, zone.feasible_nodes, zone.left) for zone in told.zones] == [
        ("a", 2, 0),
        ("b", 0, 2),
        ("c", 0, 2),
    ]
    assert told.across == ("InterPodAffinity",)


def test_a_lost_zone_can_set_others_free() -> None:
    """While c has 0 pods, a and b are full with the one pod that the skew allows; without c they are not."""
    running = [make_pod(f"web-{node}", labels=WEB, node=node) for node in ("a1", "b1")]
    told = found(IN_THREE_ZONES, running, make_pod(labels=WEB, topologySpreadConstraints=spread(ZONE)))
    assert told is not None
    assert told.feasible == ("c1", "c2")
    assert [(zone.zone, zone.left) for zone in told.zones] == [("a", 2), ("b", 2), ("c", 4)]
    assert told.stands > 1


def test_a_pod_that_goes_nowhere_stands_nothing() -> None:
    assert found([make_node("a", cpu="1")], [], make_pod(requests={"cpu": "2"})) is None
