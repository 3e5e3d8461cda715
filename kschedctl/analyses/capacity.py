"""``capacity``: the number of further copies of a pod that fit, one after another, and what stops the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from kschedctl.analyses.explain.answer import explanation
from kschedctl.analyses.gang_capacity import gang_copies, group_to_copy
from kschedctl.analyses.handle import AnalysisHandle
from kschedctl.analyses.provenance import Provenance, envelope, provenance
from kschedctl.analyses.subjects import PodSubject
from kschedctl.answers.capacity import GangCopiesData, NodeCopiesData, PodCapacity, ZoneCopiesData
from kschedctl.api.pod import Pod
from kschedctl.api.well_known import zone_of
from kschedctl.api.wording import counted
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.simulate.capacity import CopyCount
from kschedctl.simulate.capacity import capacity as count_copies
from kschedctl.simulate.gang_capacity import GangCount


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRequest:
    """A question about the capacity for copies of pods.

    Attributes
    ----------
    pods : sequence of PodSubject
        The pods, each with an answer of its own; of a workload's pods, one is copied.
    most : int or None
        The number of copies after which the search ends; ``None`` for no limit.
    """

    pods: tuple[PodSubject, ...]
    most: int | None = None

    @property
    def copied(self) -> list[PodSubject]:
        """The pods that are copied: one per workload."""
        first: dict[object, PodSubject] = {}
        for one in self.pods:
            workload = one.workload
            key = (workload.kind, workload.namespace, workload.name) if workload is not None else one.pod.key
            first.setdefault(key, one)
        return list(first.values())


def capacity(cluster: LoadedCluster, request: CapacityRequest, handle: AnalysisHandle) -> tuple[PodCapacity, ...]:
    """Count the further copies of each pod that fit, one after another, without any eviction."""
    cluster.require_nodes()
    units: dict[tuple[str, str], list[PodSubject]] = {}
    for one in request.copied:
        group = group_to_copy(cluster, one.pod)
        units.setdefault((group.key, "") if group is not None else ("", one.key), []).append(one)
    return tuple(_capacity(cluster, unit, request.most) for unit in handle.track(units.values(), "filling the cluster"))


def _capacity(cluster: LoadedCluster, unit: list[PodSubject], most: int | None) -> PodCapacity:
    one = unit[0]
    pods = [cluster.find(each.pod, where=each.where) for each in unit]
    missing = (each for pod in pods for each in cluster.missing_for(pod, preempts=False, is_scored=True))
    rests_on = provenance(cluster, dict.fromkeys(missing), pod=one.pod)
    group = group_to_copy(cluster, one.pod)
    if group is not None:
        copies, gang = gang_copies(cluster, group, unit, most)
        return capacity_answer(gang.title, copies, rests_on, gang)
    pod = cluster.admit(one.pod, where=one.where).pod
    fresh = replace(pod, spec=replace(pod.spec, node_name=""), status=type(pod.status)())
    found = count_copies(cluster.scheduler, lambda number: _copy(fresh, number), most)
    name = f"pod {pod.key}"
    if one.workload is not None:
        name = f"{one.workload.kind} {one.workload.namespace}/{one.workload.name}"
    return capacity_answer(name, found, rests_on)


def _copy(pod: Pod, number: int) -> Pod:
    """Return a copy under a name that no pod can have, so that the copy cannot clash with a pod of the cluster."""
    return replace(pod, metadata=replace(pod.metadata, name=f"{pod.metadata.name}+{number + 1}", uid=""))


def capacity_answer(
    name: str, found: CopyCount | GangCount, rests_on: Provenance, gang: GangCopiesData | None = None
) -> PodCapacity:
    """Return the answer for one pod or pod group.

    Parameters
    ----------
    name : str
        The pod, workload or group that is copied, with its kind.
    gang : GangCopiesData, optional
        The group that is copied; by default a single pod is.
    """
    decision = found.next
    told = explanation(decision, rests_on)
    nodes = decision.cluster.nodes
    zones = [zone_of(node.metadata.labels) for node in nodes.objects]
    order = np.lexsort((np.array(nodes.names), -found.counts)).tolist()
    copies = tuple(
        NodeCopiesData(nodes.names[row], zones[row], int(found.counts[row])) for row in order if found.counts[row]
    )
    return PodCapacity(
        **envelope(decision.cluster, rests_on, decision.not_modelled),
        summary=_summary(name, found, len(copies), gang),
        name=name,
        pod=told.pod,
        copies=found.total,
        bounded=found.bounded,
        nodes=copies,
        zones=tuple(_zones(copies, zones)),
        message=decision.error or decision.message or ("" if found.total else decision.pre_enqueue.message),
        refusals=tuple(node for node in told.nodes if not node.fits),
        gang=gang,
    )


def _summary(name: str, found: CopyCount | GangCount, n_nodes: int, gang: GangCopiesData | None) -> str:
    kind, size = (gang.kind, f" of {counted(gang.pods, 'pod')}") if gang is not None else ("pod", "")
    if not found.total:
        return f"{name}: no more {kind}s{size} fit"
    verb = "fits" if found.total == 1 else "fit"
    least = "at least " if found.bounded else ""
    return f"{name}: {least}{counted(found.total, f'more {kind}')}{size} {verb}, on {counted(n_nodes, 'node')}"


def _zones(copies: tuple[NodeCopiesData, ...], zones: list[str]) -> Iterator[ZoneCopiesData]:
    for zone in sorted(set(zones)):
        own = [node for node in copies if node.zone == zone]
        yield ZoneCopiesData(zone, len(own), sum(node.copies for node in own))
