"""Numbering of worlds, and tables of pods in worlds.

A world is a hypothetical state of one node: world ``w`` is a state of node ``rows[w]``. A selection of worlds renumbers
them; ``Numbering`` converts between the numbers, so that no other module computes positions.
"""

from __future__ import annotations

import msgspec
import numpy as np

from kschedctl.common.arrays import Entries, Int64Array, Mask, PodIndices, Rows, Worlds

#: The number of an index that was not selected.
NONE = -1


class Numbering(msgspec.Struct, frozen=True):
    """A selection from an index space, numbered in its own order, with the mapping in both directions.

    Worlds are a numbering of node rows; a selection of worlds is a numbering of worlds.

    Attributes
    ----------
    originals : ndarray of int64, shape (n_chosen,)
        The index that each number stands for.
    numbers : ndarray of int64, shape (n_all,)
        The number of each index; ``NONE`` for indices that are not selected.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Numbering.of(np.array([3, 1]), 4)
    >>> rows.numbers
    array([-1,  1, -1,  0])
    >>> rows.find(np.array([0, 1, 1, 3]))
    (array([False,  True,  True,  True]), array([1, 1, 0]))
    """

    originals: Int64Array
    numbers: Int64Array

    @classmethod
    def of(cls, originals: Int64Array, n_all: int) -> Numbering:
        """Assign a number to each distinct index below ``n_all``, in the given order."""
        numbers = np.full(n_all, NONE, dtype=np.int64)
        numbers[originals] = np.arange(len(originals))
        return cls(originals, numbers)

    def find(self, indices: Int64Array) -> tuple[Mask, Int64Array]:
        """Find the selected ones among some indices.

        Parameters
        ----------
        indices : ndarray of int64, shape (k,)
            Indices of the original space; may repeat.

        Returns
        -------
        kept : ndarray of bool, shape (k,)
            Mask of the indices that are selected.
        numbers : ndarray of int64, shape (n_kept,)
            The number of each selected index.
        """
        numbers = self.numbers[indices]
        kept = numbers != NONE
        return kept, numbers[kept]

    def then(self, later: Numbering) -> Numbering:
        """Return the combination of this numbering and a later selection from it, with the originals of this one."""
        return Numbering.of(self.originals[later.originals], len(self.numbers))


class PodsInWorlds(msgspec.Struct, frozen=True):
    """A table with one entry per pod in a world.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_worlds,)
        The node of each world.
    worlds : ndarray of int64, shape (n_entries,)
        The world of each entry, ascending.
    pods : ndarray of int64, shape (n_entries,)
        The pod of each entry.
    """

    rows: Rows
    worlds: Worlds
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
        """Return the entries of one world."""
        begin, end = np.searchsorted(self.worlds, (world, world + 1)).tolist()
        return range(begin, end)

    def keep(self, mask: Mask) -> PodsInWorlds:
        """Return some of the entries, with the same worlds.

        Parameters
        ----------
        mask : ndarray of bool, shape (n_entries,)
            The entries to keep.
        """
        return PodsInWorlds(self.rows, self.worlds[mask], self.pods[mask])

    def among(self, chosen: Numbering) -> PodsInWorlds:
        """Return the entries of some worlds, which are renumbered.

        Parameters
        ----------
        chosen : Numbering
            The worlds, ascending.
        """
        kept, worlds = chosen.find(self.worlds)
        return PodsInWorlds(self.rows[chosen.originals], worlds, self.pods[kept])
