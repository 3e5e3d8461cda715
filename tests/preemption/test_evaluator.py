"""Preemption by table: a small cluster, a preemptor of priority 100, and whom it would evict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kschedctl.api.pod import Pod
from kschedctl.api.workload import PodDisruptionBudget
from kschedctl.preemption.result import PreemptionResult
from tests.builders import decide, make_cluster, make_node, make_object, make_pod

EARLY, LATE = "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"


def running(name: str, node: str, cpu: str, priority: int = 0, start: str = EARLY, **fields: Any) -> Pod:
    status = {"startTime": start, **fields.pop("status", {})}
    return make_pod(name, node=node, requests={"cpu": cpu}, priority=priority, status=status, **fields)


def budget(name: str, app: str | None, allowed: int, **status: Any) -> PodDisruptionBudget:
    selector = {"matchLabels": {"app": app}} if app else {}
    return make_object(
        PodDisruptionBudget,
        name,
        namespace="default",
        spec={"selector": selector},
        status={"disruptionsAllowed": allowed, **status},
    )


def preempt(
    pods: Iterable[Pod], *objects: Any, cpu: str = "3", nodes: tuple[str, ...] = ("a",), **pod: Any
) -> PreemptionResult:
    cluster = make_cluster([make_node(name, cpu="4") for name in nodes], pods, *objects)
    decision = decide(make_pod("preemptor", requests={"cpu": cpu}, priority=100, **pod), cluster)
    found = decision.preemption
    assert found is not None, decision.best
    return found


def victims(found: PreemptionResult, pods: list[Pod]) -> dict[str, str]:
    """Per candidate the names of its victims."""
    return {c.node: " ".join(pods[v.pod].name for v in c.victims) for c in found.candidates}


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(
            [running("one", "a", "2"), running("two", "a", "2", priority=5)],
            {"a": "two one"},
            id="both must go where 3 of 4 cpu are wanted and each holds 2",
        ),
        pytest.param(
            [running("small", "a", "1"), running("big", "a", "3")],
            {"a": "big"},
            id="of equals the earlier is spared first, and the small one fits beside 3",
        ),
        pytest.param(
            [running("low", "a", "3", priority=1), running("high", "a", "1", priority=50)],
            {"a": "low"},
            id="the more important is spared",
        ),
        pytest.param(
            [running("early", "a", "2", start=EARLY), running("late", "a", "2", start=LATE)],
            {"a": "early late"},
            id="victims are ordered by importance: the earlier first",
        ),
        pytest.param([running("equal", "a", "4", priority=100)], {}, id="a pod of equal priority is never a victim"),
    ],
)
def test_victims(pods: list[Pod], expected: dict[str, str]) -> None:
    assert victims(preempt(pods), pods) == expected


@pytest.mark.parametrize(
    ("labels", "budgets", "evicted", "violations"),
    [
        pytest.param({"app": "web"}, [budget("web", "web", 0)], "db", 0, id="a covered pod is spared first"),
        pytest.param({"app": "web"}, [budget("web", "web", 1)], "web", 0, id="a budget with room protects nobody"),
        pytest.param(
            {"app": "web"},
            [budget("web", "web", 0, disruptedPods={"web": EARLY})],
            "web",
            0,
            id="a pod whose disruption is under way does not count",
        ),
        pytest.param({"app": "web"}, [budget("all", None, 0)], "web", 0, id="an empty selector covers nobody"),
        pytest.param({}, [budget("web", "web", 0)], "web", 0, id="a pod without labels is covered by no budget"),
        pytest.param(
            {"app": "web"},
            [budget("web", "web", 0), budget("db", "db", 0)],
            "web",
            1,
            id="where all are covered the more important is spared and a budget broken",
        ),
    ],
)
def test_disruption_budgets(
    labels: dict[str, str], budgets: list[PodDisruptionBudget], evicted: str, violations: int
) -> None:
    # Either may stay beside the 2 cpu wanted; without budgets db is spared, being more important.
    pods = [
        running("web", "a", "2", labels=labels),
        running("db", "a", "2", priority=1, labels={"app": "db"}),
    ]
    (candidate,) = preempt(pods, *budgets, cpu="2").candidates
    assert [pods[v.pod].name for v in candidate.victims] == [evicted]
    assert candidate.n_violations == violations


def test_several_budgets_count_down_together() -> None:
    pods = [running(f"web-{i}", "a", "1", labels={"app": "web"}) for i in range(4)]
    (candidate,) = preempt(pods, budget("web", "web", 2), cpu="4").candidates
    assert [(pods[v.pod].name, v.violates) for v in candidate.victims] == [
        ("web-0", False),
        ("web-1", False),
        ("web-2", True),
        ("web-3", True),
    ]
    assert [b.name for v in candidate.victims for b in v.budgets] == ["default/web"] * 4


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
    ("pods", "pod", "message"),
    [
        pytest.param(
            [running("low", "a", "4")],
            {"preemptionPolicy": "Never"},
            "not eligible due to preemptionPolicy=Never.",
            id="a pod that must not preempt",
        ),
        pytest.param(
            [
                running(
                    "going",
                    "a",
                    "4",
                    terminating=True,
                    status={
                        "conditions": [
                            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
                        ]
                    },
                )
            ],
            {"nominated": "a"},
            "not eligible due to a terminating pod on the nominated node.",
            id="its victims are still going",
        ),
        pytest.param(
            [running("peer", "a", "4", priority=100)],
            {},
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="nobody of lower priority",
        ),
        pytest.param(
            [running("low", "a", "1"), running("peer", "a", "3", priority=100)],
            {},
            "0/1 nodes are available: 1 Insufficient cpu.",
            id="not enough even without those of lower priority",
        ),
        pytest.param(
            [running("low", "a", "4")],
            {"nodeSelector": {"disk": "ssd"}},
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="no eviction changes a label",
        ),
    ],
)
def test_why_preemption_does_not_help(pods: list[Pod], pod: dict[str, Any], message: str) -> None:
    found = preempt(pods, **pod)
    assert found.status.message == message
    assert found.candidates == ()


def test_nominated_pods_of_higher_priority_keep_their_room() -> None:
    pods = [
        running("low", "a", "4"),
        make_pod("waiting", requests={"cpu": "2"}, priority=200, nominated="a"),
        running("other", "b", "4", priority=50),
    ]
    found = preempt(pods, nodes=("a", "b"), cpu="3")
    assert victims(found, pods) == {"b": "other"}
    assert found.rejected["a"].reasons == ("Insufficient cpu",)


def test_nominated_pods_of_lower_priority_lose_their_nomination() -> None:
    pods = [running("low", "a", "4"), make_pod("waiting", requests={"cpu": "2"}, priority=1, nominated="a")]
    found = preempt(pods)
    assert [pods[i].name for i in found.loses_nomination("a")] == ["waiting"]


def test_a_spread_constraint_is_met_by_evicting_in_its_own_domain() -> None:
    pods = [
        running("web-0", "a", "1", labels={"app": "web"}),
        running("web-1", "a", "1", labels={"app": "web"}),
        running("web-2", "b", "3", priority=100, labels={"app": "web"}),
    ]
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    # On a: 2 + 1 - 1 = 2 is too much, with one gone 1 + 1 - 1 = 1 is not. On b nobody is of lower priority.
    found = preempt(pods, cpu="2", nodes=("a", "b"), labels={"app": "web"}, topologySpreadConstraints=[constraint])
    assert victims(found, pods) == {"a": "web-1"}
