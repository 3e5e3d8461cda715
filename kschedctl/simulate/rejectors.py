"""The plugins that rejected a pod; it waits for their events (upstream ``Diagnosis.UnschedulablePlugins``)."""

from __future__ import annotations

import numpy as np

from kschedctl.framework.node_statuses import FilterRun, NodeStatuses
from kschedctl.framework.status import Code
from kschedctl.scheduler.decision import Decision


def rejector_plugins(decision: Decision) -> tuple[set[str], set[str]]:
    """Return the plugins that rejected a pod.

    Parameters
    ----------
    decision : Decision
        A decision that found no node.

    Returns
    -------
    unschedulable, pending : set of str
        The plugins that rejected the pod; ``pending`` are those that returned the status Pending because they wait for
        an event, ``unschedulable`` all others. Both sets are empty after an error.
    """
    outcome = decision.pre_filter
    if decision.error or outcome is None:
        return set(), set()
    unschedulable, pending = set(outcome.plugins), set()
    if outcome.status.code is not Code.SUCCESS:
        if outcome.status.plugin:
            unschedulable.add(outcome.status.plugin)
            if outcome.status.code is Code.PENDING:
                pending.add(outcome.status.plugin)
    elif decision.statuses is not None:
        for run, worlds in _deciding(decision.statuses):
            at = run.first[worlds]
            unschedulable |= {run.plugins[i] for i in np.unique(at[at >= 0]).tolist()}
            waiting = at[run.code[worlds] == Code.PENDING]
            pending |= {run.plugins[i] for i in np.unique(waiting).tolist()}
        unschedulable |= {each.status.plugin for each in decision.statuses.extender_verdicts.values()}
    return unschedulable - pending, pending


def _deciding(statuses: NodeStatuses) -> list[tuple[FilterRun, slice | np.ndarray[tuple[int], np.dtype[np.bool_]]]]:
    """Return the filter runs, each with the worlds (hypothetical states of one node) whose verdict counts."""
    snapshot, nominated = statuses.snapshot, statuses.nominated
    if snapshot is None:
        return []
    inside = slice(None) if statuses.outside is None else ~statuses.outside[snapshot.rows]
    if nominated is None:
        return [(snapshot, inside)]
    failed = ~nominated.passed
    if statuses.outside is not None:
        failed &= ~statuses.outside[nominated.rows]
    decides = ~np.isin(snapshot.rows, nominated.rows[failed])
    if statuses.outside is not None:
        decides &= ~statuses.outside[snapshot.rows]
    return [(snapshot, decides), (nominated, failed)]
