"""The cycle state of DynamicResources: the pod's claims, and the verdicts on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.device import DeviceClass, ResourceClaim
from kschedctl.objects.pod import Pod

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.allocator import Allocations


class Extended(msgspec.Struct, frozen=True):
    """The pod's extended resources, some of which a DeviceClass backs.

    Attributes
    ----------
    amounts : mapping of str to int
        The requested amount of every extended resource.
    classes : mapping of str to DeviceClass
        The cluster's device classes that back extended resources, by resource.
    leftover : ResourceClaim, optional
        The claim that an earlier attempt created for these resources.
    """

    amounts: Mapping[str, int]
    classes: Mapping[str, DeviceClass]
    leftover: ResourceClaim | None


class AllocationVerdict(msgspec.Struct):
    """The outcome on a group of nodes that need the same claims.

    Attributes
    ----------
    allocations : Allocations or None
        The allocations found on the nodes; ``None`` if nothing has to be allocated.
    extended_claim : ResourceClaim, optional
        The claim for the extended resources that devices provide on these nodes.
    refusal : str
        The reason why all of these nodes are rejected without an allocation; empty if they are not.
    """

    allocations: Allocations | None = None
    extended_claim: ResourceClaim | None = None
    refusal: str = ""


class State(msgspec.Struct):
    """The pod's claims, and the verdicts on the nodes examined so far.

    Attributes
    ----------
    claims : tuple of ResourceClaim
        The claims in the pod's spec, in the pod's order; empty if the pod has none.
    extended : Extended, optional
        The pod's extended resources, if a DeviceClass backs one of them.
    template : Pod, optional
        The pod, from which the claim for extended resources is made.
    available : ndarray of bool, shape (n_claims, n_nodes)
        True if an allocated claim can be used on the node; see ``available_on``.
    verdicts : list of AllocationVerdict
        The verdicts, one per group of nodes.
    verdict_of : ndarray of int64, shape (n_nodes,)
        Index into ``verdicts``; -1 for nodes that were not examined.
    place_of : ndarray of int64, shape (n_nodes,)
        The node's position among the rows of its verdict.
    """

    claims: tuple[ResourceClaim, ...] = ()
    extended: Extended | None = None
    template: Pod | None = None
    available: Mask = msgspec.field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    verdicts: list[AllocationVerdict] = msgspec.field(default_factory=list)
    verdict_of: Int64Array = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    place_of: Int64Array = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def is_empty(self) -> bool:
        """True if the pod needs no device."""
        return not self.claims and self.extended is None

    @property
    def open_claims(self) -> list[ResourceClaim]:
        """The claims in the pod's spec that are not allocated."""
        return [claim for claim in self.claims if claim.status.allocation is None]
