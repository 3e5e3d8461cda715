"""Differences for pods between two sides, as data and in words."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.output.data_forms import as_json
from kschedctl.questions.answer import MissingData
from kschedctl.questions.diff.analysis import SideAnswer, compare
from kschedctl.questions.diff.answer import AnswerPart, Diff, PodChangeData, SideData
from kschedctl.questions.diff.document import document, group_alike
from kschedctl.questions.frame import View
from kschedctl.questions.provenance import Provenance, envelope
from tests.answer_schema import validate
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.questions.printing import lines
from tests.strategies import World, worlds

ABSENT = SideAnswer(None, there=False)
OF_NO_PROFILE = SideAnswer(None)
POD = make_pod("asked", requests={"cpu": "2"}, priority=10)
SMALL, FULL, BIG = make_node("small", cpu="1"), make_node("full", cpu="2"), make_node("big", cpu="8")
FILLING = make_pod("filling", requests={"cpu": "2"}, node="full")
OTHER = make_pod("other", requests={"cpu": "2"}, node="full")


def provenance(cluster: Cluster) -> Provenance:
    return Provenance(release_choice=choose_release("1.36", "", ()), paths=("here",), n_pods=len(cluster.pods))


def answered(cluster: Cluster, pod: Pod = POD, *, node_name: str = "", version: str = "1.36") -> SideAnswer:
    release = choose_release(version, "", ()).release
    return SideAnswer(decide(pod, cluster, release=release), node_name)


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
