"""What two sides say of the nodes, as columns: what differs is found for all nodes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.arrays import Int64Array, Mask
from kschedctl.framework.status import Status
from kschedctl.report.diff.data import NodeChangeData, NodeOutcomeData
from kschedctl.scheduler.decision import Decision

_ABSENT = -1


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """What one side says of its nodes.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    fits : ndarray of bool, shape (n_nodes,)
        Where the pod fits.
    said : ndarray of int64, shape (n_nodes,)
        Index into ``statuses``.
    statuses : tuple of Status
        What kube-scheduler stops at, each distinct one once.
    scored : ndarray of bool, shape (n_nodes,)
        The nodes that have scores.
    total : ndarray of int64, shape (n_nodes,)
        Their totals; 0 without.
    weighted : mapping of str to ndarray of int64, shape (n_nodes,)
        Per plugin the score times its weight.
    """

    names: tuple[str, ...]
    fits: Mask
    said: Int64Array
    statuses: tuple[Status, ...]
    scored: Mask
    total: Int64Array
    weighted: Mapping[str, Int64Array]

    @classmethod
    def of(cls, decision: Decision) -> NodeColumns | None:
        """Of a decision; ``None`` where the cycle ended before nodes were looked at."""
        if decision.statuses is None:
            return None
        said, statuses = decision.statuses.distinct()
        n_nodes = len(decision.cluster.nodes)
        scored, total = np.zeros(n_nodes, dtype=np.bool_), np.zeros(n_nodes, dtype=np.int64)
        weighted: dict[str, Int64Array] = {}
        scores = decision.scores
        if scores is not None:
            scored[scores.rows] = True
            total[scores.rows] = scores.total
            for plugin, normalized in scores.normalized.items():
                weighted[plugin] = np.zeros(n_nodes, dtype=np.int64)
                weighted[plugin][scores.rows] = normalized * scores.weights[plugin]
        fits = decision.statuses.code == 0
        return cls(decision.cluster.nodes.names, fits, said, statuses, scored, total, weighted)

    def data(self, row: int) -> NodeOutcomeData:
        """What is said of one node."""
        status = self.statuses[self.said[row]]
        scored = bool(self.scored[row])
        return NodeOutcomeData(
            fits=bool(self.fits[row]),
            plugin=status.plugin,
            reasons=status.reasons,
            score=int(self.total[row]) if scored else None,
            # A plugin that gives nothing is the same as none.
            scores={plugin: int(column[row]) for plugin, column in self.weighted.items() if scored and column[row]},
        )


class NodeChanges:
    """The nodes of which two sides say something else.

    A node that is not there counts as one that the pod does not fit on. Of nodes that it does not fit on what
    kube-scheduler stops at is compared, not the numbers behind it, which change from moment to moment.

    Parameters
    ----------
    before, after : NodeColumns or None
        The sides; ``None`` for one that says nothing of nodes.

    Attributes
    ----------
    names : tuple of str
        The nodes of both sides: those of the first, then those that only the second has.
    changed : ndarray of bool, shape (n_names,)
        Where something else is said.
    """

    def __init__(self, before: NodeColumns | None, after: NodeColumns | None) -> None:
        self._sides = before, after
        names = [side.names if side is not None else () for side in self._sides]
        self.names = names[0] if names[0] == names[1] else tuple(dict.fromkeys((*names[0], *names[1])))
        self._rows = tuple(_rows(self.names, own) for own in names)
        self._fits = tuple(
            self._column(i, side.fits, absent=False) if side is not None else np.zeros(len(self.names), dtype=np.bool_)
            for i, side in enumerate(self._sides)
        )
        self.changed = self._differ()

    def __bool__(self) -> bool:
        return bool(self.changed.any())

    @property
    def fitting(self) -> Mask:
        """The changed nodes that the pod fits on on both sides: bool, shape (n_names,)."""
        return self.changed & self._fits[0] & self._fits[1]

    @property
    def gained(self) -> tuple[str, ...]:
        """The nodes that the pod fits on on the second side alone."""
        return self._named(~self._fits[0] & self._fits[1])

    @property
    def lost(self) -> dict[str, str]:
        """The nodes that the pod fits on on the first side alone, with the plugin that turns it away on the second."""
        after = self._sides[1]
        out = {}
        for i in np.flatnonzero(self._fits[0] & ~self._fits[1]):
            row = self._rows[1][i]
            out[self.names[i]] = after.statuses[after.said[row]].plugin if after is not None and row >= 0 else ""
        return out

    @property
    def said_otherwise(self) -> Counter[tuple[Status, Status]]:
        """What is said before and after of nodes that the pod fits on on neither side, with the number of nodes."""
        before, after = self._sides
        if before is None or after is None:
            return Counter()
        at = np.flatnonzero(self.changed & ~self._fits[0] & ~self._fits[1])
        pairs = before.said[self._rows[0][at]] * len(after.statuses) + after.said[self._rows[1][at]]
        found: Counter[tuple[Status, Status]] = Counter()
        for pair, number in zip(*np.unique(pairs, return_counts=True), strict=True):
            old, new = divmod(int(pair), len(after.statuses))
            found[before.statuses[old], after.statuses[new]] += int(number)
        return found

    def scored_by(self, among: Collection[str] = ()) -> list[str]:
        """The plugins that score nodes differently on which the pod fits on both sides.

        Among some nodes only where the pod fits on all of these on both sides: else that is what decides.
        """
        elsewhere = self.changed & ~self.fitting
        if among and any(name in among for name in self._named(elsewhere)):
            return []
        at = self.fitting
        return sorted(plugin for plugin, differs in self._score_differences.items() if (differs & at).any())

    def data(self) -> tuple[NodeChangeData, ...]:
        """The nodes one by one."""
        return tuple(
            NodeChangeData(
                self.names[i],
                *(
                    side.data(int(self._rows[k][i])) if side is not None and self._rows[k][i] >= 0 else None
                    for k, side in enumerate(self._sides)
                ),
            )
            for i in np.flatnonzero(self.changed)
        )

    def _named(self, where: Mask) -> tuple[str, ...]:
        return tuple(self.names[i] for i in np.flatnonzero(where))

    def _column(self, side: int, column: Mask, *, absent: bool) -> Mask:
        rows = self._rows[side]
        out = np.full(len(rows), absent, dtype=np.bool_)
        out[rows >= 0] = column[rows[rows >= 0]]
        return out

    @cached_property
    def _score_differences(self) -> dict[str, Mask]:
        """Per plugin where its weighted score differs; a plugin that a side does not have gives nothing there."""
        before, after = self._sides
        if before is None or after is None:
            return {}
        out = {}
        for plugin in dict.fromkeys((*before.weighted, *after.weighted)):
            out[plugin] = self._scores(0, before.weighted.get(plugin)) != self._scores(1, after.weighted.get(plugin))
        return out

    def _scores(self, side: int, column: Int64Array | None) -> Int64Array:
        rows = self._rows[side]
        out = np.zeros(len(rows), dtype=np.int64)
        if column is not None:
            out[rows >= 0] = column[rows[rows >= 0]]
        return out

    def _differ(self) -> Mask:
        before, after = self._sides
        old, new = self._fits
        changed: Mask = old != new
        if before is None or after is None:
            return changed
        both_fit, neither = old & new, ~old & ~new
        scores = self._scores(0, before.total) != self._scores(1, after.total)
        scores |= self._column(0, before.scored, absent=False) != self._column(1, after.scored, absent=False)
        for differs in self._score_differences.values():
            scores |= differs
        there = (self._rows[0] >= 0) & (self._rows[1] >= 0)
        # Whether evicting pods could help is not in the words.
        words_of = [[(status.plugin, status.reasons) for status in side.statuses] for side in (before, after)]
        numbers = {key: i for i, key in enumerate(dict.fromkeys((*words_of[0], *words_of[1])))}
        said = [
            np.array([numbers[key] for key in keys])[side.said]
            for side, keys in zip((before, after), words_of, strict=True)
        ]
        words = np.zeros(len(self.names), dtype=np.bool_)
        words[there] = said[0][self._rows[0][there]] != said[1][self._rows[1][there]]
        changed |= both_fit & scores
        changed |= neither & words
        return changed


def _rows(names: tuple[str, ...], own: tuple[str, ...]) -> Int64Array:
    """The rows of nodes on a side; ``_ABSENT`` for those that it does not have."""
    if names == own:
        return np.arange(len(names), dtype=np.int64)
    row = {name: i for i, name in enumerate(own)}
    return np.array([row.get(name, _ABSENT) for name in names], dtype=np.int64)
