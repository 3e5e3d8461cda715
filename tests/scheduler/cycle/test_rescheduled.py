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
from kschedctl.scheduler.cycle.rescheduled import NodeColumns, RescheduledPods
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.interface import PreEnqueuePlugin
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import ZONE, make_cluster, make_namespace, make_node, make_object, make_pod, make_profile
from tests.example_counts import scaled
from tests.scheduler.cycle.test_alike_members import CONFIGS, RELEASE, busy_nodes, scheduler_of
from tests.scheduler.cycle.test_moved import objects
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


def verdicts(columns: NodeColumns, position: int) -> list[tuple[bool, Status, int | None, dict[str, int]]]:
    """Return what columns say about each node for one pod: whether it fits, the status, and the scores."""
    scores = {
        name: (column if len(column) == 1 else column[[position]])[0] for name, column in columns.weighted.items()
    }
    return [
        (
            bool(columns.fits[position, row]),
            columns.statuses[columns.said[position, row]],
            int(columns.total[position, row]) if columns.scored[position, row] else None,
            {name: int(column[row]) for name, column in scores.items() if column[row]},
        )
        for row in range(len(columns.names))
    ]


def n_shared(scheduler: Scheduler) -> int:
    """Check the verdicts for all running pods of the cluster; return how many of them needed no cycle of their own."""
    cluster, shared = scheduler.cluster, 0
    groups: dict[tuple[int, int], list[int]] = {}
    for index in np.flatnonzero(cluster.pods.node_row >= 0).tolist():
        record = cluster.pods.records[index]
        groups.setdefault((record.class_id, id(record.spec)), []).append(index)
    for group in groups.values():
        first, indices = cluster.pods.pod(group[0]), np.array(group, dtype=np.int64)
        rescheduled = RescheduledPods(scheduler.framework(first.spec.scheduler_name), first, indices)
        together = rescheduled.decide(indices)
        for position, index in enumerate(group if together is not None else ()):
            assert together is not None
            alone = rescheduled.decide(indices[[position]])
            assert alone is not None
            assert bool(alone.decided[0]) == bool(together.decided[position])
            if not together.decided[position]:
                continue
            shared += 1
            other = Scheduler(
                cluster.with_pods(removed=[index]), scheduler.release, scheduler.configuration, scheduler.registry
            )
            decision = schedule_pod(other.framework(first.spec.scheduler_name), cluster.pods.pod(index))
            expected = NodeColumns.of(decision)
            assert expected is not None
            for found, at in ((together, position), (alone, 0)):
                assert verdicts(found.columns, at) == verdicts(expected, 0)
                assert found.columns.best[at].tolist() == [name in decision.best for name in cluster.nodes.names]
                assert found.not_modelled.get(at, ()) == decision.not_modelled
            assert not decision.error
            assert decision.schedulable
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


class NotOfThree(PreEnqueuePlugin):
    """Holds pods back while the cluster has three others."""

    name = "NotOfThree"

    def pre_enqueue(self, pod: Pod) -> Status:
        return Status(Code.UNSCHEDULABLE, ("three pods",)) if len(self.handle.cluster.pods) == 3 else Status()


@pytest.mark.parametrize(("n_pods", "n_decided"), [(4, 0), (5, 5)])
def test_pre_enqueue_sees_the_cluster_without_the_pod(n_pods: int, n_decided: int) -> None:
    registry = in_tree_registry()
    registry.merge({NotOfThree.name: NotOfThree})
    configuration = load_configuration(
        make_profile(plugins={"multiPoint": {"enabled": [{"name": NotOfThree.name}]}}),
        release=RELEASE,
        implements=registry.extension_points(RELEASE),
        args_types=registry.args_types,
    )
    made = [make_node(f"n{i}", cpu="2") for i in range(5)]
    running = on_nodes(make_pod(), [node.name for node in made[:n_pods]])
    assert n_shared(Scheduler(make_cluster(made, running), RELEASE, configuration, Registry(registry))) == n_decided
