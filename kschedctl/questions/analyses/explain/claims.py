"""The allocations of a pod's device claims on each node, and the reasons why other nodes have none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedctl.common.arrays import Rows
from kschedctl.questions.analyses.devices.allocation import allocation_data
from kschedctl.questions.analyses.devices.answer import place_data
from kschedctl.questions.answers.devices import AllocationData
from kschedctl.questions.answers.explain import ClaimsData, NodeData, ReasonData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.devices.allocator import Place, merge_places
from kschedctl.scheduler.devices.explain import NotAllocated
from kschedctl.scheduler.plugins.dynamic_resources.filtering import allocations_on
from kschedctl.scheduler.plugins.dynamic_resources.plugin import DynamicResources


def claims_data(decision: Decision, nodes: Sequence[NodeData]) -> ClaimsData:
    """Return the allocations of the pod's claims, including those on nodes that are rejected for other reasons.

    Parameters
    ----------
    decision : Decision
        The decision for a pod.
    nodes : sequence of NodeData
        The verdicts on the nodes, in the order of their rows.
    """
    places: list[Place] = []
    allocations: dict[str, tuple[AllocationData, ...]] = {}
    for row, node in enumerate(nodes):
        rows = np.array([row], dtype=np.int64)
        found = allocations_on(decision.state, row)
        if found:
            places.append(Place(rows, found))
            allocations[node.name] = tuple(map(allocation_data, found))
        places += [_refused(rows, reason) for reason in node.reasons if reason.plugin == DynamicResources.name]
    groups = tuple(place_data(place, decision.cluster, names_claims=True) for place in merge_places(places))
    return ClaimsData(groups, allocations)


def _refused(rows: Rows, reason: ReasonData) -> Place:
    if isinstance(reason.operands, NotAllocated):
        return Place(rows, refusal=reason.text, reason=reason.operands)
    return Place(rows, refusal=reason.detail or reason.text)
