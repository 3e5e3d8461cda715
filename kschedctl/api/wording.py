"""Names and numbers in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_NAMED: Final = 5


def listed(names: Sequence[str], conjunction: str = "and", most: int = _NAMED) -> str:
    """Names in a sentence; beyond a few the others are counted.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"], "or"), listed(["a", "b", "c", "d"], most=2)
    ('a', 'a, b or c', 'a, b and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"


def counted(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "node"), counted(0, "pod")
    ('1 node', '0 pods')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
