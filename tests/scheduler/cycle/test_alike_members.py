"""Members of a group that are alike are decided for as if each of them ran its own scheduling cycle."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Node, Service
from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.pod import Pod, PodSchedulingGroup
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import LATEST, RELEASES, Release
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, TOPOLOGY_AWARE
from kschedctl.scheduler.cycle import pod_group_cycle
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision, DeferredDecision
from kschedctl.scheduler.cycle.pod_group_cycle import first_best, schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import MemberDecision, PodGroupDecision
from kschedctl.scheduler.cycle.ranking import Ranking
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.interface import FilterPlugin, PluginError, ScorePlugin
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code, Rejections
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import (
    ZONE,
    make_args,
    make_cluster,
    make_container,
    make_namespace,
    make_node,
    make_object,
    make_pod,
    make_pod_group,
    make_profile,
    mount,
)
from tests.scheduler.cycle.test_moved import kinds_of_pods, objects, whole
from tests.scheduler.devices import builders as devices
from tests.scheduler.preemption.small_clusters import budget
from tests.strategies import NAMESPACES, nodes, pods

GROUP = "gang"
FEATURES = {GENERIC_WORKLOAD: True, TOPOLOGY_AWARE: True}
RELEASE = LATEST.with_features(FEATURES)


class FewPods(FilterPlugin, ScorePlugin):
    """Rejects nodes with four pods, and prefers those with the fewest: a plugin with scores that are scaled."""

    name = "FewPods"
    reads: ClassVar[Dependencies | None] = Dependencies(pods=Reach.NODE)

    def n_pods(self, rows: Int64Array) -> Int64Array:
        pods = self.handle.cluster.pods
        counts: Int64Array = pods.sum_per_node(np.ones(len(pods.classes), dtype=np.int64))[rows]
        return counts

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        return Rejections.where(self.n_pods(nodes.rows) >= 4, Code.UNSCHEDULABLE, "four pods")

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        return self.n_pods(rows)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        scaled: Int64Array = 100 - scores * 100 // max(int(scores.max(initial=0)), 1)
        return scaled


class Undeclared(FewPods):
    """The same without a declaration of its dependencies."""

    name = "Undeclared"
    reads: ClassVar[Dependencies | None] = None


class FailsWithThree(FewPods):
    """Ends the cycle with an error if a node has three pods."""

    name = "FailsWithThree"

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        if (self.n_pods(nodes.rows) >= 3).any():
            raise PluginError("three pods")
        return super().filter(state, pod, nodes)


class BadScoreWithThree(FewPods):
    """Returns an invalid score for a node with three pods."""

    name = "BadScoreWithThree"

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        scaled: Int64Array = np.where(scores >= 3, 101, scores)
        return scaled


PLUGINS = {plugin.name: plugin for plugin in (FewPods, Undeclared, FailsWithThree, BadScoreWithThree)}


CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "default": make_profile(),
    "packing": make_args(
        NodeResourcesFit={"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    ),
    # Pods may be on nodes that do not count for their spread constraints.
    "relations": make_profile(
        plugins={"filter": {"disabled": [{"name": "NodeAffinity"}, {"name": "TaintToleration"}]}},
        pluginConfig=[
            {
                "name": "InterPodAffinity",
                "args": {"hardPodAffinityWeight": 7, "ignorePreferredTermsOfExistingPods": True},
            },
            {
                "name": "PodTopologySpread",
                "args": {
                    "defaultingType": "List",
                    "defaultConstraints": [{"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
                },
            },
        ],
    ),
    "relations without filters": make_profile(
        plugins={"filter": {"disabled": [{"name": "PodTopologySpread"}, {"name": "InterPodAffinity"}]}}
    ),
    **{name: make_profile(plugins={"multiPoint": {"enabled": [{"name": name, "weight": 2}]}}) for name in PLUGINS},
}


def scheduler_of(cluster: Cluster, config: str = "default", release: Release = RELEASE) -> Scheduler:
    registry = in_tree_registry()
    registry.merge(PLUGINS)
    points, types = registry.extension_points(release), registry.args_types
    configuration = load_configuration(CONFIGS[config], release=release, implements=points, args_types=types)
    return Scheduler(cluster, release, configuration, Registry(registry))


def framework_of(cluster: Cluster, config: str = "default") -> Framework:
    return scheduler_of(cluster, config).framework(DEFAULT_SCHEDULER_NAME)


_first_best = Ranking.first_best


def make_group(min_count: int = 1, key: str = "", namespace: str = "default") -> PodGroup:
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": min_count}}}
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    return msgspec.convert({"metadata": {"name": GROUP, "namespace": namespace}, "spec": spec}, PodGroup)


def replicas(kind: Pod, n_pods: int, prefix: str = "member") -> list[Pod]:
    """Members of one template, in the namespace of the group."""
    spec = replace(kind.spec, priority=0, scheduling_group=PodSchedulingGroup(pod_group_name=GROUP))
    return [
        replace(
            kind,
            spec=spec,
            metadata=replace(kind.metadata, namespace="default", name=f"{prefix}-{i}", uid=f"uid-{prefix}-{i}"),
        )
        for i in range(n_pods)
    ]


def both(framework: Framework, members: Sequence[Pod]) -> tuple[PodGroupDecision, PodGroupDecision]:
    """The decision with the search for alike members, and without it; the scores of that search are checked."""
    rankings: list[tuple[list[int], list[int]]] = []

    def first_of(ranking: Ranking) -> str:
        node = _first_best(ranking)
        if node:
            rankings.append((ranking.rows.tolist(), ranking.total.tolist()))
        return node

    with patch.object(Ranking, "first_best", first_of):
        ours = schedule_pod_group(framework, members)
    placed = [member for each in ours.placements for member in each.members if member.node]
    deferred = [member.decision for member in placed if isinstance(member.search, DeferredDecision)]
    # The group is tried again if it preempts.
    for decision, (rows, total) in zip(deferred, rankings, strict=False):
        assert decision is not None
        assert decision.scores is not None
        assert (rows, total) == (decision.scores.rows.tolist(), decision.scores.total.tolist())
    moved = framework.moved(framework.cluster)
    theirs = schedule_pod_group(moved, members, lambda pod, decision: first_best(pod, decision))
    return ours, theirs


def told(member: MemberDecision) -> tuple[object, ...]:
    said = (member.pod.key, member.node, member.message, member.nominated, member.is_error, member.fits)
    return (*said, member.refused_by, member.preempts_on)


def equal(ours: PodGroupDecision, theirs: PodGroupDecision) -> None:
    """Check that two decisions are the same in all that they say of the group, its placements and its members."""
    assert ours.status == theirs.status
    assert (ours.outcome, ours.victims, ours.waits_for_victims) == (
        theirs.outcome,
        theirs.victims,
        theirs.waits_for_victims,
    )
    assert list(map(told, ours.members)) == list(map(told, theirs.members))
    assert len(ours.placements) == len(theirs.placements)
    for our, their in zip(ours.placements, theirs.placements, strict=True):
        assert (our.placement.name, our.status) == (their.placement.name, their.status)
        assert list(map(told, our.members)) == list(map(told, their.members))
        for mine, other in zip(our.members, their.members, strict=True):
            assert mine.decision is not None
            assert other.decision is not None
            assert whole(mine.decision) == whole(other.decision)
            assert list(mine.decision.cluster.pods.records) == list(other.decision.cluster.pods.records)


#: Aspects of pods that do not count for pods on other nodes.
_OWN_ASPECTS = ("requests", "ports", "tolerations", "nodeSelector", "nodeAffinity")


@st.composite
def templates(draw: st.DrawFn, name: str) -> Pod:
    """A template of members; three of four templates do not count for other nodes."""
    if draw(st.integers(0, 3)) == 0:
        return draw(kinds_of_pods(name))
    return draw(pods(*draw(st.lists(st.sampled_from(_OWN_ASPECTS), unique=True, max_size=3)), name=name))


@st.composite
def busy_nodes(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[Pod]]:
    """Nodes, the pods on them, perhaps with a nominated one, and templates of pods to come."""
    made = draw(nodes("labels", *draw(st.sampled_from([(), ("offers",), ("taints", "offers")])), most=6))
    names = st.sampled_from([node.name for node in made])
    running = [
        replace(pod, spec=replace(pod.spec, node_name=draw(names)))
        for pod in (draw(kinds_of_pods(f"running-{i}")) for i in range(draw(st.integers(0, 4))))
    ]
    if draw(st.integers(0, 4)) == 0:
        running.append(make_pod("nominated", nominated=draw(names), priority=draw(st.sampled_from([-1, 0, 5]))))
    kinds = [draw(templates(f"kind-{i}")) for i in range(draw(st.integers(1, 2)))]
    return made, running, kinds


@given(st.data())
def test_alike_members_find_the_nodes_that_they_find_one_by_one(data: st.DataObject) -> None:
    draw = data.draw
    made, running, kinds = draw(busy_nodes())
    names = st.sampled_from([node.name for node in made])
    members: list[Pod] = []
    for number in range(draw(st.integers(1, 3))):
        kind, n_pods = draw(st.sampled_from(kinds)), draw(st.integers(2, 8))
        members += replicas(kind, n_pods, f"member-{number}")
    if draw(st.integers(0, 4)) == 0:
        index = draw(st.integers(0, len(members) - 1))
        status = replace(members[index].status, nominated_node_name=draw(names))
        members[index] = replace(members[index], status=status)
    group = make_group(draw(st.sampled_from([1, 1, len(members)])), draw(st.sampled_from(["", ZONE, "rack"])))
    others = [*objects(), devices.make_claim("gpu-claim", devices.request())]
    if draw(st.booleans()):
        others.append(make_object(Service, "s", namespace="default", spec={"selector": {"app": "a"}}))
    cluster = make_cluster(made, [*running, *members], group, *others)
    equal(*both(framework_of(cluster, draw(st.sampled_from(sorted(CONFIGS)))), members))


@given(st.data())
def test_alike_members_that_preempt_find_the_nodes_that_they_find_one_by_one(data: st.DataObject) -> None:
    """Since 1.38 a member prefers nodes without pods to evict, or those where the eviction costs the least."""
    draw = data.draw
    made = _nodes(draw(st.integers(2, 6)))
    names = st.sampled_from([node.name for node in made])
    running = []
    for number in range(draw(st.integers(4, 12))):
        amount, app = draw(st.sampled_from(["500m", "1", "3"])), draw(st.sampled_from(["a", "web"]))
        priority = draw(st.sampled_from([0, 0, 3, 20]))
        low = make_pod(f"{number}", requests={"cpu": amount}, priority=priority, node=draw(names), labels={"app": app})
        if draw(st.integers(0, 3)) == 0:
            low = replace(low, spec=replace(low.spec, scheduling_group=PodSchedulingGroup(pod_group_name="whole")))
        running.append(low)
    amount, fields = draw(st.sampled_from(["1", "2"])), draw(st.sampled_from([{}, *_RELATING.values()]))
    kind = make_pod(requests={"cpu": amount}, labels={"app": "a"}, **fields)
    members = [
        replace(member, spec=replace(member.spec, priority=10)) for member in replicas(kind, draw(st.integers(2, 8)))
    ]
    group = make_group(draw(st.sampled_from([len(members), 1])), draw(st.sampled_from(["", "", ZONE])))
    group = replace(group, spec=replace(group.spec, priority=10))
    others = [make_pod_group("whole", disrupts_all=True), budget("web", "web", draw(st.integers(0, 2)))]
    cluster = make_cluster(made, [*running, *members], group, *others)
    scheduler = scheduler_of(cluster, draw(st.sampled_from(sorted(CONFIGS))), RELEASES["1.38"].with_features(FEATURES))
    equal(*both(scheduler.framework(DEFAULT_SCHEDULER_NAME), members))


def _cycles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the pods for which a scheduling cycle runs."""
    ran: list[str] = []

    def recorded(framework: Framework, pod: Pod, **options: Any) -> Decision:
        ran.append(pod.name)
        return schedule_pod(framework, pod, **options)

    monkeypatch.setattr(pod_group_cycle, "schedule_pod", recorded)
    return ran


