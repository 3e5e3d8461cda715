"""The verdicts of two sides on nodes as columns, which are compared for all nodes at once."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.questions.diff.answer import NodeChangeData, NodeOutcomeData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.status import Status

#: The row of a node that a side lacks.
_ABSENT = -1


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The verdicts of one side on its nodes."""

    names: tuple[str, ...]
    #: True for nodes that the pod fits on.
    fits: Mask
    #: The index of each node's status in ``statuses``.
    said: Int64Array
    #: The distinct statuses at which kube-scheduler stops.
    statuses: tuple[Status, ...]
    #: True for nodes that have scores.
    scored: Mask
    #: The total scores; 0 for nodes without scores.
    total: Int64Array
    #: Per plugin the normalized score times the weight.
    weighted: Mapping[str, Int64Array]

    @classmethod
    def of(cls, decision: Decision) -> "NodeColumns | None":
        """Return the verdicts of a decision; ``None`` if the cycle ended before the filters."""
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
        """Return the verdict on one node."""
        status = self.statuses[self.said[row]]
        scored = bool(self.scored[row])
        return NodeOutcomeData(
            fits=bool(self.fits[row]),
            plugin=status.plugin,
            reasons=status.reasons,
            score=int(self.total[row]) if scored else None,
            # A plugin that gives 0 points is the same as an absent plugin.
            scores={plugin: int(column[row]) for plugin, column in self.weighted.items() if scored and column[row]},
        )


class NodeChanges:
    """The nodes on which the verdicts of two sides differ; a side without verdicts is ``None``.

    The pod does not fit on a node that a side lacks. For nodes that it does not fit on, the statuses at which
    kube-scheduler stops are compared, not the numbers behind them, which change from moment to moment.

    names: The nodes of both sides: those of the first, then those that only the second has.
    changed: True for nodes with different verdicts.
    """

    def __init__(self, before: NodeColumns | None, after: NodeColumns | None) -> None:
        self._sides = before, after
        names = [side.names if side is not None else () for side in self._sides]
        self.names = names[0] if names[0] == names[1] else tuple(dict.fromkeys((*names[0], *names[1])))
        self._rows = tuple(_rows(self.names, own) for own in names)
        self._fits: tuple[Mask, ...] = tuple(
            self._column(i, side.fits if side is not None else None) != 0 for i, side in enumerate(self._sides)
        )
        self.changed = self._differ()

    def __bool__(self) -> bool:
        return bool(self.changed.any())

    @property
    def fitting(self) -> Mask:
        """The changed nodes that the pod fits on in both sides: bool, shape (n_names,)."""
        return self.changed & self._fits[0] & self._fits[1]

    @property
    def gained(self) -> tuple[str, ...]:
        """The nodes that the pod fits on only in the second side."""
        return self._names_where(~self._fits[0] & self._fits[1])

    @property
    def lost(self) -> dict[str, str]:
        """The nodes that the pod fits on only in the first side, with the plugin that rejects it in the second."""
        after = self._sides[1]
        out = {}
        for i in np.flatnonzero(self._fits[0] & ~self._fits[1]):
            row = self._rows[1][i]
            out[self.names[i]] = after.statuses[after.said[row]].plugin if after is not None and row >= 0 else ""
        return out

    @property
    def said_otherwise(self) -> Counter[tuple[Status, Status]]:
        """The statuses before and after of nodes that the pod fits on in neither side, with the number of nodes."""
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
        """Return the plugins whose scores differ for nodes that the pod fits on in both sides.

        Return none if the pod does not fit on all nodes in ``among`` in both sides: then the filters decide.
        """
        elsewhere = self.changed & ~self.fitting
        if among and any(name in among for name in self._names_where(elsewhere)):
            return []
        at = self.fitting
        return sorted(plugin for plugin, differs in self._score_differences.items() if (differs & at).any())

    def data(self) -> tuple[NodeChangeData, ...]:
        """Return the nodes one by one."""

        def verdict(side: int, i: int) -> NodeOutcomeData | None:
            columns, row = self._sides[side], int(self._rows[side][i])
            return columns.data(row) if columns is not None and row >= 0 else None

        at = np.flatnonzero(self.changed).tolist()
        return tuple(NodeChangeData(self.names[i], verdict(0, i), verdict(1, i)) for i in at)

    def _names_where(self, where: Mask) -> tuple[str, ...]:
        return tuple(self.names[i] for i in np.flatnonzero(where))

    def _column(self, side: int, column: Mask | Int64Array | None) -> Int64Array:
        """Return a column of a side over all names; 0 for nodes that it lacks, and for a column that it lacks.

        The column itself may be returned: do not modify it.
        """
        own, rows = self._sides[side], self._rows[side]
        if own is not None and column is not None and own.names == self.names:
            return column.astype(np.int64, copy=False)
        # The row of an absent node is the last one.
        return np.zeros(len(rows), dtype=np.int64) if column is None else np.append(column, 0)[rows]

    @cached_property
    def _score_differences(self) -> dict[str, Mask]:
        """By plugin, the nodes whose weighted score differs."""
        before, after = self._sides
        if before is None or after is None:
            return {}
        return {
            plugin: self._column(0, before.weighted.get(plugin)) != self._column(1, after.weighted.get(plugin))
            for plugin in dict.fromkeys((*before.weighted, *after.weighted))
        }

    def _differ(self) -> Mask:
        before, after = self._sides
        old, new = self._fits
        changed: Mask = old != new
        if before is None or after is None:
            return changed
        scores = self._column(0, before.total) != self._column(1, after.total)
        scores |= self._column(0, before.scored) != self._column(1, after.scored)
        for differs in self._score_differences.values():
            scores |= differs
        # The comparison ignores the status code, which shows only whether evicting pods could help.
        words = [[(status.plugin, status.reasons) for status in side.statuses] for side in (before, after)]
        numbers = {key: i for i, key in enumerate(dict.fromkeys((*words[0], *words[1])))}
        was, now = (
            self._column(i, np.array([numbers[key] for key in words[i]], dtype=np.int64)[side.said])
            for i, side in enumerate((before, after))
        )
        there = (self._rows[0] >= 0) & (self._rows[1] >= 0)
        changed |= old & new & scores
        changed |= ~old & ~new & there & (was != now)
        return changed


def _rows(names: tuple[str, ...], own: tuple[str, ...]) -> Int64Array:
    """Return the rows of nodes in a side; ``_ABSENT`` for nodes that the side lacks."""
    if names == own:
        return np.arange(len(names), dtype=np.int64)
    row = {name: i for i, name in enumerate(own)}
    return np.array([row.get(name, _ABSENT) for name in names], dtype=np.int64)
