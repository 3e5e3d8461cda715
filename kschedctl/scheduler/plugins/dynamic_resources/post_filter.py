"""The PostFilter of DynamicResources: deallocates a claim that rejected nodes, or deletes a leftover claim."""

from __future__ import annotations

from typing import Final

import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.dynamic_resources.filtering import NOT_AVAILABLE
from kschedctl.scheduler.plugins.dynamic_resources.state import State

NOTHING: Final = "no new claims to deallocate"
STILL: Final = "still not schedulable"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"


def post_filter_status(state: State, pod: Pod, statuses: NodeStatuses, plugin: str, *, silent: bool) -> Status:
    """Return the status of PostFilter.

    Parameters
    ----------
    state : State
        The state after Filter.
    pod : Pod
        The pod that fits on no node.
    statuses : NodeStatuses
        The filters' verdicts, by node.
    plugin : str
        The plugin's name.
    silent : bool
        True if the status has no reason when nothing is deallocated or deleted.
    """
    if state.is_empty:
        return Status(Code.UNSCHEDULABLE, () if silent else (NOTHING,))
    rows = _rows_without_claim(statuses, plugin)
    for claim, available in zip(state.claims, state.available, strict=True):
        reserved = claim.status.reserved_for
        mine = not reserved or (len(reserved) == 1 and reserved[0].uid == pod.metadata.uid)
        if mine and not available[rows].all():
            return Status(Code.UNSCHEDULABLE, (DEALLOCATED,))
    if state.extended is not None and state.extended.leftover is not None:
        return Status(Code.UNSCHEDULABLE, (DELETED,))
    return Status(Code.UNSCHEDULABLE, () if silent else (STILL,))


def _rows_without_claim(statuses: NodeStatuses, plugin: str) -> Int64Array:
    """Return the nodes that this plugin rejected for an unavailable claim: int64 rows.

    kube-scheduler filters twice if there are nominated pods, first with them, then without. A node counts only in the
    pass in which the scheduler stopped.
    """
    out = []
    for run in (statuses.nominated, statuses.snapshot):
        if run is None or plugin not in run.plugins:
            continue
        here = np.flatnonzero(run.first == run.plugins.index(plugin))
        rejections = run.rejections[plugin]
        said = np.array(
            [rejections.texts(int(rejections.reason[position])) == (NOT_AVAILABLE,) for position in here.tolist()],
            dtype=np.bool_,
        )
        rows = run.rows[here[said]] if len(here) else np.zeros(0, dtype=np.int64)
        if run is statuses.snapshot and statuses.nominated is not None:
            rows = rows[~np.isin(rows, statuses.nominated.rows[~statuses.nominated.passed])]
        out.append(rows)
    return np.concatenate(out) if out else np.zeros(0, dtype=np.int64)
