"""Quantities as fractions: the exact value of the text, before rounding."""

from fractions import Fraction
from typing import Final

SUFFIXES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000**i) for i, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024**i) for i, suffix in enumerate("KMGTPE", 1)},
}


def amount(text: object) -> Fraction:
    """Return the exact value of a quantity."""
    written = str(text)
    number = written.rstrip("numkMGTPEKi")
    return Fraction(number) * SUFFIXES[written.removeprefix(number)]


def rounded_up(value: Fraction) -> int:
    """Return the value rounded away from zero."""
    whole = -(-abs(value).numerator // value.denominator)
    return whole if value >= 0 else -whole
