"""The check that running pods would still fit on their nodes, each with itself taken out.

Pods that are equal to the filters are checked together: one run of the filters has a hypothetical state per node with
such a pod, in which one of these pods is gone. The variables ``worlds`` and ``world`` stand for these states.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.common.arrays import Rows
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.selectors import NodeSelector, NodeSelectorTerm, SelectorError, parse_node_term
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.devices.extended_resources import is_extended_claim, without_extended_claim
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.framework.node_statuses import FilterRun
from kschedctl.scheduler.framework.status import Code, Rejections, Status
from kschedctl.scheduler.plugins.node_ports import NodePorts
from kschedctl.scheduler.plugins.volume_restrictions import VolumeRestrictions

_encode = msgspec.msgpack.Encoder().encode
#: The owner kind of a static pod: a kubelet created it from a file of its own, and no scheduler has seen it.
STATIC_OWNER: Final = "Node"


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A running pod that would not fit on its node any more."""

    #: The index of the pod in ``Cluster.pods``.
    pod: int
    #: The refusal at which kube-scheduler would stop.
    status: Status
    #: The refusals of all plugins, in the profile's order.
    refusals: tuple[Status, ...]
    #: True if the pod's node affinity names other nodes (``metadata.name``).
    named_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class BoundPods:
    """The result for all pods on nodes."""

    #: The number of pods that would still fit.
    feasible: int
    #: The pods that would not fit, in the order of the snapshot.
    misplaced: tuple[Misplaced, ...]
    #: The number of pods of schedulers that the configuration does not have, of pods that kubelets created
    #: themselves, and of pods whose node the snapshot does not have.
    other_scheduler: int
    #: The number of pods of schedulers that the configuration does not have, of pods that kubelets created
    #: themselves, and of pods whose node the snapshot does not have.
    static: int
    #: The number of pods of schedulers that the configuration does not have, of pods that kubelets created
    #: themselves, and of pods whose node the snapshot does not have.
    lost: int


@dataclass(frozen=True, slots=True)
class _Alike:
    """A group of pods that are equal to the filters: one pod for all of them, and their indices by node row."""

    pod: Pod
    by_row: dict[int, list[int]]


def check_bound_pods(scheduler: Scheduler, handle: AnalysisHandle, namespace: str = "") -> BoundPods:
    """Check for every pod on a node that it would still fit there.

    Nominated pods are not counted, as the running pod was there before them.

    Args:
        namespace: The only namespace to look in; empty for all.
    """
    pods = scheduler.cluster.pods
    rows = pods.node_row
    asked: list[int] = []
    others = static = lost = 0
    for index, record in enumerate(pods.records):
        if not record.node_name or namespace not in ("", record.metadata.namespace):
            continue
        owner = pods.owner(index)
        if rows[index] < 0:
            lost += 1
        elif owner is not None and owner.kind == STATIC_OWNER:
            static += 1
        elif record.spec.scheduler_name in scheduler.configuration.profiles:
            asked.append(index)
        else:
            others += 1
    misplaced: list[Misplaced] = []
    claims = filter(is_extended_claim, scheduler.cluster.list(ResourceClaim))
    with_extended = {owner.uid for claim in claims if (owner := claim.metadata.controller) is not None}
    for group in handle.track(list(_grouped(scheduler, asked, with_extended)), "comparing running pods"):
        own = scheduler
        if group.pod.metadata.uid in with_extended:
            own = scheduler.moved(without_extended_claim(scheduler.cluster, group.pod))
        misplaced += _misplaced(own, group)
    ordered = tuple(sorted(misplaced, key=lambda found: found.pod))
    return BoundPods(len(asked) - len(misplaced), ordered, others, static, lost)


def _grouped(scheduler: Scheduler, indices: list[int], apart: Container[str]) -> Iterator[_Alike]:
    pods = scheduler.cluster.pods
    names = scheduler.cluster.nodes.names
    # Equal pods share a spec, so that the identity of the spec can serve as a key.
    known: dict[tuple[int, int], tuple[PodSpec, bytes]] = {}
    groups: dict[tuple[int, bytes, int], _Alike] = {}
    for index in indices:
        record = pods.records[index]
        row = int(pods.node_row[index])
        key = id(record.spec), row if names_nodes(record.spec) else -1
        found = known.get(key)
        if found is None:
            spec = _on_node(record.spec, names[row])
            found = known[key] = spec, _encode(spec)
        spec, meaning = found
        class_id = int(pods.class_id[index])
        group_key = (
            class_id,
            meaning,
            index
            if (bool(spec.resource_claims) or any(volume.ephemeral is not None for volume in spec.volumes))
            or record.metadata.uid in apart
            else -1,
        )
        group = groups.get(group_key)
        if group is None:
            own = record.status.resource_claim_statuses
            status = replace(pods.classes[class_id].pod.status, resource_claim_statuses=own)
            pod = Pod(metadata=record.metadata, spec=spec, status=status)
            group = groups[group_key] = _Alike(pod, {})
        group.by_row.setdefault(row, []).append(index)
    yield from groups.values()


