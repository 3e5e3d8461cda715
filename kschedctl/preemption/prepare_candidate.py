"""What else changes when a candidate is taken (upstream ``prepareCandidate``), beside its victims being evicted.

From a node row to pod indices.
"""

from __future__ import annotations

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import PodIndices
from kschedctl.cluster.cluster import Cluster


def lower_priority_nominated_pods(cluster: Cluster, pod: Pod, row: int) -> PodIndices:
    """The pods that lose their nomination to a node (upstream ``getLowerPriorityNominatedPods``).

    Parameters
    ----------
    pod : Pod
        The preemptor.
    row : int
        The row of the node that is taken.
    """
    pods = cluster.pods
    return np.flatnonzero((pods.nominated_row == row) & (pods.priority < (pod.spec.priority or 0)))
