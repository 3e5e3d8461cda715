"""Columns of the cluster, worked out by hand."""

from collections.abc import Iterable

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.sweep.answer import Ask
from kschedctl.questions.sweep.measurements import OF_CLUSTER, OWN, CaseResult, check_column, default_columns, measure
from tests.builders import make_cluster, make_node, make_pod


def of(kind: str, owner: str, name: str, node: str, cpu: str = "1") -> Pod:
    return make_pod(name, node=node, requests={"cpu": cpu}, owner=("apps/v1", kind, owner))


NODES = [
    make_node("a1", cpu="4", zone="a", labels={"rack": "r1"}),
    make_node("a2", cpu="8", zone="a", labels={"rack": "r2"}),
    make_node("b1", cpu="4", zone="b"),
    make_node("c1", cpu="0", zone="c"),
]
PODS = [
    of("ReplicaSet", "web", "web-1", "a1"),
    of("ReplicaSet", "web", "web-2", "a1"),
    of("ReplicaSet", "web", "web-3", "a2"),
    of("ReplicaSet", "db", "db-1", "b1"),
    of("DaemonSet", "agent", "agent-1", "a1"),
    of("DaemonSet", "agent", "agent-2", "c1", "0"),
]


def numbers(cluster: Cluster, columns: Iterable[str], pods: Iterable[Pod] = PODS) -> dict[str, float | None]:
    asked = tuple(pod.metadata for pod in pods)
    return measure(CaseResult(cluster=cluster, release=LATEST, own={}, pods=asked), columns)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("nodes", 4),
        # c1 has a pod of a DaemonSet alone.
        ("nodesUsed", 3),
        # 5 of 16 cpu.
        ("utilisation.cpu", 0.3125),
        # 3 of 4, 1 of 8 and 1 of 4; c1 offers none.
        ("utilisation.cpu.max", 0.75),
        ("utilisation.cpu.min", 0.125),
        ("utilisation.cpu.mean", 0.375),
        # Of 0.375, -0.25 and -0.125 from the mean: the root of (0.140625 + 0.0625 + 0.015625) / 3.
        ("utilisation.cpu.stdev", 0.270031),
        ("utilisation.memory", 0.0),
        ("utilisation.example.com/gpu", None),
        ("utilisation.example.com/gpu.max", None),
        # web: 3 in zone a and none in b and c; db: 1 in b.
        ("skew.zone", 3),
        ("skew.topology.kubernetes.io/zone", 3),
        # web: 2 on a1.
        ("skew.hostname", 2),
        # web: 2 and 1; db: none in either.
        ("skew.rack", 1),
        ("skew.nothing", None),
    ],
)
def test_columns(column: str, expected: float | None) -> None:
    assert numbers(make_cluster(NODES, PODS), [column]) == {column: expected}


def test_only_workloads_whose_pods_were_to_be_placed_are_looked_at() -> None:
    assert numbers(make_cluster(NODES, PODS), ["skew.zone"], PODS[3:4]) == {"skew.zone": 1}
    assert numbers(make_cluster(NODES, PODS), ["skew.zone"], PODS[4:]) == {"skew.zone": None}


def test_an_empty_cluster_has_nothing_to_measure() -> None:
    columns = ["nodes", "nodesUsed", "utilisation.cpu", "utilisation.cpu.max", "skew.zone"]
    assert list(numbers(make_cluster(), columns).values()) == [0, 0, None, None, None]


@pytest.mark.parametrize("ask", Ask)
def test_what_is_measured_by_default_can_be(ask: Ask) -> None:
    for column in (*default_columns(ask), *OWN[ask], *OF_CLUSTER):
        check_column(column, ask)


@pytest.mark.parametrize("column", ["utilisation", "utilisation.", "skew.", "", "Placed", "copies"])
def test_what_cannot_be(column: str) -> None:
    with pytest.raises(InputError, match="is not a column"):
        check_column(column, Ask.SIMULATE)
