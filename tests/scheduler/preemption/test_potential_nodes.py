"""On which nodes removing pods may help: the status of each row decides."""

from __future__ import annotations

import numpy as np

from kschedctl.scheduler.framework.node_statuses import FilterRun, NodeStatuses
from kschedctl.scheduler.framework.status import Code, Rejections, Status
from kschedctl.scheduler.preemption.potential_nodes import potential_nodes

FULL, CORDONED = Status(Code.UNSCHEDULABLE, ("full",)), Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("cordoned",))


def test_only_nodes_whose_status_pods_may_have_to_do_with() -> None:
    # Row 0 is not looked at; of the others, in this order, one is full, one cordoned, one fits, one is full.
    said = Rejections.choose(np.array([0, 1, -1, 0]), (FULL, CORDONED))
    statuses = NodeStatuses(5, CORDONED, FilterRun.of(np.array([4, 3, 2, 1]), {"Fit": said}))
    assert potential_nodes(statuses).tolist() == [1, 4]
