"""Explanation of why a node is not for a volume: the claim, the volume, and the labels of the node and the volume."""

from __future__ import annotations

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.meta import Labels
from kschedctl.objects.selectors import IN, Requirement, Selector
from kschedctl.objects.volume import PersistentVolume, TopologySelectorTerm
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.volumes.binder import Binder
from kschedctl.scheduler.volumes.binder_results import BoundCheck, FoundVolumes, ProvisionCheck
from kschedctl.scheduler.volumes.claims import SELECTED_NODE, requested_storage, required_affinity
from kschedctl.scheduler.volumes.migration import in_tree_plugin, migrated_affinity
from kschedctl.scheduler.volumes.provisioning import capacities, volume_limit
from kschedctl.scheduler.volumes.reasons import (
    NotEnoughStorage,
    NotProvisioned,
    ProvisionedElsewhere,
    ProvisionedForOtherNodes,
    VolumeForNoNode,
    VolumeForOtherNodes,
    VolumeMissing,
    VolumeNotTranslated,
)
from kschedctl.scheduler.volumes.topology import label_terms


def explain_bound(binder: Binder, check: BoundCheck, node: Node, row: int) -> Operands:
    """Explain why a bound claim's volume cannot be reached from a node.

    Parameters
    ----------
    binder : Binder
        The binder that made the check.
    row : int
        The row of the node.
    """
    claim = check.claim.name
    if check.volume is None:
        return VolumeMissing(claim, check.claim.spec.volume_name)
    volume = check.volume.name
    if check.problem and binder.topology.needs_translation(check.volume)[row]:
        return VolumeNotTranslated(claim, volume, check.problem)
    failing = failing_requirements(binder, check.volume, node.metadata.labels, row)
    if not failing:
        return VolumeForNoNode(claim, volume)
    return VolumeForOtherNodes(claim, volume, failing, _labels_in(failing, node.metadata.labels))


def failing_requirements(
    binder: Binder, volume: PersistentVolume, labels: Labels, row: int
) -> tuple[tuple[Requirement, ...], ...]:
    """Return the requirements that a node's labels do not meet, for each term of a volume's node affinity."""
    affinity = required_affinity(volume)
    plugin = in_tree_plugin(volume.spec)
    if plugin is not None and binder.topology.needs_translation(volume)[row]:
        affinity = migrated_affinity(volume, plugin)
    if affinity is None:
        return ()
    return tuple(
        tuple(requirement for requirement in term if not requirement.holds(labels.get(requirement.key)))
        for term in label_terms(affinity)
    )


def _labels_in(terms: tuple[Selector, ...], labels: Labels) -> dict[str, str | None]:
    """Return a node's values of the labels that the terms mention."""
    return {requirement.key: labels.get(requirement.key) for term in terms for requirement in term}


def explain_unbound(found: FoundVolumes, node: Node, row: int) -> Operands:
    """Explain why a claim finds no volume on a node and none can be provisioned there."""
    if found.selected_elsewhere[row]:
        for claim in found.selected:
            selected = claim.metadata.annotations[SELECTED_NODE]
            if selected != node.name:
                return ProvisionedElsewhere(claim.name, selected)
    check = failing_provision(found, row)
    claim = check.claim
    storage_class = check.provisioning.storage_class
    if check.provisioning.unsupported:
        match = next((match for match in found.matches if match.claim is claim), None)
        return NotProvisioned(claim.name, storage_class.name, len(match.candidates) if match is not None else 0)
    wanted = allowed_terms(storage_class.allowed_topologies)
    labels = _labels_in(wanted, node.metadata.labels)
    return ProvisionedForOtherNodes(claim.name, storage_class.name, wanted, labels)


def explain_space(cluster: Cluster, binder: Binder, check: ProvisionCheck, row: int) -> Operands:
    """Explain why there is not enough capacity for a claim on a node."""
    limits = [
        limit
        for capacity in capacities(cluster, check.provisioning.storage_class.name)
        if binder.topology.selected(capacity.node_topology)[row] and (limit := volume_limit(capacity)) is not None
    ]
    largest = max(limits) * 10**9 if limits else None
    storage_class = check.provisioning.storage_class.name
    return NotEnoughStorage(check.claim.name, storage_class, requested_storage(check.claim) or 0, largest)


def failing_provision(found: FoundVolumes, row: int) -> ProvisionCheck:
    """Return the first claim for which no volume can be provisioned on a node; there must be one."""
    for check in found.provisions:
        wanted = check.provisioning
        if check.needed[row] and (wanted.unsupported or not wanted.allowed[row] or not wanted.enough[row]):
            return check
    raise LookupError(f"every claim can be provisioned for on row {row}")


def allowed_terms(topologies: tuple[TopologySelectorTerm, ...]) -> tuple[Selector, ...]:
    """Return a class's ``allowedTopologies`` as terms over labels."""
    return tuple(tuple(Requirement(e.key, IN, e.values) for e in term.match_label_expressions) for term in topologies)
