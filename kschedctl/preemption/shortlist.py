"""How many candidates are enough for kube-scheduler, which does not look at every node of a large cluster."""

from __future__ import annotations

from kschedctl.framework.config.args import DefaultPreemptionArgs
from kschedctl.framework.runtime import Framework

_PLUGIN = "DefaultPreemption"


def candidates_enough(framework: Framework, n_nodes: int) -> int:
    """At how many candidates the dry run stops (upstream ``calculateNumCandidates``).

    Parameters
    ----------
    framework : Framework
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
