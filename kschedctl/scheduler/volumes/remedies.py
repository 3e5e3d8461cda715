"""Remedies of the volume plugins: the right name of a claim, or a copy of a volume."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import similar
from kschedctl.objects.selectors import IN, NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.remedy import Operation, Remedy, RemedyContext, Risk, patched, replace_operation
from kschedctl.scheduler.framework.remedy_scope import RemedyScope
from kschedctl.scheduler.volumes.pod_claims import claim_use
from kschedctl.scheduler.volumes.zones import LABEL_KEYS


def claim_remedies(context: RemedyContext, claim: str = "") -> Iterator[Remedy]:
    """Yield remedies that correct the name of a claim that does not exist.

    The name is replaced by a similar one of the namespace. A claim that exists is never replaced: the pod would start
    on other data. Claims that other pods mount, and those made for one pod, are not proposed.

    Parameters
    ----------
    claim : str
        The claim; empty for any.
    """
    pod, cluster = context.pod, context.cluster
    names = {other.name for other in cluster.list(PersistentVolumeClaim) if other.namespace == pod.namespace}
    wrong = [
        (i, source.claim_name)
        for i, volume in enumerate(pod.spec.volumes)
        if (source := volume.persistent_volume_claim) is not None
        and source.claim_name not in names
        and claim in ("", source.claim_name)
    ]
    if not wrong:
        return
    free = names - _mounted(cluster, pod.namespace)
    for i, name in wrong:
        for j, other in enumerate(similar(name, sorted(free))):
            yield context.pod_patch(
                f"use claim {other} instead of {name}, which does not exist",
                replace_operation(other, "spec", "volumes", i, "persistentVolumeClaim", "claimName"),
                risk=Risk.MISTAKE,
                family=("claim", i),
                within=j,
            )


def _mounted(cluster: Cluster, namespace: str) -> set[str]:
    """Return the claims of a namespace that pods mount or own."""
    owned = {
        each.name
        for each in cluster.list(PersistentVolumeClaim)
        if each.namespace == namespace and each.metadata.controller is not None
    }
    pods = (cluster.pods.pod(index) for index in range(len(cluster.pods)))
    used = (
        use.claim
        for pod in pods
        if pod.namespace == namespace
        for volume in pod.spec.volumes
        if (use := claim_use(pod, volume)) is not None
    )
    return owned.union(used)


def elsewhere_remedies(context: RemedyContext, claim: str, volume: str) -> Iterator[Remedy]:
    """Yield remedies that move the volume of a claim to the node's topology."""
    found = context.cluster.get(PersistentVolume, volume)
    labels = context.node.metadata.labels
    if found is not None:
        patch = [*_zone_labels(found, labels), *_node_affinity(found, labels)]
        if patch:
            where = labels.get(_zone_key(labels), context.node.name)
            yield Remedy(
                summary=f"move volume {volume} of claim {claim} to {where}: a copy of its data under the same name",
                scope=RemedyScope.CLUSTER,
                changes=(patched(found, *patch),),
                risk=Risk.DATA,
                family=("volume elsewhere", volume),
            )


def _zone_key(labels: dict[str, str]) -> str:
    return next((key for key in reversed(LABEL_KEYS) if key in labels and "zone" in key), HOSTNAME)


def _zone_labels(volume: PersistentVolume, labels: dict[str, str]) -> Iterator[Operation]:
    for key, value in volume.metadata.labels.items():
        if key in LABEL_KEYS and key in labels and labels[key] != value:
            yield replace_operation(labels[key], "metadata", "labels", key)


def _node_affinity(volume: PersistentVolume, labels: dict[str, str]) -> Iterator[Operation]:
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if required is None:
        return

    def here(requirement: NodeSelectorRequirement) -> NodeSelectorRequirement:
        value = labels.get(requirement.key)
        # A disk of one machine cannot be elsewhere.
        if requirement.operator != IN or value is None or value == labels.get(HOSTNAME):
            return requirement
        return replace(requirement, values=(value,))

    terms: tuple[NodeSelectorTerm, ...] = tuple(
        replace(term, match_expressions=tuple(here(each) for each in term.match_expressions))
        for term in required.node_selector_terms
    )
    if terms != required.node_selector_terms:
        yield replace_operation(replace(required, node_selector_terms=terms), "spec", "nodeAffinity", "required")
