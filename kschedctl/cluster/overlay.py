"""Overlays: hypothetical states of single nodes, for nominated pods and the preemption dry run.

World ``w`` of an overlay is the cluster with pods added to or removed from node ``rows[w]``, and from no other node. A
plugin states the contribution of a pod of each class; the overlay computes the difference in each world.

Pods that are nominated to a node count as an additional condition: the pod must fit both without and with them. An
overlay therefore has a second copy, ``nominated``, of the worlds with nominated pods, in which those pods are added. A
change or a selection of worlds applies to both.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec
import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.common.arrays import Entries, Int64Array, Mask, PodIndices, Rows, Worlds

# Numbering of worlds, and tables of pods in worlds.
#
# A world is a hypothetical state of one node: world ``w`` is a state of node ``rows[w]``. A selection of worlds
# renumbers
# them; ``Numbering`` converts between the numbers, so that no other module computes positions.

#: The number of an index that was not selected.
NONE = -1


class Numbering(msgspec.Struct, frozen=True):
    """A selection from an index space, numbered in its own order, with the mapping in both directions.

    Worlds are a numbering of node rows; a selection of worlds is a numbering of worlds.

    >>> import numpy as np
    >>> rows = Numbering.of(np.array([3, 1]), 4)
    >>> rows.numbers
    array([-1,  1, -1,  0])
    >>> rows.find(np.array([0, 1, 1, 3]))
    (array([False,  True,  True,  True]), array([1, 1, 0]))
    """

    #: The index that each number stands for.
    originals: Int64Array
    #: The number of each index; ``NONE`` for indices that are not selected.
    numbers: Int64Array

    @classmethod
    def of(cls, originals: Int64Array, n_all: int) -> Numbering:
        """Assign a number to each distinct index below ``n_all``, in the given order."""
        numbers = np.full(n_all, NONE, dtype=np.int64)
        numbers[originals] = np.arange(len(originals))
        return cls(originals, numbers)

    def find(self, indices: Int64Array) -> tuple[Mask, Int64Array]:
        """Find the selected ones among some indices.

        Args:
            indices: Indices of the original space; may repeat.

        Returns: kept: mask of the indices that are selected; numbers: the number of each selected index
        """
        numbers = self.numbers[indices]
        kept = numbers != NONE
        return kept, numbers[kept]

    def then(self, later: Numbering) -> Numbering:
        """Return the combination of this numbering and a later selection from it, with the originals of this one."""
        return Numbering.of(self.originals[later.originals], len(self.numbers))


class PodsInWorlds(msgspec.Struct, frozen=True):
    """A table with one entry per pod in a world."""

    #: The node of each world.
    rows: Rows
    #: The world of each entry, ascending.
    worlds: Worlds
    #: The pod of each entry.
    pods: PodIndices

    def __len__(self) -> int:
        return len(self.pods)

    @property
    def n_worlds(self) -> int:
        """The number of worlds, including those without an entry."""
        return len(self.rows)

    @property
    def counts(self) -> Int64Array:
        """The number of entries of each world: int64, shape (n_worlds,)."""
        return np.bincount(self.worlds, minlength=self.n_worlds)

    @property
    def first(self) -> Entries:
        """The first entry of each world: int64, shape (n_worlds,); meaningless for a world without entries."""
        return np.searchsorted(self.worlds, np.arange(self.n_worlds))

    def entries(self, world: int) -> range:
        begin, end = np.searchsorted(self.worlds, (world, world + 1)).tolist()
        return range(begin, end)

    def keep(self, mask: Mask) -> PodsInWorlds:
        """Return some of the entries, with the same worlds."""
        return PodsInWorlds(self.rows, self.worlds[mask], self.pods[mask])

    def among(self, chosen: Numbering) -> PodsInWorlds:
        """Return the entries of some worlds, which are renumbered."""
        kept, worlds = chosen.find(self.worlds)
        return PodsInWorlds(self.rows[chosen.originals], worlds, self.pods[kept])


class _Change(msgspec.Struct, frozen=True):
    """Pods that were added (sign 1) or removed (sign -1), each in its world."""

    worlds: Worlds
    pods: PodIndices
    sign: int
    nominated: bool = False

    def among(self, chosen: Numbering) -> _Change:
        kept, worlds = chosen.find(self.worlds)
        return _Change(worlds, self.pods[kept], self.sign, self.nominated)


class Overlay:
    """A set of worlds, one per node row. Without changes, every world equals the snapshot.

    nominated: A copy of the worlds with nominated pods, with these pods added; ``None`` if there are none.

    Args:
        rows: The node row of each world; distinct.
    """

    def __init__(self, pods: Pods, rows: Rows, nominated: PodsInWorlds | None = None) -> None:
        self.pods = pods
        self.rows = rows
        self._changes: list[_Change] = []
        # The sum so far for each key, and the number of changes it includes.
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
        """True if any world differs from the snapshot."""
        return bool(self._changes)

    def is_everywhere(self, nodes: Nodes) -> bool:
        """Report whether the overlay has one unchanged world for every node, in node order."""
        return not self._changes and (self.rows is nodes.rows or np.array_equal(self.rows, nodes.rows))

    def add(self, worlds: Worlds, pods: PodIndices) -> None:
        """Add pods to worlds.

        Args:
            worlds: Positions in ``rows``; may repeat.
        """
        self._change(_Change(worlds, pods, 1))

    def remove(self, worlds: Worlds, pods: PodIndices) -> None:
        """Remove pods from worlds; the parameters are those of ``add``."""
        self._change(_Change(worlds, pods, -1))

    def _change(self, change: _Change) -> None:
        if len(change.worlds):
            self._changes.append(change)
            if self.nominated is not None:
                self.nominated.overlay._change(change.among(self.nominated.worlds))

    def delta(self, key: Hashable, per_class: Int64Array) -> Int64Array:
        """Return the difference from the snapshot of a sum over the pods of each world's node.

        Args:
            key: The name of the quantity; the same key must always come with the same values.
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
        """Return all changes in order, for quantities that are not sums: worlds, pods, and 1 (added) or -1 (removed).

        Nominated pods come last, even after pods that were removed later: kube-scheduler adds them again for each
        check.
        """
        ordered = sorted(self._changes, key=lambda change: change.nominated)
        return [(change.worlds, change.pods, change.sign) for change in ordered]

    def nominated_in(self, world: int) -> PodIndices:
        """Return the nominated pods that were added to a world: int64, shape (n_pods,)."""
        pods = [change.pods[change.worlds == world] for change in self._changes if change.nominated]
        return np.concatenate(pods) if pods else np.zeros(0, dtype=np.int64)

    @property
    def with_nominated(self) -> Worlds:
        """The worlds to which nominated pods were added, ascending."""
        worlds = [change.worlds for change in self._changes if change.nominated]
        return np.unique(np.concatenate(worlds)) if worlds else np.zeros(0, dtype=np.int64)

    def select(self, mask: Mask) -> Selection:
        """Return some of the worlds with their changes, which can be changed further independently."""
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


class Selection(msgspec.Struct, frozen=True):
    """Some worlds of an overlay, as an overlay of their own, and the mapping back."""

    #: The selected worlds, renumbered.
    overlay: Overlay
    #: The world in the original overlay for each selected world.
    worlds: Numbering

    @classmethod
    def everything(cls, overlay: Overlay) -> Selection:
        """Return a selection of all worlds, which uses the overlay itself, not a copy."""
        return cls(overlay, Numbering.of(np.arange(len(overlay)), len(overlay)))

    def __len__(self) -> int:
        return len(self.overlay)

    @property
    def originals(self) -> Worlds:
        """The world in the original overlay for each selected world: int64, shape (n_chosen,)."""
        return self.worlds.originals

    @property
    def rows(self) -> Rows:
        """The node row of each selected world: int64, shape (n_chosen,)."""
        return self.overlay.rows

    def select(self, mask: Mask) -> Selection:
        """Return some of the selected worlds; ``originals`` still refers to the first overlay."""
        later = self.overlay.select(mask)
        return Selection(later.overlay, self.worlds.then(later.worlds))


_NOTHING = np.zeros(1, dtype=np.int64)
_NOTHING.setflags(write=False)
