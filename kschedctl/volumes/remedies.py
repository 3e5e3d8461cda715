"""Remedies of the volume plugins: another claim, the volume in another zone, or a class that waits for a consumer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.api.node_selector import NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.api.selectors import IN
from kschedctl.api.storage import StorageClass
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.api.well_known import HOSTNAME
from kschedctl.framework.remedy import Operation, Remedy, RemedyContext, Size, add_operation, patched, replace_operation
from kschedctl.framework.remedy_scope import RemedyScope
from kschedctl.volumes.claims import WAIT_FOR_FIRST_CONSUMER, claim_class
from kschedctl.volumes.pod_claims import claim_use, group_claims, pod_claims
from kschedctl.volumes.zones import LABEL_KEYS

#: The number of other claims of the namespace that are tried.
_MOST_CLAIMS: Final = 10


def claim_remedies(context: RemedyContext, claim: str = "") -> Iterator[Remedy]:
    """Yield remedies that replace a claim with another one of the namespace.

    Parameters
    ----------
    claim : str
        The claim to replace; empty for any.
    """
    pod, cluster = context.pod, context.cluster
    mounted = {use.claim for volume in pod.spec.volumes if (use := claim_use(pod, volume)) is not None}
    others = [
        other.name
        for other in cluster.list(PersistentVolumeClaim)
        if other.namespace == pod.namespace and other.name not in mounted and other.metadata.controller is None
    ]
    for i, volume in enumerate(pod.spec.volumes):
        source = volume.persistent_volume_claim
        if source is None or claim not in ("", source.claim_name):
            continue
        for j, other in enumerate(others[:_MOST_CLAIMS]):
            yield context.pod_patch(
                f"use claim {other} instead of {source.claim_name}",
                replace_operation(other, "spec", "volumes", i, "persistentVolumeClaim", "claimName"),
                size=Size.REPLACED,
                family=("claim", i),
                within=j,
            )


def elsewhere_remedies(context: RemedyContext, claim: str, volume: str) -> Iterator[Remedy]:
    """Yield remedies that move the volume of a claim to the node's topology, or use another claim."""
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
                size=Size.REPLACED,
                family=("volume elsewhere", volume),
                within=1,
            )
    yield from claim_remedies(context, claim)


def immediate_remedies(context: RemedyContext) -> Iterator[Remedy]:
    """Yield remedies for unbound claims: a class that waits for the first consumer, or another claim."""
    claims = group_claims(context.cluster, pod_claims(context.cluster, context.pod))
    for name in dict.fromkeys(claim_class(claim) for claim in claims.immediate):
        storage_class = context.cluster.get(StorageClass, name) if name else None
        if storage_class is not None and storage_class.volume_binding_mode != WAIT_FOR_FIRST_CONSUMER:
            mode = add_operation(WAIT_FOR_FIRST_CONSUMER, "volumeBindingMode")
            yield Remedy(
                summary=f"volumeBindingMode {WAIT_FOR_FIRST_CONSUMER} in StorageClass {name}, which is recreated",
                scope=RemedyScope.CLUSTER,
                changes=(patched(storage_class, mode),),
                size=Size.REPLACED,
                family="binding mode",
            )
    yield from claim_remedies(context)


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
        if requirement.operator != IN or value is None or requirement.key == HOSTNAME:
            return requirement
        return replace(requirement, values=(value,))

    terms: tuple[NodeSelectorTerm, ...] = tuple(
        replace(term, match_expressions=tuple(here(each) for each in term.match_expressions))
        for term in required.node_selector_terms
    )
    if terms != required.node_selector_terms:
        yield replace_operation(replace(required, node_selector_terms=terms), "spec", "nodeAffinity", "required")
