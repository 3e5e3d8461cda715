"""Formatting of names, labels and numbers for sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Final

_NAMED: Final = 5
#: The minimum similarity of a suggested name, from 0 to 1, and its maximum distance from the best similarity.
_NEAR: Final = 0.65
_AS_NEAR: Final = 0.1


def listed(names: Sequence[str], conjunction: str = "and", most: int = _NAMED) -> str:
    """Join names for a sentence; if there are more than `most`, by default 5, count the rest.

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


def similar(name: str, names: Iterable[str]) -> list[str]:
    """Return up to 5 known names that `name` may have been meant for: those that it begins, else the most similar ones.

    Examples
    --------
    >>> similar("web-77", ["web-7", "web-1"]), similar("web", ["web-1", "wed"]), similar("foo", ["pod"])
    (['web-7'], ['web-1'], [])
    """
    known = list(dict.fromkeys(names))
    if name and (longer := [other for other in known if other.startswith(name)]):
        return longer[:_NAMED]
    close = get_close_matches(name, known, n=_NAMED, cutoff=_NEAR)
    # If one name differs by a single letter, names that only share its pattern are not suggested.
    nearest = max((_ratio(name, other) for other in close), default=0.0)
    return [other for other in close if _ratio(name, other) >= nearest - _AS_NEAR]


def _ratio(name: str, other: str) -> float:
    return SequenceMatcher(None, other, name).ratio()


def show_labels(labels: Mapping[str, str | None]) -> str:
    """Format label values; ``None`` means that the label is absent.

    Examples
    --------
    >>> show_labels({"zone": "a", "disk": None})
    'zone=a, no disk'
    """
    return ", ".join(f"no {key}" if value is None else f"{key}={value}" for key, value in labels.items())


def counted(number: int, noun: str) -> str:
    """Format a number with a noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "node"), counted(0, "pod")
    ('1 node', '0 pods')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
