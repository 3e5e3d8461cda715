"""All pools of a cluster with their devices and the claims that hold them. For display only."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedctl.common.arrays import Rows
from kschedctl.objects.device import Device, ResourceClaim, ResourceSlice
from kschedctl.scheduler.devices.claims import DeviceID, PoolID

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory


@dataclass(frozen=True, slots=True)
class DeviceOverview:
    """A device with its consumption and holders."""

    #: The driver, pool and name of the device.
    id: DeviceID
    #: The device, including taints from DeviceTaintRules if the release supports them.
    device: Device
    #: True if the device is allocated as a whole.
    whole: bool
    #: The consumed capacity of a shared device, in nano-units.
    consumed: dict[str, int]
    #: The claims that hold the device or a share of it.
    holders: tuple[ResourceClaim, ...]

    @property
    def free(self) -> bool:
        """True if no claim holds the device."""
        return not self.holders


@dataclass(frozen=True, slots=True)
class PoolOverview:
    """A pool in its newest generation."""

    #: The driver and name of the pool.
    id: PoolID
    generation: int
    #: The number of slices that exist, and the number that the pool declares.
    n_slices: int
    n_slices_wanted: int
    #: The number of slices of older generations that still exist.
    n_outdated: int
    #: The nodes that can use any of its devices, ascending.
    rows: Rows
    #: The reason why its devices are not used; empty if they are.
    problem: str
    #: The devices of the pool, in search order.
    devices: tuple[DeviceOverview, ...]


def pool_overviews(inventory: "Inventory") -> list[PoolOverview]:
    """Return every pool with its devices and their holders, by driver and name.

    Args:
        inventory: The devices of a cluster under the rules of a release.
    """
    by_pool: dict[PoolID, list[ResourceSlice]] = {}
    for one in sorted(inventory.slices, key=lambda one: one.name):
        by_pool.setdefault(PoolID(one.spec.driver, one.spec.pool.name), []).append(one)
    return [_pool_overview(inventory, pool, slices) for pool, slices in sorted(by_pool.items())]


def _pool_overview(inventory: "Inventory", pool: PoolID, slices: list[ResourceSlice]) -> PoolOverview:
    generation = max(one.spec.pool.generation for one in slices)
    current = [one for one in slices if one.spec.pool.generation == generation]
    wanted = current[0].spec.pool.resource_slice_count
    views = [view for view in inventory.views if view.id == pool]
    rows = np.unique(np.concatenate([view.rows for view in views])) if views else np.zeros(0, dtype=np.int64)
    problem = next((view.invalid for view in views if view.invalid), "")
    if len(current) != wanted:
        problem = f"{len(current)} of {wanted} slices are present"
    usage = inventory.usage
    devices = tuple(
        DeviceOverview(
            known, device, known in usage.whole, usage.consumed.get(known, {}), tuple(usage.holders.get(known, ()))
        )
        for one in current
        for device in one.spec.devices
        for known in [DeviceID(pool.driver, pool.pool, device.name)]
    )
    return PoolOverview(pool, generation, len(current), wanted, len(slices) - len(current), rows, problem, devices)