def _nodes(n_nodes: int = 4, **fields: Any) -> list[Any]:
    return [make_node(f"n{i}", zone=f"z{i % 2}", cpu="4", memory="8Gi", **fields) for i in range(n_nodes)]


def _decide(members: Sequence[Pod], *others: Any, config: str = "default", key: str = "") -> PodGroupDecision:
    pods, objects = ([o for o in others if isinstance(o, Pod) is is_pod] for is_pod in (True, False))
    cluster = make_cluster(_nodes(), [*pods, *members], make_group(len(members), key), *objects)
    ours, theirs = both(framework_of(cluster, config), members)
    equal(ours, theirs)
    return ours


@pytest.mark.parametrize("config", ["default", "packing", "FewPods"])
def test_only_the_first_of_alike_members_runs_a_cycle(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    members = replicas(make_pod(requests={"cpu": "1"}), 12)
    cluster = make_cluster(_nodes(), members, make_group(12))
    ran = _cycles(monkeypatch)
    ours = schedule_pod_group(framework_of(cluster, config), members)
    assert ran == ["member-0"]
    assert all(isinstance(member.search, DeferredDecision) for member in ours.members[1:])
    equal(ours, both(framework_of(cluster, config), members)[1])


def test_a_member_that_finds_no_node_runs_a_cycle_for_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    members = replicas(make_pod(requests={"cpu": "3"}), 5)
    ran = _cycles(monkeypatch)
    cluster = make_cluster(_nodes(), members, make_group(5))
    ours = schedule_pod_group(framework_of(cluster), members)
    assert ran == ["member-0", "member-4"]
    assert "4 Insufficient cpu" in ours.members[4].message


def test_members_after_one_without_a_node_find_none_either(monkeypatch: pytest.MonkeyPatch) -> None:
    members = replicas(make_pod(requests={"cpu": "3"}), 8)
    cluster = make_cluster(_nodes(), members, make_group(2))
    ran = _cycles(monkeypatch)
    ours = schedule_pod_group(framework_of(cluster), members)
    assert ran == ["member-0", "member-4"]
    assert [bool(member.node) for member in ours.members] == [True] * 4 + [False] * 4
    equal(*both(framework_of(cluster), members))


def test_each_template_runs_one_cycle_per_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make_pod(requests={"cpu": "500m"}), make_pod(requests={"memory": "1Gi"}, labels={"app": "b"})
    members = [*replicas(first, 3, "a"), *replicas(second, 3, "b"), *replicas(first, 2, "c")]
    ran = _cycles(monkeypatch)
    cluster = make_cluster(_nodes(), members, make_group(8, ZONE))
    schedule_pod_group(framework_of(cluster), members)
    assert ran == ["a-0", "b-0", "c-0"] * 2
    _decide(members, key=ZONE)


_TERM = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
_SPREAD = {**_TERM, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
_RELATING: Mapping[str, dict[str, Any]] = {
    "affinity": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}}},
    "soft spread": {"topologySpreadConstraints": [_SPREAD]},
    "spread": {"topologySpreadConstraints": [{**_SPREAD, "whenUnsatisfiable": "DoNotSchedule"}]},
}


