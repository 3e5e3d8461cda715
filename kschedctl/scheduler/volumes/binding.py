"""The volumes and claims of a pod after it is bound: claims get the volumes found for them, or provisioned ones.

Source: the binder's ``BindPodVolumes``, and the subsequent actions of the PersistentVolume controller and provisioners.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.selectors import IN, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.objects.volume import (
    CSINode,
    CSIVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    TypedObjectReference,
    VolumeNodeAffinity,
)
from kschedctl.scheduler.framework.effects import ObjectChange
from kschedctl.scheduler.volumes.binder_results import FoundVolumes
from kschedctl.scheduler.volumes.claims import BIND_COMPLETED, SELECTED_NODE

_BOUND: Final = "Bound"
_YES: Final = "yes"


def bind_pod_volumes(cluster: Cluster, found: FoundVolumes, row: int) -> Iterator[ObjectChange]:
    """Yield the volumes and claims that change when a pod with claims is bound to a node.

    Parameters
    ----------
    found : FoundVolumes
        The binder's results for the pod.
    row : int
        The row of the node.
    """
    node = cluster.nodes.objects[row]
    for match in found.matches:
        if match.choice[row] >= 0:
            volume = match.candidates[int(match.choice[row])]
            yield ObjectChange(_taken(volume, match.claim), volume)
            yield ObjectChange(_bound(match.claim, volume.name), match.claim)
    for check in found.provisions:
        if check.needed[row]:
            volume = _provisioned(cluster, check.claim, check.provisioning.storage_class, node)
            yield ObjectChange(volume)
            selected = {**check.claim.metadata.annotations, SELECTED_NODE: node.name}
            claim = replace(check.claim, metadata=replace(check.claim.metadata, annotations=selected))
            yield ObjectChange(_bound(claim, volume.name), check.claim)


def _taken(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    reference = TypedObjectReference(
        kind="PersistentVolumeClaim", namespace=claim.namespace, name=claim.name, uid=claim.metadata.uid
    )
    return replace(volume, spec=replace(volume.spec, claim_ref=reference), status=PersistentVolumeStatus(phase=_BOUND))


def _bound(claim: PersistentVolumeClaim, volume: str) -> PersistentVolumeClaim:
    annotations = {**claim.metadata.annotations, BIND_COMPLETED: _YES}
    return replace(
        claim,
        metadata=replace(claim.metadata, annotations=annotations),
        spec=replace(claim.spec, volume_name=volume),
        status=replace(claim.status, phase=_BOUND),
    )


def _provisioned(
    cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node
) -> PersistentVolume:
    """Return the volume that a provisioner creates for a claim whose pod is scheduled to a node."""
    name = f"pvc-{claim.metadata.uid or f'{claim.namespace}-{claim.name}'}"
    volume = PersistentVolume(
        metadata=ObjectMeta(name=name),
        spec=PersistentVolumeSpec(
            capacity=claim.spec.resources.requests,
            access_modes=claim.spec.access_modes,
            storage_class_name=storage_class.name,
            volume_mode=claim.spec.volume_mode,
            node_affinity=_topology(cluster, storage_class, node),
            csi=CSIVolumeSource(driver=storage_class.provisioner, volume_handle=name),
        ),
    )
    return _taken(volume, claim)


def _topology(cluster: Cluster, storage_class: StorageClass, node: Node) -> VolumeNodeAffinity | None:
    """Return the topology of a volume: the node's domain, by the topology keys of its driver or of the class."""
    csi_node = cluster.get(CSINode, node.name)
    drivers = csi_node.spec.drivers if csi_node is not None else ()
    keys = [key for driver in drivers if driver.name == storage_class.provisioner for key in driver.topology_keys]
    if not keys:
        terms = storage_class.allowed_topologies
        keys = [requirement.key for term in terms for requirement in term.match_label_expressions]
    labels = node.metadata.labels
    requirements = tuple(
        NodeSelectorRequirement(key=key, operator=IN, values=(labels[key],))
        for key in dict.fromkeys(keys)
        if key in labels
    )
    if not requirements:
        return None
    term = NodeSelectorTerm(match_expressions=requirements)
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
