"""From groups of pods that wait, and what would place them, to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.explain.many import cause
from kschedctl.report.pending.data import GroupData, Pending, UnblockingData
from kschedctl.report.preempt.words import duration
from kschedctl.why.unblocking import Unblocked, Unblocking
from kschedctl.why.waiting import WaitingGroup, oldest

_NOT_OURS: Final = "notOurs"


def pending_answer(
    cluster: Cluster, groups: Sequence[WaitingGroup], found: Unblocked | None, provenance: Provenance, now: datetime
) -> Pending:
    """Put pods that wait into data.

    Parameters
    ----------
    groups : sequence of WaitingGroup
        The pods.
    found : Unblocked or None
        What would place them; ``None`` where that was not looked for.
    provenance : Provenance
        What it rests on.
    now : datetime
        Until when they have waited.
    """
    not_modelled: dict[NotModelled, None] = {}
    for group in groups:
        if group.decision is not None:
            not_modelled |= dict.fromkeys(group.decision.not_modelled)
    return Pending(
        **envelope(cluster, provenance, tuple(not_modelled)),
        summary=_summary(groups, found, now),
        groups=tuple(_group(group, found, now) for group in groups),
        fit=found.anyway if found is not None else None,
        changes=tuple(map(_change, found.changes)) if found is not None else (),
        together=found.together if found is not None else (),
    )


def _group(group: WaitingGroup, found: Unblocked | None, now: datetime) -> GroupData:
    kind, namespace, name = group.workload
    decision = group.decision
    why = cause(decision) if decision is not None else f"no profile is named {group.pods[0].spec.scheduler_name}"
    if group.fits and found is not None:
        # Each fits where the others do not wait; what stops the next one is told once the others are in place.
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
        would_place=found.placed,
    )


def _summary(groups: Sequence[WaitingGroup], found: Unblocked | None, now: datetime) -> str:
    n_pods = sum(len(group.pods) for group in groups)
    if not n_pods:
        return "No pod waits."
    since = oldest(groups)
    told = f"{counted(n_pods, 'pod')} {'waits' if n_pods == 1 else 'wait'} in {counted(len(groups), 'group')}"
    if since is not None:
        told += f"; the oldest for {duration(max(int((now - since).total_seconds()), 0))}"
    told += "."
    if found is None:
        return told
    if found.anyway:
        verb = "finds" if len(found.anyway) == 1 else "find"
        told += f" {counted(len(found.anyway), 'pod')} {verb} a node as things are."
    if found.changes:
        words = ("One change", "Two changes", "Three changes")
        n_changes = len(found.changes)
        what = words[n_changes - 1] if n_changes <= len(words) else f"{n_changes} changes"
        more = " more" if found.anyway else ""
        told += f" {what} would place {len(found.together)}{more} of them."
    return told