@pytest.mark.parametrize("fields", _RELATING.values(), ids=_RELATING)
def test_members_count_for_the_members_after_them(monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]) -> None:
    members = replicas(make_pod(labels={"app": "a"}, **fields), 5)
    ran = _cycles(monkeypatch)
    _decide(members)
    assert ran == ["member-0", *(f"member-{i}" for i in range(5))]


@pytest.mark.parametrize(
    "fields",
    [{"volumes": mount("one")}, {"volumes": [{"name": "disk", "gcePersistentDisk": {"pdName": "shared"}}]}],
    ids=["claim", "disk"],
)
def test_members_that_count_for_other_nodes_run_their_own_cycles(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    members = replicas(make_pod(labels={"app": "a"}, **fields), 3)
    ran = _cycles(monkeypatch)
    _decide(members, *objects())
    assert ran == ["member-0", "member-1", "member-2"] * 2


def test_default_spread_constraints_count_members_of_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    members = replicas(make_pod(labels={"app": "a"}), 3)
    ran = _cycles(monkeypatch)
    _decide(members, make_object(Service, "s", namespace="default", spec={"selector": {"app": "a"}}))
    assert ran == ["member-0", "member-0", "member-1", "member-2"]


def test_host_ports_of_members_conflict_on_their_node() -> None:
    port = make_container(ports=[{"containerPort": 80, "hostPort": 80}])
    decision = _decide(replicas(make_pod(containers=[port]), 5))
    assert [member.node for member in decision.placements[0].members] == ["n0", "n1", "n2", "n3", ""]


def test_scores_are_normalised_again_without_a_node_that_is_full() -> None:
    preferred = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "tier", "operator": "In", "values": [tier]}]}}
        for weight, tier in ((100, "a"), (40, "b"), (10, "c"))
    ]
    kind = make_pod(
        requests={"cpu": "1"}, affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    )
    members = replicas(kind, 8)
    made = [make_node(f"n{tier}", labels={"tier": tier}, cpu=cpu) for tier, cpu in (("a", "2"), ("b", "4"), ("c", "9"))]
    cluster = make_cluster(made, members, make_group(8))
    equal(*both(framework_of(cluster), members))


