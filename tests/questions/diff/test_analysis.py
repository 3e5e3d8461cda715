"""Two clusters compared from Python, as the command compares them."""

import pytest

from kschedctl import AnalysisHandle, CancelledError, Drain
from kschedctl.questions.diff.analysis import describe
from kschedctl.questions.diff.answer import AnswerPart, OutcomeData, SideOutcome
from kschedctl.questions.diff.nodes import NodeChanges
from kschedctl.questions.loading import loaded_cluster
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.sources.snapshot.load import Snapshot
from tests.builders import make_cluster, make_node, make_pod

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
    assert [*describe(old, new, (AnswerPart.WINNER,), NodeChanges(None, None))] == [said]
