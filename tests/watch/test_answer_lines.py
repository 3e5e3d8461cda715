"""Reports about pending pods, as lines for programs and for people."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.questions.explain.node_results import node_data
from kschedctl.questions.node_groups import group_nodes
from kschedctl.questions.provenance import provenance
from kschedctl.questions.watch.answer import PodGone, PodPlaced, PodWaits
from kschedctl.questions.watch.document import begun_lines, said_lines
from kschedctl.watch.answer_lines import Lines, begun, closest, standstill_line
from kschedctl.watch.loop import Standstill
from kschedctl.watch.pod_answers import Gone, Placed, PodAnswers
from tests.answer_schema import validate
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.watch.test_pod_answers import scheduling

AT = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
NODES = [make_node("a", cpu="4"), make_node("b", cpu="8"), make_node("c", taints=["team=db:NoSchedule"])]
LOW = make_pod("low", node="b", requests={"cpu": "5"})
PODS = [
    LOW,
    *(make_pod(f"big-{i}", requests={"cpu": "6"}) for i in range(7)),
    make_pod("huge", requests={"cpu": "60"}),
    make_pod("urgent", requests={"cpu": "6"}, priority=10),
    make_pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
    make_pod("claims", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}]),
]


def lines() -> list[PodWaits | PodPlaced | PodGone]:
    cluster = scheduling(NODES, PODS)
    told = [
        *PodAnswers(lambda metadata: True).round(cluster).told,
        Placed("shop", "web", "u", "a"),
        Gone("shop", "db", "v"),
    ]
    made = Lines(AT)
    return [made.line(one) for one in told]


def test_lines_are_valid_by_the_schema() -> None:
    cluster = scheduling(NODES, PODS)
    first = begun(cluster.cluster, provenance(cluster), "here", "any namespace", AT)
    news = [Standstill(12.0, problem, 3, 7) for problem in ("it is away", "")]
    for line in (first, *(standstill_line(each, AT) for each in news), *lines()):
        data: Any = json.loads(msgspec.json.encode(line.to_dict()))
        validate(data)
        assert line.names() == ((f"pod/{data['namespace']}/{data['name']}",) if "name" in data else ())


def test_pods_that_fare_alike_are_told_together() -> None:
    at = f"{AT.astimezone():%H:%M:%S}"
    tainted = "c is tainted team=db:NoSchedule"
    assert list(said_lines(lines())) == [
        f"{at} default/big-0, default/big-1, default/big-2, default/big-3, default/big-4 and 2 more fit nowhere: "
        f"2 nodes lack cpu (the pod wants 6, a has 4 free); {tainted}",
        "  0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes are "
        "available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.",
        "  closest: b lacks 3 cpu",
        "  to fix: add a node like b; default/big-0 is scheduled to b-1",
        "  to fix: free 3 cpu on b: delete default/low; evicts default/low, then default/big-0 is scheduled to b; "
        "default/low is lost for good: no controller recreates it",
        f"{at} default/huge fits nowhere: no node has 60 cpu, the largest offers 8",
        "  0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling.",
        "  no node could hold the pod even if empty: the largest has 8 cpu",
        "  to fix: add a larger node than b: with 60 cpu free; default/huge is scheduled to b-1",
        f"{at} default/urgent fits nowhere: 2 nodes lack cpu (the pod wants 6, a has 4 free); {tainted}",
        "  0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: found a "
        "potential placement for pod on node b, preempting 1 victims",
        "  closest: b lacks 3 cpu",
        "  preemption would help on b, evicting default/low",
        f"{at} default/gated is not tried: the gate example.com/wait waits for its controller",
        "  waiting for scheduling gates: [example.com/wait]",
        f"{at} default/claims fits nowhere: claim nowhere does not exist in namespace default: the snapshot has no "
        "claims at all",
        '  0/3 nodes are available: persistentvolumeclaim "nowhere" not found. not found',
        "  to fix: create claim nowhere in namespace default; not tried: its size and class are unknown",
        "  unknown: the pod uses PersistentVolumeClaim nowhere and the snapshot has no claims: they are treated as "
        "not found",
        f"{at} shop/web is bound to a",
        f"{at} shop/db is deleted",
    ]


def test_first_lines_say_what_is_watched() -> None:
    cluster = scheduling(NODES, PODS)
    first, *rest = begun_lines(begun(cluster.cluster, provenance(cluster), "here", "namespace shop", AT))
    assert first.endswith("watching pods in namespace shop of here: 3 nodes, 12 pods")
    assert rest[0].startswith("  rules of Kubernetes 1.")


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=33, max_size=60), st.integers(3, 12))
def test_the_closest_of_many_nodes_is_that_of_all(sizes: list[tuple[int, int]], wanted: int) -> None:
    """The closest node is the same although only a few nodes are evaluated."""
    nodes = [make_node(f"n{i:02}", cpu=str(size)) for i, (size, _) in enumerate(sizes)]
    pods = [make_pod(f"p{i}", node=f"n{i:02}", requests={"cpu": str(used)}) for i, (_, used) in enumerate(sizes)]
    decision = decide(make_pod("new", requests={"cpu": str(wanted)}), make_cluster(nodes, pods))
    if decision.best:
        return
    every = group_nodes(node_data(decision, row) for row in range(len(nodes)))
    assert closest(decision) == next((group.closest for group in every if group.closest), "")
