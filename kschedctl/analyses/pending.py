"""``pending``: the pending pods by cause, and the few changes that would place most of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from kschedctl.analyses.explain.cause import cause
from kschedctl.analyses.handle import AnalysisHandle
from kschedctl.analyses.provenance import Provenance, envelope, provenance
from kschedctl.analyses.snapshot_time import newest_time, taken_at
from kschedctl.answers.pending import GroupData, Pending, UnblockingData
from kschedctl.answers.preempt_words import duration
from kschedctl.api.label_query import parse_label_query
from kschedctl.api.selectors import matches
from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.simulate.pending import pending_pods
from kschedctl.why.pending_groups import PendingGroup, group_pending_pods, oldest
from kschedctl.why.unblocking_changes import MOST as DEFAULT_CHANGES
from kschedctl.why.unblocking_changes import Unblocking, UnblockingResult, unblock

_NOT_OURS: Final = "notOurs"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """A question about the pending pods.

    Attributes
    ----------
    namespace : str
        The namespace of the pods; empty for all.
    selector : str
        A label selector; empty for all pods.
    changes : int
        The number of changes to look for; 0 skips the search.
    """

    namespace: str = ""
    selector: str = ""
    changes: int = DEFAULT_CHANGES


def pending(cluster: LoadedCluster, request: PendingRequest, handle: AnalysisHandle) -> Pending:
    """Report the pending pods by cause, and the few changes that would place most of them.

    Each change was proven in a simulation of the whole queue.
    """
    query = parse_label_query(request.selector) if request.selector else ()
    scheduler = cluster.with_edited_pending()
    waiting = (scheduler.cluster.pods.pod(index) for index in pending_pods(scheduler.cluster))
    pods = [pod for pod in waiting if request.namespace in ("", pod.namespace) and matches(query, pod.metadata.labels)]
    with handle.busy("looking for changes"):
        groups = group_pending_pods(scheduler, pods)
        found = unblock(scheduler, groups, request.changes) if request.changes and groups else None
    decided = ((group.pods[0], group.decision) for group in groups if group.decision is not None)
    missing = dict.fromkeys(each for pod, made in decided for each in cluster.missing(pod, made))
    # Ages end when the snapshot was taken: later events are unknown.
    now = taken_at(cluster.cluster) or newest_time(cluster.cluster) or datetime.now(UTC)
    return pending_answer(cluster.cluster, groups, found, provenance(cluster, missing, many=True), now)


def pending_answer(
    cluster: Cluster,
    groups: Sequence[PendingGroup],
    found: UnblockingResult | None,
    rests_on: Provenance,
    now: datetime,
) -> Pending:
    """Return the answer.

    Parameters
    ----------
    groups : sequence of PendingGroup
        The pods by cause.
    found : UnblockingResult or None
        The changes that would place pods; ``None`` if changes were not searched for.
    now : datetime
        The time until which the pods have been pending.
    """
    not_modelled: dict[NotModelled, None] = {}
    for group in groups:
        if group.decision is not None:
            not_modelled |= dict.fromkeys(group.decision.not_modelled)
    return Pending(
        **envelope(cluster, rests_on, tuple(not_modelled)),
        summary=_summary(groups, found, now),
        groups=tuple(_group(group, found, now) for group in groups),
        fit=found.anyway if found is not None else None,
        changes=tuple(map(_change, found.changes)) if found is not None else (),
        together=found.together if found is not None else (),
    )


def _group(group: PendingGroup, found: UnblockingResult | None, now: datetime) -> GroupData:
    kind, namespace, name = group.workload
    decision = group.decision
    why = cause(decision) if decision is not None else f"no profile is named {group.pods[0].spec.scheduler_name}"
    if group.fits and found is not None:
        # Each pod of the group fits if no other pod is pending. The cause is that of the first pod left over.
        later = next((found.later[pod.key] for pod in group.pods if pod.key in found.later), None)
        why = cause(later) if later is not None else ""
    return GroupData(
        kind=kind,
        namespace=namespace,
        name=name,
        pods=tuple(pod.key for pod in group.pods),
        since=group.since,
        waiting_seconds=max(int((now - group.since).total_seconds()), 0) if group.since is not None else None,
        result=str(decision.outcome) if decision is not None else _NOT_OURS,
        why=why,
        n_fit=sum(pod.key in found.anyway for pod in group.pods) if found is not None else None,
        preempts=group.preempts,
        message=decision.message if decision is not None else "",
    )


def _change(found: Unblocking) -> UnblockingData:
    return UnblockingData(
        summary=found.summary,
        kind=found.scope,
        evicts=found.evicts,
        violates=found.violates,
        changes=tuple(map(msgspec.to_builtins, found.changes)),
        workload_changes=tuple(map(msgspec.to_builtins, found.through)),
        commands=found.commands,
        consequences=(),
        alternatives=(),
        untried="",
        would_place=found.placed,
    )


def _summary(groups: Sequence[PendingGroup], found: UnblockingResult | None, now: datetime) -> str:
    n_pods = sum(len(group.pods) for group in groups)
    if not n_pods:
        return "No pod is pending."
    since = oldest(groups)
    told = f"{counted(n_pods, 'pod')} {'is' if n_pods == 1 else 'are'} pending in {counted(len(groups), 'group')}"
    if since is not None:
        told += f"; the oldest for {duration(max(int((now - since).total_seconds()), 0))}"
    told += "."
    if found is None:
        return told
    if found.anyway:
        verb = "fits" if len(found.anyway) == 1 else "fit"
        told += f" {counted(len(found.anyway), 'pod')} {verb} without a change."
    if found.changes:
        words = ("One change", "Two changes", "Three changes")
        n_changes = len(found.changes)
        what = words[n_changes - 1] if n_changes <= len(words) else f"{n_changes} changes"
        more = " more" if found.anyway else ""
        told += f" {what} would place {len(found.together)}{more} of them."
    return told
