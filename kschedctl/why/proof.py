"""Proof: a remedy's changes are made, and the pod is decided for again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import KschedctlError
from kschedctl.framework.remedy import Change, Remedy
from kschedctl.framework.remedy_scope import Scope
from kschedctl.preemption.budgets import get_pod_disruption_budgets
from kschedctl.preemption.result import Candidate
from kschedctl.scheduler.cycle import schedule_pod
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.outcome import Outcome
from kschedctl.whatif.patches import make_changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Changes that were tried and work.

    Attributes
    ----------
    remedies : tuple of Remedy
        What is done: one remedy, or two that help together.
    before : Decision
        What is decided as it is.
    decision : Decision
        What is decided once they are made.
    evicts : tuple of str
        The pods that it costs, ``namespace/name``: those that are deleted, or that preemption would then evict.
    violates : tuple of str
        The disruption budgets that this breaks, ``namespace/name``.
    """

    remedies: tuple[Remedy, ...]
    before: Decision
    decision: Decision
    evicts: tuple[str, ...] = ()
    violates: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What to do, in a few words."""
        return ", and ".join(remedy.summary for remedy in self.remedies)

    @property
    def scope(self) -> Scope:
        """What is changed: the widest of it."""
        order = list(Scope)
        return max((remedy.scope for remedy in self.remedies), key=order.index)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The same as data."""
        return tuple(change for remedy in self.remedies for change in remedy.changes)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Where the pod goes then: the best nodes, or those that preemption would make room on."""
        if self.decision.schedulable:
            return self.decision.best
        preemption = self.decision.preemption
        return preemption.nominated if preemption is not None else ()


def decide_after(decision: Decision, remedies: Iterable[Remedy], *, follows: bool = False) -> Decision | None:
    """The decision for the same pod once remedies are applied; ``None`` where they cannot be.

    Parameters
    ----------
    follows : bool
        Whether what controllers make of it is there as well.
    """
    changes = [change for remedy in remedies for change in (*remedy.changes, *(remedy.follows if follows else ()))]
    try:
        after = make_changes(decision.cluster, decision.pod, changes)
    except KschedctlError:
        return None
    framework = decision.framework
    if after.cluster is not decision.cluster:
        framework = framework.moved(after.cluster)
    return schedule_pod(framework, after.pod)


def prove(before: Decision, remedies: tuple[Remedy, ...]) -> Suggestion | None:
    """Try remedies.

    Parameters
    ----------
    before : Decision
        The decision for the pod as it is.
    remedies : tuple of Remedy
        What is done together.

    Returns
    -------
    Suggestion or None
        ``None`` where the pod would not be scheduled, nor anybody evicted for it who would not be now.
    """
    after = decide_after(before, remedies)
    found = judged(before, remedies, after) if after is not None else None
    if found is None or not any(remedy.follows for remedy in remedies):
        return found
    later = decide_after(before, remedies, follows=True)
    return judged(before, remedies, later) if later is not None else None


def judged(before: Decision, remedies: tuple[Remedy, ...], after: Decision) -> Suggestion | None:
    """What a decision after remedies means; ``None`` where they do not help."""
    deleted = tuple(key for remedy in remedies for key in remedy.evicts)
    if after.schedulable:
        violates = broken_budgets(before.cluster, deleted)
        return Suggestion(remedies=remedies, before=before, decision=after, evicts=deleted, violates=violates)
    candidate = _candidate(after)
    if candidate is None or _candidate(before) is not None or deleted:
        return None
    pods = after.cluster.pods
    return Suggestion(
        remedies=remedies,
        before=before,
        decision=after,
        evicts=tuple(sorted(pods.key(victim.pod) for victim in candidate.victims)),
        violates=tuple(sorted({budget.name for victim in candidate.victims for budget in victim.violated})),
    )


def _candidate(decision: Decision) -> Candidate | None:
    preemption = decision.preemption
    if preemption is None or not preemption.nominated or decision.outcome is Outcome.GATED:
        return None
    return preemption.candidate(preemption.nominated[0])


def broken_budgets(cluster: Cluster, keys: Sequence[str]) -> tuple[str, ...]:
    """The disruption budgets that break where some pods, ``namespace/name``, are evicted together."""
    index = cluster.pods.index
    namespaced = (key.partition("/") for key in keys)
    pods = np.array([index[namespace, name] for namespace, _, name in namespaced], dtype=np.int64)
    if not len(pods):
        return ()
    budgets = get_pod_disruption_budgets(cluster)
    return tuple(sorted(b.name for b in budgets if any(b.broken_by(cluster, pods, int(pod)) for pod in pods)))
