"""Plain data of manifests that may be of any shape: reading it never fails, and what is not filled in is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from kschedctl.api.quantity import QuantityError, parse_quantity
from kschedctl.text.tree import Step

T = TypeVar("T")
#: The way from an object to a value in it.
Steps: TypeAlias = tuple[Step, ...]

#: Of Helm, Jinja, envsubst, and of people; ``$(VAR)`` is the kubelet's own and means what it says.
_PLACEHOLDER: Final = re.compile(r"\{\{|\{%|\$\{|<[A-Za-z][^<>]*>|\$[A-Za-z_]")


def is_rendered(value: Any) -> bool:
    """Whether nothing in a value is still to be filled in.

    Examples
    --------
    >>> [is_rendered(value) for value in ("web", "{{ .Values.name }}", "${ZONE}", "<your zone>", "$ZONE", "$(NODE)")]
    [True, False, False, False, False, True]
    >>> is_rendered({"replicas": 3, "labels": ["$APP"]})
    False
    """
    if isinstance(value, str):
        return _PLACEHOLDER.search(value) is None
    if isinstance(value, dict):
        return all(is_rendered(key) and is_rendered(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_rendered, value))
    return True


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """A list; an empty one where it is none."""
    return value if isinstance(value, list) else ()


def text(value: Any) -> str:
    """A text; empty where it is none."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """A whole number, or ``None``."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at(value: Any, *steps: Step) -> Any:
    """What some keys and indices lead to; ``None`` where they lead nowhere.

    Examples
    --------
    >>> at({"spec": {"ports": [80]}}, "spec", "ports", 0), at({"spec": None}, "spec", "ports", 0)
    (80, None)
    """
    for step in steps:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -1 < step < len(value) else None
    return value


def numbered(value: Any, steps: Steps) -> Iterator[tuple[Steps, Any]]:
    """The items of a list, each with its way; none of what is no list."""
    for index, item in enumerate(items(value)):
        yield (*steps, index), item


def nano_units(written: Any) -> int | None:
    """A quantity; ``None`` where it is none, or not filled in."""
    if not isinstance(written, str | int | float) or isinstance(written, bool) or not is_rendered(written):
        return None
    try:
        return parse_quantity(written)
    except QuantityError:
        return None


def converted(value: Any, type_: type[T]) -> T | None:
    """A value as a type of the API; ``None`` where it is none of that type, or not filled in."""
    if not is_rendered(value):
        return None
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:
        return None
