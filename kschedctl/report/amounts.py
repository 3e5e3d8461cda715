"""Amounts of resources as an answer has them: exact for programs, readable for people."""

from __future__ import annotations

from kschedctl.api.amounts import format_amount
from kschedctl.api.quantity import parse_quantity
from kschedctl.api.resources import CPU, scheduler_units


def exact_quantity(resource: str, amount: int) -> str:
    """An amount of the scheduler's as a quantity, without rounding.

    Parameters
    ----------
    resource : str
        The resource's name.
    amount : int
        Milli-CPU, bytes or a count.

    Examples
    --------
    >>> exact_quantity("cpu", 1500), exact_quantity("memory", 3 << 29), exact_quantity("nvidia.com/gpu", 2)
    ('1500m', '1536Mi', '2')
    """
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource == "memory" or "storage" in resource or resource.startswith("hugepages-"):
        for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if amount and amount % (1 << power) == 0:
                return f"{amount >> power}{suffix}"
    return str(amount)


def readable(resource: str, quantity: str) -> str:
    """A quantity in the unit that reasons have.

    Examples
    --------
    >>> readable("cpu", "1500m"), readable("memory", "1536Mi")
    ('1.5', '1.5Gi')
    """
    units = scheduler_units({resource: parse_quantity(quantity)})
    return format_amount(resource, units[resource])
