"""Worlds by number: choosing some and finding the way back, and tables of pods in worlds.

A world is about one node, and a list of node rows says which: world ``w`` is about ``rows[w]``. Whoever chooses some of
the worlds numbers them anew. That is done here, so that nobody else counts positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.arrays import Entries, Int64Array, Mask, PodIndices, Rows, Worlds

#: In place of a number: not among the chosen.
NONE = -1


@dataclass(frozen=True, slots=True)
class Numbering:
    """Some members of an index space, numbered in an order of their own, and the way back.

    Worlds are a numbering of node rows; some of these worlds are a numbering of worlds.

    Attributes
    ----------
    originals : ndarray of int64, shape (n_chosen,)
        The index that each number stands for.
    numbers : ndarray of int64, shape (n_all,)
        The number of each index; ``NONE`` for those left out.

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
        """Number distinct indices, each below ``n_all``, in the order given."""
        numbers = np.full(n_all, NONE, dtype=np.int64)
        numbers[originals] = np.arange(len(originals))
        return cls(originals, numbers)

    def find(self, indices: Int64Array) -> tuple[Mask, Int64Array]:
        """Which of some indices are among the chosen.

        Parameters
        ----------
        indices : ndarray of int64, shape (k,)
            Indices of the original space; may repeat.

        Returns
        -------
        kept : ndarray of bool, shape (k,)
            Which are.
        numbers : ndarray of int64, shape (n_kept,)
            The number of each of these.
        """
        numbers = self.numbers[indices]
        kept = numbers != NONE
        return kept, numbers[kept]

    def then(self, later: Numbering) -> Numbering:
        """Choose among the chosen: from the numbers of the later one back to the indices of this."""
        return Numbering.of(self.originals[later.originals], len(self.numbers))


@dataclass(frozen=True, slots=True)
class PodsInWorlds:
    """A table of pods, each in a world.

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
        """How many worlds there are, also those without an entry."""
        return len(self.rows)

    @property
    def counts(self) -> Int64Array:
        """How many entries each world has: int64, shape (n_worlds,)."""
        return np.bincount(self.worlds, minlength=self.n_worlds)

    @property
    def first(self) -> Entries:
        """The first entry of each world: int64, shape (n_worlds,). It means nothing where a world has none."""
        return np.searchsorted(self.worlds, np.arange(self.n_worlds))

    def entries(self, world: int) -> range:
        """The entries of one world."""
        begin, end = np.searchsorted(self.worlds, (world, world + 1)).tolist()
        return range(begin, end)

    def keep(self, mask: Mask) -> PodsInWorlds:
        """Some of the entries, in the same worlds.

        Parameters
        ----------
        mask : ndarray of bool, shape (n_entries,)
            Which entries to keep.
        """
        return PodsInWorlds(self.rows, self.worlds[mask], self.pods[mask])

    def among(self, chosen: Numbering) -> PodsInWorlds:
        """The entries of some worlds, which are numbered anew.

        Parameters
        ----------
        chosen : Numbering
            The worlds, ascending.
        """
        kept, worlds = chosen.find(self.worlds)
        return PodsInWorlds(self.rows[chosen.originals], worlds, self.pods[kept])
