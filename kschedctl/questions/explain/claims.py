"""The allocations of a pod's device claims on each node, and the reasons why other nodes have none."""

from collections.abc import Sequence

import numpy as np

from kschedctl.questions.devices.analysis import allocation_data, place_data
from kschedctl.questions.devices.answer import AllocationData
from kschedctl.questions.explain.answer import ClaimsData, NodeData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.devices.allocator import Place, merge_places
from kschedctl.scheduler.devices.explain import NotAllocated
from kschedctl.scheduler.plugins.dynamic_resources.binding import allocations_on
from kschedctl.scheduler.plugins.dynamic_resources.plugin import DynamicResources


def claims_data(decision: Decision, nodes: Sequence[NodeData]) -> ClaimsData:
    """Return the allocations of the pod's claims, including those on nodes that are rejected for other reasons.

    Args:
        nodes: The verdicts on the nodes, in the order of their rows.
    """
    places: list[Place] = []
    allocations: dict[str, tuple[AllocationData, ...]] = {}
    for row, node in enumerate(nodes):
        rows = np.array([row], dtype=np.int64)
        found = allocations_on(decision.state, row)
        if found:
            places.append(Place(rows, found))
            allocations[node.name] = tuple(map(allocation_data, found))
        for reason in node.reasons:
            if reason.plugin == DynamicResources.name:
                of = reason.operands if isinstance(reason.operands, NotAllocated) else None
                refusal = reason.text if of is not None else reason.detail or reason.text
                places.append(Place(rows, refusal=refusal, reason=of))
    groups = tuple(place_data(place, decision.cluster, names_claims=True) for place in merge_places(places))
    return ClaimsData(groups, allocations)
