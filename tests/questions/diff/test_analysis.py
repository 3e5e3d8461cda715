"""Two clusters compared, from Python and as data and text; nodes as columns."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl import AnalysisHandle, CancelledError, Drain
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.output.data_forms import as_json
from kschedctl.questions.answer import MissingData
from kschedctl.questions.diff.answer import (
    AnswerPart,
    Diff,
    NodeOutcomeData,
    OutcomeData,
    PodChangeData,
    SideData,
    SideOutcome,
)
from kschedctl.questions.diff.document import document, group_alike
from kschedctl.questions.diff.nodes import ComparedNodes, NodeChanges
from kschedctl.questions.diff.pod_change import compare, describe
from kschedctl.questions.diff.sides import SideAnswer
from kschedctl.questions.frame import View
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.provenance import Provenance, envelope
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.rescheduled import NodeColumns
from kschedctl.sources.snapshot.load import Snapshot
from tests.answer_schema import validate
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.questions.printing import lines
from tests.strategies import World, worlds

ABSENT = SideAnswer(OutcomeData(SideOutcome.ABSENT))
OF_NO_PROFILE = SideAnswer(OutcomeData(SideOutcome.OTHER_SCHEDULER))
POD = make_pod("asked", requests={"cpu": "2"}, priority=10)
SMALL, FULL, BIG = make_node("small", cpu="1"), make_node("full", cpu="2"), make_node("big", cpu="8")
FILLING = make_pod("filling", requests={"cpu": "2"}, node="full")
OTHER = make_pod("other", requests={"cpu": "2"}, node="full")


def provenance(cluster: Cluster) -> Provenance:
    return Provenance(release_choice=choose_release("1.36", "", ()), paths=("here",), n_pods=len(cluster.pods))


def answered(cluster: Cluster, pod: Pod = POD, *, node_name: str = "", version: str = "1.36") -> SideAnswer:
    release = choose_release(version, "", ()).release
    return SideAnswer.of(decide(pod, cluster, release=release), node_name)


def on(nodes: Iterable[Any], *pods: Pod) -> SideAnswer:
    return answered(make_cluster(nodes, pods))


def gated(*names: str) -> SideAnswer:
    return answered(make_cluster([BIG]), make_pod(schedulingGates=[{"name": name} for name in names]))


TAINTED = make_node("full", cpu="2", taints=["x=y:NoSchedule"])
P = AnswerPart

CASES = {
    "the same": (on([BIG]), on([BIG]), (), ()),
    "a node more that it does not fit on": (on([BIG]), on([BIG, SMALL]), (), ()),
    "a pod that is new": (ABSENT, on([BIG]), (P.OUTCOME, P.WINNER), ("is new: is scheduled to big",)),
    "a pod that is gone": (on([BIG]), ABSENT, (P.OUTCOME, P.WINNER), ("is gone (before: is scheduled to big)",)),
    "a profile more": (
        OF_NO_PROFILE,
        on([BIG]),
        (P.OUTCOME, P.WINNER),
        ("is scheduled to big (before: has another scheduler)",),
    ),
    "it fits no longer": (
        on([BIG]),
        on([SMALL]),
        (P.OUTCOME, P.WINNER, P.NODES, P.MESSAGE),
        ("fits on no node (1 Insufficient cpu) (before: is scheduled to big)",),
    ),
    "it fits now": (
        on([SMALL]),
        on([SMALL, BIG]),
        (P.OUTCOME, P.WINNER, P.NODES, P.MESSAGE),
        ("is scheduled to big (before: fits on no node)",),
    ),
    "its gate is gone": (gated("wait"), gated(), (P.OUTCOME,), ("is scheduled to big (before: is not tried)",)),
    "it goes elsewhere": (
        on([BIG]),
        on([make_node("bigger", cpu="8")]),
        (P.WINNER, P.NODES),
        ("is scheduled to bigger instead of big", "also fits bigger", "no longer fits big"),
    ),
    "it loses its node": (
        answered(make_cluster([BIG]), node_name="full"),
        on([BIG]),
        (P.PLACE,),
        ("no longer runs on full: is scheduled to big",),
    ),
    "it runs now": (
        on([BIG]),
        answered(make_cluster([BIG]), node_name="big"),
        (P.PLACE,),
        ("runs on big (before: is scheduled to big)",),
    ),
    "somebody can be evicted": (
        on([make_node("full", cpu="1")]),
        on([FULL], FILLING),
        (P.VICTIMS, P.MESSAGE),
        ("preemption would help: default/filling on full",),
    ),
    "somebody else is evicted": (
        on([FULL], FILLING),
        on([FULL], OTHER),
        (P.VICTIMS,),
        ("would evict default/other on full instead of default/filling on full",),
    ),
    "nobody can be evicted": (
        on([FULL], FILLING),
        on([FULL], make_pod("filling", requests={"cpu": "2"}, node="full", priority=10)),
        (P.VICTIMS, P.MESSAGE),
        ("preemption no longer helps (before: default/filling on full)",),
    ),
    "another plugin turns a node away": (
        on([BIG, FULL], FILLING),
        on([BIG, TAINTED], FILLING),
        (P.NODES,),
        ("1 node reports TaintToleration instead of NodeResourcesFit",),
    ),
    "a node less in the message": (
        on([SMALL, make_node("smaller", cpu="1")]),
        on([SMALL]),
        (P.MESSAGE,),
        ("the numbers in the event message change",),
    ),
    "the same plugin says something else": (
        on([make_node("a", cpu="1"), make_node("b", cpu="1")]),
        on([make_node("a", pods=0), make_node("b", pods=0)]),
        (P.NODES, P.MESSAGE),
        ('2 nodes report "Too many pods" instead of "Insufficient cpu"',),
    ),
    "only the scores": (
        on([BIG, make_node("second", cpu="6")]),
        on([BIG, make_node("second", cpu="7")]),
        (P.SCORES,),
        ("same node, other scores (NodeResourcesBalancedAllocation, NodeResourcesFit)",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_changes(case: str) -> None:
    before, after, parts, words = CASES[case]
    change = compare(before, after)
    assert ((change.parts, change.summary) if change is not None else ((), ())) == (parts, words)


def test_running_pods_are_told_as_scheduled_anew() -> None:
    clusters = make_cluster([BIG]), make_cluster([make_node("bigger", cpu="8")])
    before, after = (answered(cluster, node_name="here") for cluster in clusters)
    change = compare(before, after)
    assert change is not None
    assert change.summary[0] == "if rescheduled, is scheduled to bigger instead of big"


def test_pods_that_change_alike_are_together_the_important_changes_first() -> None:
    scores, winner = (compare(*CASES[case][:2]) for case in ("only the scores", "it goes elsewhere"))
    assert scores is not None
    assert winner is not None
    changed = [msgspec.structs.replace(pod, name=name) for pod, name in ((scores, "a"), (winner, "b"), (scores, "c"))]
    assert [[pod.name for pod in group] for group in group_alike(changed)] == [["b"], ["a", "c"]]


@given(world=worlds("labels", "resources", of_nodes=("labels", "taints"), pending=1))
def test_nothing_changes_between_a_cluster_and_itself(world: World) -> None:
    pod = world.pods[-1]
    before, after = (answered(make_cluster(world.nodes, world.pods), pod) for _ in range(2))
    assert compare(before, after) is None


def _diff(changed: Iterable[PodChangeData]) -> Diff:
    cluster = make_cluster([BIG])
    side = SideData(**envelope(cluster, provenance(cluster)), config="")
    return Diff(before=side, after=side, summary="", pods=9, changed=tuple(changed), nodes_gone=(), nodes_new=("big",))


def test_answers_are_valid_by_the_schema() -> None:
    changes = [change for case in CASES.values() if (change := compare(*case[:2])) is not None]
    value: Any = json.loads(as_json(_diff(changes)))
    assert len(value["changed"]) == len(changes)
    validate(value)


def test_what_is_missing_for_many_pods_is_told_once() -> None:
    diff = _diff(())
    missing = tuple(MissingData("ReplicaSet", f"{name} belongs to one", "scores can differ") for name in "abc")
    diff = msgspec.structs.replace(diff, after=msgspec.structs.replace(diff.after, missing=missing))
    printed = "\n".join(lines(document(diff, View(now=datetime.now(UTC))), 100))
    assert "a belongs to one (and 2 more): scores can differ" in printed
    assert "b belongs" not in printed


OWNER = ("apps/v1", "ReplicaSet", "web")


def loaded(*edits: Drain) -> SchedulingCluster:
    web = [make_pod(f"web-{i}", requests={"cpu": "1"}, node="a", owner=OWNER, priority=i) for i in range(3)]
    nodes, waits = [make_node("a", cpu="4"), make_node("b", cpu="2")], make_pod("waits", requests={"cpu": "1"})
    snapshot = Snapshot(cluster=make_cluster(nodes, [*web, waits]), paths=(), scheduler_config=None, left_out={})
    return SchedulingCluster(loaded_cluster(snapshot, edits=edits))


def test_pods_that_lose_their_node_are_placed_one_after_another() -> None:
    found = loaded().diff(loaded(Drain("a")))
    lost = {pod.name: pod.after.nodes for pod in found.changed if pod.before.node_name}
    # Two fit on b, the more important ones; the pending pod is decided for as if they did not wait.
    assert lost == {"web-2": ("b",), "web-1": ("b",), "web-0": ()}
    assert [pod.name for pod in found.changed if pod.worse] == ["web-0"]
    assert found.pods == 4
    assert not found.outcome.yes


def test_it_can_be_cancelled() -> None:
    handle = AnalysisHandle()
    handle.cancel()
    with pytest.raises(CancelledError):
        loaded().diff(loaded(Drain("a")), handle=handle)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("a",), (), "without its gates, would fit on no node (before: would be scheduled to a)"),
        ((), ("a", "b"), "without its gates, would be scheduled to a or b (before: would fit on no node)"),
        (("a",), ("b",), "without its gates, is scheduled to b instead of a"),
    ],
    ids=["loses its last node", "gains a node", "another node"],
)
def test_pod_that_is_not_tried(before: tuple[str, ...], after: tuple[str, ...], said: str) -> None:
    old, new = (OutcomeData(SideOutcome.GATED, nodes=nodes) for nodes in (before, after))
    assert [*describe(old, new, (AnswerPart.WINNER,), NodeChanges(ComparedNodes.of(None, None)))] == [said]


def one_by_one(decision: Decision) -> dict[str, NodeOutcomeData]:
    """Return the outcome of every node, computed node by node."""
    scores = decision.scores
    scored = {} if scores is None else {int(row): i for i, row in enumerate(scores.rows)}
    out = {}
    for row, name in enumerate(decision.cluster.nodes.names):
        status, i = decision.verdict(row).status, scored.get(row)
        given = {} if scores is None or i is None else scores.normalized
        weighted = {} if scores is None else {p: int(n[i]) * scores.weights[p] for p, n in given.items()}
        out[name] = NodeOutcomeData(
            fits=decision.verdict(row).feasible,
            plugin=status.plugin,
            reasons=status.reasons,
            score=None if scores is None or i is None else int(scores.total[i]),
            scores={plugin: score for plugin, score in weighted.items() if score},
        )
    return out


@given(
    worlds("requests", "spread", "podAffinity", of_nodes=("labels", "taints"), pending=1), st.integers(0, 3), st.data()
)
def test_columns_say_what_nodes_say(world: World, n_gone: int, data: st.DataObject) -> None:
    pod = world.pods[-1]
    kept = data.draw(st.permutations(world.nodes))[n_gone:]
    first, second = (decide(pod, make_cluster(nodes, world.pods[:-1])) for nodes in (world.nodes, kept))
    sides = [NodeColumns.of(decision) for decision in (first, second)]
    before, after = ({} if side is None else one_by_one(d) for side, d in zip(sides, (first, second), strict=True))
    changes = NodeChanges(ComparedNodes.of(*sides))
    expected = {
        name: (before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
        and (
            (name in before and name in after)
            or any(o is not None and o.fits for o in (before.get(name), after.get(name)))
        )
    }
    assert {node.name: (node.before, node.after) for node in changes.data()} == expected
    fits = {name: tuple(side is not None and side.fits for side in pair) for name, pair in expected.items()}
    assert set(changes.gained) == {name for name, pair in fits.items() if pair == (False, True)}
    assert set(changes.lost) == {name for name, pair in fits.items() if pair == (True, False)}
    told = Counter(
        (old.reasons, new.reasons)
        for old, new in expected.values()
        if old is not None and new is not None and not old.fits and not new.fits
    )
    assert Counter({(o.reasons, n.reasons): k for (o, n), k in changes.said_otherwise.items()}).total() == told.total()


def test_a_side_without_nodes_changes_nothing() -> None:
    nothing = decide(make_pod(), make_cluster())
    assert NodeColumns.of(nothing) is None
    assert not NodeChanges(ComparedNodes.of(None, None))
    there = NodeColumns.of(decide(make_pod(), make_cluster([make_node("a")])))
    assert NodeChanges(ComparedNodes.of(None, there)).gained == ("a",)
    assert NodeChanges(ComparedNodes.of(there, None)).lost == {"a": ""}
