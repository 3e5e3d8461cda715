"""The results of all filters for all nodes, and the statuses that kube-scheduler reports for them.

A ``FilterRun`` is indexed by the worlds of the overlay that was filtered, ``NodeStatuses`` by node rows.
"""

from collections import Counter
from collections.abc import Container, Mapping
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from kschedctl.cluster.overlay import NONE, Numbering
from kschedctl.common.arrays import Int64Array, Mask, Rows, numbered, numbered_together
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status


class FilterRun(msgspec.Struct, frozen=True):
    """A run of all filters over the worlds of an overlay."""

    #: The node of each world.
    rows: Rows
    #: The filters that ran, in the profile's order.
    plugins: tuple[str, ...]
    #: The result of each filter.
    rejections: Mapping[str, Rejections]
    #: Index into ``plugins`` of the deciding filter, at which kube-scheduler stops; -1 where the pod passes all
    #: filters.
    first: Int64Array

    @classmethod
    def of(cls, rows: Rows, rejections: Mapping[str, Rejections]) -> "FilterRun":
        """Find the first filter that rejects the pod in each world."""
        first = np.full(len(rows), -1, dtype=np.int64)
        plugins = tuple(rejections)
        for i in range(len(plugins) - 1, -1, -1):
            said = rejections[plugins[i]]
            if said.code.any():
                first[said.rejected] = i
        return cls(rows, plugins, rejections, first)

    @property
    def passed(self) -> Mask:
        """The mask of worlds in which the pod passes all filters: bool, shape (n_worlds,)."""
        return self.first < 0

    def passed_without(self, plugins: Container[str]) -> Mask:
        """Return the worlds in which the pod passes all filters but perhaps those of some plugins."""
        passed = np.ones(len(self.rows), dtype=np.bool_)
        for name, said in self.rejections.items():
            if name not in plugins:
                passed &= said.code == 0
        return passed

    @property
    def code(self) -> NDArray[np.int8]:
        """The code of the deciding filter: int8, shape (n_worlds,); 0 where the pod passes."""
        out = np.zeros(len(self.rows), dtype=np.int8)
        for i in self.deciding_filters(self.first >= 0):
            at = self.first == i
            out[at] = self.rejections[self.plugins[i]].code[at]
        return out

    def distinct(self) -> tuple[Int64Array, tuple[Status, ...]]:
        """Return the distinct statuses of the deciding filters, and the index of each world's status.

        Returns: number: index into the statuses; statuses: the distinct statuses, including Success if the pod
            passes anywhere
        """
        number = np.zeros(len(self.rows), dtype=np.int64)
        examples = np.flatnonzero(self.passed)[:1].tolist()
        for i in self.deciding_filters(self.first >= 0):
            at = np.flatnonzero(self.first == i)
            # Nodes with the same reason number have the same text; the code separates errors from rejections.
            rejections = self.rejections[self.plugins[i]]
            said = rejections.reason[at] * len(Code) + rejections.code[at]
            example, own = numbered(said)
            number[at] = own + len(examples)
            examples += at[example].tolist()
        return number, tuple(map(self.status, examples))

    def status(self, world: int) -> Status:
        """Return the status of the deciding filter in one world."""
        first = int(self.first[world])
        if first < 0:
            return Status()
        plugin = self.plugins[first]
        status = self.rejections[plugin].status(world, plugin)
        if status.code is Code.ERROR:
            return Status(Code.ERROR, (f'running "{plugin}" filter plugin: {status.message}',), plugin)
        return status

    def reason_counts(self, worlds: Mask) -> Counter[str]:
        """Count the reason texts of the deciding filters over some worlds."""
        counts: Counter[str] = Counter()
        for i in self.deciding_filters(worlds):
            rejections = self.rejections[self.plugins[i]]
            reasons = rejections.reason[worlds & (self.first == i)]
            first, number = numbered(reasons)
            for reason, count in zip(reasons[first].tolist(), np.bincount(number).tolist(), strict=True):
                for text in rejections.texts(reason):
                    counts[text] += count
        return counts

    def deciding_filters(self, worlds: Mask) -> list[int]:
        """Return the indices into ``plugins`` of the filters that decide in some worlds."""
        return np.flatnonzero(np.bincount(self.first[worlds] + 1)[1:]).tolist()


class ExtenderVerdict(msgspec.Struct, frozen=True):
    """The status that an extender gives a node after the filters."""

    #: The node's final status.
    status: Status
    #: The reasons of the status, with operands.
    reasons: tuple[Reason, ...]
    #: True if the extender named the node as failed, so that kube-scheduler records the status. kube-scheduler
    #: treats a node that the extender only leaves out like a node that was not filtered.
    explicit: bool = True


