"""Quantities that retain their notation, so that messages show them as an API server does.

``kschedctl.objects.quantity`` is for calculations; an ``Amount`` prints itself in Kubernetes' canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final

import msgspec

from kschedctl.objects.core import QuantityText, ResourceList
from kschedctl.objects.quantity import NANO, QuantityError, parse_quantity

_DECIMAL_SUFFIXES: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENT: Final = re.compile(r"[eE][+-]?\d")


class QuantityFormat(Enum):
    """The notation of a quantity (resource.Format)."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class Amount(msgspec.Struct, frozen=True):
    """A quantity in nano-units, with its notation."""

    nanos: int
    form: QuantityFormat = QuantityFormat.DECIMAL

    @classmethod
    def parse(cls, text: QuantityText) -> Amount:
        """Parse a quantity.

        Raises
        ------
        QuantityError
            If the text is not a quantity.

        Examples
        --------
        >>> print(Amount.parse("1.5Gi"), Amount.parse("0.25"), Amount.parse("2000"), Amount.parse("1e6"))
        1536Mi 250m 2k 1e6
        """
        nanos = parse_quantity(text)
        if not isinstance(text, str):
            return cls(nanos)
        if text.strip().endswith("i"):
            return cls(nanos, QuantityFormat.BINARY)
        return cls(nanos, QuantityFormat.EXPONENT if _EXPONENT.search(text) else QuantityFormat.DECIMAL)

    def __str__(self) -> str:
        """Return the canonical form (Quantity.CanonicalizeBytes)."""
        if not self.nanos:
            return "0"
        # Small and fractional binary quantities use the decimal form, to avoid losing precision.
        if self.form is QuantityFormat.BINARY and abs(self.nanos) >= 1024 * NANO and not self.nanos % NANO:
            whole, power = _without_factor(self.nanos // NANO, 1024)
            return f"{whole}{_BINARY_SUFFIXES[power]}"
        digits, exponent = _without_factor(self.nanos, 10)
        exponent -= 9
        digits *= 10 ** (exponent % 3)
        exponent -= exponent % 3
        if self.form is QuantityFormat.EXPONENT or exponent not in _DECIMAL_SUFFIXES:
            return f"{digits}e{exponent}" if exponent else str(digits)
        return f"{digits}{_DECIMAL_SUFFIXES[exponent]}"


#: A parsed ResourceList: amounts by resource name.
Amounts = dict[str, Amount]


def parse_amounts(resources: ResourceList, path: str = "") -> Amounts:
    """Parse a ResourceList.

    Raises
    ------
    QuantityError
        If a value is not a quantity; the error has the field's path below ``path``.
    """
    out = {}
    for name, text in resources.items():
        try:
            out[name] = Amount.parse(text)
        except QuantityError as error:
            raise QuantityError(str(error), f"{path}.{name}") from None
    return out


def _without_factor(number: int, factor: int) -> tuple[int, int]:
    """Divide the number by the factor as often as possible; return the quotient and the number of divisions."""
    power = 0
    while not number % factor:
        number //= factor
        power += 1
    return number, power


def forms(lists: Iterable[ResourceList]) -> dict[str, QuantityFormat]:
    """Return the notation of summed resource lists, by resource: that of the first nonzero amount (Quantity.Add)."""
    out: dict[str, QuantityFormat] = {}
    for resources in lists:
        for name, text in resources.items():
            if name not in out and (amount := Amount.parse(text)).nanos:
                out[name] = amount.form
    return out
