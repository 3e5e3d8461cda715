"""The node that comes closest to holding a pod, found among the few likely nodes of a large cluster."""

from __future__ import annotations

from typing import Final

import numpy as np

from kschedctl.common.arrays import Rows
from kschedctl.objects.resources import PODS, pod_requests, scheduler_units
from kschedctl.questions.explain.explanation import node_data
from kschedctl.questions.node_groups import group_nodes
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome

#: With up to 32 nodes, the shortfall of every one is computed.
_FEW: Final = 32
#: With more, only those of the 8 nodes with the smallest shortfall and of the 8 largest nodes.
_SOME: Final = 8


def closest(decision: Decision) -> str:
    """Return the closest node and its shortfall as text, or that no node could hold the pod; "" without a shortage."""
    statuses = decision.statuses
    if statuses is None or decision.outcome is not Outcome.UNSCHEDULABLE:
        return ""
    numbers, said = statuses.distinct()
    # The code of a node that could never hold the pod differs, although the reasons are the same.
    families: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, status in enumerate(said):
        families.setdefault((status.plugin, status.reasons), []).append(number)
    # From the most frequent rejection down; only a shortage of resources has a measure.
    for rows in sorted((np.flatnonzero(np.isin(numbers, own)) for own in families.values()), key=len, reverse=True):
        asked = _likely(decision, rows) if len(rows) > _FEW else rows
        groups = group_nodes(node_data(decision, row) for row in asked.tolist())
        found = next((group.closest for group in groups if group.closest), "")
        if found:
            return found
    return ""


def _likely(decision: Decision, rows: Rows) -> Rows:
    """Return the nodes with the smallest relative shortfall of the requests, and the nodes that offer most."""
    columns = decision.cluster.resources(decision.framework.handle.request_rules)
    wanted = {**scheduler_units(pod_requests(decision.pod, decision.framework.handle.request_rules)), PODS: 1}
    lacking, offered = np.zeros(len(rows)), np.full(len(rows), np.inf)
    for name, amount in wanted.items():
        if amount and name in columns.index:
            at = columns.index[name]
            has = columns.allocatable[at][rows]
            lacking = np.maximum(lacking, (amount - (has - columns.requested[at][rows])) / amount)
            offered = np.minimum(offered, has / amount)
    hopeless = offered < 1
    near = np.lexsort((np.where(hopeless, np.inf, lacking),))[:_SOME]
    large = np.lexsort((-offered,))[:_SOME]
    likely: Rows = rows[np.unique(np.concatenate((near, large)))]
    return likely
