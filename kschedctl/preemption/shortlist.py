"""Where kube-scheduler stops the dry run: it does not look at every node of a large cluster.

From what was found on all potential nodes to what it would have found before it stopped.
"""

from __future__ import annotations

import numpy as np

from kschedctl.framework.config.args import DefaultPreemptionArgs
from kschedctl.framework.interface import PluginsRunner
from kschedctl.preemption.dry_run_preemption import DryRun

_PLUGIN = "DefaultPreemption"


def calculate_num_candidates(framework: PluginsRunner, n_nodes: int) -> int:
    """At how many candidates the dry run stops (upstream ``calculateNumCandidates``).

    Parameters
    ----------
    framework : PluginsRunner
        The pod's profile.
    n_nodes : int
        On how many nodes removing pods may help.

    Returns
    -------
    int
        The share of them that the profile names, at least its absolute number; the division truncates.
    """
    args = framework.profile.args.get(_PLUGIN)
    if not isinstance(args, DefaultPreemptionArgs):
        args = DefaultPreemptionArgs()
    share = n_nodes * args.min_candidate_nodes_percentage // 100
    return min(max(share, args.min_candidate_nodes_absolute), n_nodes)


def shortlisted(run: DryRun, num_candidates: int, offset: int) -> DryRun:
    """What is found up to where enough candidates are known and one of them violates no budget.

    Parameters
    ----------
    run : DryRun
        What is found on all potential nodes.
    num_candidates : int
        How many candidates are enough.
    offset : int
        At which of the potential nodes it begins; from there on the cluster's order, and round.

    Returns
    -------
    DryRun
        ``run`` itself where that is never so.
    """
    rows = np.roll(run.looked_at, -offset)
    victims = run.victims
    violates = np.bincount(victims.worlds[run.violating], minlength=victims.n_worlds) > 0
    candidate = np.isin(rows, victims.rows)
    harmless = np.isin(rows, victims.rows[~violates])
    enough = np.flatnonzero((np.cumsum(candidate) >= num_candidates) & (np.cumsum(harmless) > 0) & candidate)
    return run.among(np.sort(rows[: enough[0] + 1])) if len(enough) else run
