"""All pools of a cluster with their devices and the claims that hold them. For display only."""

from __future__ import annotations

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
    """A device with its consumption and holders.

    Attributes
    ----------
    id : DeviceID
        The driver, pool and name of the device.
    device : Device
        The device, including taints from DeviceTaintRules if the release supports them.
    whole : bool
        True if the device is allocated as a whole.
    consumed : dict of str to int
        The consumed capacity of a shared device, in nano-units.
    holders : tuple of ResourceClaim
        The claims that hold the device or a share of it.
    """

    id: DeviceID
    device: Device
    whole: bool
    consumed: dict[str, int]
    holders: tuple[ResourceClaim, ...]

    @property
    def free(self) -> bool:
        """True if no claim holds the device."""
        return not self.holders


@dataclass(frozen=True, slots=True)
class PoolOverview:
    """A pool in its newest generation.

    Attributes
    ----------
    id : PoolID
        The driver and name of the pool.
    n_slices, n_slices_wanted : int
        The number of slices that exist, and the number that the pool declares.
    n_outdated : int
        The number of slices of older generations that still exist.
    rows : ndarray of int64, shape (n_rows,)
        The nodes that can use any of its devices, ascending.
    problem : str
        The reason why its devices are not used; empty if they are.
    devices : tuple of DeviceOverview
        The devices of the pool, in search order.
    """

    id: PoolID
    generation: int
    n_slices: int
    n_slices_wanted: int
    n_outdated: int
    rows: Rows
    problem: str
    devices: tuple[DeviceOverview, ...]


def pool_overviews(inventory: Inventory) -> list[PoolOverview]:
    """Return every pool with its devices and their holders, by driver and name.

    Parameters
    ----------
    inventory : Inventory
        The devices of a cluster under the rules of a release.
    """
    by_pool: dict[PoolID, list[ResourceSlice]] = {}
    for one in sorted(inventory.slices, key=lambda one: one.name):
        by_pool.setdefault(PoolID(one.spec.driver, one.spec.pool.name), []).append(one)
    return [_pool(inventory, pool, slices) for pool, slices in sorted(by_pool.items())]


def _pool(inventory: Inventory, pool: PoolID, slices: list[ResourceSlice]) -> PoolOverview:
    generation = max(one.spec.pool.generation for one in slices)
    current = [one for one in slices if one.spec.pool.generation == generation]
    wanted = current[0].spec.pool.resource_slice_count
    views = [view for view in inventory.views if view.id == pool]
    rows = np.unique(np.concatenate([view.rows for view in views])) if views else np.zeros(0, dtype=np.int64)
    problem = next((view.invalid for view in views if view.invalid), "")
    if len(current) != wanted:
        problem = f"{len(current)} of {wanted} slices are present"
    devices = tuple(_device(inventory, one, device) for one in current for device in one.spec.devices)
    n_outdated = len(slices) - len(current)
    return PoolOverview(pool, generation, len(current), wanted, n_outdated, rows, problem, devices)


def _device(inventory: Inventory, one: ResourceSlice, device: Device) -> DeviceOverview:
    usage = inventory.usage
    known = DeviceID(one.spec.driver, one.spec.pool.name, device.name)
    holders = tuple(usage.holders.get(known, ()))
    return DeviceOverview(known, device, known in usage.whole, usage.consumed.get(known, {}), holders)
