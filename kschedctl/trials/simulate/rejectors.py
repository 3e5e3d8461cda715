"""The plugins that rejected a pod; it waits for their events (upstream ``Diagnosis.UnschedulablePlugins``)."""

from __future__ import annotations

from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.status import Code


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
        for run, worlds in decision.statuses.runs:
            unschedulable |= {run.plugins[i] for i in run.deciding_filters(worlds)}
            waiting = worlds & (run.code == Code.PENDING)
            pending |= {run.plugins[i] for i in run.deciding_filters(waiting)}
        unschedulable |= {each.status.plugin for each in decision.statuses.extender_verdicts.values()}
    return unschedulable - pending, pending
