"""Quantities that keep how they were written, so that messages name them as an API server does.

``kschedctl.api.quantity`` is for counting; here an amount prints itself in Kubernetes' canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kschedctl.api.core import QuantityText, ResourceList
from kschedctl.api.quantity import NANO, QuantityError, parse_quantity

_DECIMAL_SUFFIXES: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENT: Final = re.compile(r"[eE][+-]?\d")


class Form(Enum):
    """How a quantity is written (resource.Format)."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity in nano-units, with the form it is written in."""

    nanos: int
    form: Form = Form.DECIMAL

    @classmethod
    def parse(cls, text: QuantityText) -> Amount:
        """Read a quantity.

        Raises
        ------
        QuantityError
            Where the text is not one.

        Examples
        --------
        >>> print(Amount.parse("1.5Gi"), Amount.parse("0.25"), Amount.parse("2000"), Amount.parse("1e6"))
        1536Mi 250m 2k 1e6
        """
        nanos = parse_quantity(text)
        if not isinstance(text, str):
            return cls(nanos)
        if text.strip().endswith("i"):
            return cls(nanos, Form.BINARY)
        return cls(nanos, Form.EXPONENT if _EXPONENT.search(text) else Form.DECIMAL)

    def __str__(self) -> str:
        """The canonical form (Quantity.CanonicalizeBytes)."""
        if not self.nanos:
            return "0"
        # Small and fractional binary quantities are written as decimal ones, so as not to lose precision.
        if self.form is Form.BINARY and abs(self.nanos) >= 1024 * NANO and not self.nanos % NANO:
            whole, power = _without_factor(self.nanos // NANO, 1024)
            return f"{whole}{_BINARY_SUFFIXES[power]}"
        digits, exponent = _without_factor(self.nanos, 10)
        exponent -= 9
        digits *= 10 ** (exponent % 3)
        exponent -= exponent % 3
        if self.form is Form.EXPONENT or exponent not in _DECIMAL_SUFFIXES:
            return f"{digits}e{exponent}" if exponent else str(digits)
        return f"{digits}{_DECIMAL_SUFFIXES[exponent]}"


#: What a ResourceList says.
Amounts = dict[str, Amount]


def parse_amounts(resources: ResourceList, path: str = "") -> Amounts:
    """Read a ResourceList.

    Raises
    ------
    QuantityError
        With the field's path below ``path``, where a value is not a quantity.
    """
    out = {}
    for name, text in resources.items():
        try:
            out[name] = Amount.parse(text)
        except QuantityError as error:
            raise QuantityError(str(error), f"{path}.{name}") from None
    return out


def _without_factor(number: int, factor: int) -> tuple[int, int]:
    """The number divided by the factor as often as it can be, and how often."""
    power = 0
    while not number % factor:
        number //= factor
        power += 1
    return number, power


def forms(lists: Iterable[ResourceList]) -> dict[str, Form]:
    """The form that sums of resource lists have: of the first that is not zero (Quantity.Add)."""
    out: dict[str, Form] = {}
    for resources in lists:
        for name, text in resources.items():
            if name not in out and (amount := Amount.parse(text)).nanos:
                out[name] = amount.form
    return out
