"""Shrinking: a value with some property, reduced to the fewest objects, items and fields that still have it.

This is delta debugging, from coarse to fine: whole objects and pods, then the items of every list, then the fields of
every object, repeated until nothing more can be left out. Kinds and names always stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")
Object = dict[str, Any]

#: Reports whether a smaller value still has the property.
Keeps = Callable[[T], bool]

#: The fields that identify an object, which always stay.
_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata", "name", "namespace", "uid"})


def smallest_case(case: Object, keeps: Keeps[Object]) -> Object:
    """Return the smallest case with the property: ``objects``, a ``pod`` or ``pods``, and perhaps a ``config``."""
    while True:
        less = _shrunk_case(case, keeps)
        if less == case:
            return case
        case = less


def _shrunk_case(case: Object, keeps: Keeps[Object]) -> Object:
    """Shrink once: the lists of the case, the configuration, then everything inside."""
    for name in ("objects", "pods"):
        if name in case:
            case = {**case, name: fewest(case[name], _with(case, name, keeps))}
    if "config" in case and keeps(without := {name: value for name, value in case.items() if name != "config"}):
        case = without
    for name in ("config", "pod", "pods", "objects"):
        if name in case:
            case = {**case, name: _shrunk(case[name], _with(case, name, keeps))}
    return case


def _with(whole: Object, name: str, keeps: Keeps[Object]) -> Keeps[Any]:
    """Return a test for the value of one field, which applies the test of the whole object to it."""
    return lambda value: keeps({**whole, name: value})


def _at(items: list[Any], i: int, keeps: Keeps[list[Any]]) -> Keeps[Any]:
    return lambda item: keeps([*items[:i], item, *items[i + 1 :]])


def _shrunk(value: Any, keeps: Keeps[Any]) -> Any:
    """Return a list or an object with the fewest items and fields, at all levels."""
    if isinstance(value, dict):
        return _shrunk_fields(value, keeps)
    if isinstance(value, list):
        items = fewest(value, keeps)
        for i in range(len(items)):
            items = [*items[:i], _shrunk(items[i], _at(items, i, keeps)), *items[i + 1 :]]
        return items
    return value


def _shrunk_fields(value: Mapping[str, Any], keeps: Keeps[Any]) -> Object:
    def chosen(names: list[str]) -> Object:
        return {name: field for name, field in value.items() if name in _IDENTITY or name in names}

    names = fewest([name for name in value if name not in _IDENTITY], lambda names: keeps(chosen(names)))
    fields = chosen(names)
    for name in fields:
        fields = {**fields, name: _shrunk(fields[name], _with(fields, name, keeps))}
    return fields


def fewest(items: list[T], keeps: Keeps[list[T]]) -> list[T]:
    """Return the items that are needed, in their order: no single one of them can be left out.

    Examples
    --------
    >>> fewest([1, 2, 3, 4, 5, 6], lambda chosen: {2, 5} <= set(chosen))
    [2, 5]
    """
    if items and keeps([]):
        return []
    size = max(1, len(items) // 2)
    while True:
        start, removed = 0, False
        while start < len(items):
            fewer = [*items[:start], *items[start + size :]]
            if len(items) > 1 and keeps(fewer):
                items, removed = fewer, True
            else:
                start += size
        if size > 1:
            size //= 2
        elif not removed:
            return items
