"""The point at which kube-scheduler stops the dry run: it does not try every node of a large cluster.

From the result on all potential nodes to the result that kube-scheduler would have when it stops.
"""

from __future__ import annotations

import numpy as np

from kschedctl.scheduler.framework.config.args import DefaultPreemptionArgs
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun

_PLUGIN = "DefaultPreemption"


def calculate_num_candidates(framework: PluginsRunner, n_nodes: int) -> int:
    """Return the number of candidates at which the dry run stops (upstream ``calculateNumCandidates``).

    Parameters
    ----------
    framework : PluginsRunner
        The pod's profile.
    n_nodes : int
        The number of potential nodes.

    Returns
    -------
    int
        The profile's percentage of ``n_nodes``, truncated; at least the profile's absolute number, at most ``n_nodes``.
    """
    args = framework.profile.args.get(_PLUGIN)
    if not isinstance(args, DefaultPreemptionArgs):
        args = DefaultPreemptionArgs()
    share = n_nodes * args.min_candidate_nodes_percentage // 100
    return min(max(share, args.min_candidate_nodes_absolute), n_nodes)


def truncate_dry_run(run: DryRun, num_candidates: int, offset: int) -> DryRun:
    """Return the result up to the node with which there are enough candidates, one of which violates no budget.

    Parameters
    ----------
    run : DryRun
        The result on all potential nodes.
    num_candidates : int
        The number of candidates that is enough.
    offset : int
        The index of the first node among the potential nodes. The others follow in the cluster's order, cyclically.

    Returns
    -------
    DryRun
        ``run`` itself if there are never enough candidates.
    """
    rows = np.roll(run.looked_at, -offset)
    victims = run.victims
    violates = np.bincount(victims.worlds[run.violating], minlength=victims.n_worlds) > 0
    candidate = np.isin(rows, victims.rows)
    harmless = np.isin(rows, victims.rows[~violates])
    enough = np.flatnonzero((np.cumsum(candidate) >= num_candidates) & (np.cumsum(harmless) > 0) & candidate)
    return run.among(np.sort(rows[: enough[0] + 1])) if len(enough) else run
