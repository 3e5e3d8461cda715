"""The bounds of a LimitRange item, and the API server's messages for violations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.objects.quantity import Amount, Amounts, milli_value, value

#: The largest amount that is compared in milli-units (resource.MaxMilliValue).
_MAX_MILLI_VALUE: Final = (2**63 - 1) // 1000
_ZERO: Final = Amount(0)


def broken_bounds(
    kind: str, bounds: tuple[Amounts, Amounts, Amounts], requests: Amounts, limits: Amounts
) -> Iterator[str]:
    """Yield one message, in the API server's words, per bound that requests or limits violate.

    Parameters
    ----------
    kind : str
        The kind of the bounds: ``Container`` or ``Pod``.
    bounds : tuple of dict
        Minimum, maximum and the largest ratio of limit to request, by resource. The API server iterates over each
        in random order; here the order is that of the names.
    requests, limits : dict of str to Amount
        The requests and limits of the container or pod.
    """
    minimum, maximum, ratio = bounds
    for name, bound in sorted(minimum.items()):
        yield from _below(f"minimum {name} usage per {kind} is {bound}", bound, requests.get(name), limits.get(name))
    for name, bound in sorted(maximum.items()):
        yield from _above(f"maximum {name} usage per {kind} is {bound}", bound, requests.get(name), limits.get(name))
    for name, bound in sorted(ratio.items()):
        head = f"{name} max limit to request ratio per {kind} is {bound}"
        yield from _beyond(head, bound, requests.get(name), limits.get(name))


def _below(head: str, bound: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
    requested, limited, enforced = _comparable(request, limit, bound)
    if request is None:
        yield f"{head}.  No request is specified"
    elif requested < enforced:
        yield f"{head}, but request is {request}"
    elif limit is not None and limited < enforced:
        yield f"{head}, but limit is {limit}"


def _above(head: str, bound: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
    requested, limited, enforced = _comparable(request, limit, bound)
    if limit is None:
        yield f"{head}.  No limit is specified"
    elif limited > enforced:
        yield f"{head}, but limit is {limit}"
    elif request is not None and requested > enforced:
        yield f"{head}, but request is {request}"


def _beyond(head: str, bound: Amount, request: Amount | None, limit: Amount | None) -> Iterator[str]:
    requested, limited, _ = _comparable(request, limit, bound)
    if not requested:
        yield f"{head}, but no request is specified or request is 0"
    elif not limited:
        yield f"{head}, but no limit is specified or limit is 0"
    else:
        observed = limited / requested
        in_milli = value(bound.nanos) <= _MAX_MILLI_VALUE
        scaled = observed * 1000 if in_milli else observed
        if scaled > float(milli_value(bound.nanos) if in_milli else value(bound.nanos)):
            yield f"{head}, but provided ratio is {observed:f}"


def _comparable(request: Amount | None, limit: Amount | None, bound: Amount) -> tuple[int, int, int]:
    """Return all three amounts in milli-units if each fits into an int64 that way, else in whole units."""
    nanos = (request or _ZERO).nanos, (limit or _ZERO).nanos, bound.nanos
    scale = milli_value if all(value(n) <= _MAX_MILLI_VALUE for n in nanos) else value
    requested, limited, enforced = map(scale, nanos)
    return requested, limited, enforced
