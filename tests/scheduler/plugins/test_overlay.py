"""An answer under an overlay equals the answer on a snapshot in which the pods were really removed or added."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import Plugin
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity
from kschedctl.scheduler.plugins.node_ports import NodePorts
from kschedctl.scheduler.plugins.node_resources.fit import NodeResourcesFit
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from kschedctl.testing.contract import plugin_checks
from kschedctl.testing.samples import Sample, SampleObjects
from tests.builders import (
    ZONE,
    decide,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
    said,
)
from tests.strategies import pods, uses_ports_once, worlds


@pytest.mark.parametrize(
    ("plugin", "aspect", "of_nodes"),
    [
        pytest.param(NodeResourcesFit, "requests", ("offers",), id="resources"),
        pytest.param(NodePorts, "ports", ("labels",), id="ports"),
        pytest.param(PodTopologySpread, "spread", ("labels",), id="spread"),
        pytest.param(PodTopologySpread, "spread", ("labels", "taints"), id="spread over tainted nodes"),
        pytest.param(InterPodAffinity, "podAffinity", ("labels",), id="pod affinity"),
    ],
)
@given(data=st.data())
def test_overlay_equals_really_changing(
    plugin: type[Plugin], aspect: str, of_nodes: tuple[str, ...], data: st.DataObject
) -> None:
    world = data.draw(worlds(aspect, of_nodes=of_nodes, pending=2).filter(lambda world: uses_ports_once(world.pods)))
    pod = data.draw(pods(aspect, "nodeSelector", "tolerations").filter(_selects_something))
    sample = Sample("drawn", pod, SampleObjects((*world.nodes, *world.pods, *world.namespaces)))
    checks = {check.clause.__name__: check for check in plugin_checks(plugin, samples=[sample])}
    checks["overlay_equals_really_changing"]()


def _selects_something(pod: Pod) -> bool:
    """Leave out what the scheduler itself counts differently; see the table below."""
    constraints = pod.spec.topology_spread_constraints
    return all(constraint.label_selector != LabelSelector() for constraint in constraints)


WEB = {"app": "web"}
NODES = [make_node("a", zone="a", taints=["closed:NoSchedule"]), make_node("b", zone="b")]


def spread_by(selector: dict[str, object], *, priority: int = 0) -> Pod:
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return make_pod(labels=WEB, priority=priority, topologySpreadConstraints=[constraint])


@pytest.mark.parametrize(
    ("terminating", "nominated"),
    [
        # One pod in zone a, two that count in zone b.
        pytest.param([], ("b",), id="a victim that counts: 2 + 1 - 1 = 2, without it 1 + 1 - 1"),
        pytest.param(["victim"], ("b",), id="a terminating one does not count, yet it is taken off: 1 + 1 - 1 = 1"),
    ],
)
def test_spreading_takes_off_what_it_did_not_count(terminating: list[str], nominated: tuple[str, ...]) -> None:
    running = [
        make_pod("a1", node="a", labels=WEB, priority=9),
        make_pod("b1", node="b", labels=WEB, priority=9),
        *([make_pod("b2", node="b", labels=WEB, priority=9)] if terminating else []),
        make_pod("victim", node="b", labels=WEB, terminating=bool(terminating)),
    ]
    decision = decide(spread_by({"matchLabels": WEB}, priority=5), make_cluster(NODES, running))
    assert said(decision, "PodTopologySpread", "b").code is Code.UNSCHEDULABLE
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == nominated


def test_spreading_by_an_empty_selector_counts_only_what_is_added() -> None:
    running = [make_pod(f"b{i}", node="b", labels=WEB) for i in range(3)]
    assert decide(spread_by({}), make_cluster(NODES, running)).best == ("b",)
    waiting = make_pod("waiting", labels=WEB, nominated="b")
    assert decide(spread_by({}), make_cluster(NODES, [*running, waiting])).best == ()


def port_80(name: str, priority: int, node: str = "") -> Pod:
    container = {"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}
    return make_pod(name, node=node, priority=priority, containers=[container])


def test_a_victim_frees_its_port_although_another_pod_has_the_same() -> None:
    running = [port_80("low", 0, "a"), port_80("high", 9, "a")]
    decision = decide(port_80("pod", 5), make_cluster([make_node("a")], running))
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("a",)


def test_a_nominated_pod_holds_its_port_whoever_is_removed() -> None:
    waiting = make_pod("waiting", nominated="a", priority=9, containers=[{"name": "c", "ports": [{"hostPort": 80}]}])
    decision = decide(port_80("pod", 5), make_cluster([make_node("a")], [port_80("low", 0, "a"), waiting]))
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ()


@pytest.mark.parametrize(("version", "best"), [("1.36", ("a",)), ("1.37", ())])
def test_a_pod_that_waits_at_a_gate_holds_room_on_the_node_it_is_nominated_to_from_1_37_on(
    version: str, best: tuple[str, ...]
) -> None:
    gated = make_pod("gated", nominated="a", requests={"cpu": "4"}, schedulingGates=[{"name": "quota"}])
    cluster = make_cluster([make_node("a", cpu="4")], [gated])
    assert decide(make_pod(requests={"cpu": "1"}), cluster, release=RELEASES[version]).best == best


PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"
VOLUME_NODES = ("a", "b", "c")
SHARED = ("one", "two", "three", "four")
MOST_PODS = 6


@dataclass(frozen=True)
class Case:
    limits: tuple[tuple[int | None, int | None], ...]
    pods: tuple[Pod, ...]
    pod: Pod
    removed: frozenset[int]
    added: tuple[tuple[int, int], ...]

    def cluster(self, pods: list[Pod]) -> Cluster:
        # Some volumes are disks of AWS, which a pod can name directly as well.
        sources = [None, {"awsElasticBlockStore": {"volumeID": "disk-1"}}, None, None]
        volumes = [
            make_volume(f"pv-{name}", claim=f"default/{name}", source=source)
            for name, source in zip(SHARED, sources, strict=True)
        ]
        objects = [
            make_storage_class(),
            *volumes,
            *(make_claim(name, bound=f"pv-{name}") for name in SHARED),
            *(make_claim(f"late-{i}") for i in range(MOST_PODS)),
            *(make_claim(f"alone-{i}", modes=["ReadWriteOncePod"]) for i in range(MOST_PODS)),
            *(
                make_csi_node(node, limits={DRIVER: d, EBS: e})
                for node, (d, e) in zip(VOLUME_NODES, self.limits, strict=True)
            ),
        ]
        return make_cluster([make_node(name) for name in VOLUME_NODES], pods, *objects)


#: A disk that has no equivalent, so that its pod is an error wherever volumes are counted.
BROKEN = "broken"


def disk(name: str) -> dict[str, Any]:
    if name == BROKEN:
        return {"name": name, "azureDisk": {"diskURI": name, "kind": "Shared"}}
    return {"name": name, "awsElasticBlockStore": {"volumeID": name}}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    limit = st.one_of(st.none(), st.integers(0, 4))
    pods = []
    for i in range(draw(st.integers(0, MOST_PODS))):
        # A ReadWriteOncePod claim has one user at most, as in a cluster.
        claims = draw(st.lists(st.sampled_from([*SHARED, f"late-{i}", f"alone-{i}"]), max_size=4))
        disks = draw(
            st.lists(st.sampled_from(["disk-1", "disk-1", "disk-2", "disk-2", BROKEN]), max_size=2, unique=True)
        )
        node = draw(st.sampled_from(["", *VOLUME_NODES]))
        pods.append(make_pod(f"p{i}", node=node, volumes=[*mount(*claims), *map(disk, disks)]))
    wanted = draw(st.lists(st.sampled_from([*SHARED, *(f"late-{i}" for i in range(3)), "alone-0"]), max_size=4))
    # With a disk of its own, the pod makes VolumeRestrictions look in any case.
    pod = make_pod(volumes=[*mount(*wanted), disk(draw(st.sampled_from(["disk-1", "disk-3"])))])
    running = [i for i, p in enumerate(pods) if p.spec.node_name]
    pending = [i for i, p in enumerate(pods) if not p.spec.node_name]
    removed = draw(st.frozensets(st.sampled_from(running))) if running else frozenset()
    added = (
        draw(st.lists(st.tuples(st.sampled_from(pending), st.integers(0, 2)), unique_by=lambda a: a[0]))
        if pending
        else []
    )
    return Case(tuple(draw(st.tuples(limit, limit)) for _ in VOLUME_NODES), tuple(pods), pod, removed, tuple(added))


def statuses(cluster: Cluster, pod: Pod, worlds: Overlay) -> dict[str, list[Status]]:
    framework = Scheduler(cluster).framework("default-scheduler")
    state = CycleState()
    framework.run_pre_filter(state, pod)
    run = framework.run_filters(state, pod, worlds)
    everywhere = [Status()] * len(worlds)
    return {
        plugin: [run.rejections[plugin].status(i) for i in range(len(worlds))]
        if plugin in run.rejections
        else everywhere
        for plugin in PLUGINS
    }


@given(cases())
def test_overlay_equals_really_changing_the_pods(case: Case) -> None:
    cluster = case.cluster(list(case.pods))
    worlds = cluster.overlay()
    for i in sorted(case.removed):
        worlds.remove(cluster.pods.node_row[[i]], np.array([i]))
    for i, row in case.added:
        worlds.add(np.array([row]), np.array([i]))
    found = statuses(cluster, case.pod, worlds)
    for row, name in enumerate(VOLUME_NODES):
        here = dict.fromkeys(i for i, at in case.added if at == row)
        really = [
            replace(p, spec=replace(p.spec, node_name=name if i in here else p.spec.node_name))
            for i, p in enumerate(case.pods)
            if not (i in case.removed and p.spec.node_name == name)
        ]
        changed = case.cluster(really)
        expected = statuses(changed, case.pod, changed.overlay())
        for plugin in PLUGINS:
            assert found[plugin][row] == expected[plugin][row], (plugin, name)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_part_of_the_nodes_is_judged_as_all_of_them(plugin: str) -> None:
    case = Case(
        ((1, 1), (0, 0), (None, None)), (), make_pod(volumes=[*mount("one", "two"), disk("disk-1")]), frozenset(), ()
    )
    cluster = case.cluster([make_pod("p", node="a", volumes=[*mount("one"), disk("disk-1")])])
    every = statuses(cluster, case.pod, cluster.overlay())[plugin]
    some = statuses(cluster, case.pod, cluster.overlay(np.array([2, 0])))[plugin]
    assert some == [every[2], every[0]]
