"""The nodes on which removing pods may help (upstream ``potentialNodes`` in ``findCandidates``).

From the filters' verdicts, by node row, to node rows.
"""

from __future__ import annotations

import numpy as np

from kschedctl.common.arrays import Rows
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.status import Code


def potential_nodes(statuses: NodeStatuses) -> Rows:
    """Return the nodes with the status Unschedulable, on which removing pods may help.

    Parameters
    ----------
    statuses : NodeStatuses
        The filters' verdicts, by node.

    Returns
    -------
    ndarray of int64, shape (n_potential,)
        The rows, ascending. Nodes with UnschedulableAndUnresolvable are not among them.
    """
    return np.flatnonzero(statuses.code == Code.UNSCHEDULABLE)
