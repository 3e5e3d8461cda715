"""The meaning of a running pod that would not fit on its node any more: the refusals that a later change explains.

kube-scheduler runs its filters once, before it binds a pod, and evicts no pod for their later verdicts. So most
refusals of a running pod can come from a change since then, and a snapshot does not date changes:

- A cordoned node (NodeUnschedulable, and the taint that a cordon adds) is no difference at all.
- Taints, node labels, allocatable resources, other pods, volumes and claims can have changed: likely, not certain.
- A bound pod's ports and disks, and the node names in its affinity, never change, and the second of two pods that
  exclude each other is never bound. Only a difference explains such a refusal, or a pod that was bound without the
  scheduler. The same holds for plugins that are not in-tree, of which nothing is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import UNSCHEDULABLE_TAINT
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.verify.pending import WHAT_IF
from kschedctl.questions.analyses.verify.running_pods import Misplaced, check_bound_pods
from kschedctl.questions.answers.explain import StatusData
from kschedctl.questions.answers.verify import BoundPodData, InfeasibleGroupData, Standing
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.basics import NodeUnschedulable
from kschedctl.scheduler.plugins.taint_toleration import TaintToleration, untolerated_taint
from kschedctl.scheduler.plugins.volume_binding.plugin import VolumeBinding
from kschedctl.scheduler.plugins.volume_restrictions import VolumeRestrictions
from kschedctl.trials.completeness import find_missing


class Judgement(NamedTuple):
    """The meaning of a refusal, and its likely cause; the cause is empty if none is known."""

    standing: Standing
    cause: str


_BOUND_OTHERWISE: Final = "not bound by this scheduler"
_EXCLUDED: Final = Judgement(Standing.DIFFERENT, f"one of the pods that exclude each other was {_BOUND_OTHERWISE}")
_NAMED_ELSEWHERE: Final = Judgement(Standing.DIFFERENT, f"the pod was {_BOUND_OTHERWISE}")
_UNKNOWN: Final = Judgement(Standing.DIFFERENT, "")
#: The later changes that explain the refusal of a plugin.
_CHANGES: Final = {
    "TaintToleration": "the node has been tainted since, or the pod was bound without a scheduler",
    "NodeAffinity": "the node's labels have changed since: affinity is only checked when a pod is scheduled",
    "NodeResourcesFit": f"the node offers less than before, a pod there was resized, or one was {_BOUND_OTHERWISE}",
    "InterPodAffinity": "pods that its affinity matched were deleted, or labels of pods or nodes have changed since",
    "PodTopologySpread": "pods that it was spread among have been deleted since",
    "VolumeZone": "the node's labels or the volume have changed since",
    "VolumeBinding": "its claims, its volumes or the node's labels have changed since",
    "NodeVolumeLimits": "the limit of the driver, or the volumes on the node, have changed since",
    "DynamicResources": "its claims, their devices or the node's labels have changed since",
    "NodeDeclaredFeatures": "the node's kubelet was changed since",
}
_BY_PLUGIN: Final = {
    "NodeUnschedulable": Judgement(Standing.CORDONED, "the node was cordoned since"),
    "NodePorts": _EXCLUDED,
    "VolumeRestrictions": _EXCLUDED,
    **{plugin: Judgement(Standing.CHANGED, cause) for plugin, cause in _CHANGES.items()},
}
_ORDER: Final = {standing: i for i, standing in enumerate(Standing)}


def judge(
    cluster: Cluster,
    misplaced: tuple[Misplaced, ...],
    before: Scheduler | None,
    handle: AnalysisHandle,
    namespace: str = "",
) -> list[InfeasibleGroupData]:
    """Judge each running pod that would not fit on its node any more.

    Parameters
    ----------
    before : Scheduler or None
        The scheduler without the what-ifs, if there are any: refusals that only what-ifs cause are no difference.
    """
    refused_before: set[tuple[str, str]] = set()
    if before is not None and misplaced:
        own = check_bound_pods(before, handle, namespace).misplaced
        refused_before = {(before.cluster.pods.key(pod.pod), each.plugin) for pod in own for each in pod.refusals}
    judged = []
    for found in misplaced:
        key, record = cluster.pods.key(found.pod), cluster.pods.records[found.pod]
        left = tuple(each for each in found.refusals if before is None or (key, each.plugin) in refused_before)
        status, standing, causes = found.status, Standing.WHAT_IF, (WHAT_IF,)
        if left:
            status, (standing, cause) = deciding_refusal(cluster, replace(found, refusals=left))
            missing = (f"not in the snapshot: {each}" for each in find_missing(cluster, cluster.pods.pod(found.pod)))
            causes = (*missing, *((cause,) if cause else ()))
        named = BoundPodData(record.metadata.namespace, record.metadata.name, record.node_name)
        data = StatusData(str(status.code), status.plugin, status.reasons)
        judged.append(InfeasibleGroupData(standing, data, causes, (named,)))
    return judged


def deciding_refusal(cluster: Cluster, found: Misplaced) -> tuple[Status, Judgement]:
    """Return the refusal that is hardest to explain by a later change, with its meaning; of several, the first one."""
    judged = [(status, _judgement(cluster, found, status)) for status in found.refusals]
    return min(judged, key=lambda pair: _ORDER[pair[1].standing])


def _judgement(cluster: Cluster, found: Misplaced, status: Status) -> Judgement:
    if found.named_elsewhere:
        return _NAMED_ELSEWHERE
    if status.plugin == TaintToleration.name and not _tainted_otherwise(cluster, found.pod):
        return _BY_PLUGIN[NodeUnschedulable.name]
    # A conflict is resolvable by evictions; an unresolvable refusal is about the claims themselves.
    if status.plugin == VolumeRestrictions.name and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return _BY_PLUGIN[VolumeBinding.name]
    # The status names all plugins that narrowed the nodes down together.
    known = [_BY_PLUGIN.get(plugin, _UNKNOWN) for plugin in status.plugin.split()] or [_UNKNOWN]
    return max(known, key=lambda judgement: _ORDER[judgement.standing])


def _tainted_otherwise(cluster: Cluster, pod: int) -> bool:
    """Report whether the pod's node has an untolerated taint other than that of a cordon."""
    node = cluster.nodes.objects[int(cluster.pods.node_row[pod])]
    cordon = UNSCHEDULABLE_TAINT.key, UNSCHEDULABLE_TAINT.effect
    taints = tuple(taint for taint in node.spec.taints if (taint.key, taint.effect) != cordon)
    return untolerated_taint(taints, cluster.pods.records[pod].spec.tolerations) is not None
