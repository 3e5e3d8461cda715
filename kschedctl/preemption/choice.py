"""Which candidate is taken: criterion after criterion, each keeps the best of what the one before left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.arrays import Int64Array
from kschedctl.cluster.pods import Pods
from kschedctl.preemption.dry_run import Victims

#: The criteria of upstream ``pickOneNodeForPreemption`` in their order.
CRITERIA: Final = (
    "fewer budget violations",
    "lower highest priority of a victim",
    "lower sum of priorities",
    "fewer victims",
    "later start of the most important victims",
)
_SHIFT: Final = 2**31


@dataclass(frozen=True, slots=True)
class Choice:
    """How the candidates compare.

    Attributes
    ----------
    values : ndarray of int64, shape (n_criteria, n_candidates)
        Per criterion what each candidate has: violations, priority, sum of priorities, number of victims, and start
        time in microseconds.
    lost_at : ndarray of int64, shape (n_candidates,)
        The index of the criterion at which a candidate dropped out; -1 for those that chance decides among.
    """

    values: Int64Array
    lost_at: Int64Array

    @property
    def best(self) -> Int64Array:
        """The positions of the candidates that are left: int64."""
        return np.flatnonzero(self.lost_at < 0)


def choose(pods: Pods, victims: Victims) -> Choice:
    """Compare candidates.

    Parameters
    ----------
    pods : Pods
        The pods of the cluster.
    victims : Victims
        The candidates and their victims; every candidate has at least one.
    """
    n = len(victims.rows)
    priority = pods.priority[victims.pod]
    first = np.searchsorted(victims.world, np.arange(n))
    highest = priority[first]
    # Shifted, so that a few low priorities weigh less than many.
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, victims.world, priority + _SHIFT)
    earliest = np.full(n, 2**63 - 1, dtype=np.int64)
    important = priority == highest[victims.world]
    np.minimum.at(earliest, victims.world[important], pods.start_time[victims.pod[important]])
    values = np.array(
        [
            np.bincount(victims.world[victims.violating], minlength=n),
            highest,
            total,
            np.bincount(victims.world, minlength=n),
            earliest,
        ],
        dtype=np.int64,
    )
    lost_at = np.full(n, -1, dtype=np.int64)
    for i, row in enumerate(values):
        left = lost_at < 0
        if left.sum() > 1:
            best = row[left].max() if i == len(values) - 1 else row[left].min()
            lost_at[left & (row != best)] = i
    return Choice(values, lost_at)
