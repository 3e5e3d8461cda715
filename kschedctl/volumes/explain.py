"""Why a node is not for a volume: which claim, which volume, which label, the node's value against the volume's."""

from __future__ import annotations

from kschedctl.api.core import Node
from kschedctl.api.meta import Labels
from kschedctl.api.selectors import Requirement, Selector
from kschedctl.api.storage import TopologySelectorTerm
from kschedctl.api.volume import PersistentVolume
from kschedctl.cluster.cluster import Cluster
from kschedctl.volumes.binder import Binder
from kschedctl.volumes.claims import SELECTED_NODE, requested_storage, required_affinity
from kschedctl.volumes.found_volumes import BoundCheck, FoundVolumes, ProvisionCheck
from kschedctl.volumes.matching import show_storage
from kschedctl.volumes.migration import in_tree_plugin, migrated_affinity
from kschedctl.volumes.provisioning import capacities, volume_limit
from kschedctl.volumes.topology import label_terms

Explanation = tuple[str, dict[str, object]]


def explain_bound(binder: Binder, check: BoundCheck, node: Node, row: int) -> Explanation:
    """Why a bound claim's volume cannot be reached from a node.

    Parameters
    ----------
    binder : Binder
        The binder that made the check.
    check : BoundCheck
        The check.
    node : Node
        The node.
    row : int
        Its row.
    """
    claim = check.claim.name
    if check.volume is None:
        name = check.claim.spec.volume_name
        return f"claim {claim} is bound to volume {name}, which does not exist", {"claim": claim, "volume": name}
    if check.problem and binder.topology.needs_translation(check.volume)[row]:
        return f"claim {claim}: {check.problem}", {"claim": claim, "volume": check.volume.name}
    failing = failing_requirements(binder, check.volume, node.metadata.labels, row)
    if not failing:
        detail = f"claim {claim} is on volume {check.volume.name}, whose node affinity matches no node"
        return detail, {"claim": claim, "volume": check.volume.name}
    wanted = " or ".join(" and ".join(map(str, term)) for term in failing)
    has = shown_labels(node.metadata.labels, failing)
    detail = f"claim {claim} is on volume {check.volume.name}, which is for {wanted}; the node has {has}"
    return detail, {"claim": claim, "volume": check.volume.name, "wanted": wanted, "node": has}


def failing_requirements(
    binder: Binder, volume: PersistentVolume, labels: Labels, row: int
) -> tuple[tuple[Requirement, ...], ...]:
    """Per term of a volume's node affinity the requirements that a node's labels do not meet."""
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


def shown_labels(labels: Labels, terms: tuple[Selector, ...]) -> str:
    """A node's values of the labels that some terms ask for."""
    keys = dict.fromkeys(requirement.key for term in terms for requirement in term)
    return ", ".join(f"{key}={labels[key]}" if key in labels else f"no {key}" for key in keys)


def explain_unbound(found: FoundVolumes, node: Node, row: int) -> Explanation:
    """Why a claim finds no volume on a node and none can be provisioned there."""
    if found.selected_elsewhere[row]:
        for claim in found.selected:
            selected = claim.metadata.annotations[SELECTED_NODE]
            if selected != node.name:
                detail = f"claim {claim.name} is being provisioned for node {selected}"
                return detail, {"claim": claim.name, "selectedNode": selected}
    check = failing_provision(found, row)
    claim = check.claim
    storage_class = check.provisioning.storage_class
    data: dict[str, object] = {"claim": claim.name, "storageClass": storage_class.name}
    if check.provisioning.unsupported:
        match = next((match for match in found.matches if match.claim is claim), None)
        suitable = len(match.candidates) if match is not None else 0
        data["volumes"] = suitable
        volumes = "no volume that suits it is free within reach" if suitable else "no volume suits it"
        return f"claim {claim.name}: {volumes}, and class {storage_class.name} does not provision", data
    wanted = shown_topologies(storage_class.allowed_topologies)
    has = _shown_topology(node.metadata.labels, storage_class.allowed_topologies)
    data |= {"wanted": wanted, "node": has}
    detail = f"claim {claim.name}: class {storage_class.name} provisions only for {wanted}; the node has {has}"
    return detail, data


def explain_space(cluster: Cluster, binder: Binder, check: ProvisionCheck, row: int) -> Explanation:
    """Why there is not enough capacity for a claim on a node."""
    limits = [
        limit
        for capacity in capacities(cluster, check.provisioning.storage_class.name)
        if binder.topology.selected(capacity.node_topology)[row] and (limit := volume_limit(capacity)) is not None
    ]
    wanted = show_storage(requested_storage(check.claim) or 0)
    largest = show_storage(max(limits) * 10**9) if limits else "none"
    detail = f"claim {check.claim.name} wants {wanted}, the largest volume that can be made here is {largest}"
    storage_class = check.provisioning.storage_class.name
    data: dict[str, object] = {
        "claim": check.claim.name,
        "storageClass": storage_class,
        "wanted": wanted,
        "largest": largest,
    }
    return detail, data


def failing_provision(found: FoundVolumes, row: int) -> ProvisionCheck:
    """The first claim that no volume can be made for on a node; there must be one."""
    for check in found.provisions:
        wanted = check.provisioning
        if check.needed[row] and (wanted.unsupported or not wanted.allowed[row] or not wanted.enough[row]):
            return check
    raise LookupError(f"every claim can be provisioned for on row {row}")


def shown_topologies(terms: tuple[TopologySelectorTerm, ...]) -> str:
    """A class's ``allowedTopologies`` in words."""
    return " or ".join(
        " and ".join(str(Requirement(e.key, "In", e.values)) for e in term.match_label_expressions) for term in terms
    )


def _shown_topology(labels: Labels, terms: tuple[TopologySelectorTerm, ...]) -> str:
    keys = tuple(tuple(Requirement(e.key, "Exists") for e in term.match_label_expressions) for term in terms)
    return shown_labels(labels, keys)
