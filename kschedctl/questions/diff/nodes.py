"""The nodes on which the verdicts of two sides differ: compared as columns, for all pods and all nodes at once."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.questions.diff.answer import NodeChangeData, NodeOutcomeData
from kschedctl.scheduler.cycle.rescheduled import NodeColumns
from kschedctl.scheduler.framework.status import Status

#: The row of a node that a side lacks.
_ABSENT = -1


@dataclass(frozen=True, slots=True)
class ComparedNodes:
    """The verdicts of two sides on nodes for some pods, as arrays of shape (n_pods, n_nodes).

    The pods do not fit on a node that a side lacks. For nodes that they do not fit on, the statuses at which
    kube-scheduler stops are compared, not the numbers behind them, which change from moment to moment.
    """

    #: The two sides; ``None`` for one without verdicts.
    sides: tuple[NodeColumns | None, NodeColumns | None]
    #: The nodes of both sides: those of the first, then those that only the second has.
    names: tuple[str, ...]
    #: By side, the row of each node; ``_ABSENT`` for nodes that it lacks.
    rows: tuple[Int64Array, Int64Array]
    #: By side, True for nodes that the pod fits on.
    fits: tuple[Mask, Mask]
    #: True for nodes with different verdicts.
    changed: Mask
    #: By plugin, True for nodes whose weighted score differs.
    score_differences: Mapping[str, Mask]

    @classmethod
    def of(cls, before: NodeColumns | None, after: NodeColumns | None) -> "ComparedNodes":
        """Compare two sides with verdicts for the same pods."""
        own = [side.names if side is not None else () for side in (before, after)]
        names = own[0] if own[0] == own[1] else tuple(dict.fromkeys((*own[0], *own[1])))
        rows = _rows(names, own[0]), _rows(names, own[1])
        is_whole = [each == names for each in own]

        def over_names(side: int, column: NDArray[Any] | None) -> NDArray[Any]:
            """Return a column of a side over all names; 0 for nodes that it lacks, and for a column that it lacks."""
            if column is None:
                return np.zeros((1, len(names)), dtype=np.int64)
            if is_whole[side]:
                return column
            # The row of an absent node is the last one.
            return np.concatenate((column, np.zeros((len(column), 1), dtype=column.dtype)), axis=1)[:, rows[side]]

        old, new = (over_names(i, None if side is None else side.fits) != 0 for i, side in enumerate((before, after)))
        changed: Mask = old != new
        if before is None or after is None:
            return cls((before, after), names, rows, (old, new), changed, {})
        scores = over_names(0, before.total) != over_names(1, after.total)
        scores |= over_names(0, before.scored) != over_names(1, after.scored)
        differences = {
            plugin: over_names(0, before.weighted.get(plugin)) != over_names(1, after.weighted.get(plugin))
            for plugin in dict.fromkeys((*before.weighted, *after.weighted))
        }
        for differs in differences.values():
            scores |= differs
        # The comparison ignores the status code, which shows only whether evicting pods could help.
        words = [[(status.plugin, status.reasons) for status in side.statuses] for side in (before, after)]
        numbers = {key: i for i, key in enumerate(dict.fromkeys((*words[0], *words[1])))}
        was, now = (
            over_names(i, np.array([numbers[key] for key in words[i]], dtype=np.int64)[side.said])
            for i, side in enumerate((before, after))
        )
        there = (rows[0] >= 0) & (rows[1] >= 0)
        changed |= old & new & scores
        changed |= ~old & ~new & there & (was != now)
        return cls((before, after), names, rows, (old, new), changed, differences)


class NodeChanges:
    """The nodes on which the verdicts of two sides for a pod differ.

    names: The nodes of both sides.
    changed: True for nodes with different verdicts.

    Args:
        pod: The row of the pod in what was compared.
    """

    def __init__(self, compared: ComparedNodes, pod: int = 0) -> None:
        self._compared = compared
        self._pod = pod
        self.names = compared.names
        self.changed: Mask = compared.changed[pod]
        self._fits = compared.fits[0][pod], compared.fits[1][pod]

    def __bool__(self) -> bool:
        return bool(self.changed.any())

    @property
    def fitting(self) -> Mask:
        """True for nodes with different verdicts that the pod fits on in both sides: their scores differ."""
        fitting: Mask = self.changed & self._fits[0] & self._fits[1]
        return fitting

    @property
    def gained(self) -> tuple[str, ...]:
        """The nodes that the pod fits on only in the second side."""
        return self._names_where(~self._fits[0] & self._fits[1])

    @property
    def lost(self) -> dict[str, str]:
        """The nodes that the pod fits on only in the first side, with the plugin that rejects it in the second."""
        after, rows = self._compared.sides[1], self._compared.rows[1]
        out = {}
        for i in np.flatnonzero(self._fits[0] & ~self._fits[1]).tolist():
            there = after is not None and rows[i] != _ABSENT
            out[self.names[i]] = after.statuses[after.said[self._pod, rows[i]]].plugin if after and there else ""
        return out

    @property
    def said_otherwise(self) -> Counter[tuple[Status, Status]]:
        """The statuses before and after of nodes that the pod fits on in neither side, with the number of nodes."""
        before, after = self._compared.sides
        found: Counter[tuple[Status, Status]] = Counter()
        at = np.flatnonzero(self.changed & ~self._fits[0] & ~self._fits[1])
        if before is None or after is None or not len(at):
            return found
        said = before.said[self._pod, self._compared.rows[0][at]], after.said[self._pod, self._compared.rows[1][at]]
        pairs = said[0] * len(after.statuses) + said[1]
        for pair, number in zip(*np.unique(pairs, return_counts=True), strict=True):
            old, new = divmod(int(pair), len(after.statuses))
            found[before.statuses[old], after.statuses[new]] += int(number)
        return found

    def scored_by(self, among: Collection[str] = ()) -> list[str]:
        """Return the plugins whose scores differ for nodes that the pod fits on in both sides.

        Return none if the pod does not fit on all nodes in ``among`` in both sides: then the filters decide.
        """
        at = self.fitting
        elsewhere = self.changed & ~at
        if among and any(name in among for name in self._names_where(elsewhere)):
            return []
        differences = self._compared.score_differences.items()
        return sorted(plugin for plugin, differs in differences if (_of_pod(differs, self._pod) & at).any())

    def data(self) -> tuple[NodeChangeData, ...]:
        """Return the nodes one by one."""

        def verdict(side: int, i: int) -> NodeOutcomeData | None:
            columns, row = self._compared.sides[side], int(self._compared.rows[side][i])
            return _outcome(columns, self._pod, row) if columns is not None and row >= 0 else None

        at = np.flatnonzero(self.changed).tolist()
        return tuple(NodeChangeData(self.names[i], verdict(0, i), verdict(1, i)) for i in at)

    def _names_where(self, where: Mask) -> tuple[str, ...]:
        return tuple(self.names[i] for i in np.flatnonzero(where).tolist())


def _outcome(columns: NodeColumns, pod: int, row: int) -> NodeOutcomeData:
    """Return the verdict on a node for a pod."""
    status, scored = columns.statuses[columns.said[pod, row]], bool(columns.scored[pod, row])
    # A plugin that gives 0 points is the same as an absent plugin.
    weighted = {plugin: int(_of_pod(column, pod)[row]) for plugin, column in columns.weighted.items() if scored}
    return NodeOutcomeData(
        fits=bool(columns.fits[pod, row]),
        plugin=status.plugin,
        reasons=status.reasons,
        score=int(columns.total[pod, row]) if scored else None,
        scores={plugin: score for plugin, score in weighted.items() if score},
    )


def _of_pod(column: Int64Array | Mask, pod: int) -> Int64Array | Mask:
    """Return a column for one pod; one that is the same for all pods has one row."""
    own: Int64Array | Mask = column[pod if len(column) > 1 else 0]
    return own


def _rows(names: tuple[str, ...], own: tuple[str, ...]) -> Int64Array:
    """Return the rows of nodes in a side; ``_ABSENT`` for nodes that the side lacks."""
    if names == own:
        return np.arange(len(names), dtype=np.int64)
    row = {name: i for i, name in enumerate(own)}
    return np.array([row.get(name, _ABSENT) for name in names], dtype=np.int64)
