"""Which devices are allocated, and to which claims (upstream ``allocateddevices.go``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kschedctl.api.device import ResourceClaim
from kschedctl.api.quantity import parse_quantity


class DeviceID(NamedTuple):
    """What a device is known by."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class PoolID(NamedTuple):
    """What a pool is known by."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


@dataclass(frozen=True, slots=True)
class Usage:
    """What is allocated. Admin access uses nothing.

    Attributes
    ----------
    whole : set of DeviceID
        Devices that are taken as a whole.
    shared : set of DeviceID
        Devices that some share of is taken.
    consumed : dict of DeviceID to dict of str to int
        Of shared devices the capacity that is taken, in nano-units; devices whose shares say so.
    holders : dict of DeviceID to list of ResourceClaim
        The claims that hold a device or a share of it, in the order of the snapshot.
    """

    whole: set[DeviceID] = field(default_factory=set)
    shared: set[DeviceID] = field(default_factory=set)
    consumed: dict[DeviceID, dict[str, int]] = field(default_factory=dict)
    holders: dict[DeviceID, list[ResourceClaim]] = field(default_factory=dict)

    def allocated(self, device: DeviceID) -> bool:
        """Whether a device is in use, as a whole or in part."""
        return device in self.whole or device in self.shared or device in self.consumed


def gather_usage(claims: Iterable[ResourceClaim], *, shares: bool) -> Usage:
    """Add up the allocations of claims.

    Parameters
    ----------
    claims : iterable of ResourceClaim
        All claims of the cluster.
    shares : bool
        Whether a share takes only its capacity; else it takes the whole device.
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
