"""Exact quantities (resource.Quantity) in nano-units, and quantities that retain their notation for messages."""

import re
from collections.abc import Iterable
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Final, get_args

import msgspec

from kschedctl.common.findings import joined, shortened
from kschedctl.objects.core import QuantityText, ResourceList

NANO: Final = 10**9
#: The hint for users whose text is not a quantity.
QUANTITY_HINT: Final = "a number with an optional suffix is expected, such as 2, 500m or 1.5Gi"
_MILLI: Final = 10**6
_MAX_INT64: Final = 2**63 - 1

# Possessive quantifiers, so that a long text that does not match is scanned only once.
_FORM: Final = re.compile(r"([+-]?)(\d*+)(?:\.(\d*+))?([eEinumkKMGTP]*+[+-]?\d*+)", re.ASCII)
_FORM_TEXT: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_EXPONENT: Final = re.compile(r"[eE]([+-]?\d+)", re.ASCII)
_DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
#: Exponents are clamped this far beyond the digits of the mantissa. Values beyond exceed int64, or round up to one
#: nano-unit.
_EXPONENT_LIMIT: Final = 64
#: Python parses and prints integers of slightly more digits (4,300 by default).
_MAX_LENGTH: Final = 4000
_CONTAINERS: Final = (msgspec.Struct, dict, tuple)