class NodeStatuses:
    """The status of each node, as kube-scheduler passes it to PostFilter and reports it in its event.

    absent: The status of the nodes that were not filtered.
    snapshot: The filters over the candidate nodes; ``None`` if PreFilter rejected the pod.
    nominated: The filters over nodes with nominated pods of equal or higher priority, with those pods in place.
    extender_verdicts: The statuses given by extenders, by row; they replace the filters' statuses.
    elsewhere: Extender statuses for node names that the cluster does not have: kube-scheduler counts these too.
    outside: True for the nodes outside the placement of a pod group, which do not count; ``None`` if all count.
    code: The code per node of the cluster; 0 where the pod fits.
    """

    def __init__(
        self,
        n_nodes: int,
        absent: Status,
        snapshot: FilterRun | None = None,
        nominated: FilterRun | None = None,
        extender_verdicts: Mapping[int, ExtenderVerdict] | None = None,
        elsewhere: tuple[Status, ...] = (),
        *,
        outside: Mask | None = None,
    ) -> None:
        self.n_nodes = n_nodes
        self.absent = absent
        self.snapshot = snapshot
        self.nominated = nominated
        self.extender_verdicts = extender_verdicts or {}
        self.elsewhere = elsewhere
        self.outside = outside
        self.code = np.full(n_nodes, absent.code, dtype=np.int8)
        if snapshot is not None:
            # Rows are distinct and ascending, so a run over all nodes has them in order.
            self.code[snapshot.rows if len(snapshot.rows) < n_nodes else slice(None)] = snapshot.code
        if nominated is not None:
            failed = ~nominated.passed
            self.code[nominated.rows[failed]] = nominated.code[failed]
        for row, extender_verdict in self.extender_verdicts.items():
            self.code[row] = extender_verdict.status.code
        if outside is not None:
            self.code[outside] = Code.UNSCHEDULABLE_AND_UNRESOLVABLE

    @cached_property
    def _world(self) -> Int64Array:
        """The world of each node in the run without nominated pods; ``NONE`` if it has none."""
        if self.snapshot is None:
            return np.full(self.n_nodes, NONE, dtype=np.int64)
        return Numbering.of(self.snapshot.rows, self.n_nodes).numbers

    @cached_property
    def _nominated_world(self) -> Int64Array:
        """The world of each node that is rejected in the run with nominated pods; ``NONE`` for all other nodes."""
        worlds = np.full(self.n_nodes, NONE, dtype=np.int64)
        if self.nominated is not None:
            failed = np.flatnonzero(~self.nominated.passed)
            worlds[self.nominated.rows[failed]] = failed
        return worlds

    def deciding(self, row: int) -> tuple[FilterRun, int] | None:
        """Return the run that decides a node's status, and the node's world in it; ``None`` for unfiltered nodes."""
        world = int(self._nominated_world[row])
        if world != NONE and self.nominated is not None:
            return self.nominated, world
        return self.snapshot_position(row)

    def snapshot_position(self, row: int) -> tuple[FilterRun, int] | None:
        """Return the run without nominated pods, and the node's world in that run; ``None`` for unfiltered nodes."""
        world = int(self._world[row])
        return None if world == NONE or self.snapshot is None else (self.snapshot, world)

    def status(self, row: int) -> Status:
        """Return kube-scheduler's status of a node."""
        if row in self.extender_verdicts:
            return self.extender_verdicts[row].status
        found = self.deciding(row)
        return self.absent if found is None else found[0].status(found[1])

    def reasons(self, row: int) -> tuple[tuple[str, tuple[Reason, ...]], ...]:
        """Return every filter that rejects a node, with its reasons.

        An extender comes first, then the filters of the deciding run in the profile's order, then those of the other
        run.
        """
        found = self.deciding(row)
        snapshot = self.snapshot_position(row)
        runs = [] if found is None else [found]
        if snapshot is not None and (found is None or snapshot[0] is not found[0]):
            runs.append(snapshot)
        out: dict[str, tuple[Reason, ...]] = {}
        if row in self.extender_verdicts:
            out[self.extender_verdicts[row].status.plugin] = self.extender_verdicts[row].reasons
        for run, world in runs:
            for plugin in run.plugins:
                said = run.rejections[plugin].reasons(world)
                if said:
                    out.setdefault(plugin, said)
        return tuple(out.items())

    def alike(self) -> Int64Array:
        """Return a number per node: int64, shape (n_nodes,); nodes with the same one have the same ``reasons``."""
        number = np.zeros(self.n_nodes, dtype=np.int64)
        if self.snapshot is not None:
            columns = [said.distinct() for said in self.snapshot.rejections.values() if said.code.any()]
            number[self.snapshot.rows] = numbered_together(columns, len(self.snapshot.rows))[1] + 1
        # Few nodes have nominated pods or the verdict of an extender: each is by itself.
        alone = np.flatnonzero(self._nominated_world != NONE)
        for rows in (alone, np.array([*self.extender_verdicts], dtype=np.int64)):
            number[rows] = -1 - rows
        return number

    def distinct(self) -> tuple[Int64Array, tuple[Status, ...]]:
        """Return kube-scheduler's distinct statuses of the nodes, and the index of each node's status.

        Do not modify the array.
        """
        return self._distinct

    @cached_property
    def _distinct(self) -> tuple[Int64Array, tuple[Status, ...]]:
        number = np.zeros(self.n_nodes, dtype=np.int64)
        statuses = [self.absent]
        # A rejection in the run with nominated pods overrides the result without them.
        for run in (self.snapshot, self.nominated):
            if run is not None:
                own, said = run.distinct()
                at = ~run.passed if run is self.nominated else slice(None)
                number[run.rows[at]] = own[at] + len(statuses)
                statuses += said
        later: dict[Status, int] = {}
        for row, extender_verdict in self.extender_verdicts.items():
            number[row] = len(statuses) + later.setdefault(extender_verdict.status, len(later))
        statuses += later
        return number, tuple(statuses)

    @property
    def feasible(self) -> Rows:
        """The rows of the feasible nodes: int64."""
        return np.flatnonzero(self.code == 0)

    def among(self, rows: Rows) -> "NodeStatuses":
        """Return the statuses if only some nodes exist for the pod: the others fit in no way, and are not counted."""
        outside = np.ones(self.n_nodes, dtype=np.bool_)
        outside[rows] = False
        return NodeStatuses(self.n_nodes, self.absent, self.snapshot, self.nominated, outside=outside)

    def with_extenders(self, verdicts: Mapping[int, ExtenderVerdict], elsewhere: tuple[Status, ...]) -> "NodeStatuses":
        return NodeStatuses(
            self.n_nodes, self.absent, self.snapshot, self.nominated, verdicts, elsewhere, outside=self.outside
        )

    @property
    def runs(self) -> list[tuple[FilterRun, Mask]]:
        """The runs, each with the mask of the worlds whose status counts: bool, shape (n_worlds,).

        A rejection in the run with nominated pods, which comes first, replaces the result without them.
        """
        if self.snapshot is None:
            return []
        counts = np.ones(self.n_nodes, dtype=np.bool_) if self.outside is None else ~self.outside
        if self.nominated is None:
            return [(self.snapshot, counts[self.snapshot.rows])]
        failed = ~self.nominated.passed & counts[self.nominated.rows]
        counts[self.nominated.rows[failed]] = False
        return [(self.nominated, failed), (self.snapshot, counts[self.snapshot.rows])]

    def reason_counts(self) -> Counter[str]:
        """Count the nodes for each reason text, as in the FailedScheduling event."""
        counts: Counter[str] = Counter()
        kept = [*(each.status for each in self.extender_verdicts.values() if each.explicit), *self.elsewhere]
        counts.update(text for status in kept for text in status.reasons)
        n_told = len(kept)
        replaced = np.zeros(self.n_nodes, dtype=np.bool_)
        replaced[[*self.extender_verdicts]] = True
        for run, counted in self.runs:
            worlds = counted & ~replaced[run.rows]
            n_told += int(worlds.sum())
            counts.update(run.reason_counts(worlds))
        for text in self.absent.reasons:
            n_nodes = self.n_nodes if self.outside is None else int((~self.outside).sum())
            counts[text] += max(n_nodes - n_told, 0)
        return +counts


# The text of the FailedScheduling event (framework ``FitError``).


def fit_error(n_nodes: int, *, pre_filter: str, reasons: Counter[str], post_filter: str) -> str:
    """Return the message for a pod that fits on no node.

    Args:
        pre_filter: The PreFilter message. If not empty, it replaces the counts per reason.
        post_filter: The PostFilter message, appended at the end.

    >>> fit_error(3, pre_filter="", reasons=Counter({"Too many pods": 1, "Insufficient cpu": 2}), post_filter="")
    '0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.'
    """
    text = f"0/{n_nodes} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    elif reasons:
        text += f" {', '.join(sorted(f'{count} {reason}' for reason, count in reasons.items()))}."
    return f"{text} {post_filter}" if post_filter else text
