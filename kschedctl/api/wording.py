"""Names and numbers in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Final

_NAMED: Final = 5
#: How alike a name must be to be meant, from 0 to 1, and how much less than the nearest one.
_NEAR: Final = 0.65
_AS_NEAR: Final = 0.1


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


def similar(name: str, names: Iterable[str]) -> list[str]:
    """The names that one may have been meant for: those that start with it, else the nearest ones.

    Examples
    --------
    >>> similar("web-77", ["web-7", "web-1"]), similar("web", ["web-1", "wed"]), similar("foo", ["pod"])
    (['web-7'], ['web-1'], [])
    """
    known = list(dict.fromkeys(names))
    if name and (longer := [other for other in known if other.startswith(name)]):
        return longer[:_NAMED]
    close = get_close_matches(name, known, n=_NAMED, cutoff=_NEAR)
    # Beside a name that is a letter away, those of the same pattern say nothing.
    nearest = max((_ratio(name, other) for other in close), default=0.0)
    return [other for other in close if _ratio(name, other) >= nearest - _AS_NEAR]


def _ratio(name: str, other: str) -> float:
    return SequenceMatcher(None, other, name).ratio()


def show_labels(labels: Mapping[str, str | None]) -> str:
    """Values of labels; ``None`` for a label that is not there.

    Examples
    --------
    >>> show_labels({"zone": "a", "disk": None})
    'zone=a, no disk'
    """
    return ", ".join(f"no {key}" if value is None else f"{key}={value}" for key, value in labels.items())


def counted(number: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "node"), counted(0, "pod")
    ('1 node', '0 pods')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
