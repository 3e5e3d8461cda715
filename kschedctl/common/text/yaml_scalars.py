"""Unquoted YAML scalars and keys, with the types and values that kubectl gives them.

kubectl parses YAML 1.1 with go-yaml v2, which differs from PyYAML in corner cases that occur in manifests:

============================  =====================  ==================
text                          here, as in kubectl    PyYAML
============================  =====================  ==================
``y``, ``N``                  a boolean              a string
``1e3``, ``+.5``              a number               a string
``08``                        the number 8           a string
``0o17``                      the number 15          a string
``22:22``                     a string               1342 (base 60)
``2024-05-01``                a string               a date
``.inf``, ``.nan``            an error (no JSON)     a number
============================  =====================  ==================
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import copysign, inf, isinf
from struct import pack, unpack
from typing import Final

Scalar = str | int | float | bool | None

_BOOLEANS: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_FINITE: Final = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ".nan"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ".inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-.inf"),
}
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_INT64_DIGITS: Final = 20
#: The characters that an unquoted scalar other than a string can begin with; any other scalar is a string.
FIRST_OF_OTHERS: Final = frozenset("+-.0123456789yYnNtTfFoO~")


class NotFiniteError(ValueError):
    """An infinity or not-a-number, which JSON does not have."""


def plain_scalar(text: str) -> Scalar:
    """Return the value of an unquoted scalar without a tag.

    Parameters
    ----------
    text : str
        The scalar as libyaml reports it.

    Returns
    -------
    str, int, float, bool or None
        The value. Numbers with an integral value below 1e21 are ints, as JSON writes them.

    Raises
    ------
    NotFiniteError
        If the text is ``.inf``, ``.nan`` or another spelling of them.
    """
    if text in _NULLS:
        return None
    if text[0] not in FIRST_OF_OTHERS:
        return text
    if (boolean := _BOOLEANS.get(text)) is not None:
        return boolean
    if text in _NOT_FINITE:
        raise NotFiniteError(_NOT_FINITE[text])
    number = _number(text)
    if number is None:
        return text
    return integral_as_int(number) if isinstance(number, float) else number


def plain_key(text: str) -> str:
    """Return the name of an unquoted mapping key: always text, as JSON requires.

    Parameters
    ----------
    text : str
        The key as libyaml reports it.

    Raises
    ------
    ValueError
        If the key is null or an integer above int64, which kubectl rejects.
    """
    if text in _NULLS:
        raise ValueError("null cannot be a key")
    if text[0] not in FIRST_OF_OTHERS:
        return text
    if (boolean := _BOOLEANS.get(text)) is not None:
        return "true" if boolean else "false"
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    number = _number(text)
    if number is None:
        return text
    if isinstance(number, int):
        if number >= 2**63:
            raise ValueError(f"{text} is too large to be a key")
        return str(number)
    return _float32_text(number)


def integral_as_int(number: float) -> int | float:
    """Return the int that Go's JSON writes for an integral float below 1e21; any other float unchanged."""
    if abs(number) < 1e21 and number.is_integer():
        # Go prints the shortest decimal that parses as this float, padded with zeros.
        return int(Decimal(repr(number)))
    return number


def _number(text: str) -> int | float | None:
    # Underscores are allowed anywhere, but only between digits in a number that starts with the point.
    plain = _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", "")
    if text[0] != "." and (match := _INTEGER.fullmatch(plain)):
        sign, hexadecimal, binary, octal, decimal = match.groups()
        if decimal and len(decimal) > _INT64_DIGITS:
            # Such a number is a float, not an integer; Python also refuses to parse very long integers.
            return _float(plain)
        digits, base = next((d, b) for d, b in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)) if d)
        value = int(digits, base) * (-1 if sign == "-" else 1)
        if -(2**63) <= value < (2**63 if sign else 2**64):
            return value
    return _float(plain) if _FLOAT.fullmatch(plain) else None


def _float(text: str) -> float | None:
    number = float(text)
    return None if isinf(number) else number


def _float32_text(number: float) -> str:
    """Return the shortest decimal that parses as the same 32-bit float; kubectl converts float keys this way."""
    try:
        packed = pack("f", number)
    except OverflowError:
        # Versions of Python before 3.14 return infinity.
        packed = pack("f", copysign(inf, number))
    (single,) = unpack("f", packed)
    if isinf(single):
        return "-.inf" if single < 0 else ".inf"
    text = next(t for t in (f"{single:.{n}e}" for n in range(9)) if pack("f", float(t)) == packed)
    mantissa, _, exponent = text.partition("e")
    if -4 <= int(exponent) < 6:
        return format(Decimal(text), "f")
    return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(2, '0')}"
