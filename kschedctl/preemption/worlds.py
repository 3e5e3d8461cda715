"""Node by node worlds in which the filters are asked with and without nominated pods, as in a real cycle."""

from __future__ import annotations

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.overlay import Overlay
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.runtime import Framework
from kschedctl.framework.verdicts import NodeStatuses


class Worlds:
    """An overlay, and beside it one with the nominated pods of those nodes that have any.

    Parameters
    ----------
    framework : Framework
        The pod's profile.
    state : CycleState
        The state after PreFilter.
    pod : Pod
        The pod to place.
    rows : ndarray of int64, shape (n_worlds,)
        The node of each world.
    """

    def __init__(self, framework: Framework, state: CycleState, pod: Pod, rows: Int64Array) -> None:
        self._framework = framework
        self._state = state
        self._pod = pod
        self._bare = framework.cluster.overlay(rows)
        # Per world its position in the second overlay; -1 for nodes without nominated pods.
        self._second = np.full(len(rows), -1, dtype=np.int64)
        self._nominated = framework.nominated_overlay(pod, rows)
        if self._nominated is not None:
            position = {int(row): i for i, row in enumerate(self._nominated.rows)}
            self._second = np.array([position.get(int(row), -1) for row in rows], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._bare)

    def add(self, worlds: Int64Array, pods: Int64Array) -> None:
        """Add pods to worlds; as ``Overlay.add``."""
        self._bare.add(worlds, pods)
        if self._nominated is not None:
            second = self._second[worlds]
            self._nominated.add(second[second >= 0], pods[second >= 0])

    def remove(self, worlds: Int64Array, pods: Int64Array) -> None:
        """Remove pods from worlds; as ``Overlay.remove``."""
        self._bare.remove(worlds, pods)
        if self._nominated is not None:
            second = self._second[worlds]
            self._nominated.remove(second[second >= 0], pods[second >= 0])

    def select(self, mask: Mask) -> Worlds:
        """Some of the worlds; as ``Overlay.select``."""
        out = object.__new__(Worlds)
        out._framework, out._state, out._pod = self._framework, self._state, self._pod
        out._bare = self._bare.select(mask)
        out._nominated = None
        out._second = np.full(int(mask.sum()), -1, dtype=np.int64)
        if self._nominated is not None:
            kept = np.zeros(len(self._nominated), dtype=np.bool_)
            chosen = self._second[mask]
            kept[chosen[chosen >= 0]] = True
            if kept.any():
                out._nominated = self._nominated.select(kept)
                out._second = np.where(chosen >= 0, (np.cumsum(kept) - 1)[chosen], -1)
        return out

    def statuses(self) -> NodeStatuses:
        """What every filter says in every world."""
        return self._framework.node_statuses(self._state, self._pod, self._bare, self._nominated)

    def passing(self) -> Mask:
        """Where the pod fits, by the filters that pods have a bearing on: bool, shape (n_worlds,)."""
        fits = self._passing(self._bare)
        if self._nominated is not None:
            with_nominated = np.append(self._passing(self._nominated), True)
            fits &= with_nominated[self._second]
        return fits

    def _passing(self, overlay: Overlay) -> Mask:
        return self._framework.passing(self._state, self._pod, overlay)
