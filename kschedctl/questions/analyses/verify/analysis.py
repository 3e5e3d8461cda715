"""The analysis behind ``verify``: the answers for all pods of a snapshot beside those of the cluster's own scheduler.

The real scheduler's answer for a pending pod is in its condition PodScheduled; its answer for a running pod is the
node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted
from kschedctl.controllers.disruption import without_computed_status
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.provenance import envelope, provenance
from kschedctl.questions.analyses.verify.later_changes import judge
from kschedctl.questions.analyses.verify.pending import check_pending_pods
from kschedctl.questions.analyses.verify.running_pods import BoundPods, check_bound_pods
from kschedctl.questions.answers.merged_text import merge, shape
from kschedctl.questions.answers.verify import (
    BoundCountsData,
    Choice,
    ChosenNodeData,
    InfeasibleGroupData,
    Match,
    PendingCountsData,
    PendingGroupData,
    Standing,
    Verification,
)
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.completeness import missing_for_any, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """A question about the differences to the real scheduler.

    Attributes
    ----------
    before : LoadedCluster or None
        The cluster as it was read, if what-ifs have changed it: differences that only what-ifs cause do not count.
    namespace : str
        The only namespace whose pods are compared; empty for all.
    sampling : bool
        True to compare the nodes of the pods that were scheduled last with the choices of every start of the search.
    """

    before: LoadedCluster | None = None
    namespace: str = ""
    sampling: bool = False


def verify(cluster: LoadedCluster, request: VerifyRequest, handle: AnalysisHandle) -> Verification:
    """Compare the answers for all pods with those of the real scheduler, as far as the snapshot holds them.

    Raises
    ------
    InputError
        If pods are edited: the real scheduler has no answers for edited pods.
    ClusterError
        If the pods could not be listed.
    """
    if cluster.pod_edits:
        problem = f"{cluster.pod_edits[0]}: pods are compared unchanged"
        raise InputError(problem, hint="leave this option out; changes to the cluster are allowed")
    require_listed(cluster.cluster, "Pod")
    cluster.require_nodes()
    cluster = as_stored(cluster)
    before = as_stored(request.before).scheduler if request.before is not None else None
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
    bound = _bound_counts(found, infeasible)
    choices = _choices(cluster.scheduler, before, found, request, handle) if request.sampling else None
    return Verification(
        equal=not (pending.different or bound.different),
        summary=_summary(pending, bound, choices),
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


def _choices(
    scheduler: Scheduler, before: Scheduler | None, found: BoundPods, request: VerifyRequest, handle: AnalysisHandle
) -> tuple[ChosenNodeData, ...]:
    """Return the explanations of chosen nodes, in the cluster without what-ifs."""
    # Only --sampling compares chosen nodes.
    from kschedctl.questions.analyses.verify.choices import compare_choices

    misplaced = {scheduler.cluster.pods.key(pod.pod) for pod in found.misplaced}
    return compare_choices(before or scheduler, misplaced, handle, request.namespace)


def _bound_counts(found: BoundPods, infeasible: list[InfeasibleGroupData]) -> BoundCountsData:
    standings = Counter(each.standing for each in infeasible)
    return BoundCountsData(
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


def _summary(pending: PendingCountsData, bound: BoundCountsData, choices: tuple[ChosenNodeData, ...] | None) -> str:
    compared = _with_message(pending) + bound.feasible + bound.infeasible
    if not compared:
        return "There is nothing to compare: no pod runs on a node or has a message of kube-scheduler."
    return " ".join([_verdict(pending, bound), *_old_messages(pending), *_explained(bound), *_chosen(choices)])


def _with_message(pending: PendingCountsData) -> int:
    return pending.equal + pending.different + pending.nominated + pending.aged


def _old_messages(pending: PendingCountsData) -> Iterator[str]:
    """Yield sentences about messages of before that are no difference."""
    if pending.aged:
        verb = "has" if pending.aged == 1 else "have"
        yield f"{counted(pending.aged, 'pending pod')} {verb} an aged message: pods that now run are younger than it."
    if pending.nominated:
        verb = "waits" if pending.nominated == 1 else "wait"
        yield f"{counted(pending.nominated, 'nominated pod')} {verb} for victims to end, with the message of before."


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


def _explained(bound: BoundCountsData) -> Iterator[str]:
    """Yield sentences about pods that would not fit any more without being a difference."""
    if bound.changed:
        yield f"{counted(bound.changed, 'running pod')} would not fit any more, which a later change may explain."
    if bound.cordoned:
        verb = "is" if bound.cordoned == 1 else "are"
        yield f"{counted(bound.cordoned, 'running pod')} {verb} on cordoned nodes, where running pods stay."
    if bound.what_if:
        yield f"{counted(bound.what_if, 'running pod')} would not fit with the what-ifs."
