"""Conversion of a field's path as text to keys and indices, with the object's help: a key can contain dots."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kschedctl.common.text.tree import Step
from kschedctl.linter.values import Steps

_INDEX: Final = re.compile(r"\[(\d+)\]")
_NEXT: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


def steps_of(value: Any, path: str) -> Steps:
    """Return the keys and indices of the field at `path`; the part that does not exist in `value` is split as written.

    Examples
    --------
    >>> steps_of({"limits": {"nvidia.com/gpu": 1}}, "limits[nvidia.com/gpu]")
    ('limits', 'nvidia.com/gpu')
    >>> steps_of({"limits": {"nvidia.com/gpu": 1}}, "limits.nvidia.com/gpu"), steps_of({"spec": {}}, "spec.ports[0]")
    (('limits', 'nvidia.com/gpu'), ('spec', 'ports', 0))
    """
    steps, rest = _reach(value, path)
    return (*steps, *_written(rest))


def _reach(value: Any, path: str) -> tuple[Steps, str]:
    best: tuple[Steps, str] = ((), path)
    for step, inner, rest in _branches(value, path) if path else ():
        steps, left = _reach(inner, rest)
        if not left:
            return (step, *steps), ""
        if len(left) < len(best[1]):
            best = (step, *steps), left
    return best


def _branches(value: Any, path: str) -> Iterator[tuple[Step, Any, str]]:
    if isinstance(value, list):
        index = _INDEX.match(path)
        if index is not None and int(index[1]) < len(value):
            yield int(index[1]), value[int(index[1])], path[index.end() :]
    elif isinstance(value, dict):
        bare = path.removeprefix(".")
        # Try the longest key first: one key may be the beginning of another.
        for key in sorted((key for key in value if isinstance(key, str)), key=len, reverse=True):
            if path.startswith(f"[{key}]"):
                yield key, value[key], path[len(key) + 2 :]
            elif bare.startswith(key) and bare[len(key) : len(key) + 1] in ("", ".", "["):
                yield key, value[key], bare[len(key) :]


def _written(path: str) -> Iterator[Step]:
    for found in _NEXT.finditer(path):
        if found[1] is not None:
            yield found[1]
        else:
            yield int(found[2]) if found[2].isdigit() else found[2]
