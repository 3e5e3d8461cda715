"""Functions that replace, cordon and remove nodes of a cluster; several edits share them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace as with_field
from itertools import count

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceSlice
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import UNSCHEDULABLE_TAINT
from kschedctl.objects.releases.release import Release
from kschedctl.objects.volume import CSINode
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.trials.whatif.pods import Evicted, evict, move_pods


def with_replaced(cluster: Cluster, replaced: Mapping[int, Node]) -> Cluster:
    """Return the cluster with some nodes replaced, by row."""
    return cluster.with_nodes(replaced.get(row, node) for row, node in enumerate(cluster.nodes.objects))


def cordoned(cluster: Cluster, rows: Collection[int]) -> Cluster:
    """Return the cluster with nodes marked unschedulable and tainted ``node.kubernetes.io/unschedulable``."""
    changed: dict[int, Node] = {}
    for row in rows:
        node = cluster.nodes.objects[row]
        taints = (*(taint for taint in node.spec.taints if taint != UNSCHEDULABLE_TAINT), UNSCHEDULABLE_TAINT)
        changed[row] = replace(node, spec=replace(node.spec, unschedulable=True, taints=taints))
    return with_replaced(cluster, changed)


def without_nodes(cluster: Cluster, rows: Collection[int], *, release: Release) -> Evicted:
    """Remove nodes with their pods, CSINodes and ResourceSlices, and recreate the pods that have a controller.

    Args:
        release: The Kubernetes release whose API server admits the new pods.
    """
    pods = [index for row in rows for index in cluster.pods.on_node(row).tolist()]
    evicted = evict(cluster, pods, release=release, node_bound_stay=False)
    cluster, n_slices = _without_objects(cluster, evicted.cluster, rows)
    return with_field(evicted, cluster=cluster, n_slices=n_slices)


def without_nodes_and_pods(cluster: Cluster, rows: Collection[int]) -> Cluster:
    """Remove nodes as ``without_nodes`` does, but recreate no pods.

    Recreated pods are pending and do not affect the placement of any other pod. Creating them for many nodes is slow,
    so callers that try many clusters omit them.
    """
    pods = np.flatnonzero(np.isin(cluster.pods.node_row, np.array(sorted(rows), dtype=np.int64)))
    return _without_objects(cluster, move_pods(cluster, removed=pods.tolist()).cluster, rows)[0]


def _without_objects(before: Cluster, cluster: Cluster, rows: Collection[int]) -> tuple[Cluster, int]:
    """Remove empty nodes with their CSINodes and ResourceSlices, and return the number of removed slices as well."""
    names = {before.nodes.names[row] for row in rows}
    cluster = cluster.with_nodes(node for node in cluster.nodes.objects if node.name not in names)
    cluster = cluster.with_objects(CSINode, [csi for csi in cluster.list(CSINode) if csi.name not in names])
    slices = list(cluster.list(ResourceSlice))
    kept = [one for one in slices if one.spec.node_name not in names]
    if len(kept) < len(slices):
        cluster = cluster.with_objects(ResourceSlice, kept)
    return cluster, len(slices) - len(kept)


# Copies of a node under other names, with copies of the node's CSINode and ResourceSlices.


def copy_of_node(node: Node, name: str) -> Node:
    """Return a copy of a node with its own name and hostname label, without provider ID and attached volumes."""
    labels = dict(node.metadata.labels)
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    return replace(
        node,
        metadata=ObjectMeta(name=name, labels=labels, annotations=node.metadata.annotations),
        spec=replace(node.spec, provider_id=""),
        status=replace(node.status, volumes_attached=()),
    )


def copies_of_belongings(clusters: Sequence[Cluster], node: str, names: Sequence[str]) -> tuple[ApiObject, ...]:
    """Return copies of a node's CSINode and ResourceSlices for new nodes; the slices are in pools of their own.

    Args:
        clusters: The clusters to search. An object of a later cluster replaces the object of the same name of an
            earlier one.
    """
    csi_node = next((one for each in reversed(clusters) if (one := each.get(CSINode, node)) is not None), None)
    csi_nodes = [replace(csi_node, metadata=ObjectMeta(name=name)) for name in names] if csi_node is not None else []
    known = {one.name: one for each in clusters for one in each.list(ResourceSlice)}
    own = [one for one in known.values() if one.spec.node_name == node]
    shared = {(one.spec.driver, one.spec.pool.name) for one in known.values() if one.spec.node_name != node}
    return (*csi_nodes, *(_copy_of_slice(one, node, name, own, shared) for name in names for one in own))


def numbered_names(name: str, taken: Collection[str]) -> Iterator[str]:
    """Yield ``NAME-1``, ``NAME-2`` and so on, without the names that are taken."""
    return (fresh for i in count(1) if (fresh := f"{name}-{i}") not in taken)


def _copy_of_slice(
    one: ResourceSlice, node: str, name: str, own: Sequence[ResourceSlice], shared: Collection[tuple[str, str]]
) -> ResourceSlice:
    pool = replace(one.spec.pool, name=_renamed_after_node(one.spec.pool.name, node, name))
    if (one.spec.driver, one.spec.pool.name) in shared:
        # The pool also has slices of other nodes, which the new pool does not have: count only the copied slices.
        alike = [other for other in own if (other.spec.driver, other.spec.pool) == (one.spec.driver, one.spec.pool)]
        pool = replace(pool, resource_slice_count=len(alike))
    spec = replace(one.spec, node_name=name, pool=pool)
    return replace(one, metadata=ObjectMeta(name=_renamed_after_node(one.name, node, name)), spec=spec)


def _renamed_after_node(text: str, node: str, name: str) -> str:
    """Return ``text`` with the first occurrence of the node's name replaced by ``name``, or else with a suffix."""
    return text.replace(node, name, 1) if node in text else f"{text}-{name}"
