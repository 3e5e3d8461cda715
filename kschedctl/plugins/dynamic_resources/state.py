"""What DynamicResources finds out about a pod, and keeps for one scheduling cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kschedctl.api.device import DeviceClass, ResourceClaim
from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array, Mask
from kschedctl.devices.allocator import Allocations


@dataclass(frozen=True, slots=True)
class Extended:
    """The pod's resources that devices can stand for.

    Attributes
    ----------
    amounts : mapping of str to int
        What it asks of every extended resource.
    classes : mapping of str to DeviceClass
        The classes behind resources.
    leftover : ResourceClaim, optional
        The claim that an earlier attempt has written.
    """

    amounts: Mapping[str, int]
    classes: Mapping[str, DeviceClass]
    leftover: ResourceClaim | None


@dataclass(slots=True)
class Verdict:
    """What is said of some nodes that were asked about together.

    Attributes
    ----------
    allocations : Allocations or None
        What the claims get; ``None`` where nothing has to be allocated.
    extended_claim : ResourceClaim, optional
        The claim for extended resources, as these nodes need it.
    refusal : str
        Why all of these nodes are turned away before anything is allocated.
    """

    allocations: Allocations | None = None
    extended_claim: ResourceClaim | None = None
    refusal: str = ""


@dataclass(slots=True)
class State:
    """The claims of the pod, and what was found on the nodes so far.

    Attributes
    ----------
    claims : tuple of ResourceClaim
        The user's claims, in the pod's order; empty where there is nothing to do.
    extended : Extended, optional
        The pod's resources that devices can stand for.
    template : Pod, optional
        The pod, for the claim behind its extended resources.
    available : ndarray of bool, shape (n_claims, n_nodes)
        Where each claim can be used if it is allocated.
    verdicts : list of Verdict
        What was found, by groups of nodes.
    verdict_of : ndarray of int64, shape (n_nodes,)
        Index into ``verdicts``; -1 for nodes not asked about yet.
    place_of : ndarray of int64, shape (n_nodes,)
        The node's place among the rows of its verdict.
    """

    claims: tuple[ResourceClaim, ...] = ()
    extended: Extended | None = None
    template: Pod | None = None
    available: Mask = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    verdicts: list[Verdict] = field(default_factory=list)
    verdict_of: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    place_of: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def is_empty(self) -> bool:
        """Whether the pod needs no device."""
        return not self.claims and self.extended is None

    @property
    def open_claims(self) -> list[ResourceClaim]:
        """The user's claims that have to be allocated."""
        return [claim for claim in self.claims if claim.status.allocation is None]
