"""The point at which kube-scheduler stops searching for candidates."""

from __future__ import annotations

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.preemption.result import PreemptionResult
from kschedctl.scheduler.preemption.shortlist import calculate_num_candidates
from tests.builders import decide, make_args, make_cluster, make_node, make_object, make_pod

NODES = "abcdef"


def full(node: str, *, guarded: bool = False) -> Pod:
    return make_pod(f"on-{node}", node=node, requests={"cpu": "4"}, labels={"app": "guarded" if guarded else "free"})


def preempt(guarded: str = "", empty: str = "") -> PreemptionResult:
    """Preempt on full nodes: guarded nodes have protected pods, ``empty`` nodes have no pod of lower priority."""
    budget = make_object(
        PodDisruptionBudget,
        "guard",
        namespace="default",
        spec={"selector": {"matchLabels": {"app": "guarded"}}},
        status={"disruptionsAllowed": 0},
    )
    pods = [full(node, guarded=node in guarded) for node in NODES if node not in empty]
    pods += [make_pod(f"on-{node}", node=node, requests={"cpu": "4"}, priority=100) for node in empty]
    decision = decide(
        make_pod("preemptor", requests={"cpu": "2"}, priority=100),
        make_cluster([make_node(name, cpu="4") for name in NODES], pods, budget),
    )
    assert decision.preemption is not None
    return decision.preemption


@pytest.mark.parametrize(
    ("least", "offset", "guarded", "empty", "candidates", "looked_at"),
    [
        pytest.param(2, 0, "", "", "ab", 2, id="it stops at the second candidate"),
        pytest.param(2, 4, "", "", "ef", 2, id="it begins at the offset"),
        pytest.param(3, 5, "", "", "abf", 3, id="it goes on at the first node"),
        pytest.param(1, 0, "ab", "", "abc", 3, id="one candidate must violate no budget"),
        pytest.param(2, 0, "", "ab", "cd", 4, id="nodes that are no candidates do not count"),
        pytest.param(6, 0, "", "", "abcdef", 6, id="as many as there are"),
        pytest.param(1, 0, "abcdef", "", "abcdef", 6, id="all violate a budget, so all are looked at"),
        pytest.param(9, 2, "", "", "abcdef", 6, id="more than there are"),
        pytest.param(1, 8, "", "", "c", 1, id="the offset counts round"),
    ],
)
def test_shortlist(least: int, offset: int, guarded: str, empty: str, candidates: str, looked_at: int) -> None:
    found = preempt(guarded, empty).shortlist(least, offset)
    assert "".join(sorted(candidate.node for candidate in found.candidates)) == candidates
    assert found.run is not None
    assert len(found.run.looked_at) == looked_at
    assert set(found.rejected) <= set(empty)


def test_without_candidates_there_is_nothing_to_stop_at() -> None:
    found = preempt(empty=NODES)
    assert found.shortlist(1, 0) is found


@pytest.mark.parametrize(
    ("n_nodes", "percentage", "absolute", "enough"),
    [(50, 10, 100, 50), (500, 10, 100, 100), (5000, 10, 100, 500), (1999, 10, 100, 199), (5000, 0, 7, 7)],
)
def test_enough_candidates(n_nodes: int, percentage: int, absolute: int, enough: int) -> None:
    args = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
    decision = decide(make_pod(), make_cluster([make_node()]), config=make_args(DefaultPreemption=args))
    assert calculate_num_candidates(decision.framework, n_nodes) == enough
