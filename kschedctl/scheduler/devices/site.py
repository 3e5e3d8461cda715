"""The devices that one node can use, numbered in search order, and the devices and shares that a search has taken."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.device import Device, DeviceTaint, ResourceSlice
from kschedctl.scheduler.devices.capacity import consumption, fits
from kschedctl.scheduler.devices.counters import counters_of
from kschedctl.scheduler.devices.inventory import Inventory
from kschedctl.scheduler.devices.requests import Alternative
from kschedctl.scheduler.devices.taints import untolerated
from kschedctl.scheduler.devices.usage import DeviceID, PoolID


@dataclass(frozen=True, slots=True)
class SitePool:
    """A pool at a site; ``devices`` is a range of device numbers at the site."""

    id: PoolID
    view: int
    incomplete: bool
    invalid: str
    usable: bool
    devices: range

    @property
    def last(self) -> int:
        """The number of the pool's last device at the site."""
        return self.devices.stop - 1


class NodeDevices:
    """The devices that one node can use.

    Parameters
    ----------
    inventory : Inventory
        All devices of the cluster.
    row : int
        The row of the node.
    kinds : ndarray of int64, shape (n_devices,)
        The kind of each device of the cluster; the search does not distinguish devices of the same kind.

    Attributes
    ----------
    pools : list of SitePool
        The pools, in search order.
    numbers : list of int
        The number in the inventory of each device at the site.
    """

    def __init__(self, inventory: Inventory, row: int, kinds: Int64Array) -> None:
        self.inventory = inventory
        self._row, self._kinds = row, kinds
        rules = inventory.rules
        self.pools: list[SitePool] = []
        self.pool_of: list[int] = []
        rows: list[Int64Array] = []
        elsewhere: list[bool] = []
        n_devices = 0
        for number in inventory.pools_of(row):
            view, devices = inventory.views[number], inventory.view_devices[number]
            usable = not view.invalid and not (view.incomplete and rules.whole_pools)
            here = range(n_devices, n_devices + len(devices))
            self.pools.append(SitePool(view.id, number, view.incomplete, view.invalid, usable, here))
            self.pool_of += [len(self.pools) - 1] * len(devices)
            rows.append(devices)
            elsewhere += inventory.view_elsewhere[number].tolist()
            n_devices += len(devices)
        self._rows = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        self.numbers: list[int] = self._rows.tolist()
        self.elsewhere = elsewhere
        self.kind: list[int] = kinds[self._rows].tolist()
        self.in_use: list[bool] = inventory.in_use[self._rows].tolist()
        self.draws_on_counters: list[bool] = (inventory.content("consumes_counters")[self._rows] >= 0).tolist()
        shareable = inventory.content("allow_multiple_allocations")[self._rows] >= 0
        self.shareable: list[bool] = (shareable & rules.capacity_requests).tolist()
        self.reckons_capacity: list[bool] = []
        if rules.capacity_requests:
            self.reckons_capacity = inventory.reckons_capacity[self._rows].tolist()
        self.capacity = SiteCapacity(self)
        self.counters = SiteCounters(self)

    def again(self) -> NodeDevices:
        """Return a new site with the same devices, of which nothing is taken."""
        return NodeDevices(self.inventory, self._row, self._kinds)

    @property
    def node(self) -> str:
        """The name of the node."""
        return self.inventory.cluster.nodes.names[self._row]

    def slice(self, number: int) -> ResourceSlice:
        """Return the slice that lists a device."""
        return self.inventory.slice_of(self.numbers[number])

    def device(self, number: int) -> Device:
        """Return a device by its number at the site."""
        return self.inventory.devices[self.numbers[number]]

    def device_id(self, number: int) -> DeviceID:
        """Return the ID of a device."""
        return self.inventory.ids[self.numbers[number]]

    def codes(self, attribute: str) -> list[int]:
        """Return the code of an attribute's value for each device; -1 for a device without the attribute."""
        found: list[int] = self.inventory.attribute(attribute)[self._rows].tolist()
        return found

    def verdict(self, asked: Alternative) -> list[int]:
        """Return the result of the request's selectors for each device, as in ``Alternative.verdict``."""
        found: list[int] = asked.verdict[self._rows].tolist()
        return found

    def is_tainted_for(self, asked: Alternative, number: int) -> bool:
        """Report whether a device has a taint that the request does not tolerate."""
        return self.taint_for(asked, number) is not None

    def taint_for(self, asked: Alternative, number: int) -> DeviceTaint | None:
        """Return the first taint of a device that the request does not tolerate, or ``None``."""
        return untolerated(self.device(number).taints, asked.tolerations)


