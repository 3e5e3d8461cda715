"""What it means that a running pod would not fit on its node any more: which refusals a later change explains.

kube-scheduler asks its filters once, before it binds a pod, and evicts nobody for what they would say later. So most
refusals of a running pod can come from a change since, and a snapshot does not date changes:

- A cordoned node (NodeUnschedulable, and the taint that a cordon brings) is no difference at all.
- Taints, labels of nodes, what nodes offer, the pods around, volumes and claims can have changed: likely, not certain.
- What a pod asks of ports and disks, and the names of nodes in its affinity, never changes once it is bound, and the
  second of two pods that exclude each other is never bound. Only a difference explains such a refusal, or somebody who
  binds pods without the scheduler. So it is with plugins of others, of which nothing is known.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from kschedctl.api.tolerations import UNSCHEDULABLE_TAINT
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.status import Code, Status
from kschedctl.plugins.node_unschedulable import NodeUnschedulable
from kschedctl.plugins.taint_toleration import TaintToleration, untolerated_taint
from kschedctl.plugins.volume_binding.plugin import VolumeBinding
from kschedctl.plugins.volume_restrictions import VolumeRestrictions
from kschedctl.scheduler.bound import Misplaced
from kschedctl.scheduler.missing import find_missing


class Standing(StrEnum):
    """What it means that a running pod would not fit, from the strongest to the weakest."""

    DIFFERENT = "different"
    CHANGED = "changed"
    CORDONED = "cordoned"
    WHAT_IF = "whatIf"


class Explanation(NamedTuple):
    """What a refusal comes to, and the likely cause; empty where none is known."""

    standing: Standing
    cause: str


_OTHERWISE_BOUND: Final = "one of the pods that exclude each other was bound by something else than this scheduler"
_BY_PLUGIN: Final = {
    "NodeUnschedulable": Explanation(Standing.CORDONED, "the node was cordoned since"),
    "TaintToleration": Explanation(
        Standing.CHANGED, "the node got a taint since, or the pod was bound without a scheduler"
    ),
    "NodeAffinity": Explanation(
        Standing.CHANGED, "the node's labels have changed since: affinity is only asked for while a pod is scheduled"
    ),
    "NodePorts": Explanation(Standing.DIFFERENT, _OTHERWISE_BOUND),
    "NodeResourcesFit": Explanation(
        Standing.CHANGED,
        "the node offers less than it did, a pod there was resized, or one was bound by something else than this "
        "scheduler",
    ),
    "InterPodAffinity": Explanation(
        Standing.CHANGED, "pods that it was placed by have gone, or labels of pods or nodes have changed since"
    ),
    "PodTopologySpread": Explanation(Standing.CHANGED, "pods that it was spread among have gone since"),
    "VolumeZone": Explanation(Standing.CHANGED, "the node's labels or the volume have changed since"),
    "VolumeBinding": Explanation(Standing.CHANGED, "its claims, its volumes or the node's labels have changed since"),
    "NodeVolumeLimits": Explanation(
        Standing.CHANGED, "the limit of the driver, or the volumes on the node, have changed since"
    ),
    "VolumeRestrictions": Explanation(Standing.DIFFERENT, _OTHERWISE_BOUND),
    "DynamicResources": Explanation(
        Standing.CHANGED, "its claims, their devices or the node's labels have changed since"
    ),
    "NodeDeclaredFeatures": Explanation(Standing.CHANGED, "the node's kubelet was changed since"),
}
_NAMED_ELSEWHERE: Final = Explanation(Standing.DIFFERENT, "the pod was bound by something else than this scheduler")
_UNKNOWN: Final = Explanation(Standing.DIFFERENT, "")
_ORDER: Final = {standing: i for i, standing in enumerate(Standing)}


def deciding_refusal(cluster: Cluster, found: Misplaced) -> tuple[Status, Explanation]:
    """The refusal that says most: one that no later change explains before all, else the first in the profile's order.

    Parameters
    ----------
    cluster : Cluster
        The snapshot.
    found : Misplaced
        The pod and everything that is said against its node.

    Returns
    -------
    status : Status
        The refusal.
    explanation : Explanation
        What it comes to.
    """
    explained = [(status, _explanation(cluster, found, status)) for status in found.refusals]
    return min(explained, key=lambda pair: _ORDER[pair[1].standing])


def _explanation(cluster: Cluster, found: Misplaced, status: Status) -> Explanation:
    if found.named_elsewhere:
        return _NAMED_ELSEWHERE
    if status.plugin == TaintToleration.name and not _tainted_otherwise(cluster, found.pod):
        return _BY_PLUGIN[NodeUnschedulable.name]
    # Conflicts can be resolved; what cannot is about the claims themselves.
    if status.plugin == VolumeRestrictions.name and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return _BY_PLUGIN[VolumeBinding.name]
    # Plugins that narrow the nodes down together are named together.
    known = [_BY_PLUGIN.get(plugin, _UNKNOWN) for plugin in status.plugin.split()] or [_UNKNOWN]
    return max(known, key=lambda explanation: _ORDER[explanation.standing])


def _tainted_otherwise(cluster: Cluster, pod: int) -> bool:
    """Whether the pod's node has a taint that is in its way besides the one that a cordon brings."""
    node = cluster.nodes.objects[int(cluster.pods.node_row[pod])]
    cordon = UNSCHEDULABLE_TAINT.key, UNSCHEDULABLE_TAINT.effect
    taints = tuple(taint for taint in node.spec.taints if (taint.key, taint.effect) != cordon)
    return untolerated_taint(taints, cluster.pods.records[pod].spec.tolerations) is not None


def bound_causes(cluster: Cluster, found: Misplaced, explanation: Explanation) -> tuple[str, ...]:
    """Why a pod may be on a node that it would not fit on any more, the likeliest first.

    Parameters
    ----------
    cluster : Cluster
        The snapshot.
    found : Misplaced
        The pod.
    explanation : Explanation
        What the refusal comes to.
    """
    missing = (f"not in the snapshot: {each}" for each in find_missing(cluster, cluster.pods.pod(found.pod)))
    return (*missing, explanation.cause) if explanation.cause else tuple(missing)
