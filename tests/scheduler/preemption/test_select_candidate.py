"""The choice between two candidate nodes, by table: a row per criterion."""

from typing import Any

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.preemption.result import NoLowerPriority, PreemptionResult
from kschedctl.scheduler.preemption.select_candidate import calculate_num_candidates
from tests.builders import decide, make_args, make_cluster, make_node, make_object, make_pod, told
from tests.scheduler.preemption.small_clusters import EARLY, LATE, budget, preempt, running


@pytest.mark.parametrize(
    ("on_a", "on_b", "lost"),
    [
        pytest.param(
            [("x", "4", 0, EARLY, "web")],
            [("y", "4", 50, EARLY, "api")],
            {"a": "fewer budget violations"},
            id="a broken budget weighs more than priority",
        ),
        pytest.param(
            [("x", "4", 5, EARLY, "")],
            [("y", "4", 4, EARLY, "")],
            {"a": "lower highest priority of a victim"},
            id="then the highest priority",
        ),
        pytest.param(
            [("x", "2", 5, EARLY, ""), ("z", "2", 1, EARLY, "")],
            [("y", "2", 5, EARLY, ""), ("w", "2", 0, EARLY, "")],
            {"a": "lower sum of priorities"},
            id="then the sum of priorities",
        ),
        pytest.param(
            [("x", "4", 5, EARLY, "")],
            [("y", "4", 5, LATE, "")],
            {"a": "later start of the most important victims"},
            id="then the start, the later the better",
        ),
        pytest.param([("x", "4", 5, EARLY, "")], [("y", "4", 5, EARLY, "")], {}, id="then chance"),
    ],
)
def test_choice(on_a: list[tuple[Any, ...]], on_b: list[tuple[Any, ...]], lost: dict[str, str]) -> None:
    pods = [
        running(name, node, cpu, priority, start, labels={"app": app})
        for node, rows in (("a", on_a), ("b", on_b))
        for name, cpu, priority, start, app in rows
    ]
    found = preempt(pods, budget("web", "web", 0), nodes=("a", "b"), cpu="4")
    assert {c.node: c.lost_at for c in found.candidates if c.lost_at} == lost
    assert found.nominated == tuple(node for node in ("a", "b") if node not in lost)


def test_two_far_below_lose_against_one_only_by_number() -> None:
    # 10 - 2^30 - 2^30 + 3 x 2^31 equals 10 + 0 + 2 x 2^31: the sums are equal, the numbers are not.
    low = -(2**30)
    pods = [
        running("a-0", "a", "2", 10),
        running("a-1", "a", "1", low),
        running("a-2", "a", "1", low),
        running("b-0", "b", "2", 10),
        running("b-1", "b", "2", 0),
    ]
    found = preempt(pods, nodes=("a", "b"), cpu="4")
    assert {c.node: c.lost_at for c in found.candidates} == {"b": "", "a": "fewer victims"}


@pytest.mark.parametrize(
    ("fields", "losing"),
    [
        pytest.param({"priority": 1, "nominated": "a"}, True, id="of lower priority"),
        pytest.param({"priority": 100, "nominated": "a"}, False, id="of equal priority"),
        pytest.param({"priority": 1, "nominated": "b"}, False, id="nominated to another node"),
    ],
)
def test_who_loses_the_nomination(fields: dict[str, object], losing: bool) -> None:
    waiting = make_pod("waiting", **fields)  # type: ignore[arg-type]
    found = preempt([running("low", "a", "4"), running("other", "b", "4"), waiting], nodes=("a", "b"))
    assert found.loses_nomination("a") == ((2,) if losing else ())


NODES = "abcdef"


def full(node: str, *, guarded: bool = False) -> Pod:
    return make_pod(f"on-{node}", node=node, requests={"cpu": "4"}, labels={"app": "guarded" if guarded else "free"})


def shortlist_preempt(guarded: str = "", empty: str = "") -> PreemptionResult:
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
    found = shortlist_preempt(guarded, empty).shortlist(least, offset)
    assert "".join(sorted(candidate.node for candidate in found.candidates)) == candidates
    assert found.run is not None
    assert len(found.run.looked_at) == looked_at
    assert set(found.rejected) <= set(empty)


def test_without_candidates_there_is_nothing_to_stop_at() -> None:
    found = shortlist_preempt(empty=NODES)
    assert found.shortlist(1, 0) is found


@pytest.mark.parametrize(
    ("n_nodes", "percentage", "absolute", "enough"),
    [(50, 10, 100, 50), (500, 10, 100, 100), (5000, 10, 100, 500), (1999, 10, 100, 199), (5000, 0, 7, 7)],
)
def test_enough_candidates(n_nodes: int, percentage: int, absolute: int, enough: int) -> None:
    args = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
    decision = decide(make_pod(), make_cluster([make_node()]), config=make_args(DefaultPreemption=args))
    assert calculate_num_candidates(decision.framework, n_nodes) == enough


def test_words_of_a_node_without_victims() -> None:
    assert told(NoLowerPriority(-5)) == ("no pod with a priority below -5", {})
