"""How full nodes would be with the pod: the columns that scoring by resources works on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kschedctl.api.quantity import milli_value, value
from kschedctl.api.resources import CPU, MEMORY, PODS, Nanos, RequestRules, is_scalar_resource
from kschedctl.arrays import Int64Array
from kschedctl.cluster.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Allocation:
    """One configured resource over some nodes.

    Attributes
    ----------
    allocatable : ndarray of int64, shape (n_rows,)
        What each node offers; 0 where the resource does not count there.
    allocated : ndarray of int64, shape (n_rows,)
        What the pods on it request.
    requested : ndarray of int64, shape (n_rows,)
        The same with the pod.
    """

    allocatable: Int64Array
    allocated: Int64Array
    requested: Int64Array


def requested_amount(requests: Nanos, resource: str) -> int:
    """What a pod requests of a resource: milli-CPU, bytes or a count."""
    amount = requests.get(resource, 0)
    return milli_value(amount) if resource == CPU else value(amount)


def allocations(
    cluster: Cluster, rules: RequestRules, wanted: dict[str, int], rows: Int64Array, *, non_zero: bool
) -> list[Allocation]:
    """The configured resources over some nodes (upstream ``calculateNodeAllocatableRequest``).

    Parameters
    ----------
    rules : RequestRules
        How requests are counted.
    wanted : dict of str to int
        The configured resources, in order, and what the pod requests of each.
    rows : ndarray of int64, shape (n_rows,)
        The nodes.
    non_zero : bool
        Whether containers without requests for cpu and memory count with defaults.
    """
    columns = cluster.resources(rules)
    nothing = np.zeros(len(rows), dtype=np.int64)
    out = []
    for resource, amount in wanted.items():
        index = columns.index.get(resource)
        # Devices and huge pages that the pod does not ask for are left out of the score.
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


def spec_only(rules: RequestRules, *, pod_level: bool) -> RequestRules:
    """The rules for the pod being placed, of which the kubelet has nothing to report."""
    return replace(rules, pod_level=pod_level and rules.pod_level, status=False)
