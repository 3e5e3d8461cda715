"""The errors of strict field validation, in the API server's words (``fieldValidation=Strict``).

Unknown fields are fields that the object's type lacks in the newest supported release. Objects without a known type,
such as custom resources, may have any fields. Repeated fields are found in the text
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
#: The similarity, from 0 to 1, above which a name counts as misspelled instead of misplaced.
_SURELY: Final = 0.85
#: The maximum depth, in types, of the search for the place of a misplaced field.
_DEEPEST: Final = 8


class _Place(NamedTuple):
    """A value with its path and the type of its field."""

    steps: Steps
    value: Any
    type: str


def is_known(api_version: str, kind: str) -> bool:
    """Report whether the fields of a kind are known."""
    return f"{api_version}/{kind}" in field_names().kinds


def unknown_fields(obj: Mapping[str, Any], api_version: str, kind: str) -> Iterator[Finding]:
    """Return one finding per field of an object that its type does not have, in the order of the fields.

    Parameters
    ----------
    obj : mapping
        The object as written.
    api_version, kind : str
        The object's version and kind; an unknown kind has no findings.

    Returns
    -------
    iterator of Finding
        The findings; their hints suggest the names that may have been meant.

    Examples
    --------
    >>> [finding] = unknown_fields({"spec": {"nodeSelectors": {}}}, "v1", "Pod")
    >>> finding.problem, finding.hint
    ('unknown field "spec.nodeSelectors"', 'did you mean nodeSelector?')
    """
    return (finding for _, finding in unknown_with_steps(obj, api_version, kind))


def unknown_with_steps(obj: Mapping[str, Any], api_version: str, kind: str) -> Iterator[tuple[Steps, Finding]]:
    """Yield the findings of ``unknown_fields``, each with the path to its field."""
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
    """Return the finding for a field that occurs more than once in its object.

    Parameters
    ----------
    steps : tuple of str or int
        The path to the field from the object.
    position : Position or None
        The position of the repeated occurrence, if known.
    """
    problem = f'duplicate field "{_upstream_path(steps)}"'
    hint = "the last one is used: remove the others"
    return Finding(problem, field_path(steps), hint, rule=REPEATED, position=position)


def _unknown(steps: Steps, type_: str, root: str) -> Finding:
    name = str(steps[-1])
    meant = similar(name, field_names().types[type_])
    # For example, "nodeSelector" in a Deployment's spec is misplaced, not a misspelled "selector".
    if not any(other.startswith(name) or SequenceMatcher(None, other, name).ratio() > _SURELY for other in meant):
        meant = _elsewhere(name, root) or meant
    hint = f"did you mean {' or '.join(meant)}?" if meant else ""
    return Finding(f'unknown field "{_upstream_path(steps)}"', field_path(steps), hint, rule=UNKNOWN)


def _upstream_path(steps: Sequence[str | int]) -> str:
    """Format a path as an API server does: map keys are written like fields."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _elsewhere(name: str, root: str) -> list[str]:
    """Return the path in the type `root` at which a field of this name exists, nearest to the root; empty if none."""
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
