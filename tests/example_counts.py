"""The number of examples of property tests that need more or fewer than others."""

from hypothesis import settings

#: The examples of a test in ``make slow``, to which the numbers below refer.
_FULL = 100


def scaled(number: int) -> int:
    """Return a number of examples for the loaded profile: all of them in ``make slow``, fewer in ``make check``."""
    return max(3, number * settings().max_examples // _FULL)
