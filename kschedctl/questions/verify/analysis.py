"""The analysis behind ``verify``: the answers for all pods of a snapshot beside those of the cluster's own scheduler.

The real scheduler's answer for a pending pod is in its condition PodScheduled; its answer for a running pod is the
node.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace as later_changes_replace
from datetime import UTC, datetime
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted
from kschedctl.controllers.disruption import without_computed_status
from kschedctl.objects.pod import UNSCHEDULABLE_TAINT
from kschedctl.questions.explain.answer import StatusData
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.node_groups import merge, shape
from kschedctl.questions.provenance import envelope, provenance
from kschedctl.questions.verify.answer import (
    BoundCountsData,
    BoundPodData,
    Choice,
    ChosenNodeData,
    InfeasibleGroupData,
    Match,
    PendingCountsData,
    PendingGroupData,
    Standing,
    Verification,
)
from kschedctl.questions.verify.pending_pods import POD_SCHEDULED, WHAT_IF, check_pending_pods
from kschedctl.questions.verify.request import VerifyRequest
from kschedctl.questions.verify.running_pods import STATIC_OWNER, Misplaced, check_bound_pods, names_nodes
from kschedctl.scheduler.cycle.sampling import starts_to
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.basics import NodeUnschedulable
from kschedctl.scheduler.plugins.taint_toleration import TaintToleration, untolerated_taint
from kschedctl.scheduler.plugins.volume_binding.plugin import VolumeBinding
from kschedctl.scheduler.plugins.volume_restrictions import VolumeRestrictions
from kschedctl.trials.completeness import find_missing, missing_for_any, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster

# The meaning of a running pod that would not fit on its node any more: the refusals that a later change explains.
#
# kube-scheduler runs its filters once, before it binds a pod, and evicts no pod for their later verdicts. So most
# refusals of a running pod can come from a change since then, and a snapshot does not date changes:
#
# - A cordoned node (NodeUnschedulable, and the taint that a cordon adds) is no difference at all.
# - Taints, node labels, allocatable resources, other pods, volumes and claims can have changed: likely, not certain.
# - A bound pod's ports and disks, and the node names in its affinity, never change, and the second of two pods that
#   exclude each other is never bound. Only a difference explains such a refusal, or a pod that was bound without the
#   scheduler. The same holds for plugins that are not in-tree, of which nothing is known.


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

    Args:
        before: The scheduler without the what-ifs, if there are any: refusals that only what-ifs cause are no
            difference.
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
            status, (standing, cause) = deciding_refusal(cluster, later_changes_replace(found, refusals=left))
            missing = (f"not in the snapshot: {each}" for each in find_missing(cluster, cluster.pods.pod(found.pod)))
            causes = (*missing, *((cause,) if cause else ()))
        named = BoundPodData(record.metadata.namespace, record.metadata.name, record.node_name)
        judged.append(InfeasibleGroupData(standing, StatusData.of(status), causes, (named,)))
    return judged


def deciding_refusal(cluster: Cluster, found: Misplaced) -> tuple[Status, Judgement]:
    """Return the refusal that is hardest to explain by a later change, with its meaning; of several, the first one."""
    judged = [(status, _judgement(cluster, found, status)) for status in found.refusals]
    return min(judged, key=lambda pair: _ORDER[pair[1].standing])


def _judgement(cluster: Cluster, found: Misplaced, status: Status) -> Judgement:
    if found.named_elsewhere:
        return _NAMED_ELSEWHERE
    if status.plugin == TaintToleration.name:
        node = cluster.nodes.objects[int(cluster.pods.node_row[found.pod])]
        cordon = UNSCHEDULABLE_TAINT.key, UNSCHEDULABLE_TAINT.effect
        others = tuple(taint for taint in node.spec.taints if (taint.key, taint.effect) != cordon)
        if untolerated_taint(others, cluster.pods.records[found.pod].spec.tolerations) is None:
            return _BY_PLUGIN[NodeUnschedulable.name]
    # A conflict is resolvable by evictions; an unresolvable refusal is about the claims themselves.
    if status.plugin == VolumeRestrictions.name and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return _BY_PLUGIN[VolumeBinding.name]
    # The status names all plugins that narrowed the nodes down together.
    known = [_BY_PLUGIN.get(plugin, _UNKNOWN) for plugin in status.plugin.split()] or [_UNKNOWN]
    return max(known, key=lambda judgement: _ORDER[judgement.standing])


def verify(cluster: LoadedCluster, request: VerifyRequest, handle: AnalysisHandle) -> Verification:
    """Compare the answers for all pods with those of the real scheduler, as far as the snapshot holds them.

    Raises InputError if pods are edited: the real scheduler has no answers for edited pods.
    Raises ClusterError if the pods could not be listed.
    """
    if cluster.pod_edits:
        problem = f"{cluster.pod_edits[0]}: pods are compared unchanged"
        raise InputError(problem, hint="leave this option out; changes to the cluster are allowed")
    require_listed(cluster.cluster, "Pod")
    cluster.require_nodes()
    cluster = as_stored(cluster)
    before = as_stored(request.stored).scheduler if request.stored is not None else None
    every = check_pending_pods(cluster.scheduler, before, handle, request.namespace)
    found = check_bound_pods(cluster.scheduler, handle, request.namespace)
    infeasible = judge(cluster.cluster, found.misplaced, before, handle, request.namespace)
    outcomes = Counter(each.outcome for each in every)
    pending = PendingCountsData(
        equal=outcomes[Match.EQUAL],
        different=outcomes[Match.DIFFERENT],
        nominated=outcomes[Match.NOMINATED],
        aged=outcomes[Match.AGED],
        not_tried=outcomes[Match.NOT_TRIED],
        other_scheduler=outcomes[Match.OTHER_SCHEDULER],
    )
    standings = Counter(each.standing for each in infeasible)
    bound = BoundCountsData(
        feasible=found.feasible,
        infeasible=len(infeasible),
        different=standings[Standing.DIFFERENT],
        changed=standings[Standing.CHANGED],
        cordoned=standings[Standing.CORDONED],
        what_if=standings[Standing.WHAT_IF],
        other_scheduler=found.other_scheduler,
        static=found.static,
        lost=found.lost,
    )
    choices = None
    if request.sampling:
        misplaced = {cluster.scheduler.cluster.pods.key(pod.pod) for pod in found.misplaced}
        # The nodes were chosen in the cluster without what-ifs.
        choices = compare_choices(before or cluster.scheduler, misplaced, handle, request.namespace)
    compared = _with_message(pending) + bound.feasible + bound.infeasible
    summary = (
        "There is nothing to compare: no pod runs on a node or has a message of kube-scheduler."
        if not compared
        else " ".join([_verdict(pending, bound), *_harmless(pending, bound), *_chosen(choices)])
    )
    return Verification(
        equal=not (pending.different or bound.different),
        summary=summary,
        **envelope(cluster.cluster, provenance(cluster, missing_for_any(cluster.cluster, preempts=False))),
        pending=pending,
        bound=bound,
        pending_groups=tuple(_pending_groups(every)),
        infeasible_groups=tuple(_infeasible_groups(infeasible)),
        choices=choices,
    )


def as_stored(cluster: LoadedCluster) -> LoadedCluster:
    """Return the cluster as kube-scheduler reads it, which computes no status of disruption budgets."""
    stored = without_computed_status(cluster.cluster)
    return cluster if stored is cluster.cluster else cluster.over(stored)


def _pending_groups(pods: Iterable[PendingGroupData]) -> Iterator[PendingGroupData]:
    """Group pods with the same messages and causes; numbers in causes (ages, counts) become ranges."""
    groups: dict[object, list[PendingGroupData]] = {}
    for one in pods:
        key = one.outcome, one.theirs, one.ours, tuple(map(shape, one.causes))
        groups.setdefault(key, []).append(one)
    for members in groups.values():
        causes = tuple(map(merge, zip(*(member.causes for member in members), strict=True)))
        yield replace(members[0], causes=causes, pods=tuple(pod for member in members for pod in member.pods))


def _infeasible_groups(pods: Iterable[InfeasibleGroupData]) -> Iterator[InfeasibleGroupData]:
    """Group pods with the same refusal and causes: differences come first, and larger groups before smaller ones."""
    groups: dict[object, list[InfeasibleGroupData]] = {}
    for one in pods:
        groups.setdefault((one.standing, one.status, one.causes), []).append(one)
    order = [*Standing]
    for members in sorted(groups.values(), key=lambda group: (order.index(group[0].standing), -len(group))):
        yield replace(members[0], pods=tuple(pod for member in members for pod in member.pods))


def _with_message(pending: PendingCountsData) -> int:
    return pending.equal + pending.different + pending.nominated + pending.aged


def _harmless(pending: PendingCountsData, bound: BoundCountsData) -> Iterator[str]:
    """Yield sentences about messages of before, and about pods that would not fit any more, that are no difference."""
    for number, pods, one, many, told in (
        (pending.aged, "pending pod", "has", "have", "an aged message: pods that now run are younger than it"),
        (pending.nominated, "nominated pod", "waits", "wait", "for victims to end, with the message of before"),
        (bound.changed, "running pod", "would", "would", "not fit any more, which a later change may explain"),
        (bound.cordoned, "running pod", "is", "are", "on cordoned nodes, where running pods stay"),
        (bound.what_if, "running pod", "would", "would", "not fit with the what-ifs"),
    ):
        if number:
            yield f"{counted(number, pods)} {one if number == 1 else many} {told}."


def _verdict(pending: PendingCountsData, bound: BoundCountsData) -> str:
    differences = pending.different + bound.different
    if not differences:
        equal = f"{counted(pending.equal, 'pending pod')} with kube-scheduler's own message"
        return f"No difference: {equal}, {counted(bound.feasible, 'running pod')} that would still fit."
    parts = []
    if pending.different:
        parts.append(f"{counted(pending.different, 'pending pod')} of {_with_message(pending)}")
    if bound.different:
        parts.append(f"{counted(bound.different, 'running pod')} of {bound.feasible + bound.infeasible}")
    return f"{counted(differences, 'difference')} from kube-scheduler: {' and '.join(parts)}."


def _chosen(choices: tuple[ChosenNodeData, ...] | None) -> Iterator[str]:
    """Yield the sentence about chosen nodes."""
    if choices is None:
        return
    counts = Counter(each.choice for each in choices)
    parts = [f"{counts[Choice.BEST]} on a best node of all", f"{counts[Choice.SAMPLED]} on a best node of a sample"]
    parts.append(f"{counts[Choice.UNEXPLAINED]} on a node that only a later change would explain")
    yield f"Of the {counted(len(choices), 'pod')} that were scheduled last: {', '.join(parts)}."


# The nodes of the pods that were scheduled last, compared with the choices of every start of the search.
#
# A pod is decided for again in the cluster as it was when the pod was bound, as far as a snapshot shows it: without the
# pod itself and the pods that were bound later. A snapshot has neither the pods that ended since nor earlier nodes.

#: The number of pods that are compared. The older a pod, the more pods have ended since it was bound.
MOST: Final = 100
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def compare_choices(
    scheduler: Scheduler, left_out: set[str], handle: AnalysisHandle, namespace: str = ""
) -> tuple[ChosenNodeData, ...]:
    """Compare the nodes of the pods that were scheduled last, up to 100 of them, the newest first.

    Pods that name their nodes, such as those of a DaemonSet, and members of pod groups are passed over.

    Args:
        left_out: The pods not to compare, ``namespace/name``: those that would not fit on their nodes any more.
        namespace: The only namespace to look in; empty for all.
    """
    records = scheduler.cluster.pods.records
    bound = [i for i, row in enumerate(scheduler.cluster.pods.node_row.tolist()) if row >= 0]

    def age(index: int) -> tuple[datetime, datetime, int]:
        record = records[index]
        scheduled = (each.last_transition_time for each in record.status.conditions if each.type == POD_SCHEDULED)
        times = (*scheduled, record.status.start_time, record.metadata.creation_timestamp)
        return (
            next((time for time in times if time is not None), _LONG_AGO),
            records[index].metadata.creation_timestamp or _LONG_AGO,
            index,
        )

    pods, newest = scheduler.cluster.pods, sorted(bound, key=age, reverse=True)
    asked = (
        place
        for place, index in enumerate(newest)
        if namespace in ("", pods.records[index].metadata.namespace)
        and pods.key(index) not in left_out
        and _is_compared(scheduler, index)
    )
    places = list(islice(asked, MOST))
    return tuple(_compared(scheduler, newest[: place + 1]) for place in handle.track(places, "comparing chosen nodes"))


def _is_compared(scheduler: Scheduler, index: int) -> bool:
    """Report whether the scheduler chose the node of a pod, and chose it for this pod alone."""
    pod, owner = scheduler.cluster.pods.pod(index), scheduler.cluster.pods.owner(index)
    in_group = scheduler.release.pod_groups and pod.spec.pod_group_name
    static = owner is not None and owner.kind == STATIC_OWNER
    return scheduler.knows(pod) and not (in_group or static or names_nodes(pod.spec))


def _compared(scheduler: Scheduler, later: list[int]) -> ChosenNodeData:
    """Return the result for a pod, the last one in a list that begins with the pods that were bound later."""
    cluster = scheduler.cluster
    pod, node = cluster.pods.pod(later[-1]), cluster.pods.records[later[-1]].node_name
    # The pods that are nominated now got their nominations later.
    then = scheduler.moved(cluster.with_pods(removed=[*later, *cluster.pods.nominated.tolist()]))
    decision = then.decide(pod)
    starts = 0
    if decision.schedulable:
        percentage = then.percentage_of_nodes_to_score(pod.spec.scheduler_name)
        starts = starts_to(decision, percentage, cluster.nodes.row[node])
    choice = Choice.SAMPLED if starts else Choice.UNEXPLAINED
    return ChosenNodeData(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        node=node,
        choice=Choice.BEST if node in decision.best else choice,
        best=decision.best,
        starts=starts,
        of_starts=len(decision.searched),
    )
