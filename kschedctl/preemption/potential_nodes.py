"""The nodes on which removing pods may help (upstream ``potentialNodes`` in ``findCandidates``).

From what the filters say, by node row, to node rows.
"""

from __future__ import annotations

import numpy as np

from kschedctl.arrays import Rows
from kschedctl.framework.status import Code
from kschedctl.framework.verdicts import NodeStatuses


def potential_nodes(statuses: NodeStatuses) -> Rows:
    """The nodes that were turned away for something that pods there may have to do with.

    Parameters
    ----------
    statuses : NodeStatuses
        Why each node was turned away.

    Returns
    -------
    ndarray of int64, shape (n_potential,)
        Rows, ascending: those of status Unschedulable, not UnschedulableAndUnresolvable.
    """
    return np.flatnonzero(statuses.code == Code.UNSCHEDULABLE)
