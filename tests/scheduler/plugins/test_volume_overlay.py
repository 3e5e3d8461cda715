"""The volume plugins' results for an overlay equal those for a cluster in which the pods are really changed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.status import Status
from tests.builders import (
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)

PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"
NODES = ("a", "b", "c")
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
            *(make_csi_node(node, limits={DRIVER: d, EBS: e}) for node, (d, e) in zip(NODES, self.limits, strict=True)),
        ]
        return make_cluster([make_node(name) for name in NODES], pods, *objects)


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
        node = draw(st.sampled_from(["", *NODES]))
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
    return Case(tuple(draw(st.tuples(limit, limit)) for _ in NODES), tuple(pods), pod, removed, tuple(added))


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
    for row, name in enumerate(NODES):
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
