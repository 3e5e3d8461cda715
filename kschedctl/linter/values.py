"""Access to manifests as plain data of any shape: lookups never fail, and unfilled placeholders are recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from kschedctl.common.text.tree import Step
from kschedctl.objects.quantity import QuantityError, parse_quantity

T = TypeVar("T")
#: The path from an object to a value in it: keys and indices.
Steps: TypeAlias = tuple[Step, ...]

#: Placeholders of Helm, Jinja, envsubst, Kustomize (``$(VAR)``, which the kubelet expands only in commands and in
#: variables) and of people, also as ``__VAR__``.
_PLACEHOLDER: Final = re.compile(
    r"\{\{|\{%|\$[{(]|<[A-Za-z][^<>]*>|\$[A-Za-z_]|(?<![A-Za-z0-9])__[A-Za-z]\w*?__(?![A-Za-z0-9])"
)
#: The fields of decoded objects on which no verdict depends, so that a placeholder in them does not matter.
_WITHOUT_EFFECT: Final = frozenset(("annotations", "image"))
#: The end of a sentence about a field with a placeholder.
NOT_FILLED_IN: Final = "has a placeholder that is not filled in"


def is_rendered(value: Any) -> bool:
    """Report whether a value contains no unfilled placeholder.

    Examples
    --------
    >>> [is_rendered(value) for value in ("web", "{{ .Values.name }}", "${ZONE}", "<your zone>", "$ZONE", "$(NODE)")]
    [True, False, False, False, False, False]
    >>> [is_rendered(value) for value in ("__ZONE__", "zone-__ZONE__", "a__b__c")]
    [False, False, True]
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


def unfilled(value: Any, steps: Steps = ()) -> Steps | None:
    """Return the path of the first field of a decoded object that has a placeholder; ``None`` if there is none.

    Images and annotations are left out, as no verdict depends on them.

    Examples
    --------
    >>> unfilled({"spec": {"containers": [{"name": "web", "image": "web:${TAG}"}], "nodeName": "${NODE}"}})
    ('spec', 'nodeName')
    """
    if isinstance(value, dict):
        pairs: Iterable[tuple[Step, Any]] = value.items()
    elif isinstance(value, list | tuple):
        pairs = enumerate(value)
    else:
        return None if is_rendered(value) else steps
    for step, each in pairs:
        if step in _WITHOUT_EFFECT:
            continue
        if not is_rendered(step):
            return (*steps, step)
        if (found := unfilled(each, (*steps, step))) is not None:
            return found
    return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a mapping, else an empty mapping."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """Return `value` if it is a list, else an empty sequence."""
    return value if isinstance(value, list) else ()


def text(value: Any) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """Return `value` if it is a whole number, else ``None``; a boolean is not a number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at(value: Any, *steps: Step) -> Any:
    """Return the value at some keys and indices; ``None`` if there is none.

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
    """Yield the items of a list, each with its path; nothing if `value` is not a list."""
    for index, item in enumerate(items(value)):
        yield (*steps, index), item


def nano_units(written: Any) -> int | None:
    """Return a quantity in billionths of its unit; ``None`` if it is malformed or has placeholders."""
    if not isinstance(written, str | int | float) or isinstance(written, bool) or not is_rendered(written):
        return None
    try:
        return parse_quantity(written)
    except QuantityError:
        return None


def converted(value: Any, type_: type[T]) -> T | None:
    """Return a value as an API type; ``None`` if it is not of that type or has placeholders."""
    if not is_rendered(value):
        return None
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:
        return None
