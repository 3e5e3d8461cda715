"""The requested and allocatable amounts of resources on nodes, on which scoring by resources works."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.quantity import milli_value, value
from kschedctl.objects.resources import CPU, MEMORY, PODS, Nanos, RequestRules, is_scalar_resource


class Allocation(msgspec.Struct, frozen=True):
    """The amounts of one configured resource on some nodes.

    Attributes
    ----------
    allocatable : ndarray of int64, shape (n_rows,)
        The node's allocatable amount; 0 if the resource does not count there.
    allocated : ndarray of int64, shape (n_rows,)
        The sum of the requests of the node's pods.
    requested : ndarray of int64, shape (n_rows,)
        ``allocated`` plus the request of the pod to place.
    """

    allocatable: Int64Array
    allocated: Int64Array
    requested: Int64Array


def requested_amount(requests: Nanos, resource: str) -> int:
    """Return the requested amount of a resource: milli-CPU, bytes or a count."""
    amount = requests.get(resource, 0)
    return milli_value(amount) if resource == CPU else value(amount)


def allocations(
    cluster: Cluster, rules: RequestRules, wanted: dict[str, int], rows: Int64Array, *, non_zero: bool
) -> list[Allocation]:
    """Return the amounts of the configured resources on some nodes (upstream ``calculateNodeAllocatableRequest``).

    Parameters
    ----------
    rules : RequestRules
        The rules by which requests are counted.
    wanted : dict of str to int
        The configured resources, in order, and the amount of each that the pod requests.
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes.
    non_zero : bool
        True if containers without requests for cpu and memory count with default amounts.
    """
    columns = cluster.resources(rules)
    nothing = np.zeros(len(rows), dtype=np.int64)
    out = []
    for resource, amount in wanted.items():
        index = columns.index.get(resource)
        # Extended resources and huge pages that the pod does not request do not count for the score.
        if index is None or (amount == 0 and is_scalar_resource(resource)) or resource == PODS:
            out.append(Allocation(nothing, nothing, nothing))
            continue
        allocatable = columns.allocatable[index][rows]
        allocated = columns.requested[index][rows]
        if non_zero and resource in (CPU, MEMORY):
            allocated = columns.non_zero_requested[0 if resource == CPU else 1][rows]
        offered = allocatable != 0
        out.append(Allocation(allocatable, allocated * offered, (allocated + amount) * offered))
    return out


@lru_cache
def spec_only(rules: RequestRules, *, pod_level: bool) -> RequestRules:
    """Return the rules for the pod to place: its status is ignored, because no kubelet reports on it."""
    return msgspec.structs.replace(rules, pod_level=pod_level and rules.pod_level, status=False)
