"""What the filters say of all nodes together, and what kube-scheduler would report of it.

A ``FilterRun`` counts in the worlds of the overlay that it judged, ``NodeStatuses`` in node rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kschedctl.arrays import Int64Array, Mask, Rows
from kschedctl.cluster.worlds import NONE, Numbering
from kschedctl.framework.status import Code, Reason, Rejections, Status


@dataclass(frozen=True, slots=True)
class FilterRun:
    """One run of all filters over the worlds of an overlay.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_worlds,)
        The node of each world.
    plugins : tuple of str
        The filters that ran, in the profile's order.
    rejections : mapping of str to Rejections
        What each of them said.
    first : ndarray of int64, shape (n_worlds,)
        Index into ``plugins`` of the filter that kube-scheduler stops at; -1 where all let the pod pass.
    """

    rows: Rows
    plugins: tuple[str, ...]
    rejections: Mapping[str, Rejections]
    first: Int64Array

    @classmethod
    def of(cls, rows: Rows, rejections: Mapping[str, Rejections]) -> FilterRun:
        """Find the first filter that turns the pod away in each world."""
        first = np.full(len(rows), -1, dtype=np.int64)
        plugins = tuple(rejections)
        for i in range(len(plugins) - 1, -1, -1):
            said = rejections[plugins[i]]
            if said.code.any():
                first[said.rejected] = i
        return cls(rows, plugins, rejections, first)

    @property
    def passed(self) -> Mask:
        """Where all filters let the pod pass: bool, shape (n_worlds,)."""
        return self.first < 0

    @property
    def code(self) -> NDArray[np.int8]:
        """The code of the deciding filter: int8, shape (n_worlds,); 0 where the pod passes."""
        out = np.zeros(len(self.rows), dtype=np.int8)
        if self.passed.all():
            return out
        for i, plugin in enumerate(self.plugins):
            at = self.first == i
            if at.any():
                out[at] = self.rejections[plugin].code[at]
        return out

    def distinct(self) -> tuple[Int64Array, tuple[Status, ...]]:
        """What the deciding filters say, each distinct status once.

        Returns
        -------
        number : ndarray of int64, shape (n_worlds,)
            Index into the statuses.
        statuses : tuple of Status
            Success among them where the pod passes anywhere.
        """
        most = max((int(r.reason.max(initial=0)) for r in self.rejections.values()), default=0) + 1
        said = np.full(len(self.rows), -1, dtype=np.int64)
        for i, plugin in enumerate(self.plugins):
            at = self.first == i
            if at.any():
                # Nodes with one number have one text; the code tells errors apart.
                rejections = self.rejections[plugin]
                said[at] = (i * most + rejections.reason[at]) * len(Code) + rejections.code[at]
        _, example, number = np.unique(said, return_index=True, return_inverse=True)
        return number.astype(np.int64), tuple(self.status(int(world)) for world in example)

    def status(self, world: int) -> Status:
        """What the deciding filter says of one world."""
        first = int(self.first[world])
        if first < 0:
            return Status()
        plugin = self.plugins[first]
        status = self.rejections[plugin].status(world, plugin)
        if status.code is Code.ERROR:
            return Status(Code.ERROR, (f'running "{plugin}" filter plugin: {status.message}',), plugin)
        return status

    def reason_counts(self, worlds: Mask) -> Counter[str]:
        """How many worlds each of the scheduler's texts is said of, over the deciding filters of some worlds.

        Parameters
        ----------
        worlds : ndarray of bool, shape (n_worlds,)
            Which worlds to count.
        """
        counts: Counter[str] = Counter()
        for i, plugin in enumerate(self.plugins):
            at = worlds & (self.first == i)
            if not at.any():
                continue
            rejections = self.rejections[plugin]
            for reason, count in zip(*np.unique(rejections.reason[at], return_counts=True), strict=True):
                for text in rejections.texts(int(reason)):
                    counts[text] += int(count)
        return counts


@dataclass(frozen=True, slots=True)
class Afterthought:
    """What is said of a node once the filters are through with it, by an extender.

    Attributes
    ----------
    status : Status
        What counts from then on.
    reasons : tuple of Reason
        The same with what is behind it.
    explicit : bool
        Whether kube-scheduler keeps it: a node that is left out without a word is for it like one not looked at.
    """

    status: Status
    reasons: tuple[Reason, ...]
    explicit: bool = True


class NodeStatuses:
    """Why each node was turned away, as kube-scheduler hands it to PostFilter and words it in its event.

    Attributes
    ----------
    n_nodes : int
        How many nodes the cluster has.
    snapshot : FilterRun or None
        The filters over the nodes that came into question; ``None`` where PreFilter turned the pod away.
    nominated : FilterRun or None
        The filters over nodes with nominated pods of equal or higher priority, with those pods in place.
    afterthoughts : mapping of int to Afterthought
        What extenders say of nodes, by row; it takes the place of what the filters say.
    elsewhere : tuple of Status
        What extenders say of nodes that the cluster does not have: kube-scheduler counts it all the same.
    code : ndarray of int8, shape (n_nodes,)
        The code per node of the cluster; 0 where the pod fits.
    """

    def __init__(
        self,
        n_nodes: int,
        absent: Status,
        snapshot: FilterRun | None = None,
        nominated: FilterRun | None = None,
        afterthoughts: Mapping[int, Afterthought] | None = None,
        elsewhere: tuple[Status, ...] = (),
    ) -> None:
        self.n_nodes = n_nodes
        self.absent = absent
        self.snapshot = snapshot
        self.nominated = nominated
        self.afterthoughts = afterthoughts or {}
        self.elsewhere = elsewhere
        self.code = np.full(n_nodes, absent.code, dtype=np.int8)
        if snapshot is not None:
            # A run over all nodes, which are distinct and ascend, has them in their order.
            self.code[snapshot.rows if len(snapshot.rows) < n_nodes else slice(None)] = snapshot.code
        if nominated is not None:
            failed = ~nominated.passed
            self.code[nominated.rows[failed]] = nominated.code[failed]
        for row, afterthought in self.afterthoughts.items():
            self.code[row] = afterthought.status.code

    @cached_property
    def _world(self) -> Int64Array:
        """The world of each node in the run without nominated pods; ``NONE`` where it has none."""
        if self.snapshot is None:
            return np.full(self.n_nodes, NONE, dtype=np.int64)
        return Numbering.of(self.snapshot.rows, self.n_nodes).numbers

    @cached_property
    def _nominated_world(self) -> Int64Array:
        """The world of each node that is turned away in the run with nominated pods; ``NONE`` of all others."""
        worlds = np.full(self.n_nodes, NONE, dtype=np.int64)
        if self.nominated is not None:
            failed = np.flatnonzero(~self.nominated.passed)
            worlds[self.nominated.rows[failed]] = failed
        return worlds

    def deciding(self, row: int) -> tuple[FilterRun, int] | None:
        """The run that decides over a node and the node's world in it; ``None`` for nodes not looked at."""
        world = int(self._nominated_world[row])
        if world != NONE and self.nominated is not None:
            return self.nominated, world
        return self.snapshot_position(row)

    def snapshot_position(self, row: int) -> tuple[FilterRun, int] | None:
        """The run without nominated pods and a node's world in it; ``None`` for nodes not looked at."""
        world = int(self._world[row])
        return None if world == NONE or self.snapshot is None else (self.snapshot, world)

    def status(self, row: int) -> Status:
        """What kube-scheduler says of a node."""
        if row in self.afterthoughts:
            return self.afterthoughts[row].status
        found = self.deciding(row)
        return self.absent if found is None else found[0].status(found[1])

    def reasons(self, row: int) -> tuple[tuple[str, tuple[Reason, ...]], ...]:
        """Every filter that turns a node away with its reasons, in the profile's order; what decides comes first."""
        found = self.deciding(row)
        snapshot = self.snapshot_position(row)
        runs = [] if found is None else [found]
        if snapshot is not None and (found is None or snapshot[0] is not found[0]):
            runs.append(snapshot)
        out: dict[str, tuple[Reason, ...]] = {}
        if row in self.afterthoughts:
            out[self.afterthoughts[row].status.plugin] = self.afterthoughts[row].reasons
        for run, world in runs:
            for plugin in run.plugins:
                said = run.rejections[plugin].reasons(world)
                if said:
                    out.setdefault(plugin, said)
        return tuple(out.items())

    def distinct(self) -> tuple[Int64Array, tuple[Status, ...]]:
        """What kube-scheduler says of the nodes, each distinct status once.

        Returns
        -------
        number : ndarray of int64, shape (n_nodes,)
            Index into the statuses.
        statuses : tuple of Status
            What is said.
        """
        number = np.zeros(self.n_nodes, dtype=np.int64)
        statuses = [self.absent]
        # Where the pod does not fit beside nominated pods, that is what counts.
        for run in (self.snapshot, self.nominated):
            if run is not None:
                own, said = run.distinct()
                at = ~run.passed if run is self.nominated else slice(None)
                number[run.rows[at]] = own[at] + len(statuses)
                statuses += said
        later: dict[Status, int] = {}
        for row, afterthought in self.afterthoughts.items():
            number[row] = len(statuses) + later.setdefault(afterthought.status, len(later))
        statuses += later
        return number, tuple(statuses)

    @property
    def feasible(self) -> Rows:
        """The rows of the nodes that the pod fits on: int64."""
        return np.flatnonzero(self.code == 0)

    def reason_counts(self) -> Counter[str]:
        """How many nodes each of the scheduler's texts is said of."""
        counts: Counter[str] = Counter()
        kept = [*(each.status for each in self.afterthoughts.values() if each.explicit), *self.elsewhere]
        counts.update(text for status in kept for text in status.reasons)
        n_told = len(kept)
        if self.snapshot is not None:
            decides = ~np.isin(self.snapshot.rows, list(self.afterthoughts))
            n_told += int(decides.sum())
            if self.nominated is not None:
                failed = ~self.nominated.passed & ~np.isin(self.nominated.rows, list(self.afterthoughts))
                decides &= ~np.isin(self.snapshot.rows, self.nominated.rows[failed])
                counts += self.nominated.reason_counts(failed)
            counts += self.snapshot.reason_counts(decides)
        for text in self.absent.reasons:
            counts[text] += max(self.n_nodes - n_told, 0)
        return +counts