def _misplaced(scheduler: Scheduler, group: _Alike) -> Iterator[Misplaced]:
    framework = scheduler.framework(group.pod.spec.scheduler_name)
    state = CycleState()
    rows = np.array(sorted(group.by_row), dtype=np.int64)
    everywhere = Status()
    node_names = None
    try:
        outcome = framework.run_pre_filter(state, group.pod)
        everywhere, node_names = outcome.status, outcome.node_names
    except PluginError as error:
        everywhere = Status(Code.ERROR, (str(error),))
    if everywhere.code is not Code.SUCCESS:
        for indices in group.by_row.values():
            yield from (Misplaced(index, everywhere, (everywhere,)) for index in indices)
        return
    worlds = framework.cluster.overlay(rows)
    gone = [group.by_row[row][0] for row in rows.tolist()]
    worlds.remove(np.arange(len(rows)), np.array(gone, dtype=np.int64))
    run = _without_themselves(scheduler, group.pod, gone, framework.run_filters(state, group.pod, worlds))
    for world, row in enumerate(rows.tolist()):
        status = run.status(world)
        every = (run.rejections[plugin].status(world, plugin) for plugin in run.plugins)
        refusals = tuple(refusal for refusal in every if refusal.code is not Code.SUCCESS)
        named_elsewhere = False
        if node_names is not None and framework.cluster.nodes.names[row] not in node_names:
            text = f"node(s) didn't satisfy plugin(s) [{' '.join(outcome.plugins)}]"
            status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), " ".join(outcome.plugins))
            refusals, named_elsewhere = (status, *refusals), names_nodes(group.pod.spec)
        if status.code is not Code.SUCCESS:
            yield from (Misplaced(index, status, refusals, named_elsewhere) for index in group.by_row[row])


def _without_themselves(scheduler: Scheduler, pod: Pod, gone: list[int], run: FilterRun) -> FilterRun:
    """Return the verdicts, corrected for the plugins for which an overlay removes too much."""
    rows = run.rows
    again: dict[str, Rejections] = {}
    if NodePorts.name in run.rejections:
        again[NodePorts.name] = _really_gone(scheduler, pod, rows, gone, NodePorts.name)
    if VolumeRestrictions.name in run.rejections:
        # A claim is in use on every node where a pod has it, so each node is judged with only its own pod removed.
        each = [
            _really_gone(scheduler, pod, rows[i : i + 1], gone[i : i + 1], VolumeRestrictions.name)
            for i in range(len(rows))
        ]
        statuses = tuple(one.status(0) for one in each)
        refused = np.array([i if status.code else -1 for i, status in enumerate(statuses)], dtype=np.int64)
        again[VolumeRestrictions.name] = Rejections.choose(refused, statuses)
    return FilterRun.of(rows, {**run.rejections, **again}) if again else run


def _really_gone(scheduler: Scheduler, pod: Pod, rows: Rows, gone: list[int], plugin: str) -> Rejections:
    """Return the verdicts of a plugin over a cluster without the pods.

    In an overlay, host ports and exclusive claims are sets: removing a pod also removes what another pod has in common
    with it.
    """
    others = scheduler.cluster.with_pods(removed=gone)
    framework, state = scheduler.moved(others).framework(pod.spec.scheduler_name), CycleState()
    framework.run_pre_filter(state, pod)
    said = framework.run_filters(state, pod, others.overlay(rows)).rejections
    # A plugin without any effect on the pod skips itself.
    return said[plugin] if plugin in said else Rejections.everywhere(len(rows), Status())


def _required(spec: PodSpec) -> NodeSelector | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None


def names_nodes(spec: PodSpec) -> bool:
    """Report whether a pod's required affinity names nodes, as that of the pods of a DaemonSet does."""
    required = _required(spec)
    return required is not None and any(term.match_fields for term in required.node_selector_terms)


def _on_node(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec for one node, with the terms of its affinity about the node's name resolved.

    The pods of a DaemonSet name their node; without that term they are all equal.
    """
    required = _required(spec)
    if required is None or not names_nodes(spec):
        return spec
    left: list[NodeSelectorTerm] = []
    for term in required.node_selector_terms:
        try:
            parsed = parse_node_term(term)
        except SelectorError:
            # The filter reports a term that cannot be read.
            return spec
        if parsed is None or not all(field.holds(node) for field in parsed.fields):
            continue
        if not term.match_expressions:
            return _with_required(spec, None)
        left.append(replace(term, match_fields=()))
    return _with_required(spec, NodeSelector(tuple(left))) if left else spec


def _with_required(spec: PodSpec, required: NodeSelector | None) -> PodSpec:
    assert spec.affinity is not None
    assert spec.affinity.node_affinity is not None
    own = replace(spec.affinity.node_affinity, required_during_scheduling_ignored_during_execution=required)
    return replace(spec, affinity=replace(spec.affinity, node_affinity=own))
