"""Amounts in anonymised snapshots: quantities stay, any other text in their place goes."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.api.quantity import QuantityError, parse_quantity

_NO_QUANTITY: Final = "none"


def anonymous_amount(amount: Any) -> Any:
    """A quantity; what is none is no quantity afterwards either, and tells nothing.

    Examples
    --------
    >>> anonymous_amount("2Gi"), anonymous_amount("Alice")
    ('2Gi', 'none')
    """
    try:
        parse_quantity(amount)
    except QuantityError:
        return _NO_QUANTITY
    return amount
