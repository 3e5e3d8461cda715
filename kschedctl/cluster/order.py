"""Orders of pods by node and by importance, updated incrementally when pods come and go."""

from __future__ import annotations

import numpy as np

from kschedctl.cluster.records import NOT_STARTED
from kschedctl.cluster.slots import Mark, Moves, PodSlots, Slots
from kschedctl.common.arrays import Int64Array


def by_node(pods: Mark, n_nodes: int) -> tuple[Slots, Int64Array]:
    """Return the slots of pods on nodes, sorted by node and slot, and each node's offset, shape (n_nodes + 1,)."""
    rows = pods.column("node_row")
    here = np.flatnonzero(rows >= 0)
    here = here[np.argsort(rows[here], kind="stable")]
    return pods.slots_of(here), np.searchsorted(rows[here], np.arange(n_nodes + 1))


def by_node_moved(slots: Slots, moves: Moves) -> Slots:
    """Return slots sorted by node, after removals and additions; added pods come last on their node."""
    if len(moves.gone):
        slots = slots[~np.isin(slots, moves.gone)]
    rows = moves.slots.take("node_row", moves.come)
    come, rows = moves.come[rows >= 0], rows[rows >= 0]
    if not len(come):
        return slots
    order = np.argsort(rows, kind="stable")
    end = int(max(slots.max(initial=-1), come.max())) + 1
    here = moves.slots.column("node_row", 0, end)[slots]
    return np.insert(slots, np.searchsorted(here, rows[order], side="right"), come[order])


def by_importance(pods: Mark, *, unstarted_in_order: bool) -> Slots:
    """Return the slots of pods on nodes, sorted by node and then by importance (see ``Pods.by_importance``)."""
    slots = pods.slots_of(np.flatnonzero(pods.column("node_row") >= 0))
    return _sorted(pods.slots, slots, pods.end, unstarted_in_order=unstarted_in_order)


def importance_moved(slots: Slots, moves: Moves, *, unstarted_in_order: bool) -> Slots:
    """Return slots sorted by importance, after removals and additions; only the affected nodes are sorted again."""
    end = int(max(slots.max(initial=-1), moves.come.max(initial=-1), moves.gone.max(initial=-1))) + 1
    rows = moves.slots.column("node_row", 0, end)
    moved = np.concatenate((rows[moves.gone], rows[moves.come]))
    touched = np.zeros(int(rows.max(initial=0)) + 1, dtype=np.bool_)
    touched[moved[moved >= 0]] = True
    again = touched[rows[slots]]
    come = moves.come[rows[moves.come] >= 0]
    some = np.setdiff1d(np.concatenate((slots[again], come)), moves.gone)
    some, rest = _sorted(moves.slots, some, end, unstarted_in_order=unstarted_in_order), slots[~again]
    return np.insert(rest, np.searchsorted(rows[rest], rows[some]), some)


def _sorted(slots: PodSlots, some: Slots, end: int, *, unstarted_in_order: bool) -> Slots:
    rows, priority, start = (slots.column(name, 0, end)[some] for name in ("node_row", "priority", "start_time"))
    tie = some if unstarted_in_order else np.where(start == NOT_STARTED, -some, some)
    return some[np.lexsort((tie, start, -priority, rows))]
