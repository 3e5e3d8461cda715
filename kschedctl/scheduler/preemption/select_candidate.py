"""The choice among the candidates (upstream ``SelectCandidate``, ``pickOneNodeForPreemption``).

Each criterion keeps the best of the candidates that the criterion before it kept. From a table of candidates (worlds)
and victims (entries) to candidates.
"""

from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.cluster.pods import Pods
from kschedctl.common.arrays import Int64Array, PodIndices, Worlds
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.config.types import DefaultPreemptionArgs
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun

#: The criteria in their order.
CRITERIA: Final = (
    "fewer budget violations",
    "lower highest priority of a victim",
    "lower sum of priorities",
    "fewer victims",
    "later start of the most important victims",
)
_SHIFT: Final = 2**31


class Choice(msgspec.Struct, frozen=True):
    """The comparison of the candidates."""

    #: The value of each candidate per criterion: violations, priority, sum of priorities, number of victims, and
    #: start time in microseconds.
    values: Int64Array
    #: The index of the criterion at which a candidate lost; -1 for the best candidates, which tie.
    lost_at: Int64Array

    @property
    def best(self) -> Worlds:
        """The best candidates: int64."""
        return np.flatnonzero(self.lost_at < 0)


def pick_one_node_for_preemption(pods: Pods, victims: PodsInWorlds, violations: Int64Array) -> Choice:
    """Compare the candidates by each criterion in order.

    Args:
        victims: The candidates and their victims, at least one each. The victims are sorted by descending
            importance, unless an extender returned another order.
        violations: The number of evictions that violate a disruption budget.
    """
    n = victims.n_worlds
    priority = pods.priority[victims.pods]
    highest = priority[victims.first]
    # Priorities are shifted to be at least 0, as upstream, so that fewer victims of negative priority are preferred.
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, victims.worlds, priority + _SHIFT)
    earliest = np.full(n, 2**63 - 1, dtype=np.int64)
    # Upstream compares priorities by the first victim, but start times by the victims of truly highest priority.
    truly_highest = highest.copy()
    np.maximum.at(truly_highest, victims.worlds, priority)
    important = priority == truly_highest[victims.worlds]
    np.minimum.at(earliest, victims.worlds[important], pods.start_time[victims.pods[important]])
    values = np.array([violations, highest, total, victims.counts, earliest], dtype=np.int64)
    lost_at = np.full(n, -1, dtype=np.int64)
    for i, row in enumerate(values):
        left = lost_at < 0
        if left.sum() > 1:
            best = row[left].max() if i == len(values) - 1 else row[left].min()
            lost_at[left & (row != best)] = i
    return Choice(values, lost_at)


def lower_priority_nominated_pods(cluster: Cluster, pod: Pod, row: int) -> PodIndices:
    """Return the pods that lose their nomination to a node (upstream ``getLowerPriorityNominatedPods``).

    Args:
        row: The row of the chosen node.
    """
    pods = cluster.pods
    return np.flatnonzero((pods.nominated_row == row) & (pods.priority < (pod.spec.priority or 0)))


# The point at which kube-scheduler stops the dry run: it does not try every node of a large cluster.
#
# From the result on all potential nodes to the result that kube-scheduler would have when it stops.

_PLUGIN = "DefaultPreemption"


def calculate_num_candidates(framework: PluginsRunner, n_nodes: int) -> int:
    """Return the number of candidates at which the dry run stops (upstream ``calculateNumCandidates``).

    Args:
        framework: The pod's profile.

    Returns: The profile's percentage of ``n_nodes``, truncated; at least the profile's absolute number, at most
        ``n_nodes``.
    """
    args = framework.profile.args.get(_PLUGIN)
    if not isinstance(args, DefaultPreemptionArgs):
        args = DefaultPreemptionArgs()
    share = n_nodes * args.min_candidate_nodes_percentage // 100
    return min(max(share, args.min_candidate_nodes_absolute), n_nodes)


def truncate_dry_run(run: DryRun, num_candidates: int, offset: int) -> DryRun:
    """Return the result up to the node with which there are enough candidates, one of which violates no budget.

    Args:
        run: The result on all potential nodes.
        offset: The index of the first node among the potential nodes. The others follow in the cluster's order,
            cyclically.

    Returns: ``run`` itself if there are never enough candidates.
    """
    rows = np.roll(run.looked_at, -offset)
    victims = run.victims
    violates = np.bincount(victims.worlds[run.violating], minlength=victims.n_worlds) > 0
    candidate = np.isin(rows, victims.rows)
    harmless = np.isin(rows, victims.rows[~violates])
    enough = np.flatnonzero((np.cumsum(candidate) >= num_candidates) & (np.cumsum(harmless) > 0) & candidate)
    return run.among(np.sort(rows[: enough[0] + 1])) if len(enough) else run
