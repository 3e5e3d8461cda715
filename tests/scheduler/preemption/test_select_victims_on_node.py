"""Victims by table: whom a preemptor of priority 100 would evict."""

from __future__ import annotations

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.scheduler.preemption.small_clusters import EARLY, LATE, preempt, running, victims


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


def test_nominated_pods_of_higher_priority_keep_their_room() -> None:
    pods = [
        running("low", "a", "4"),
        make_pod("waiting", requests={"cpu": "2"}, priority=200, nominated="a"),
        running("other", "b", "4", priority=50),
    ]
    found = preempt(pods, nodes=("a", "b"), cpu="3")
    assert victims(found, pods) == {"b": "other"}
    assert found.rejected["a"].reasons == ("Insufficient cpu",)


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


@pytest.mark.parametrize(("release", "spared"), [("1.33", "third"), ("1.36", "third"), ("1.37", "first")])
def test_of_pods_that_have_not_started(release: str, spared: str) -> None:
    """From 1.37 on, the one that came to the node first is spared first; before, the last one."""
    names = ("first", "second", "third")
    pods = [make_pod(name, node="a", requests={"cpu": "1"}) for name in names]
    cluster = make_cluster([make_node("a", cpu="3")], pods)
    decision = decide(make_pod("preemptor", requests={"cpu": "2"}, priority=100), cluster, release=RELEASES[release])
    assert decision.preemption is not None
    found = victims(decision.preemption, pods)["a"].split()
    assert set(names) - set(found) == {spared}
