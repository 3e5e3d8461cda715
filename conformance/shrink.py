"""Shrinking: a case that two sides answer differently, cut down to the fewest objects and fields that still differ.

Delta debugging, from the coarse to the fine: whole objects and pods, then the items of every list, then the fields of
every object, over and over until nothing more can be left out. What must not be left out (a kind, a name) is never
tried; everything else is, and the two sides themselves say whether what is left is still a case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from conformance.asking import Side
from conformance.differing import Difference, difference, is_settled
from conformance.jsonlines import Object, line

T = TypeVar("T")

#: Whether a smaller value still shows what is looked for.
Keeps = Callable[[T], bool]

#: What makes an object the object that it is: without it, another question is asked.
_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata", "name", "namespace", "uid"})


def shrink(found: Difference, judge: Side, ours: Side) -> Difference:
    """The smallest case in which the two sides still differ as they do in this one.

    A smaller case counts when that part of the answer still differs which comes first in a cycle (an error before
    all), neither side gives up with an error that it did not have (a case that is no longer valid shows nothing), the
    judge says so again (what hangs on chance shows nothing either), and nothing comes in that is not modelled.
    """
    judged, said = judge(found.case), ours(found.case)
    part = "error" if "error" in found.parts else next(iter(found.parts))
    allowed = [bool(judged.get("error")), bool(said.get("error"))]
    smallest = found
    tried: dict[str, bool] = {}

    def differs(case: Object) -> bool:
        nonlocal smallest
        key = line(case)
        if key not in tried:
            tried[key] = False
            answers = judge(case), ours(case)
            given_up = [bool(answer.get("error") or "unknown" in answer) for answer in answers]
            if all(allow or not gave_up for allow, gave_up in zip(allowed, given_up, strict=True)):
                less = difference(case, *answers)
                alike = less is not None and part in less.parts and bool(less.not_modelled) == bool(found.not_modelled)
                if less is not None and alike and is_settled(case, answers[0], judge, 1):
                    tried[key], smallest = True, less
        return tried[key]

    case = found.case
    while True:
        less = _shrunk_case(case, differs)
        if less == case:
            return smallest._replace(case=case)
        case = less


def _shrunk_case(case: Object, differs: Keeps[Object]) -> Object:
    """One round: the lists of the case, the configuration, then everything inside."""
    for name in ("objects", "pods"):
        if name in case:
            case = {**case, name: fewest(case[name], _with(case, name, differs))}
    if "config" in case and differs(without := {name: value for name, value in case.items() if name != "config"}):
        case = without
    for name in ("config", "pod", "pods", "objects"):
        if name in case:
            case = {**case, name: _shrunk(case[name], _with(case, name, differs))}
    return case


def _with(whole: Object, name: str, keeps: Keeps[Object]) -> Keeps[Any]:
    """The question about a value as a question about the whole that has it."""
    return lambda value: keeps({**whole, name: value})


def _at(items: list[Any], i: int, keeps: Keeps[list[Any]]) -> Keeps[Any]:
    return lambda item: keeps([*items[:i], item, *items[i + 1 :]])


def _shrunk(value: Any, keeps: Keeps[Any]) -> Any:
    """A list or an object with the fewest items and fields, here and in all below."""
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
    """The items that are needed: none of them can be left out alone.

    Parameters
    ----------
    items : list
        In their order, which stays.
    keeps : callable
        Whether a choice of them is enough.

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
