"""Changes to nodes: cordon, drain, labels, taints and whole zones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec.structs import replace

from kschedctl.api.core import Node, Taint
from kschedctl.api.storage import CSINode
from kschedctl.api.tolerations import NO_EXECUTE, NO_SCHEDULE, tolerated
from kschedctl.api.wording import counted, listed
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.whatif.edits import Cordon, Drain, FailZone, LabelNode, TaintNode
from kschedctl.whatif.eviction import Evicted, evict
from kschedctl.whatif.targets import find_node, find_zone

UNSCHEDULABLE: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)

Changed = tuple[Cluster, tuple[str, ...]]


def cordon(cluster: Cluster, edit: Cordon) -> Changed:
    """Mark a node unschedulable."""
    row = find_node(cluster, edit.node)
    before = " (it was before)" if cluster.nodes.objects[row].spec.unschedulable else ""
    return _cordoned(cluster, row), (f"node {edit.node} is cordoned{before}",)


def drain(cluster: Cluster, edit: Drain) -> Changed:
    """Mark a node unschedulable and evict its pods."""
    row = find_node(cluster, edit.node)
    evicted = evict(_cordoned(cluster, row), cluster.pods.on_node(row).tolist(), node_bound_stay=True)
    return evicted.cluster, (f"node {edit.node} is drained: {evicted}",)


def label(cluster: Cluster, edit: LabelNode) -> Changed:
    """Set or take away a label of a node.

    Raises
    ------
    InputError
        Where a label to take away is not there.
    """
    row = find_node(cluster, edit.node)
    node = cluster.nodes.objects[row]
    before = node.metadata.labels.get(edit.key)
    labels = {key: value for key, value in node.metadata.labels.items() if key != edit.key}
    if edit.value is not None:
        labels[edit.key] = edit.value
        change = f"node {edit.node} has the label {edit.key}={edit.value}"
        change += f" instead of {before or 'an empty value'}" if before not in (None, edit.value) else ""
    elif before is None:
        raise InputError(f"node {edit.node} has no label {edit.key}", hint=f"its labels are {_listed(labels)}")
    else:
        change = f"node {edit.node} no longer has the label {edit.key}={before}"
    return _with_node(cluster, row, replace(node, metadata=replace(node.metadata, labels=labels))), (change,)


def taint(cluster: Cluster, edit: TaintNode) -> Changed:
    """Put a taint on a node or take it away.

    Pods that do not tolerate a new one with the effect NoExecute are evicted; those that do for some time stay.

    Raises
    ------
    InputError
        Where a taint to take away is not there.
    """
    row = find_node(cluster, edit.node)
    node = cluster.nodes.objects[row]
    same = [old for old in node.spec.taints if old.key == edit.taint.key and edit.taint.effect in ("", old.effect)]
    kept = tuple(old for old in node.spec.taints if old not in same)
    if edit.remove:
        if not same:
            has = f"its taints are {_listed(map(str, kept))}" if kept else "it has no taints"
            raise InputError(f"node {edit.node} has no such taint", hint=has)
        change = f"node {edit.node} no longer has the taint {listed([str(old) for old in same])}"
        return _with_node(cluster, row, _tainted(node, kept)), (change,)
    cluster = _with_node(cluster, row, _tainted(node, (*kept, edit.taint)))
    change = f"node {edit.node} has the taint {edit.taint}"
    if edit.taint.effect == NO_EXECUTE and edit.taint not in same:
        records = cluster.pods.records
        leaving = [
            i for i in cluster.pods.on_node(row).tolist() if not tolerated(records[i].spec.tolerations, edit.taint)
        ]
        evicted = evict(cluster, leaving, node_bound_stay=False)
        if leaving:
            return evicted.cluster, (f"{change}: {evicted}",)
    return cluster, (change,)


def fail_zone(cluster: Cluster, edit: FailZone) -> Changed:
    """Take all nodes of a zone away."""
    rows = find_zone(cluster, edit.zone)
    evicted = without_nodes(cluster, rows)
    return evicted.cluster, (f"zone {edit.zone} fails with {counted(len(rows), 'node')}: {evicted}",)


def without_nodes(cluster: Cluster, rows: Collection[int]) -> Evicted:
    """Take nodes away, with what belongs to them.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    rows : collection of int
        Their rows.
    """
    pods = [index for row in rows for index in cluster.pods.on_node(row).tolist()]
    names = {cluster.nodes.names[row] for row in rows}
    evicted = evict(cluster, pods, node_bound_stay=False)
    cluster = evicted.cluster.with_nodes(node for node in cluster.nodes.objects if node.name not in names)
    cluster = cluster.with_objects(CSINode, [csi for csi in cluster.list(CSINode) if csi.name not in names])
    return Evicted(cluster, evicted.n_pending, evicted.n_gone)


def _cordoned(cluster: Cluster, row: int) -> Cluster:
    node = cluster.nodes.objects[row]
    # The node controller puts this taint on every cordoned node.
    taints = (*(taint for taint in node.spec.taints if taint != UNSCHEDULABLE), UNSCHEDULABLE)
    return _with_node(cluster, row, replace(node, spec=replace(node.spec, unschedulable=True, taints=taints)))


def _tainted(node: Node, taints: tuple[Taint, ...]) -> Node:
    return replace(node, spec=replace(node.spec, taints=taints))


def _with_node(cluster: Cluster, row: int, node: Node) -> Cluster:
    objects = list(cluster.nodes.objects)
    objects[row] = node
    return cluster.with_nodes(objects)


def _listed(names: Iterable[str]) -> str:
    return listed(sorted(names))