@dataclass(slots=True)
class SiteCapacity:
    """The consumption of shareable devices, by other claims and by the search."""

    site: NodeDevices
    _own: dict[int, dict[str, int]] = field(default_factory=dict)
    _n_shares: dict[int, int] = field(default_factory=dict)

    def consumption(self, asked: Alternative, number: int) -> dict[str, int] | None:
        """Return the amounts that a request takes of a device; ``None`` if the device lacks a requested capacity."""
        exact = self.site.inventory.rules.capacity_errors
        return consumption(asked.capacity, self.site.device(number).capacity, exact=exact)

    def serves(self, asked: Alternative, number: int) -> bool:
        """Report whether the capacity left on a device is enough for a request."""
        if asked.capacity is None and not self.site.reckons_capacity[number]:
            return True
        used = self.site.inventory.usage.consumed.get(self.site.device_id(number), {})
        return self._serves(asked, number, used, self._own.get(number, {}))

    def serves_at_all(self, asked: Alternative, number: int) -> bool:
        """Report whether the total capacity of a device is enough for a request."""
        if asked.capacity is None and not self.site.reckons_capacity[number]:
            return True
        return self._serves(asked, number, {}, {})

    def _serves(self, asked: Alternative, number: int, used: dict[str, int], own: dict[str, int]) -> bool:
        capacities = self.site.device(number).capacity
        if not capacities:
            return asked.capacity is None or not asked.capacity.requests
        taken = self.consumption(asked, number)
        return taken is not None and fits(taken, capacities, used, own)

    def is_shared(self, number: int) -> bool:
        """Report whether a share of a device is taken, in which case its counters have been counted."""
        usage, device = self.site.inventory.usage, self.site.device_id(number)
        if self._n_shares.get(number) or device in usage.consumed:
            return True
        return self.site.inventory.rules.counters_by_driver and device in usage.shared

    def own_key(self, number: int) -> Hashable:
        """Return a hashable form of what the search has taken of a device."""
        own = self._own.get(number)
        return (self._n_shares.get(number), tuple(own.items())) if own else self._n_shares.get(number)

    def take(self, asked: Alternative, number: int) -> dict[str, int]:
        """Take a share of a device, and return the consumed amounts."""
        taken = self.consumption(asked, number) or {}
        own = self._own.setdefault(number, {})
        for name, amount in taken.items():
            own[name] = own.get(name, 0) + amount
        self._n_shares[number] = self._n_shares.get(number, 0) + 1
        return taken

    def give_back(self, number: int, taken: dict[str, int]) -> None:
        """Release a share that the search has taken."""
        for name, amount in taken.items():
            self._own[number][name] -= amount
        self._n_shares[number] -= 1


@dataclass(slots=True)
class SiteCounters:
    """The counters of the pools, and the amounts that the search has drawn."""

    site: NodeDevices
    _available: dict[Hashable, dict[tuple[str, str], int]] = field(default_factory=dict)
    _drawn: dict[Hashable, dict[tuple[str, str], int]] = field(default_factory=dict)

    def take(self, number: int) -> bool:
        """Draw a device's counters; return false, with nothing drawn, if a counter of its pool would be overdrawn."""
        pool = self.site.pools[self.site.pool_of[number]]
        key = self._key(pool)
        available = self._available.get(key)
        if available is None:
            available = self._available[key] = self.site.inventory.available_counters(pool.view)
        drawn = self._drawn.setdefault(key, {})
        for counter, amount in counters_of(self.site.device(number)):
            drawn[counter] = drawn.get(counter, 0) + amount
        if all(amount >= drawn.get(counter, 0) for counter, amount in available.items()):
            return True
        self.give_back(number)
        return False

    def give_back(self, number: int) -> None:
        """Release the counters that a device has drawn."""
        drawn = self._drawn[self._key(self.site.pools[self.site.pool_of[number]])]
        for counter, amount in counters_of(self.site.device(number)):
            drawn[counter] -= amount

    def _key(self, pool: SitePool) -> Hashable:
        return pool.id if self.site.inventory.rules.counters_by_driver else pool.id.pool
