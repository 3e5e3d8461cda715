"""All pools of a cluster with their devices, and who holds these: for people, not for decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.device import Device, ResourceClaim, ResourceSlice
from kschedctl.arrays import Rows
from kschedctl.devices.inventory import Inventory
from kschedctl.devices.usage import DeviceID, PoolID


@dataclass(frozen=True, slots=True)
class DeviceOverview:
    """One device.

    Attributes
    ----------
    id : DeviceID
        Driver, pool and name.
    device : Device
        The device itself, with the taints of rules where the release has them.
    whole : bool
        Whether it is taken as a whole.
    consumed : dict of str to int
        What is taken of its capacities where it is shared, in nano-units.
    holders : tuple of ResourceClaim
        The claims that hold it or a share of it.
    """

    id: DeviceID
    device: Device
    whole: bool
    consumed: dict[str, int]
    holders: tuple[ResourceClaim, ...]

    @property
    def free(self) -> bool:
        """Whether nobody holds it."""
        return not self.holders


@dataclass(frozen=True, slots=True)
class PoolOverview:
    """One pool, in its newest generation.

    Attributes
    ----------
    id : PoolID
        Driver and name.
    n_slices, n_slices_wanted : int
        How many slices of it there are, and should be.
    n_outdated : int
        How many slices of older generations are left.
    rows : ndarray of int64, shape (n_rows,)
        The nodes that can use some device of it, ascending.
    problem : str
        Why its devices are not used; empty where they are.
    devices : tuple of DeviceOverview
        Its devices, in the order of the search.
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
    """Every pool with its devices and their holders, by driver and name.

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
        problem = f"{len(current)} of {wanted} slices are there"
    devices = tuple(_device(inventory, one, device) for one in current for device in one.spec.devices)
    n_outdated = len(slices) - len(current)
    return PoolOverview(pool, generation, len(current), wanted, n_outdated, rows, problem, devices)


def _device(inventory: Inventory, one: ResourceSlice, device: Device) -> DeviceOverview:
    usage = inventory.usage
    known = DeviceID(one.spec.driver, one.spec.pool.name, device.name)
    holders = tuple(usage.holders.get(known, ()))
    return DeviceOverview(known, device, known in usage.whole, usage.consumed.get(known, {}), holders)
