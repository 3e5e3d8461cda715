"""Resource amounts in answers: exact quantities for programs, readable amounts for people."""

from __future__ import annotations

from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, format_amount, scheduler_units


def readable(resource: str, quantity: str) -> str:
    """Format a quantity in the unit that reasons use.

    Examples
    --------
    >>> readable("cpu", "1500m"), readable("memory", "1536Mi")
    ('1.5', '1.5Gi')
    """
    return format_amount(resource, amount_of(resource, quantity))


def amount_of(resource: str, quantity: str) -> int:
    """Return a quantity in the scheduler's units: milli-CPU, bytes or a count.

    Examples
    --------
    >>> amount_of("cpu", "1500m"), amount_of("memory", "1Ki")
    (1500, 1024)
    """
    return scheduler_units({resource: parse_quantity(quantity)})[resource]


def unit_name(resource: str) -> str:
    """Return the name of a resource with the unit of its amounts in tables: milli-CPU, bytes, or a count without unit.

    Examples
    --------
    >>> unit_name("cpu"), unit_name("memory"), unit_name("nvidia.com/gpu")
    ('cpu_milli', 'memory_bytes', 'nvidia.com/gpu')
    """
    if resource == CPU:
        return f"{resource}_milli"
    counts_bytes = resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGEPAGES_PREFIX)
    return f"{resource}_bytes" if counts_bytes else resource
