"""Pods that PodDisruptionBudgets protect, by table."""

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.workload import PodDisruptionBudget
from tests.builders import decide, make_cluster, make_node, make_object, make_pod
from tests.scheduler.preemption.small_clusters import EARLY, budget, preempt, running


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
    pods = [running("web", "a", "2", labels=labels), running("db", "a", "2", priority=1, labels={"app": "db"})]
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
    ("release", "violated"),
    [
        pytest.param("1.36", {"web": ["both"], "db": ["both", "dbs"]}, id="a pod counts against all budgets"),
        pytest.param("1.37", {"web": ["both"], "db": ["both"]}, id="up to the first that it violates"),
    ],
)
def test_pod_with_two_budgets(release: str, violated: dict[str, list[str]]) -> None:
    labels = {"part": "of-both"}
    pods = [
        running("web", "a", "2", labels={"app": "web", **labels}),
        running("db", "a", "2", priority=1, labels={"app": "db", **labels}),
    ]
    both = make_object(
        PodDisruptionBudget,
        "both",
        namespace="default",
        spec={"selector": {"matchLabels": labels}},
        status={"disruptionsAllowed": 0},
    )
    cluster = make_cluster([make_node("a", cpu="4")], pods, both, budget("dbs", "db", 0))
    decision = decide(make_pod("preemptor", requests={"cpu": "4"}, priority=100), cluster, release=RELEASES[release])
    assert decision.preemption is not None
    (candidate,) = decision.preemption.candidates
    found = {pods[v.pod].name: [b.name.partition("/")[2] for b in v.violated] for v in candidate.victims}
    assert found == violated


@pytest.mark.parametrize(("release", "violations"), [("1.36", 2), ("1.37", 1)])
def test_number_of_violations_with_two_budgets(release: str, violations: int) -> None:
    """From 1.37 on, the pod that violates the first budget leaves the second one to the other pod."""
    pods = [
        running("first", "a", "2", priority=1, labels={"app": "web", "tier": "back"}),
        running("second", "a", "2", labels={"tier": "back"}),
    ]
    tiers = make_object(
        PodDisruptionBudget,
        "tiers",
        namespace="default",
        spec={"selector": {"matchLabels": {"tier": "back"}}},
        status={"disruptionsAllowed": 1},
    )
    cluster = make_cluster([make_node("a", cpu="4")], pods, budget("apps", "web", 0), tiers)
    decision = decide(make_pod("preemptor", requests={"cpu": "4"}, priority=100), cluster, release=RELEASES[release])
    assert decision.preemption is not None
    (candidate,) = decision.preemption.candidates
    assert candidate.n_violations == violations
