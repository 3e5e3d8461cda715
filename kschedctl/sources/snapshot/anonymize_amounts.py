"""Amounts in anonymised snapshots: quantities are kept, any other text in their place is removed."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.objects.quantity import QuantityError, parse_quantity

_NO_QUANTITY: Final = "none"


def anonymous_amount(amount: Any) -> Any:
    """Return a quantity unchanged, and ``"none"``, which is not a quantity either, for any other text.

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
