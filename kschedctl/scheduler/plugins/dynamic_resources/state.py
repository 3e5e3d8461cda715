"""The cycle state of DynamicResources: the pod's claims, and the verdicts on nodes. Most pods have no claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.device import DeviceClass, ResourceClaim
from kschedctl.objects.pod import Pod

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.allocator import Allocations


class Extended(msgspec.Struct, frozen=True):
    """The pod's extended resources, some of which a DeviceClass backs."""

    #: The requested amount of every extended resource.
    amounts: Mapping[str, int]
    #: The cluster's device classes that back extended resources, by resource.
    classes: Mapping[str, DeviceClass]
    #: The claim that an earlier attempt created for these resources.
    leftover: ResourceClaim | None


class AllocationVerdict(msgspec.Struct):
    """The outcome on a group of nodes that need the same claims."""

    #: The allocations found on the nodes; ``None`` if nothing has to be allocated.
    allocations: Allocations | None = None
    #: The claim for the extended resources that devices provide on these nodes.
    extended_claim: ResourceClaim | None = None
    #: The reason why all of these nodes are rejected without an allocation; empty if they are not.
    refusal: str = ""


class State(msgspec.Struct):
    """The pod's claims, and the verdicts on the nodes examined so far."""

    #: The claims in the pod's spec, in the pod's order; empty if the pod has none.
    claims: tuple[ResourceClaim, ...] = ()
    #: The pod's extended resources, if a DeviceClass backs one of them.
    extended: Extended | None = None
    #: The pod, from which the claim for extended resources is made.
    template: Pod | None = None
    #: True if an allocated claim can be used on the node; see ``available_on``.
    available: Mask = msgspec.field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    #: The verdicts, one per group of nodes.
    verdicts: list[AllocationVerdict] = msgspec.field(default_factory=list)
    #: Index into ``verdicts``; -1 for nodes that were not examined.
    verdict_of: Int64Array = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: The node's position among the rows of its verdict.
    place_of: Int64Array = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def is_empty(self) -> bool:
        """True if the pod needs no device."""
        return not self.claims and self.extended is None


NOT_AVAILABLE: Final = "resourceclaim not available on the node"
