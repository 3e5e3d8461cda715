"""What PostFilter frees: a claim that is allocated where the pod cannot run, or one left over."""

from __future__ import annotations

from typing import Final

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array
from kschedctl.framework.status import Code, Status
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.plugins.dynamic_resources.filtering import NOT_AVAILABLE
from kschedctl.plugins.dynamic_resources.state import State

NOTHING: Final = "no new claims to deallocate"
STILL: Final = "still not schedulable"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"


def post_filter_status(state: State, pod: Pod, statuses: NodeStatuses, plugin: str, *, silent: bool) -> Status:
    """What PostFilter says.

    Parameters
    ----------
    state : State
        What Filter found.
    statuses : NodeStatuses
        Why each node was turned away.
    plugin : str
        The plugin's name.
    silent : bool
        Whether there is no reason where there is nothing to do.
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
    """The nodes that this plugin turned away for a claim, where the scheduler came so far: int64."""
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
