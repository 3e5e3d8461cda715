"""Worlds in which one node is different: the one mechanism behind nominated pods and the preemption dry run.

World ``w`` of an overlay is the cluster with pods added to or removed from node ``rows[w]``, and from no other node.
A plugin states what a pod of each class contributes; the overlay knows by how much that differs in each world.

Pods that are nominated to a node count there, but only as an extra condition: the pod must fit without them and with
them. So an overlay keeps, beside its worlds, those that pods are nominated in once more, with these pods in place
(``nominated``). What is changed in a world is changed in both, and whoever chooses worlds chooses among both.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from kschedctl.arrays import Int64Array, Mask, PodIndices, Rows, Worlds
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.worlds import Numbering, PodsInWorlds


@dataclass(frozen=True, slots=True)
class _Change:
    """Pods that were added (sign 1) or removed (sign -1), each in its world."""

    worlds: Worlds
    pods: PodIndices
    sign: int
    nominated: bool = False

    def among(self, chosen: Numbering) -> _Change:
        kept, worlds = chosen.find(self.worlds)
        return _Change(worlds, self.pods[kept], self.sign, self.nominated)


class Overlay:
    """One world per node row. Without changes it is the snapshot itself.

    Parameters
    ----------
    pods : Pods
        The pods of the cluster.
    rows : ndarray of int64, shape (n_worlds,)
        The node that each world is about; distinct.
    nominated : PodsInWorlds, optional
        Pods that are nominated to these nodes.

    Attributes
    ----------
    nominated : Selection or None
        The worlds that have nominated pods, with these in place; ``None`` where none has.
    """

    def __init__(self, pods: Pods, rows: Rows, nominated: PodsInWorlds | None = None) -> None:
        self.pods = pods
        self.rows = rows
        self._changes: list[_Change] = []
        # Per key the sum so far, and up to which change it counts.
        self._sums: dict[Hashable, tuple[Int64Array, int]] = {}
        self.nominated: Selection | None = None
        if nominated is not None and len(nominated):
            second = self._choose(Numbering.of(np.unique(nominated.worlds), len(rows)))
            change = _Change(nominated.worlds, nominated.pods, 1, nominated=True)
            second.overlay._changes.append(change.among(second.worlds))
            self.nominated = second

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def changed(self) -> bool:
        """Whether any world differs from the snapshot."""
        return bool(self._changes)

    def is_everywhere(self, nodes: Nodes) -> bool:
        """Whether it has a world for every node, in their order, and none differs from the snapshot."""
        return not self._changes and (self.rows is nodes.rows or np.array_equal(self.rows, nodes.rows))

    def add(self, worlds: Worlds, pods: PodIndices) -> None:
        """Add pods to worlds.

        Parameters
        ----------
        worlds : ndarray of int64, shape (k,)
            Positions in ``rows``; may repeat.
        pods : ndarray of int64, shape (k,)
            The pod that is added to each.
        """
        self._change(_Change(worlds, pods, 1))

    def remove(self, worlds: Worlds, pods: PodIndices) -> None:
        """Remove pods from worlds; as ``add``."""
        self._change(_Change(worlds, pods, -1))

    def _change(self, change: _Change) -> None:
        if len(change.worlds):
            self._changes.append(change)
            if self.nominated is not None:
                self.nominated.overlay._change(change.among(self.nominated.worlds))

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

    def changes(self) -> list[tuple[Worlds, PodIndices, int]]:
        """All changes in order, for what is no sum over pods: worlds, pods, and 1 or -1 for added or removed.

        Nominated pods come last, also after pods that were removed later: kube-scheduler adds them each time anew.
        """
        ordered = sorted(self._changes, key=lambda change: change.nominated)
        return [(change.worlds, change.pods, change.sign) for change in ordered]

    def select(self, mask: Mask) -> Selection:
        """Some of the worlds with their changes, to be changed further on their own.

        Parameters
        ----------
        mask : ndarray of bool, shape (n_worlds,)
            Which worlds to keep.
        """
        return self._choose(Numbering.of(np.flatnonzero(mask), len(self.rows)))

    def _choose(self, worlds: Numbering) -> Selection:
        out = Overlay(self.pods, self.rows[worlds.originals])
        out._changes = [change.among(worlds) for change in self._changes]
        out._sums = {key: (total[worlds.originals], counted) for key, (total, counted) in self._sums.items()}
        if self.nominated is not None:
            kept, numbers = worlds.find(self.nominated.originals)
            if kept.any():
                second = self.nominated.overlay.select(kept)
                out.nominated = Selection(second.overlay, Numbering.of(numbers, len(out)))
        return Selection(out, worlds)


@dataclass(frozen=True, slots=True)
class Selection:
    """Some worlds of an overlay, as an overlay of their own, and the way back.

    Attributes
    ----------
    overlay : Overlay
        The chosen worlds, numbered anew.
    worlds : Numbering
        The world of the overlay chosen from that each number stands for.
    """

    overlay: Overlay
    worlds: Numbering

    @classmethod
    def everything(cls, overlay: Overlay) -> Selection:
        """All worlds of an overlay: the overlay itself, not a copy of it."""
        return cls(overlay, Numbering.of(np.arange(len(overlay)), len(overlay)))

    def __len__(self) -> int:
        return len(self.overlay)

    @property
    def originals(self) -> Worlds:
        """The world that each chosen one is in the overlay chosen from: int64, shape (n_chosen,)."""
        return self.worlds.originals

    @property
    def rows(self) -> Rows:
        """The node that each chosen world is about: int64, shape (n_chosen,)."""
        return self.overlay.rows

    def select(self, mask: Mask) -> Selection:
        """Some of the chosen worlds; the way still leads back to the overlay that was first chosen from.

        Parameters
        ----------
        mask : ndarray of bool, shape (n_chosen,)
            Which worlds to keep.
        """
        later = self.overlay.select(mask)
        return Selection(later.overlay, self.worlds.then(later.worlds))


_NOTHING = np.zeros(1, dtype=np.int64)
_NOTHING.setflags(write=False)
