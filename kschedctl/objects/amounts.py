"""Human-readable amounts of resources: ``2 cpu``, ``1.5Gi memory``, ``3 nvidia.com/gpu``."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, PODS

#: The resource of claims.
_STORAGE: Final = "storage"
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
    if resource in (MEMORY, EPHEMERAL_STORAGE, _STORAGE) or resource.startswith(HUGEPAGES_PREFIX):
        return _format_bytes(amount)
    return str(amount)


def amount_of(resource: str, amount: int) -> str:
    """Format an amount with the resource's name, as it reads in a sentence.

    Examples
    --------
    >>> amount_of("cpu", 1250), amount_of("nvidia.com/gpu", 2), amount_of("pods", 2)
    ('1.25 cpu', '2 nvidia.com/gpu', '2 pods')
    """
    return counted(amount, "pod") if resource == PODS else f"{format_amount(resource, amount)} {resource}"


def format_nanos(name: str, nanos: int) -> str:
    """Format a quantity in nano-units for people, in the notation of `format_amount`.

    Parameters
    ----------
    name : str
        The name of the resource, or of its requests or limits in a ResourceQuota.
    nanos : int
        The quantity in nano-units.

    Examples
    --------
    >>> format_nanos("requests.cpu", 47_810 * NANO // 1000), format_nanos("storage", 10 * 2**30 * NANO)
    ('47.81', '10Gi')
    """
    resource = name.removeprefix("requests.").removeprefix("limits.")
    return format_amount(resource, -(-nanos * 1000 // NANO) if resource == CPU else -(-nanos // NANO))


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
