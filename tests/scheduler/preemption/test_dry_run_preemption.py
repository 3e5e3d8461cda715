"""The dry run over all nodes together equals the slow one; pods that PodDisruptionBudgets protect."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES, Release
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import FilterPlugin, Plugin
from kschedctl.scheduler.framework.status import Code, Rejections, Status
from kschedctl.scheduler.preemption.result import NO_VICTIMS
from tests.builders import (
    HOSTNAME,
    ZONE,
    decide,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_pod_group,
    make_profile,
    with_groups,
)
from tests.example_counts import scaled
from tests.reference.preemption import victims_on_node
from tests.scheduler.framework.plugins import make_plugin
from tests.scheduler.preemption.small_clusters import EARLY, LATE, budget, preempt, running, victims

NODES = ("a", "b", "c", "d")
APPS = ("web", "db")
STARTS = ("2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z", "2026-01-01T10:00:00Z")

apps = st.sampled_from(APPS)


def _selector(app: str) -> dict[str, Any]:
    return {"matchLabels": {"app": app}}


@st.composite
def anti_affinity(draw: st.DrawFn) -> dict[str, Any]:
    term = {"topologyKey": draw(st.sampled_from((HOSTNAME, ZONE))), "labelSelector": _selector(draw(apps))}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@st.composite
def running_pods(draw: st.DrawFn) -> list[Pod]:
    pods = []
    for i in range(draw(st.integers(1, 10))):
        spec: dict[str, Any] = {"affinity": draw(anti_affinity())} if draw(st.booleans()) else {}
        pods.append(
            make_pod(
                f"pod-{i}",
                node=draw(st.sampled_from(NODES)),
                labels={"app": draw(apps)},
                requests={"cpu": draw(st.sampled_from(("500m", "1", "2")))},
                priority=draw(st.sampled_from((0, 5, 10, 100))),
                status={"startTime": draw(st.sampled_from(STARTS))},
                **spec,
            )
        )
    return pods


@st.composite
def waiting_pods(draw: st.DrawFn) -> list[Pod]:
    """Pods nominated to nodes; those of a priority from 50 on count there."""
    return [
        make_pod(
            f"waiting-{i}",
            nominated=draw(st.sampled_from(NODES)),
            labels={"app": draw(apps)},
            requests={"cpu": draw(st.sampled_from(("500m", "1")))},
            priority=draw(st.sampled_from((5, 50, 100))),
        )
        for i in range(draw(st.integers(0, 3)))
    ]


@st.composite
def preemptors(draw: st.DrawFn) -> Pod:
    spec: dict[str, Any] = {}
    if draw(st.booleans()):
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": draw(st.integers(1, 2)),
                "topologyKey": draw(st.sampled_from((HOSTNAME, ZONE))),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _selector(draw(apps)),
            }
        ]
    if draw(st.booleans()):
        spec["affinity"] = draw(anti_affinity())
    requests = {"cpu": draw(st.sampled_from(("1", "2", "4")))}
    return make_pod("preemptor", labels={"app": draw(apps)}, requests=requests, priority=50, **spec)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = [make_node(name, cpu="4", pods=draw(st.integers(2, 5)), zone=f"z{i % 2}") for i, name in enumerate(NODES)]
    budgets = [
        make_object(
            PodDisruptionBudget,
            app,
            namespace="default",
            spec={"selector": _selector(app)},
            status={"disruptionsAllowed": draw(st.integers(0, 2))},
        )
        for app in draw(st.sets(apps))
    ]
    return make_cluster(nodes, [*draw(running_pods()), *draw(waiting_pods())], *budgets)


@settings(max_examples=scaled(120), deadline=None)
@given(clusters(), preemptors())
def test_victims_are_those_of_the_slow_way(cluster: Cluster, pod: Pod) -> None:
    decision = decide(pod, cluster)
    if decision.preemption is None:
        return
    statuses = decision.statuses
    assert statuses is not None
    expected = {}
    for row, node in enumerate(cluster.nodes.names):
        if statuses.code[row] == Code.UNSCHEDULABLE:
            found = victims_on_node(cluster, pod, node)
            if found is not None:
                expected[node] = found
    actual = {c.node: ([v.pod for v in c.victims], c.n_violations) for c in decision.preemption.candidates}
    assert actual == expected


@settings(max_examples=scaled(60), deadline=None)
@given(clusters(), preemptors())
def test_the_choice_is_minimal_in_the_order_of_the_criteria(cluster: Cluster, pod: Pod) -> None:
    found = decide(pod, cluster).preemption
    if found is None or not found.candidates:
        return
    pods = cluster.pods

    def rank(victims: list[int]) -> tuple[int, ...]:
        highest = max(int(pods.priority[i]) for i in victims)
        total = sum(int(pods.priority[i]) + 2**31 for i in victims)
        earliest = min(int(pods.start_time[i]) for i in victims if pods.priority[i] == highest)
        return highest, total, len(victims), -earliest

    ranks = {c.node: (c.n_violations, *rank([v.pod for v in c.victims])) for c in found.candidates}
    best = min(ranks.values())
    assert found.nominated == tuple(sorted(node for node, value in ranks.items() if value == best))
    assert all(pods.priority[v.pod] < 50 for c in found.candidates for v in c.victims)


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


@pytest.mark.parametrize(
    ("names", "fields", "old", "new"),
    [
        pytest.param("a b", {"start": EARLY}, "a", "a", id="in the order of their UIDs"),
        pytest.param("b a", {"start": EARLY}, "b", "a", id="the later one has the lower UID"),
        pytest.param("b c a", {"start": EARLY}, "b", "a", id="three of them"),
        pytest.param("b a", {}, "b", "a", id="pods that have not started"),
    ],
)
def test_pods_of_the_same_priority_and_start(names: str, fields: dict[str, Any], old: str, new: str) -> None:
    """In 1.37 the pod that came first is spared, in 1.38 the one with the lower UID; the names sort as the UIDs."""
    status = {"startTime": fields["start"]} if fields else {}
    pods = [make_pod(name, node="a", requests={"cpu": "1"}, status=status) for name in names.split()]
    cluster = make_cluster([make_node("a", cpu=str(len(pods)))], pods)
    spared = {}
    for version in ("1.37", "1.38"):
        preemptor = make_pod("preemptor", requests={"cpu": str(len(pods) - 1)}, priority=100)
        found = decide(preemptor, cluster, release=RELEASES[version]).preemption
        assert found is not None
        spared[version] = {*names.split()} - {*victims(found, pods)["a"].split()}
    assert spared == {"1.37": {old}, "1.38": {new}}


def rejecting_once(node: str) -> type[Plugin]:
    """Return a plugin whose Filter rejects a node in the scheduling cycle, but not in the dry run of preemption."""
    called: list[Pod] = []

    def filter_(self: Plugin, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        rejects = not called
        called.append(pod)
        names = [self.handle.cluster.nodes.names[row] for row in nodes.rows]
        mask = np.array([rejects and name == node for name in names], dtype=np.bool_)
        return Rejections.where(mask, Code.UNSCHEDULABLE, "not yet")

    return make_plugin("Once", FilterPlugin, filter=filter_)


@pytest.mark.parametrize(
    ("nodes", "old", "new"),
    [
        pytest.param(
            "a",
            'expected at least one victim pod on node "a"',
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="an error, then a node without victims",
        ),
        pytest.param("ab", "", "", id="another node is a candidate in both"),
    ],
)
def test_a_node_on_which_the_pod_fits_without_evictions(nodes: str, old: str, new: str) -> None:
    pods = [running("small", "a", "1"), running("big", "b", "4")]
    cluster = make_cluster([make_node(name, cpu="4") for name in nodes], pods[: len(nodes)])
    preemptor = make_pod("preemptor", requests={"cpu": "3"}, priority=100)
    config = make_profile(plugins={"filter": {"enabled": [{"name": "Once"}]}})
    found = {}
    for version in ("1.37", "1.38"):
        plugins = {"Once": rejecting_once("a")}
        preemption = decide(preemptor, cluster, release=RELEASES[version], plugins=plugins, config=config).preemption
        assert preemption is not None
        found[version] = (preemption.status.message, preemption.rejected["a"])
    assert found == {
        "1.37": (old, Status(Code.ERROR, ('expected at least one victim pod on node "a"',))),
        "1.38": (new, NO_VICTIMS),
    }


V36, V37 = with_groups("1.36"), with_groups("1.37")
WHOLE: dict[str, Any] = {"schedulingGroup": {"podGroupName": "whole"}}
SINGLE: dict[str, Any] = {"schedulingGroup": {"podGroupName": "single"}}
GANG = [running("m0", "a", "3", **WHOLE), running("m1", "b", "3", **WHOLE)]


def candidates(release: Release, pods: list[Pod], priority: int = 0, *objects: Any, cpu: str = "3") -> dict[str, str]:
    """Return the victims by candidate node for a pod of priority 100, the groups having a priority."""
    groups = (
        make_pod_group("whole", disrupts_all=True, priority=priority),
        make_pod_group("single", priority=priority),
    )
    if release.version == "1.36":
        groups = (make_pod_group("whole", disruptionMode="PodGroup", priority=priority), groups[1])
    cluster = make_cluster([make_node(name, cpu="4") for name in "ab"], pods, *groups, *objects)
    decision = decide(make_pod("preemptor", requests={"cpu": cpu}, priority=100), cluster, release=release)
    found = decision.preemption
    assert found is not None
    return {each.node: " ".join(pods[victim.pod].name for victim in each.victims) for each in found.candidates}


@pytest.mark.parametrize(
    ("release", "pods", "priority", "expected"),
    [
        pytest.param(V37, GANG, 0, {"a": "m0 m1", "b": "m0 m1"}, id="1.37: all members, wherever they are"),
        pytest.param(V36, GANG, 0, {"a": "m0", "b": "m1"}, id="1.36: one by one, whatever the mode"),
        pytest.param(RELEASES["1.37"], GANG, 0, {"a": "m0", "b": "m1"}, id="1.37 without gates: one by one"),
        pytest.param(V37, GANG, 100, {}, id="1.37: the priority of the group counts, 100 is not lower"),
        pytest.param(V36, GANG, 100, {"a": "m0", "b": "m1"}, id="1.36: the members' own priority counts"),
        pytest.param(
            V37,
            [running("s0", "a", "3", 200, **SINGLE), running("s1", "b", "3", 200, **SINGLE)],
            0,
            {"a": "s0", "b": "s1"},
            id="1.37: members go one by one in mode single, by the group's priority",
        ),
        pytest.param(
            V37,
            [*GANG, running("p", "a", "1", 1)],
            0,
            {"a": "m0 m1", "b": "m0 m1"},
            id="1.37: a pod that needs not go is put back",
        ),
        pytest.param(
            V37,
            [running("p", "a", "3", 1), running("m0", "b", "3", **WHOLE)],
            0,
            {"a": "p", "b": "m0"},
            id="1.37: nodes without groups beside those with",
        ),
    ],
)
def test_select_units_on_node_victims(
    release: Release, pods: list[Pod], priority: int, expected: dict[str, str]
) -> None:
    assert candidates(release, pods, priority) == expected


def test_a_member_on_another_node_that_a_budget_protects_counts_as_a_violation() -> None:
    pods = [
        running("m0", "a", "3", **WHOLE),
        running("m1", "b", "1", labels={"app": "web"}, **WHOLE),
        running("p", "b", "3", 1),
    ]
    groups = make_pod_group("whole", disrupts_all=True)
    cluster = make_cluster([make_node(n, cpu="4") for n in "ab"], pods, groups, budget("none", "web", 0))
    decision = decide(make_pod("preemptor", requests={"cpu": "3"}, priority=100), cluster, release=V37)
    found = decision.preemption
    assert found is not None
    # On b the pod p is enough: the whole group is put back first, because the budget protects it.
    by_node = {each.node: [(pods[v.pod].name, v.violates) for v in each.victims] for each in found.candidates}
    assert by_node == {"a": [("m0", False), ("m1", True)], "b": [("p", False)]}
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("b",)


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
