"""The effects of choosing a candidate, besides the eviction of its victims (upstream ``prepareCandidate``).

From a node row to pod indices.
"""

from __future__ import annotations

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import PodIndices
from kschedctl.objects.pod import Pod


def lower_priority_nominated_pods(cluster: Cluster, pod: Pod, row: int) -> PodIndices:
    """Return the pods that lose their nomination to a node (upstream ``getLowerPriorityNominatedPods``).

    Parameters
    ----------
    pod : Pod
        The preemptor.
    row : int
        The row of the chosen node.
    """
    pods = cluster.pods
    return np.flatnonzero((pods.nominated_row == row) & (pods.priority < (pod.spec.priority or 0)))
