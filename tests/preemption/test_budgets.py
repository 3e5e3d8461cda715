"""Pods that PodDisruptionBudgets protect, by table."""

from __future__ import annotations

import pytest

from kschedctl.api.workload import PodDisruptionBudget
from tests.preemption.small_clusters import EARLY, budget, preempt, running


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
