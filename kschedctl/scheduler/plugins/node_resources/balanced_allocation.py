"""NodeResourcesBalancedAllocation: nodes whose resources are used evenly score higher.

Balance: ``int((1 - std) * 100)``, where ``std`` is the deviation of the used shares of the configured resources, in
float64: half the difference for two resources, the population standard deviation for more, 0 for fewer. From 1.36 on
the score is the change of the balance by the pod, ``50 + (50 + with - without) // 2``. Before that the score is the
balance with the pod.
"""

from collections.abc import Hashable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.device import DeviceClass
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import pod_requests
from kschedctl.scheduler.framework.config.types import NodeResourcesBalancedAllocationArgs
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.dependencies import Dependencies
from kschedctl.scheduler.framework.explanation import Arithmetic
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, Handle, PreScorePlugin, ScorePlugin
from kschedctl.scheduler.framework.status import SKIP, Status
from kschedctl.scheduler.plugins.node_resources.backed_resources import (
    READS,
    backed_allocations,
    crashing_resources,
    usage_status,
)
from kschedctl.scheduler.plugins.node_resources.fit import signed_requests
from kschedctl.scheduler.plugins.node_resources.scoring import (
    Allocation,
    BalancedResource,
    BalanceScore,
    allocations,
    requested_amount,
    spec_only,
)

Float64Array = NDArray[np.float64]


def balance(used: Sequence[Int64Array], allocatable: Sequence[Int64Array]) -> Int64Array:
    """Return the balance of the resources of nodes: 100 if all used shares are equal.

    Args:
        used, allocatable: The amounts per resource. A resource does not count on nodes with an allocatable amount
            of 0.

    >>> balance([np.array([1000]), np.array([2000])], [np.array([4000]), np.array([4000])])
    array([87])
    """
    counts = [offered != 0 for offered in allocatable]
    fractions = [
        np.where(count, np.minimum(use / np.where(count, offered, 1), 1.0), 0.0)
        for use, offered, count in zip(used, allocatable, counts, strict=True)
    ]
    n_counted = sum((count.astype(np.int64) for count in counts), start=np.zeros_like(used[0]))
    deviation = np.where(n_counted == 2, _half_difference(fractions, counts), 0.0)
    if len(used) > 2:
        deviation = np.where(n_counted > 2, _standard_deviation(fractions, counts, n_counted), deviation)
    return ((1 - deviation) * float(MAX_NODE_SCORE)).astype(np.int64)


def _standard_deviation(
    fractions: Sequence[Float64Array], counts: Sequence[Mask], n_counted: Int64Array
) -> Float64Array:
    """Return the population standard deviation of the fractions that count."""
    # Add resource by resource, as upstream does: float64 sums depend on the order.
    total = sum(fractions, start=np.zeros(len(n_counted)))
    mean = total / np.maximum(n_counted, 1)
    squares = np.zeros(len(n_counted))
    for fraction, count in zip(fractions, counts, strict=True):
        squares = squares + np.where(count, (fraction - mean) * (fraction - mean), 0.0)
    return np.sqrt(squares / np.maximum(n_counted, 1))


def _half_difference(fractions: Sequence[Float64Array], counts: Sequence[Mask]) -> Float64Array:
    """Return half the difference of the two fractions that count, for nodes with two."""
    signed = np.zeros(len(fractions[0]))
    sign = np.ones(len(fractions[0]))
    for fraction, count in zip(fractions, counts, strict=True):
        signed = np.where(count, signed + sign * fraction, signed)
        sign = np.where(count, -sign, sign)
    return np.abs(signed / 2)


class _State(msgspec.Struct, frozen=True):
    wanted: dict[str, int]


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Upstream: plugins/noderesources/balanced_allocation.go."""

    name = "NodeResourcesBalancedAllocation"
    reads = READS
    prepares_from = Dependencies(kinds=frozenset({DeviceClass}))

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        if not isinstance(args, NodeResourcesBalancedAllocationArgs):
            raise TypeError(f"want args to be of type NodeResourcesBalancedAllocationArgs, got {type(args).__name__}")
        self._resources = [resource.name for resource in args.resources]

    def _wanted(self, pod: Pod) -> dict[str, int]:
        requests = pod_requests(pod, spec_only(self.handle.request_rules, pod_level=True))
        return {name: requested_amount(requests, name, self.handle.request_rules) for name in self._resources}

    def sign_pod(self, pod: Pod) -> Hashable | None:
        return signed_requests(self.handle, pod)

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        wanted = self._wanted(pod)
        if not any(wanted.values()):
            return SKIP
        for resource in crashing_resources(self.handle, wanted):
            feature = f"{self.name} over {resource}, which a DeviceClass with selectors provides"
            state.not_modelled.append(NotModelled(feature, "kube-scheduler crashes here"))
        state.write(_State(wanted))
        return usage_status(self.handle, wanted)

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        found = state.read(_State)
        wanted = found.wanted if found is not None else self._wanted(pod)
        if not any(wanted.values()):
            return np.zeros(len(rows), dtype=np.int64)
        offers = self._offers(wanted, rows)
        allocatable = [offer.allocatable for offer in offers]
        if not self.handle.release.balanced_allocation_compares:
            return balance([offer.requested for offer in offers], allocatable)
        # One call for both balances, which takes half the time for few nodes.
        both = balance(
            [np.concatenate((offer.requested, offer.allocated)) for offer in offers],
            [np.concatenate((offered, offered)) for offered in allocatable],
        )
        half = MAX_NODE_SCORE // 2
        return half + (half + both[: len(rows)] - both[len(rows) :]) // 2

    def _offers(self, wanted: dict[str, int], rows: Int64Array) -> list[Allocation]:
        offers = allocations(self.handle.cluster, self.handle.request_rules, wanted, rows, non_zero=False)
        return backed_allocations(self.handle, wanted, offers, rows)

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic | None:
        found = state.read(_State)
        wanted = found.wanted if found is not None else self._wanted(pod)
        if not any(wanted.values()):
            return None
        rows = np.array([row], dtype=np.int64)
        offers = self._offers(wanted, rows)
        resources = tuple(
            BalancedResource(name, int(offer.allocated[0]), int(offer.requested[0]), int(offer.allocatable[0]))
            for name, offer in zip(wanted, offers, strict=True)
        )
        allocatable = [offer.allocatable for offer in offers]
        with_pod = int(balance([offer.requested for offer in offers], allocatable)[0])
        without = None
        if self.handle.release.balanced_allocation_compares:
            without = int(balance([offer.allocated for offer in offers], allocatable)[0])
        return BalanceScore(resources, with_pod, without, int(self.score(state, pod, rows)[0]))
