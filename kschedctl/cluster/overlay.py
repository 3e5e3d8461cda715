"""Worlds in which one node is different: the one mechanism behind nominated pods and the preemption dry run.

World ``i`` of an overlay is the cluster with pods added to or removed from node ``rows[i]``, and from no other node.
A plugin states what a pod of each class contributes; the overlay knows by how much that differs in each world.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.pods import Pods


@dataclass(frozen=True, slots=True)
class _Change:
    """Pods that were added (sign 1) or removed (sign -1), each in its world."""

    worlds: Int64Array
    pods: Int64Array
    sign: int
    nominated: bool = False


class Overlay:
    """One world per node row. Without changes it is the snapshot itself.

    Parameters
    ----------
    pods : Pods
        The pods of the cluster.
    rows : ndarray of int64, shape (n_worlds,)
        The node that each world is about.
    """

    def __init__(self, pods: Pods, rows: Int64Array) -> None:
        self.pods = pods
        self.rows = rows
        self._changes: list[_Change] = []
        # Per key the sum so far, and up to which change it counts.
        self._sums: dict[Hashable, tuple[Int64Array, int]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def changed(self) -> bool:
        """Whether any world differs from the snapshot."""
        return bool(self._changes)

    def add(self, worlds: Int64Array, pods: Int64Array) -> None:
        """Add pods to worlds.

        Parameters
        ----------
        worlds : ndarray of int64, shape (k,)
            Positions in ``rows``; may repeat.
        pods : ndarray of int64, shape (k,)
            The index of the pod that is added to each.
        """
        self._change(worlds, pods, 1)

    def nominate(self, worlds: Int64Array, pods: Int64Array) -> None:
        """Add pods that are nominated to the nodes; as ``add``, but after all other changes, also later ones."""
        if len(worlds):
            self._changes.append(_Change(worlds, pods, 1, nominated=True))

    def remove(self, worlds: Int64Array, pods: Int64Array) -> None:
        """Remove pods from worlds; as ``add``."""
        self._change(worlds, pods, -1)

    def _change(self, worlds: Int64Array, pods: Int64Array, sign: int) -> None:
        if len(worlds):
            self._changes.append(_Change(worlds, pods, sign))

    def delta(self, key: Hashable, per_class: Int64Array) -> Int64Array:
        """By how much a sum over the pods of each world's node differs from the snapshot.

        Parameters
        ----------
        key : hashable
            Names the quantity; the same key must always come with the same values.
        per_class : ndarray of int64, shape (n_classes,)
            What a pod of each class contributes.

        Returns
        -------
        ndarray of int64, shape (n_worlds,), or (1,) where nothing is changed
            Not to be written to.
        """
        if not self._changes:
            return _NOTHING
        total, counted = self._sums.get(key, (None, 0))
        if total is None:
            total = np.zeros(len(self.rows), dtype=np.int64)
        for change in self._changes[counted:]:
            np.add.at(total, change.worlds, change.sign * per_class[self.pods.class_id[change.pods]])
        self._sums[key] = (total, len(self._changes))
        return total

    def changes(self) -> list[tuple[Int64Array, Int64Array, int]]:
        """All changes in order, for what is no sum over pods: worlds, pods, and 1 or -1 for added or removed."""
        ordered = sorted(self._changes, key=lambda change: change.nominated)
        return [(change.worlds, change.pods, change.sign) for change in ordered]

    def copy(self) -> Overlay:
        """An overlay with the same changes, to be changed further on its own."""
        return self.select(np.ones(len(self.rows), dtype=np.bool_))

    def select(self, mask: Mask) -> Overlay:
        """An overlay of some of the worlds.

        Parameters
        ----------
        mask : ndarray of bool, shape (n_worlds,)
            Which worlds to keep.
        """
        out = Overlay(self.pods, self.rows[mask])
        position = np.cumsum(mask) - 1
        for change in self._changes:
            kept = mask[change.worlds]
            worlds = position[change.worlds[kept]]
            out._changes.append(_Change(worlds, change.pods[kept], change.sign, change.nominated))
        out._sums = {key: (total[mask], counted) for key, (total, counted) in self._sums.items()}
        return out


_NOTHING = np.zeros(1, dtype=np.int64)
_NOTHING.setflags(write=False)
