"""The errors of strict field validation, in the API server's words (``fieldValidation=Strict``).

Unknown fields are fields that the object's type lacks in the newest supported release. Objects without a known type,
such as custom resources, may have any fields. Repeated fields are found in the text
(``kschedctl.common.text.tree``). Source: sigs.k8s.io/json ``UnmarshalStrict``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from kschedctl.common.findings import Finding, Position, field_path
from kschedctl.common.wording import edits, similar
from kschedctl.objects.schema.fields import LEAF, LIST, MAP, all_names, field_names

Steps = tuple[str | int, ...]

UNKNOWN: Final = "UnknownField"
REPEATED: Final = "DuplicateField"
#: The similarity, from 0 to 1, above which a name counts as misspelled instead of misplaced.
_SURELY: Final = 0.85
#: The maximum depth, in types, of the search for the place of a misplaced field.
_DEEPEST: Final = 8
#: The least length of a name in which two letters may be wrong.
_LONG: Final = 6
#: Keys of maps of quantities that are named like fields.
_RESOURCES: Final = frozenset(("cpu", "memory", "storage", "ephemeral-storage"))


class _Place(NamedTuple):
    """A value with its path and the type of its field."""

    steps: Steps
    value: Any
    type: str
    #: The mapping that contains the value, directly or as an item of a list.
    around: _Place | None = None

    def outward(self) -> Iterator[_Place]:
        """Yield the place and the mappings around it, the innermost first."""
        place: _Place | None = self
        while place is not None:
            yield place
            place = place.around


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
    opened = [iter([_Place((), obj, root)])] if root is not None else []
    while opened:
        place = next(opened[-1], None)
        if place is None:
            opened.pop()
            continue
        if isinstance(place.value, Mapping) and not place.type.startswith((LIST, MAP)):
            unknown = (key for key in place.value if key not in names.types[place.type])
            yield from (((*place.steps, key), _unknown((*place.steps, key), place)) for key in unknown)
        opened.append(_places_in(place))


def _places_in(place: _Place) -> Iterator[_Place]:
    """Yield the values in a value that can have unknown fields: mappings and lists that are not empty."""
    steps, value, type_, around = place
    if type_.startswith(LIST):
        pairs: Iterable[tuple[str | int, Any]] = enumerate(value) if isinstance(value, list) else ()
    else:
        pairs = value.items() if isinstance(value, Mapping) else ()
    fields = None if type_.startswith((LIST, MAP)) else field_names().types[type_]
    for step, inner in pairs:
        of = type_[1:] if fields is None else fields.get(str(step), "")
        if inner and of and LEAF not in of and isinstance(inner, Mapping | list):
            yield _Place((*steps, step), inner, of, around if fields is None else place)


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


def _unknown(steps: Steps, inside: _Place) -> Finding:
    hint = " or ".join(_meant(str(steps[-1]), inside.value[steps[-1]], inside))
    problem = f'unknown field "{_upstream_path(steps)}"'
    return Finding(problem, field_path(steps), f"did you mean {hint}?" if hint else "", rule=UNKNOWN)


def _meant(name: str, value: Any, inside: _Place) -> list[str]:
    """Return the fields that `name` may have been meant for: those of its own mapping by name, others by path."""
    fields = field_names().types[inside.type]
    able = [other for other in fields if _can_be(fields[other], value)]
    most = 1 if len(name) < _LONG else 2
    alike = (other for other in able if abs(len(other) - len(name)) <= most)
    distances = {other: edits(name.lower(), other.lower()) for other in alike}
    fewest = min(distances.values(), default=len(name))
    if fewest <= most:
        return [other for other, distance in distances.items() if distance == fewest]
    near = similar(name, able)
    sure = [other for other in near if SequenceMatcher(None, other, name).ratio() > _SURELY]
    if sure or (sure := [other for other in able if _contains(other, name)]):
        return sure
    # A key of a map that was left out: resources.cpu in place of resources.limits.cpu.
    keys = [f"{_joined(inside.steps, key)}.{name}" for key, of in fields.items() if _has_key(of, value)]
    if keys and all(of.startswith((LIST, MAP)) for of in fields.values()):
        return keys
    # For example, "nodeSelector" in a Deployment's spec is misplaced, not a misspelled "selector".
    places = inside.outward() if name in all_names() or name in _RESOURCES else ()
    found = (paths for place in places if (paths := _below(name, value, place)))
    return next(found, [other for other in near if other not in inside.value] or keys)


def _contains(other: str, name: str) -> bool:
    """Report whether a name is most of the beginning of another one, or its last words (``labelSelector``)."""
    begins = len(name) * 2 >= len(other) and other.lower().startswith(name.lower())
    return begins or other.endswith(name[:1].upper() + name[1:])


def _can_be(of: str, value: Any) -> bool:
    """Report whether a field of a type can have a value of this shape."""
    if value is None or not of:
        return True
    if of.startswith(LIST):
        return isinstance(value, list)
    return isinstance(value, Mapping) if of.startswith(MAP) or LEAF not in of else not isinstance(value, Mapping | list)


def _has_key(of: str, value: Any) -> bool:
    """Report whether a type is a map whose keys can have this value."""
    if not of.startswith(MAP + LEAF) or isinstance(value, Mapping | list):
        return False
    return isinstance(value, str) or not of.startswith(f"{MAP}{LEAF}string")


def _upstream_path(steps: Sequence[str | int]) -> str:
    """Format a path as an API server does: map keys are written like fields."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _below(name: str, value: Any, place: _Place) -> list[str]:
    """Return the paths of the fields of this name that are nearest below a place and can have the value."""
    types = field_names().types
    level = [place]
    seen: set[str] = set()
    for _ in range(_DEEPEST):
        below: list[_Place] = []
        for each in level:
            written = each.value if isinstance(each.value, Mapping) else {}
            fields = types[each.type]
            # A value can be added to a list or map that is there, but not to another value.
            unset = name not in written or isinstance(value, list | Mapping)
            if name in fields and unset and _can_be(fields[name], value):
                return [_joined(each.steps, name)]
            maps = [key for key, of in fields.items() if name in _RESOURCES and of.startswith(f"{MAP}{LEAF}quantity")]
            if maps and not isinstance(value, list | Mapping):
                return [f"{_joined(each.steps, key)}.{name}" for key in maps]
            for key, of in fields.items():
                inner = of.lstrip(LIST + MAP)
                # A field inside the items of a map has no path that could be named; people do not write the status.
                if inner in types and MAP not in of and key != "status" and inner not in seen:
                    seen.add(inner)
                    step = (key, "") if of.startswith(LIST) else (key,)
                    below.append(_Place((*each.steps, *step), written.get(key), inner))
        level = below
    return []


def _joined(steps: Steps, name: str) -> str:
    """Return the path of a field; an empty step stands for any item of a list."""
    return _upstream_path((*steps, name)).replace("..", "[].")