def test_nominated_pods_of_higher_priority_keep_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    members = replicas(make_pod(requests={"cpu": "1"}), 14)
    ran = _cycles(monkeypatch)
    decision = _decide(members, make_pod("nominated", nominated="n0", priority=5, requests={"cpu": "2"}))
    assert sum(member.node == "n0" for member in decision.members) == 2
    assert len(ran) == 28
    ran.clear()
    _decide(members, make_pod("nominated", nominated="n0", priority=-5, requests={"cpu": "2"}))
    assert len(ran) == 15


def test_members_with_other_labels_are_not_alike() -> None:
    terms = [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    kind = make_pod(requests={"cpu": "1"}, labels={"app": "b"})
    other = replace(kind, metadata=replace(kind.metadata, labels={"app": "a"}))
    members = [*replicas(kind, 2, "b"), *replicas(other, 2, "a")]
    decision = _decide(members, make_pod("existing", node="n0", affinity=affinity))
    assert [member.node for member in decision.members[2:]] == ["n3", "n1"]


@pytest.mark.parametrize("config", ["FailsWithThree", "BadScoreWithThree", "Undeclared"])
def test_errors_are_those_of_a_cycle(config: str) -> None:
    decision = _decide(replicas(make_pod(requests={"cpu": "100m"}), 14), config=config)
    assert decision.members[-1].is_error is (config != "Undeclared")


def test_the_decision_for_a_member_is_that_of_its_turn() -> None:
    members = replicas(make_pod(requests={"cpu": "1"}), 6)
    cluster = make_cluster(_nodes(), members, make_group(6), *(make_namespace(name) for name in NAMESPACES))
    decision = schedule_pod_group(framework_of(cluster), members)
    one = decision.of_member(members[5])
    assert decision.members[5].node in one.best
    assert one.cluster.pods.index[("default", "member-4")] > one.cluster.pods.index[("default", "member-5")]
