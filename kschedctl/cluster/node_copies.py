"""Copies of a node under other names, with copies of its CSINode, of its ResourceSlices and of the pods bound to it."""

from collections.abc import Collection, Iterator, Sequence
from itertools import count

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceSlice
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.volume import CSINode
from kschedctl.objects.well_known import HOSTNAME


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
