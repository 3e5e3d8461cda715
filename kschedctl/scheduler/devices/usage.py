"""The allocated devices and the claims that hold them (upstream ``allocateddevices.go``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.quantity import parse_quantity


class DeviceID(NamedTuple):
    """The ID of a device: driver, pool and name."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class PoolID(NamedTuple):
    """The ID of a pool: driver and name."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


@dataclass(frozen=True, slots=True)
class Usage:
    """The allocated devices; results with admin access are not counted.

    Attributes
    ----------
    whole : set of DeviceID
        The devices that are allocated as a whole.
    shared : set of DeviceID
        The devices of which a share is allocated.
    consumed : dict of DeviceID to dict of str to int
        The allocated capacity of shared devices, in nano-units; only devices whose results list consumed capacity.
    holders : dict of DeviceID to list of ResourceClaim
        The claims that hold a device or a share of it, in snapshot order.
    """

    whole: set[DeviceID] = field(default_factory=set)
    shared: set[DeviceID] = field(default_factory=set)
    consumed: dict[DeviceID, dict[str, int]] = field(default_factory=dict)
    holders: dict[DeviceID, list[ResourceClaim]] = field(default_factory=dict)

    def allocated(self, device: DeviceID) -> bool:
        """Report whether a device is allocated, as a whole or in part."""
        return device in self.whole or device in self.shared or device in self.consumed


def gather_usage(claims: Iterable[ResourceClaim], *, shares: bool) -> Usage:
    """Collect the allocations of claims.

    Parameters
    ----------
    claims : iterable of ResourceClaim
        All claims of the cluster.
    shares : bool
        True if a share takes only its capacity; otherwise it takes the whole device.
    """
    usage = Usage()
    for claim in claims:
        if claim.status.allocation is None:
            continue
        for result in claim.status.allocation.devices.results:
            if result.admin_access:
                continue
            device = DeviceID(result.driver, result.pool, result.device)
            usage.holders.setdefault(device, []).append(claim)
            if not shares or result.share_id is None:
                usage.whole.add(device)
                continue
            usage.shared.add(device)
            if result.consumed_capacity is None:
                continue
            consumed = usage.consumed.setdefault(device, {})
            for name, amount in result.consumed_capacity.items():
                consumed[name] = consumed.get(name, 0) + parse_quantity(amount)
    return usage
