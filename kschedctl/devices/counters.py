"""Counters of pools, which partitions of a device draw on. Amounts are in nano-units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedctl.api.device import Device
from kschedctl.api.quantity import parse_quantity

if TYPE_CHECKING:
    from kschedctl.devices.inventory import Inventory

#: Set and counter.
CounterName = tuple[str, str]


def counters_of(device: Device) -> list[tuple[CounterName, int]]:
    """What a device draws: set and counter, and the amount in nano-units."""
    return [
        ((use.counter_set, name), parse_quantity(counter.value))
        for use in device.consumes_counters
        for name, counter in use.counters.items()
    ]


def available_counters(inventory: Inventory, view: int) -> dict[CounterName, int]:
    """The counters of a pool less what its allocated devices draw, in nano-units."""
    pool = inventory.views[view]
    out = {
        (name, counter): parse_quantity(amount.value)
        for name, counters in (pool.counter_sets or {}).items()
        for counter, amount in counters.counters.items()
    }
    for number in (*inventory.view_devices[view].tolist(), *inventory.other_devices(pool)):
        if inventory.usage.allocated(inventory.ids[number]):
            for counter, amount in counters_of(inventory.devices[number]):
                if counter in out:
                    out[counter] -= amount
    return out
