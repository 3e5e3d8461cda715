"""``capacity``: the number of further copies of a pod that fit, one after another, and what stops the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from kschedctl.analyses.explain.answer import explanation
from kschedctl.analyses.handle import AnalysisHandle
from kschedctl.analyses.provenance import Provenance, envelope, provenance
from kschedctl.analyses.subjects import PodSubject
from kschedctl.answers.capacity import NodeCopiesData, PodCapacity, ZoneCopiesData
from kschedctl.api.pod import Pod
from kschedctl.api.well_known import zone_of
from kschedctl.api.wording import counted
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.simulate.capacity import CopyCount
from kschedctl.simulate.capacity import capacity as count_copies


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
    return tuple(_capacity(cluster, one, request.most) for one in handle.track(request.copied, "filling the cluster"))


def _capacity(cluster: LoadedCluster, one: PodSubject, most: int | None) -> PodCapacity:
    pod = cluster.admit(one.pod, where=one.where).pod
    fresh = replace(pod, spec=replace(pod.spec, node_name=""), status=type(pod.status)())
    found = count_copies(cluster.scheduler, lambda number: _copy(fresh, number), most)
    name = f"pod {pod.key}"
    if one.workload is not None:
        name = f"{one.workload.kind} {one.workload.namespace}/{one.workload.name}"
    return capacity_answer(name, found, provenance(cluster, cluster.missing(one.pod), pod=one.pod))


def _copy(pod: Pod, number: int) -> Pod:
    """Return a copy under a name that no pod can have, so that the copy cannot clash with a pod of the cluster."""
    return replace(pod, metadata=replace(pod.metadata, name=f"{pod.metadata.name}+{number + 1}", uid=""))


def capacity_answer(name: str, found: CopyCount, rests_on: Provenance) -> PodCapacity:
    """Return the answer for one pod.

    Parameters
    ----------
    name : str
        The pod or workload that is copied, with its kind.
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
        summary=_summary(name, found, len(copies)),
        name=name,
        pod=told.pod,
        copies=found.total,
        bounded=found.bounded,
        nodes=copies,
        zones=tuple(_zones(copies, zones)),
        message=decision.error or decision.message,
        refusals=tuple(node for node in told.nodes if not node.fits),
    )


def _summary(name: str, found: CopyCount, n_nodes: int) -> str:
    if not found.total:
        return f"{name}: no more pods fit"
    verb = "fits" if found.total == 1 else "fit"
    least = "at least " if found.bounded else ""
    return f"{name}: {least}{counted(found.total, 'more pod')} {verb}, on {counted(n_nodes, 'node')}"


def _zones(copies: tuple[NodeCopiesData, ...], zones: list[str]) -> Iterator[ZoneCopiesData]:
    for zone in sorted(set(zones)):
        own = [node for node in copies if node.zone == zone]
        yield ZoneCopiesData(zone, len(own), sum(node.copies for node in own))
