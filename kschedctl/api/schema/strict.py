"""What an API server refuses of an object that is validated strictly, in its words (``fieldValidation=Strict``).

Unknown fields are those that the object's type does not have, in the newest release that is known; what has no type
that is known, as custom resources, may have any. Repeated fields are found where the text is still at hand
(``kschedctl.text.repeated_keys``). Source: sigs.k8s.io/json ``UnmarshalStrict``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from kschedctl.api.schema.fields import LEAF, LIST, MAP, field_names
from kschedctl.api.wording import similar
from kschedctl.findings.field_path import field_path
from kschedctl.findings.finding import Finding
from kschedctl.findings.location import Position

Steps = tuple[str | int, ...]

UNKNOWN: Final = "UnknownField"
REPEATED: Final = "DuplicateField"
#: From this likeness on, from 0 to 1, a name is misspelt and not misplaced.
_SURELY: Final = 0.85
#: A field that is misplaced is looked for so many types deep.
_DEEPEST: Final = 8


class _Place(NamedTuple):
    """A value, its type with what it stands in, and the way to it."""

    steps: Steps
    value: Any
    type: str


def is_known(api_version: str, kind: str) -> bool:
    """Whether the fields of a kind are known."""
    return f"{api_version}/{kind}" in field_names().kinds


def unknown_fields(obj: Mapping[str, Any], api_version: str, kind: str) -> Iterator[Finding]:
    """The fields that an object has and its type does not, in their order.

    Parameters
    ----------
    obj : mapping
        The object, as it was written.
    api_version, kind : str
        What it is; of a kind that is not known nothing is found.

    Returns
    -------
    iterator of Finding
        With the name that may have been meant as its hint.

    Examples
    --------
    >>> [finding] = unknown_fields({"spec": {"nodeSelectors": {}}}, "v1", "Pod")
    >>> finding.problem, finding.hint
    ('unknown field "spec.nodeSelectors"', 'did you mean nodeSelector?')
    """
    return (finding for _, finding in unknown_with_steps(obj, api_version, kind))


def unknown_with_steps(obj: Mapping[str, Any], api_version: str, kind: str) -> Iterator[tuple[Steps, Finding]]:
    """The same, each with the way to it."""
    names = field_names()
    root = names.kinds.get(f"{api_version}/{kind}")
    waiting = [_Place((), obj, root)] if root is not None else []
    while waiting:
        steps, value, type_ = waiting.pop()
        inside: list[_Place] = []
        if type_.startswith(LIST):
            items = enumerate(value) if isinstance(value, list) else ()
            inside = [_Place((*steps, i), item, type_[1:]) for i, item in items]
        elif type_.startswith(MAP):
            entries = value.items() if isinstance(value, Mapping) else ()
            inside = [_Place((*steps, key), item, type_[1:]) for key, item in entries]
        elif isinstance(value, Mapping):
            fields = names.types[type_]
            for key, item in value.items():
                if key not in fields:
                    yield (*steps, key), _unknown((*steps, key), type_, root or "")
                elif fields[key] and LEAF not in fields[key]:
                    inside.append(_Place((*steps, key), item, fields[key]))
        waiting += reversed(inside)


def repeated_field(steps: Steps, position: Position | None) -> Finding:
    """A field that its object has already.

    Parameters
    ----------
    steps : tuple of str or int
        The way to it from the object.
    position : Position or None
        Where it stands the second time, where that is known.
    """
    problem = f'duplicate field "{_upstream_path(steps)}"'
    hint = "the last of them counts: leave the others out"
    return Finding(problem, field_path(steps), hint, rule=REPEATED, position=position)


def _unknown(steps: Steps, type_: str, root: str) -> Finding:
    name = str(steps[-1])
    meant = similar(name, field_names().types[type_])
    # "nodeSelector" of a Deployment is not its misspelt "selector".
    if not any(other.startswith(name) or SequenceMatcher(None, other, name).ratio() > _SURELY for other in meant):
        meant = _elsewhere(name, root) or meant
    hint = f"did you mean {' or '.join(meant)}?" if meant else ""
    return Finding(f'unknown field "{_upstream_path(steps)}"', field_path(steps), hint, rule=UNKNOWN)


def _upstream_path(steps: Sequence[str | int]) -> str:
    """A path as an API server writes it: keys of maps stand like fields."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _elsewhere(name: str, root: str) -> list[str]:
    """Where in an object of a type a field of this name belongs: the nearest place to its root."""
    types = field_names().types
    level = [("", root)]
    seen = {root}
    for _ in range(_DEEPEST):
        found = [f"{path}{name}" for path, type_ in level if name in types[type_]]
        if found:
            return found[:1]
        below = []
        for path, type_ in level:
            for key, of in types[type_].items():
                inner = of.lstrip(LIST + MAP)
                if inner in types and inner not in seen:
                    seen.add(inner)
                    below.append((f"{path}{key}{'[]' if of.startswith(LIST) else ''}.", inner))
        level = below
    return []
