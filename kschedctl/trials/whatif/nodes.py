"""Functions that replace, cordon and remove nodes of a cluster; several edits share them."""

from collections.abc import Collection, Mapping

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceSlice
from kschedctl.objects.karpenter import MinValuesRequirement, NodeClaim, NodePool
from kschedctl.objects.pod import UNSCHEDULABLE_TAINT
from kschedctl.objects.releases.release import Release
from kschedctl.objects.selectors import NOT_IN
from kschedctl.objects.volume import CSINode
from kschedctl.objects.well_known import ZONE
from kschedctl.trials.whatif.pods import Evicted, evict, move_pods


def with_replaced(cluster: Cluster, replaced: Mapping[int, Node]) -> Cluster:
    """Return the cluster with some nodes replaced, by row."""
    nodes = [*cluster.nodes.objects]
    for row, node in replaced.items():
        nodes[row] = node
    return cluster.with_nodes(nodes)


def cordoned(cluster: Cluster, rows: Collection[int]) -> Cluster:
    """Return the cluster with nodes marked unschedulable and tainted ``node.kubernetes.io/unschedulable``."""
    return with_replaced(cluster, {row: with_cordon(cluster.nodes.objects[row]) for row in rows})


def with_cordon(node: Node, *, cordoned: bool = True) -> Node:
    """Return a node that is cordoned or uncordoned, with the taint that the node controller adds or takes off."""
    others = tuple(taint for taint in node.spec.taints if taint != UNSCHEDULABLE_TAINT)
    taints = (*others, UNSCHEDULABLE_TAINT) if cordoned else others
    return replace(node, spec=replace(node.spec, unschedulable=cordoned, taints=taints))


def without_nodes(cluster: Cluster, rows: Collection[int], *, release: Release) -> Evicted:
    """Remove nodes with their pods, CSINodes and ResourceSlices, and recreate the pods that have a controller.

    Args:
        release: The Kubernetes release whose API server admits the new pods.
    """
    pods = [index for row in rows for index in cluster.pods.on_node(row).tolist()]
    evicted = evict(cluster, pods, release=release, node_bound_stay=False)
    cluster, n_slices = _without_objects(cluster, evicted.cluster, rows)
    return replace(evicted, cluster=cluster, n_slices=n_slices)


def without_nodes_and_pods(cluster: Cluster, rows: Collection[int]) -> Cluster:
    """Remove nodes as ``without_nodes`` does, but recreate no pods.

    Recreated pods are pending and do not affect the placement of any other pod. Creating them for many nodes is slow,
    so callers that try many clusters omit them.
    """
    pods = np.flatnonzero(np.isin(cluster.pods.node_row, np.array(sorted(rows), dtype=np.int64)))
    return _without_objects(cluster, move_pods(cluster, removed=pods.tolist()).cluster, rows)[0]


def _without_objects(before: Cluster, cluster: Cluster, rows: Collection[int]) -> tuple[Cluster, int]:
    """Remove empty nodes with their CSINodes, NodeClaims and ResourceSlices.

    Return the number of removed slices as well.
    """
    names = {before.nodes.names[row] for row in rows}
    machines = {before.nodes.objects[row].spec.provider_id for row in rows} - {""}
    if claims := cluster.list(NodeClaim):
        left = [one for one in claims if one.status.provider_id not in machines and one.status.node_name not in names]
        cluster = cluster.with_objects(NodeClaim, left)
    cluster = cluster.with_nodes(node for node in cluster.nodes.objects if node.name not in names)
    cluster = cluster.with_objects(CSINode, [csi for csi in cluster.list(CSINode) if csi.name not in names])
    slices = list(cluster.list(ResourceSlice))
    kept = [one for one in slices if one.spec.node_name not in names]
    if len(kept) < len(slices):
        cluster = cluster.with_objects(ResourceSlice, kept)
    return cluster, len(slices) - len(kept)


def closed(cluster: Cluster, zone: str) -> Cluster:
    """Return the cluster with NodePools that launch no nodes in a zone, and without the NodeClaims there."""
    pools = cluster.list(NodePool)
    if not pools:
        return cluster
    claims = [each for each in cluster.list(NodeClaim) if each.metadata.labels.get(ZONE) != zone]
    cluster = cluster.with_objects(NodeClaim, claims)
    other = MinValuesRequirement(key=ZONE, operator=NOT_IN, values=(zone,))

    def without(pool: NodePool) -> NodePool:
        spec = pool.spec.template.spec
        spec = replace(spec, requirements=(*spec.requirements, other))
        return replace(pool, spec=replace(pool.spec, template=replace(pool.spec.template, spec=spec)))

    return cluster.with_objects(NodePool, map(without, pools))
