"""Counters of pools, from which partitions of a device draw. Amounts are in nano-units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kschedctl.objects.device import CounterSet, Device
from kschedctl.objects.quantity import parse_quantity

#: A counter set and a counter in it.
CounterName = tuple[str, str]


def counters_of(device: Device) -> list[tuple[CounterName, int]]:
    """Return the counters that a device draws from, as set and counter, with the amounts in nano-units."""
    return [
        ((use.counter_set, name), parse_quantity(counter.value))
        for use in device.consumes_counters
        for name, counter in use.counters.items()
    ]


def available_counters(sets: Mapping[str, CounterSet], allocated: Iterable[Device]) -> dict[CounterName, int]:
    """Return the counters of a pool less what its allocated devices draw, in nano-units."""
    out = {
        (name, counter): parse_quantity(amount.value)
        for name, counters in sets.items()
        for counter, amount in counters.counters.items()
    }
    for device in allocated:
        for counter, amount in counters_of(device):
            if counter in out:
                out[counter] -= amount
    return out
