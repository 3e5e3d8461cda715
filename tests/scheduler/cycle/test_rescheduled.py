"""Running pods that are alike are decided for as if each of them ran its own cycle over the cluster without it."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.objects.core import Node, Service
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.rescheduled import RescheduledPods
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.explanation import FilterCheck
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin
from tests.builders import ZONE, make_cluster, make_namespace, make_node, make_object, make_pod
from tests.example_counts import scaled
from tests.scheduler.cycle.test_alike_members import CONFIGS, busy_nodes, scheduler_of
from tests.scheduler.cycle.test_moved import objects, whole
from tests.scheduler.devices import builders as devices
from tests.strategies import NAMESPACES, nodes, pods


def on_nodes(kind: Pod, names: Sequence[str]) -> list[Pod]:
    """Copies of a pod, in no group, one on each of the named nodes."""
    spec = replace(kind.spec, scheduling_group=None)
    return [
        replace(
            kind,
            metadata=replace(kind.metadata, name=f"{kind.name}-{i}", uid=f"uid-{kind.name}-{i}"),
            spec=replace(spec, node_name=name),
        )
        for i, name in enumerate(names)
    ]


def spread_out(data: st.DataObject, kind: Pod, made: Sequence[Node], most: int = 6) -> list[Pod]:
    """Copies of a pod on some nodes, perhaps several on one."""
    names = st.sampled_from([node.name for node in made])
    return on_nodes(kind, data.draw(st.lists(names, min_size=1, max_size=most)))


def explained(decision: Decision) -> list[tuple[FilterCheck, ...]]:
    """The verdicts of filters on each node, from their states."""
    plugins = decision.framework.plugins(ExtensionPoint.FILTER, FilterPlugin)
    rows = range(len(decision.cluster.nodes))
    return [plugin.explain_filter(decision.state, decision.pod, row) for plugin in plugins for row in rows]


def n_shared(scheduler: Scheduler) -> int:
    """Check the decisions for all running pods of the cluster; return how many of them needed no cycle of their own."""
    cluster, shared = scheduler.cluster, 0
    groups: dict[tuple[int, int], list[int]] = {}
    for index in np.flatnonzero(cluster.pods.node_row >= 0).tolist():
        record = cluster.pods.records[index]
        groups.setdefault((record.class_id, id(record.spec)), []).append(index)
    for indices in groups.values():
        first = cluster.pods.pod(indices[0])
        framework = scheduler.framework(first.spec.scheduler_name)
        rescheduled = RescheduledPods(framework, first, np.array(indices, dtype=np.int64))
        for index in indices:
            pod = cluster.pods.pod(index)
            found = rescheduled.decide(pod, index)
            if found is None:
                continue
            shared += 1
            alone = Scheduler(
                cluster.with_pods(removed=[index]), scheduler.release, scheduler.configuration, scheduler.registry
            )
            expected = schedule_pod(alone.framework(pod.spec.scheduler_name), pod)
            assert whole(found) == whole(expected)
            assert found.cluster.pods.index.get((pod.namespace, pod.name)) is None
            assert explained(found) == explained(expected)
    return shared


@given(data=st.data(), version=st.sampled_from(sorted(RELEASES)), config=st.sampled_from(sorted(CONFIGS)))
@settings(max_examples=scaled(150))
def test_running_pods_are_decided_for_as_one_by_one(data: st.DataObject, version: str, config: str) -> None:
    made, running, kinds = data.draw(busy_nodes())
    for kind in kinds:
        running += spread_out(data, kind, made)
    others: list[ApiObject] = [*objects(), devices.make_claim("gpu-claim", devices.request())]
    if data.draw(st.booleans()):
        others.append(make_object(Service, "s", namespace="default", spec={"selector": {"app": "a"}}))
    n_shared(scheduler_of(make_cluster(made, running, *others), config, RELEASES[version]))


@given(data=st.data(), version=st.sampled_from(sorted(RELEASES)), config=st.sampled_from(sorted(CONFIGS)))
@settings(max_examples=scaled(150))
def test_running_pods_that_count_for_each_other(data: st.DataObject, version: str, config: str) -> None:
    draw = data.draw
    made = draw(nodes("labels", *draw(st.sampled_from([(), ("offers",), ("taints", "offers")])), most=8))
    running: list[Pod] = []
    for number in range(draw(st.integers(1, 2))):
        relations = draw(st.sampled_from([("spread",), ("podAffinity",), ("spread", "podAffinity")]))
        others = draw(st.lists(st.sampled_from(["requests", "ports", "tolerations", "nodeAffinity"]), max_size=2))
        kind = draw(pods(*relations, *others, name=f"kind-{number}", namespaces=tuple(NAMESPACES)))
        running += spread_out(data, kind, made, 8)
    namespaces = [make_namespace(name, **labels) for name, labels in NAMESPACES.items()]
    n_shared(scheduler_of(make_cluster(made, running, *namespaces), config, RELEASES[version]))


LABELS = {"app": "a"}
TERM = {"topologyKey": ZONE, "labelSelector": {"matchLabels": LABELS}}
SOFT = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": TERM}]}


@pytest.mark.parametrize(
    ("pod", "n_cycles"),
    [
        (make_pod(labels=LABELS, requests={"cpu": "1"}), 0),
        (make_pod(labels=LABELS, ports=[80]), 0),
        (make_pod(labels=LABELS, affinity={"podAntiAffinity": SOFT}), 0),
        (
            make_pod(
                labels=LABELS, topologySpreadConstraints=[{**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
            ),
            0,
        ),
        # They fit nowhere, so preemption looks for victims.
        (make_pod(labels=LABELS, nodeSelector={"disk": "none"}), 4),
        (make_pod(labels=LABELS, schedulingGates=[{"name": "wait"}]), 4),
    ],
)
def test_most_pods_need_no_cycle(pod: Pod, n_cycles: int) -> None:
    made = [make_node(f"n{i}", zone=f"z{i % 2}", cpu="2") for i in range(4)]
    running = on_nodes(pod, [node.name for node in made])
    assert n_shared(scheduler_of(make_cluster(made, running))) == 4 - n_cycles


def test_nominated_pods_are_counted_by_cycles() -> None:
    made = [make_node(f"n{i}", cpu="2") for i in range(4)]
    running = [make_pod(f"pod-{i}", node=f"n{i}", requests={"cpu": "1"}) for i in range(4)]
    waiting = make_pod("waiting", nominated="n0", priority=1, requests={"cpu": "1"})
    assert n_shared(scheduler_of(make_cluster(made, running))) == 4
    assert n_shared(scheduler_of(make_cluster(made, [*running, waiting]))) == 0