class QuantityError(ValueError):
    """A text that is not a quantity."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.path = path


def quantity_problem(text: QuantityText) -> str | None:
    """Return the API server's message for a text that is not a quantity; ``None`` for a quantity.

    >>> quantity_problem("1.5Gi"), quantity_problem("1XB")
    (None, "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    """
    try:
        parse_quantity(text)
    except QuantityError:
        pass
    else:
        return None
    if not isinstance(text, str):
        return None
    match = _FORM.fullmatch(text.strip())
    if match is None or not text.strip():
        return f"quantities must match the regular expression '{_FORM_TEXT}'"
    return "unable to parse quantity's suffix" if match[4] else "unable to parse numeric part of quantity"


def parse_quantity(text: QuantityText) -> int:
    """Parse a quantity as resource.ParseQuantity does.

    Args:
        text: The quantity, such as ``500m``, ``1.5Gi``, ``1e3`` or ``2``.

    Returns: The amount in nano-units, rounded away from zero. Binary quantities are capped at the largest int64.

    Raises QuantityError if the text is not a quantity.

    >>> parse_quantity("1.5Ki")
    1536000000000
    >>> parse_quantity("100u")
    100000
    """
    if type(text) is str:
        text = text.strip()
        if len(text) > _MAX_LENGTH:
            raise QuantityError(f'"{shortened(text)}" is longer than any quantity')
        return _parse_nanos(text)
    if isinstance(text, bool):
        raise QuantityError(f"{str(text).lower()} is not a quantity")
    return _parse_nanos(repr(text))


@lru_cache(maxsize=1 << 16)
def _parse_nanos(text: str) -> int:
    match = _FORM.fullmatch(text)
    if match is None or not text:
        raise QuantityError(f'"{shortened(text)}" is not a quantity')
    sign, whole, fraction, suffix = match.groups(default="")
    digits = int(whole + fraction or "0")
    binary = _BINARY_SUFFIXES.get(suffix)
    if binary is not None:
        nanos = _divide_up((digits << binary) * NANO, 10 ** len(fraction))
        nanos = min(nanos, _MAX_INT64 * NANO)
    else:
        exponent = _DECIMAL_SUFFIXES.get(suffix)
        if exponent is None:
            power = _EXPONENT.fullmatch(suffix)
            if power is None:
                raise QuantityError(f'"{shortened(text)}" is not a quantity')
            digits_before, digits_after = len(whole) + _EXPONENT_LIMIT, len(fraction) + _EXPONENT_LIMIT
            exponent = max(-digits_before, min(int(power[1]), digits_after))
        scale = exponent + 9 - len(fraction)
        nanos = digits * 10**scale if scale >= 0 else _divide_up(digits, 10**-scale)
    return -nanos if sign == "-" else nanos


def check_quantities(value: Any) -> None:
    """Check all quantities in an API object, or in a list or map that contains quantities.

    Raises QuantityError if a text is not a quantity; with the path of its field.
    """
    for step, item in _scale_parts(value):
        try:
            if isinstance(item, _CONTAINERS):
                check_quantities(item)
            elif item is not None:
                parse_quantity(item)
        except QuantityError as error:
            path = f".{error.path}" if error.path and error.path[0] != "[" else error.path
            raise QuantityError(str(error), f"{joined('', step)}{path}") from None


def _scale_parts(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, msgspec.Struct):
        return [(written, getattr(value, name)) for name, written in _fields_with_quantities(type(value))]
    parts: Iterable[tuple[str | int, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    return parts


@cache
def _fields_with_quantities(type_: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """Return the fields that are or contain quantities, each with its name in JSON."""
    every = msgspec.structs.fields(type_)
    return tuple((field.name, field.encode_name) for field in every if _has_quantities(field.type))


def _has_quantities(type_: Any) -> bool:
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return bool(_fields_with_quantities(type_))
    return type_ in (QuantityText, QuantityText | None) or any(map(_has_quantities, get_args(type_)))


def quantity_text(nanos: int) -> str:
    """Format a quantity in the largest binary unit that divides it.

    >>> quantity_text(10 * 2**30 * NANO), quantity_text(1500 * NANO), quantity_text(NANO // 2)
    ('10Gi', '1500', '500m')
    """
    whole, rest = divmod(nanos, NANO)
    if rest:
        return f"{nanos // _MILLI}m" if nanos % _MILLI == 0 else f"{nanos}n"
    for suffix, power in reversed(_BINARY_SUFFIXES.items()):
        if whole and whole % (1 << power) == 0:
            return f"{whole >> power}{suffix}"
    return str(whole)


def value(nanos: int, *, saturate: bool = False) -> int:
    """Return whole units as an int64, rounded away from zero (Quantity.Value).

    >>> value(parse_quantity("10E")), value(parse_quantity("10E"), saturate=True)
    (0, 9223372036854775807)
    """
    return bounded(scaled_amount(nanos), saturate=saturate)


def milli_value(nanos: int) -> int:
    """Return thousandths of a unit as an int64, rounded away from zero (Quantity.MilliValue)."""
    return bounded(scaled_amount(nanos, milli=True))


def scaled_amount(nanos: int, *, milli: bool = False) -> int:
    """Return whole units or thousandths, rounded away from zero, however large."""
    unit = _MILLI if milli else NANO
    return _divide_up(nanos, unit) if nanos >= 0 else -_divide_up(-nanos, unit)


def bounded(amount: int, *, saturate: bool = False) -> int:
    """Return an amount as an int64: what does not fit is zero, or since 1.38 the nearest int64."""
    if -_MAX_INT64 - 1 <= amount <= _MAX_INT64:
        return amount
    return min(max(amount, -_MAX_INT64 - 1), _MAX_INT64) if saturate else 0


def _divide_up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


# Quantities that retain their notation, so that messages show them as an API server does.
#
# ``kschedctl.objects.quantity`` is for calculations; an ``Amount`` prints itself in Kubernetes' canonical form.

_CANONICAL_QUANTITY_DECIMAL_SUFFIXES: Final = {
    -9: "n",
    -6: "u",
    -3: "m",
    0: "",
    3: "k",
    6: "M",
    9: "G",
    12: "T",
    15: "P",
    18: "E",
}
_CANONICAL_QUANTITY_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_CANONICAL_QUANTITY_EXPONENT: Final = re.compile(r"[eE][+-]?\d")


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
    def parse(cls, text: QuantityText) -> "Amount":
        """Parse a quantity.

        Raises QuantityError if the text is not a quantity.

        >>> print(Amount.parse("1.5Gi"), Amount.parse("0.25"), Amount.parse("2000"), Amount.parse("1e6"))
        1536Mi 250m 2k 1e6
        """
        nanos = parse_quantity(text)
        if not isinstance(text, str):
            return cls(nanos)
        if text.strip().endswith("i"):
            return cls(nanos, QuantityFormat.BINARY)
        return cls(
            nanos, QuantityFormat.EXPONENT if _CANONICAL_QUANTITY_EXPONENT.search(text) else QuantityFormat.DECIMAL
        )

    def __str__(self) -> str:
        """Return the canonical form (Quantity.CanonicalizeBytes)."""
        if not self.nanos:
            return "0"
        # Small and fractional binary quantities use the decimal form, to avoid losing precision.
        if self.form is QuantityFormat.BINARY and abs(self.nanos) >= 1024 * NANO and not self.nanos % NANO:
            whole, power = _without_factor(self.nanos // NANO, 1024)
            return f"{whole}{_CANONICAL_QUANTITY_BINARY_SUFFIXES[power]}"
        digits, exponent = _without_factor(self.nanos, 10)
        exponent -= 9
        digits *= 10 ** (exponent % 3)
        exponent -= exponent % 3
        if self.form is QuantityFormat.EXPONENT or exponent not in _CANONICAL_QUANTITY_DECIMAL_SUFFIXES:
            return f"{digits}e{exponent}" if exponent else str(digits)
        return f"{digits}{_CANONICAL_QUANTITY_DECIMAL_SUFFIXES[exponent]}"


#: A parsed ResourceList: amounts by resource name.
Amounts = dict[str, Amount]


def parse_amounts(resources: ResourceList, path: str = "") -> Amounts:
    """Parse a ResourceList.

    Raises QuantityError if a value is not a quantity; the error has the field's path below ``path``.
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
