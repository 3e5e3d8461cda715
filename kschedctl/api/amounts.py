"""Human-readable amounts of resources: ``2 cpu``, ``1.5Gi memory``, ``3 nvidia.com/gpu``."""

from __future__ import annotations

from typing import Final

from kschedctl.api.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY

_BINARY_UNITS: Final = tuple((1 << 10 * power, f"{prefix}i") for power, prefix in enumerate("KMGTPE", 1))[::-1]


def format_amount(resource: str, amount: int) -> str:
    """Format an amount for people, rounded to 3 decimals of a CPU or 2 of a binary unit, without the resource's name.

    Parameters
    ----------
    resource : str
        The resource's name, which determines the unit.
    amount : int
        The amount in milli-CPU, bytes, or as a count.

    Examples
    --------
    >>> format_amount("cpu", 1250), format_amount("memory", 3 << 29), format_amount("pods", 110)
    ('1.25', '1.5Gi', '110')
    """
    if resource == CPU:
        return f"{amount / 1000:.3f}".rstrip("0").rstrip(".")
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGEPAGES_PREFIX):
        return _format_bytes(amount)
    return str(amount)


def exact_quantity(resource: str, amount: int) -> str:
    """Format an amount in the scheduler's units as a quantity, without rounding.

    Parameters
    ----------
    resource : str
        The resource's name.
    amount : int
        The amount in milli-CPU, bytes, or as a count.

    Examples
    --------
    >>> exact_quantity("cpu", 1500), exact_quantity("memory", 3 << 29), exact_quantity("nvidia.com/gpu", 2)
    ('1500m', '1536Mi', '2')
    """
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource in (MEMORY, EPHEMERAL_STORAGE) or "storage" in resource or resource.startswith(HUGEPAGES_PREFIX):
        for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if amount and amount % (1 << power) == 0:
                return f"{amount >> power}{suffix}"
    return str(amount)


def _format_bytes(amount: int) -> str:
    for unit, suffix in _BINARY_UNITS:
        if abs(amount) >= unit:
            return f"{amount / unit:.2f}".rstrip("0").rstrip(".") + suffix
    return str(amount)
