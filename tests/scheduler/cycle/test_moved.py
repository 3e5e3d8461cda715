"""A scheduler that moved along with its cluster decides as one that is made anew over the same objects."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.core import Node, Service
from kschedctl.objects.device import DeviceClass
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, RELEASES, Release
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.status import Rejections
from kschedctl.scheduler.plugins.basics import NodeUnschedulable
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import (
    GPU,
    ZONE,
    make_claim,
    make_cluster,
    make_csi_node,
    make_namespace,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.cluster.test_moved import pods_of
from tests.scheduler.devices import builders as devices
from tests.strategies import NAMESPACES, nodes, pods

DRIVER = "csi.example.com"
CLAIMS = ("one", "two", "three", "once")


def whole(decision: Decision) -> dict[str, Any]:
    """Everything that a decision says, in plain values."""
    found = decision.preemption
    scores = decision.scores
    return {
        "error": decision.error,
        "pre_enqueue": decision.pre_enqueue,
        "pre_filter": decision.pre_filter,
        "searched": decision.searched.tolist(),
        "best": decision.best,
        "message": decision.message,
        "post_filter": decision.post_filter,
        "not_modelled": decision.state.not_modelled,
        "verdicts": [
            (verdict.status, [(plugin, [(r.text, r.detail, r.data) for r in why]) for plugin, why in verdict.reasons])
            for verdict in map(decision.node, decision.cluster.nodes.names)
        ]
        if decision.statuses is not None
        else None,
        "scores": None
        if scores is None
        else (
            scores.rows.tolist(),
            {name: values.tolist() for name, values in scores.raw.items()},
            {name: values.tolist() for name, values in scores.normalized.items()},
            scores.total.tolist(),
        ),
        "preemption": None
        if found is None
        else (
            found.status,
            found.nominated,
            found.rejected,
            [
                (c.node, c.lost_at, [(v.pod, v.violates, [b.name for b in v.budgets]) for v in c.victims])
                for c in found.candidates
            ],
        ),
    }


def anew(cluster: Cluster) -> Cluster:
    """A cluster of the same objects in the same order."""
    others = [obj for kind in cluster.kinds for obj in cluster.list(kind)]
    return make_cluster(cluster.nodes.objects, pods_of(cluster), *others)


def objects() -> list[ApiObject]:
    """Volumes, claims, devices, a budget: something of everything that scheduling reads."""
    device = devices.make_device
    return [
        *(make_namespace(name, **labels) for name, labels in NAMESPACES.items()),
        make_storage_class(),
        make_claim("one", bound="pv-one"),
        make_volume("pv-one", claim="default/one", affinity={ZONE: ["z1", "z2"]}),
        make_claim("two"),
        make_claim("once", modes=["ReadWriteOncePod"], bound="pv-once"),
        make_volume("pv-once", claim="default/once"),
        *(make_csi_node(f"n{i}", limits={DRIVER: 1 + i % 2}) for i in range(3)),
        devices.make_class("gpu", resource=GPU),
        devices.make_slice("on-n0", device("gpu-0"), device("gpu-1"), node="n0"),
        devices.make_slice("on-n1", device("gpu-0"), node="n1"),
        make_object(
            PodDisruptionBudget,
            "guard",
            namespace="default",
            spec={"selector": {"matchLabels": {"app": "a"}}},
            status={"disruptionsAllowed": 1},
        ),
    ]


_ASPECTS = ("requests", "ports", "tolerations", "nodeSelector", "nodeAffinity", "spread", "podAffinity")
_VOLUMES = [
    [],
    mount("one"),
    mount("two"),
    mount("three"),
    mount("once"),
    mount("one", "two"),
    [{"name": "disk", "gcePersistentDisk": {"pdName": "shared"}}],
    [{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "late"}}}}],
]


@st.composite
def kinds_of_pods(draw: st.DrawFn, name: str) -> Pod:
    """A pod of a few aspects, so that the same spec comes again under other names."""
    aspects = draw(st.lists(st.sampled_from(_ASPECTS), unique=True, max_size=3))
    pod = draw(pods(*aspects, name=name, namespaces=tuple(NAMESPACES)))
    changes: dict[str, Any] = {"priority": draw(st.sampled_from([0, 0, 5, 10]))}
    volumes = draw(st.sampled_from([*[[]] * 6, *_VOLUMES]))
    if volumes:
        changes["volumes"] = make_pod(volumes=volumes).spec.volumes
    if draw(st.integers(0, 5)) == 0:
        changes["resource_claims"] = devices.claiming_pod("gpu-claim").spec.resource_claims
    return replace(pod, spec=replace(pod.spec, **changes))


class Walk:
    """A cluster and its scheduler that move on step by step; what comes is drawn."""

    def __init__(self, data: st.DataObject, release: Release) -> None:
        self.draw = data.draw
        made = self.draw(nodes("labels", "taints", "offers", most=4))
        self.kinds = [self.draw(kinds_of_pods(f"kind-{i}")) for i in range(self.draw(st.integers(1, 3)))]
        self.n_pods = 0
        running = [self.pod(self.draw(st.sampled_from(made)).name) for _ in range(self.draw(st.integers(0, 6)))]
        start = make_cluster(made, running, *objects(), devices.make_claim("gpu-claim", devices.request()))
        self.scheduler = Scheduler(start, release)

    @property
    def cluster(self) -> Cluster:
        return self.scheduler.cluster

    def pod(self, node: str = "", nominated: str = "") -> Pod:
        """A pod of one of the kinds, with a name of its own; on a node, or nominated to one."""
        kind = self.draw(st.sampled_from(self.kinds))
        self.n_pods += 1
        metadata = replace(kind.metadata, name=f"p{self.n_pods}", uid=f"uid-{self.n_pods}")
        if self.draw(st.integers(0, 3)) == 0:
            metadata = replace(metadata, labels={"app": self.draw(st.sampled_from("ab"))})
        status = replace(kind.status, nominated_node_name=nominated)
        return replace(kind, metadata=metadata, spec=replace(kind.spec, node_name=node), status=status)

    def node_name(self) -> str:
        return self.draw(st.sampled_from(self.cluster.nodes.names))

    def index(self) -> set[int]:
        n_pods = len(self.cluster.pods)
        return self.draw(st.sets(st.integers(0, n_pods - 1), max_size=3)) if n_pods else set()

    def one_node(self) -> Node:
        return self.draw(st.sampled_from(self.cluster.nodes.objects))

    def with_node(self, node: Node) -> Cluster:
        return self.cluster.with_nodes(node if old.name == node.name else old for old in self.cluster.nodes.objects)

    def bind(self) -> Cluster:
        return self.cluster.with_pods(added=[self.pod(self.node_name())])

    def bind_two_for_some(self) -> Cluster:
        return self.cluster.with_pods(removed=self.index(), added=[self.pod(self.node_name()) for _ in range(2)])

    def delete(self) -> Cluster:
        return self.cluster.with_pods(removed=self.index())

    def nominate(self) -> Cluster:
        return self.cluster.with_pods(added=[self.pod(nominated=self.node_name())])

    def replace_a_pod(self) -> Cluster:
        pods_ = pods_of(self.cluster)
        if not pods_:
            return self.cluster
        pod = self.draw(st.sampled_from(pods_))
        return self.cluster.with_pods(added=[replace(pod, spec=replace(pod.spec, node_name=self.node_name()))])

    def cordon(self) -> Cluster:
        node = self.one_node()
        return self.with_node(replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable)))

    def label(self) -> Cluster:
        node = self.one_node()
        labels = {**node.metadata.labels, self.draw(st.sampled_from([ZONE, "disk", "rack"])): "z2"}
        return self.with_node(replace(node, metadata=replace(node.metadata, labels=labels)))

    def offer(self) -> Cluster:
        node = self.one_node()
        allocatable = {**node.status.allocatable, self.draw(st.sampled_from(["cpu", GPU, "example.com/new"])): "1"}
        return self.with_node(replace(node, status=replace(node.status, allocatable=allocatable)))

    def other_nodes(self) -> Cluster:
        left = [node for node in self.cluster.nodes.objects if self.draw(st.booleans())]
        more = [make_node(f"n{self.draw(st.integers(0, 9))}", zone="z1")] if self.draw(st.booleans()) else []
        by_name = {node.name: node for node in (*left, *more)}
        return self.cluster.with_nodes(by_name.values() or self.cluster.nodes.objects)

    def bind_a_claim(self) -> Cluster:
        name = self.draw(st.sampled_from(CLAIMS))
        claim, volume = make_claim(name, bound=f"pv-{name}"), make_volume(f"pv-{name}", claim=f"default/{name}")
        return self.cluster.with_added([claim, volume])

    def lose_an_object(self) -> Cluster:
        kinds: list[type[ApiObject]] = [PersistentVolumeClaim, PersistentVolume, DeviceClass, PodDisruptionBudget]
        kind = self.draw(st.sampled_from(kinds))
        found = list(self.cluster.list(kind))
        return self.cluster.without(found[:1])

    def add_a_service(self) -> Cluster:
        namespace = self.draw(st.sampled_from(sorted(NAMESPACES)))
        service = make_object(Service, "s", namespace=namespace, spec={"selector": {"app": "a"}})
        return self.cluster.with_added([service])

    def hold_devices(self) -> Cluster:
        held = devices.make_claim("gpu-claim", devices.request(), holds=["n0/gpu-0"], node="n0")
        return self.cluster.with_added([held])

    def relabel_a_namespace(self) -> Cluster:
        return self.cluster.with_added([make_namespace("other", team=self.draw(st.sampled_from("ab")))])

    def step(self) -> None:
        """Move on."""
        steps: list[Callable[[], Cluster]] = [
            *[self.bind] * 5,
            *[self.delete] * 2,
            self.bind_two_for_some,
            self.nominate,
            self.replace_a_pod,
            self.cordon,
            self.label,
            self.offer,
            self.other_nodes,
            self.bind_a_claim,
            self.lose_an_object,
            self.add_a_service,
            self.hold_devices,
            self.relabel_a_namespace,
        ]
        self.scheduler = self.scheduler.moved(self.draw(st.sampled_from(steps))())

    def ask(self) -> Decision:
        """Ask about a pod, and about the same one over a cluster that is built anew."""
        nominated = self.node_name() if self.draw(st.integers(0, 4)) == 0 else ""
        pod = self.pod(nominated=nominated)
        decision = self.scheduler.decide(pod)
        ours, theirs = whole(decision), whole(Scheduler(anew(self.cluster), self.scheduler.release).decide(pod))
        for key, said in ours.items():
            assert said == theirs[key], key
        return decision


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.version)
@given(st.data())
def test_a_moved_scheduler_decides_as_one_made_anew(release: Release, data: st.DataObject) -> None:
    walk = Walk(data, release)
    made: list[tuple[Decision, dict[str, Any]]] = []
    before: list[Scheduler] = []
    for _ in range(data.draw(st.integers(1, 6))):
        for _ in range(data.draw(st.integers(0, 2))):
            decision = walk.ask()
            made.append((decision, whole(decision)))
        before.append(walk.scheduler)
        walk.step()
        if data.draw(st.integers(0, 5)) == 0:
            # On from an earlier state, beside what was derived from that already.
            walk.scheduler = data.draw(st.sampled_from(before))
            walk.step()
    walk.ask()
    for decision, said in made:
        assert whole(decision) == said, "a decision stays what it was"


@given(st.data())
def test_each_pod_of_a_cluster_is_decided_for_as_over_a_cluster_without_it(data: st.DataObject) -> None:
    walk = Walk(data, LATEST)
    cluster = walk.cluster
    for index, pod in enumerate(pods_of(cluster)):
        pending = replace(pod, spec=replace(pod.spec, node_name=""))
        others = cluster.with_pods(removed=[index])
        ours = walk.scheduler.moved(others).decide(pending)
        assert whole(ours) == whole(Scheduler(anew(others), LATEST).decide(pending))


def test_schedulers_over_clusters_without_one_of_the_pods_each_share_what_was_found() -> None:
    nodes_ = [make_node(f"n{i}") for i in range(4)]
    cluster = make_cluster(nodes_, [make_pod(f"p{i}", node=f"n{i}") for i in range(4)])
    asked: list[int] = []

    class Counting(NodeUnschedulable):
        def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
            asked.append(len(nodes))
            return super().filter(state, pod, nodes)

    base = Scheduler(cluster, LATEST, registry=Registry({**in_tree_registry(), NodeUnschedulable.name: Counting}))
    for index in range(4):
        base.moved(cluster.with_pods(removed=[index])).decide(make_pod("new"))
    assert asked == [4], "only the first of them asks about all nodes"


def test_reasons_of_a_decision_are_found_after_its_cluster_moved_on() -> None:
    full = make_node("a", cpu="1")
    holder, pod = (make_pod(name, node=node, requests={"cpu": "1"}) for name, node in (("holder", "a"), ("new", "")))
    scheduler = Scheduler(make_cluster([full], [holder]))
    decision = scheduler.decide(pod)
    later = scheduler.moved(scheduler.cluster.with_pods(removed=[0]))
    assert later.decide(pod).best == ("a",)
    again = later.moved(later.cluster.with_pods(added=[holder])).decide(replace(pod, metadata=holder.metadata))
    (_, (reason,)) = decision.node("a").reasons[0]
    assert reason.detail == "wants 1 cpu, free 0 of 1"
    assert again.node("a").reasons == decision.node("a").reasons
