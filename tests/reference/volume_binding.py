"""Reference of VolumeBinding, for CSI volumes only: node by node and claim by claim, as plain as possible."""

import itertools
import math
from fractions import Fraction

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.selectors import matches, parse_label_selector
from kschedctl.objects.volume import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from tests.reference.node_affinity import term_matches

SELECTED_NODE = "volume.kubernetes.io/selected-node"


def find_pod_volumes(
    cluster: Cluster, claims: list[PersistentVolumeClaim], node: Node
) -> tuple[set[str], dict[str, str]]:
    """Return the problems of a node, and the volume that each unbound claim takes there."""
    problems: set[str] = set()
    for claim in claims:
        if claim.spec.volume_name:
            volume = cluster.get(PersistentVolume, claim.spec.volume_name)
            if volume is None:
                problems.add("missing")
                break
            if not reaches(volume, node):
                problems.add("node")
                break
    unbound = [claim for claim in claims if not claim.spec.volume_name]
    to_provision = []
    for claim in unbound:
        if SELECTED_NODE in claim.metadata.annotations:
            if claim.metadata.annotations[SELECTED_NODE] != node.name:
                return problems | {"bind"}, {}
            to_provision.append(claim)
    taken: dict[str, str] = {}
    for claim in sorted((c for c in unbound if c not in to_provision), key=size):
        best = best_volume(cluster, claim, node, set(taken.values()))
        if best is None:
            to_provision.append(claim)
        else:
            taken[claim.name] = best.name
    for claim in to_provision:
        problem = why_not_provisioned(cluster, claim, node)
        if problem:
            return problems | {problem}, taken
    return problems, taken


def size(claim: PersistentVolumeClaim) -> int:
    return parse_quantity(claim.spec.resources.requests.get("storage", 0))


def reaches(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return any(term_matches(term, node) for term in affinity.required.node_selector_terms)


def best_volume(cluster: Cluster, claim: PersistentVolumeClaim, node: Node, taken: set[str]) -> PersistentVolume | None:
    best: PersistentVolume | None = None
    for volume in cluster.list(PersistentVolume):
        if volume.name in taken or volume.spec.storage_class_name != claim.spec.storage_class_name:
            continue
        owner = volume.spec.claim_ref
        named = owner is not None and (owner.namespace, owner.name) == (claim.namespace, claim.name)
        if owner is not None and (not named or owner.uid not in ("", claim.metadata.uid)):
            continue
        capacity = parse_quantity(volume.spec.capacity.get("storage", 0))
        if capacity < size(claim) or volume.spec.volume_mode != claim.spec.volume_mode:
            continue
        if (volume.spec.volume_attributes_class_name or "") != (claim.spec.volume_attributes_class_name or ""):
            continue
        if volume.metadata.deletion_timestamp is not None:
            continue
        if named:
            return volume if reaches(volume, node) else None
        if volume.status.phase != "Available" or not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
            continue
        selector = claim.spec.selector
        if selector is not None and not matches(parse_label_selector(selector), volume.metadata.labels):
            continue
        if reaches(volume, node) and (best is None or capacity < parse_quantity(best.spec.capacity.get("storage", 0))):
            best = volume
    return best


def why_not_provisioned(cluster: Cluster, claim: PersistentVolumeClaim, node: Node) -> str:
    storage_class = cluster.get(StorageClass, claim.spec.storage_class_name or "")
    assert storage_class is not None
    if storage_class.provisioner == "kubernetes.io/no-provisioner":
        return "bind"
    terms = storage_class.allowed_topologies
    labels = node.metadata.labels
    allowed = [all(labels.get(e.key) in e.values for e in term.match_label_expressions) for term in terms]
    if terms and not any(allowed):
        return "bind"
    driver = cluster.get(CSIDriver, storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return ""
    for capacity in cluster.list(CSIStorageCapacity):
        limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
        if capacity.storage_class_name != storage_class.name or limit is None or capacity.node_topology is None:
            continue
        if parse_quantity(limit) >= size(claim) and matches(parse_label_selector(capacity.node_topology), labels):
            return ""
    return "space"


def storage_score(
    cluster: Cluster, claims: list[PersistentVolumeClaim], node: Node, shape: list[tuple[int, int]]
) -> int:
    """Return a node's score by the storage of its unbound claims; no claim may have another selected node."""
    _, taken = find_pod_volumes(cluster, claims, node)
    requested: dict[str, int] = {}
    room: dict[str, int] = {}
    for claim in sorted((c for c in claims if not c.spec.volume_name), key=size):
        if claim.name in taken:
            volume = cluster.get(PersistentVolume, taken[claim.name])
            assert volume is not None
            name = volume.spec.storage_class_name
            room[name] = room.get(name, 0) + parse_quantity(volume.spec.capacity["storage"])
        elif not taken and (free := free_storage(cluster, claim, node)) is not None:
            name = claim.spec.storage_class_name or ""
            room[name] = free
        else:
            continue
        requested[name] = requested.get(name, 0) + size(claim)
    points = [
        on_line(shape, 100 if want > room[name] else want * 100 // room[name]) for name, want in requested.items()
    ]
    return math.floor(Fraction(sum(points), len(points)) + Fraction(1, 2)) if points else 0


def free_storage(cluster: Cluster, claim: PersistentVolumeClaim, node: Node) -> int | None:
    """Return the capacity of the first CSIStorageCapacity that is large enough for a claim, or ``None``."""
    storage_class = cluster.get(StorageClass, claim.spec.storage_class_name or "")
    assert storage_class is not None
    driver = cluster.get(CSIDriver, storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return None
    for capacity in cluster.list(CSIStorageCapacity):
        limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
        here = capacity.node_topology is not None and matches(
            parse_label_selector(capacity.node_topology), node.metadata.labels
        )
        if capacity.storage_class_name == storage_class.name and here and parse_quantity(limit or 0) >= size(claim):
            return parse_quantity(capacity.capacity or 0)
    return None


def on_line(shape: list[tuple[int, int]], percent: int) -> int:
    """Return the score at a utilization: linear between the points, truncated toward zero."""
    if percent <= shape[0][0]:
        return shape[0][1]
    for (left, low), (right, high) in itertools.pairwise(shape):
        if percent <= right:
            return low + int(Fraction((high - low) * (percent - left), right - left))
    return shape[-1][1]
