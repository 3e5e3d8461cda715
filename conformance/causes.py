"""The distinct differences between two sides over many cases: a change in every case must not hide the others."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from conformance.comparison import PARTS
from conformance.coverage import shape
from conformance.differing import Difference

#: Parts that follow from others: they count only in a case without another difference.
_FOLLOWING: Final = frozenset({"best", "summary", "message"})
_NUMBER: Final = re.compile(r"\d+")
#: Stands for a name of the case in a path.
_ANY: Final = "*"


def causes(found: Iterable[Difference]) -> list[tuple[str, list[str]]]:
    """Return the distinct differences of single pods, each with the ids of its cases; the most frequent ones first.

    Names of nodes, other names and numbers are left out, so that ``scores.node-1.raw.VolumeBinding: 17, nothing``
    becomes ``scores.*.raw.VolumeBinding: a number, nothing``.
    """
    cases: defaultdict[str, list[str]] = defaultdict(list)
    for each in found:
        for text in dict.fromkeys(_shapes(each)):
            cases[text].append(each.case["id"])
    return sorted(cases.items(), key=lambda item: (-len(item[1]), item[0]))


def _shapes(found: Difference) -> Iterator[str]:
    nodes = {obj["metadata"]["name"] for obj in found.case["objects"] if obj["kind"] == "Node"}
    leading = [part for part in found.parts if part not in _FOLLOWING]
    for part in leading or found.parts:
        of = PARTS[part]
        leaves = list(_leaves(of(found.expected), of(found.said), (part,)))
        # Weighted and total scores follow from raw ones.
        raw = [leaf for leaf in leaves if "raw" in leaf[0]]
        for path, want, got in raw or leaves:
            place = ".".join(_ANY if step in nodes else step for step in path)
            yield f"{place}: {_value(want)}, {_value(got)}"


def _leaves(want: object, got: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object, object]]:
    """Yield the smallest values that differ, each with its path."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted({*want, *got}):
            yield from _leaves(want.get(key), got.get(key), (*path, key))
    elif isinstance(want, list | tuple) and isinstance(got, list | tuple):
        for one, other in zip_longest(_without(want, got), _without(got, want)):
            yield from _leaves(one, other, (*path, _ANY))
    elif want != got:
        yield path, want, got


def _without(items: Sequence[object], others: Sequence[object]) -> list[object]:
    """Return the items that are not among the others; all items if there are none, as only the order differs."""
    return [item for item in items if item not in others] or ([] if len(items) < len(others) else list(items))


def _value(value: object) -> str:
    """Format a value without names and numbers."""
    if isinstance(value, str):
        return f'"{_NUMBER.sub(_ANY, shape(value))}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_value(inner)}' for key, inner in value.items())}}}"
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else "a number"
