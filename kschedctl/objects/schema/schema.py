"""The fields of the Kubernetes API, and the decoding of objects as an API server does it, with its errors."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from kschedctl.common.findings import Finding, Position, field_path
from kschedctl.common.wording import edits, similar
from kschedctl.objects.quantity import QUANTITY_HINT, quantity_problem

# The kinds and types of the Kubernetes API with the names and types of their fields, from ``tools.field_names``.
#
# The Python types of ``kschedctl.objects`` have only the fields that scheduling reads, so they do not show
# misspellings.

FILE: Final = "fields.json"
#: The prefixes of an element type for a list and for a map.
LIST: Final = "*"
MAP: Final = "%"
#: The prefix of a type without fields: ``:string``, ``:int32``, ``:quantity``. If Go has a named type for it, the name
#: follows: ``:string v1.PullPolicy``.
LEAF: Final = ":"


class FieldNames(msgspec.Struct, frozen=True):
    """The fields of all types."""

    #: The versions of Kubernetes that the fields were read from, such as ``1.36.3``.
    releases: tuple[str, ...]
    #: The kinds and fields that each version but the oldest added, such as ``core.v1.PodSpec.evictionResponders``.
    added: Mapping[str, tuple[str, ...]]
    #: The kinds that each version but the oldest no longer serves.
    removed: Mapping[str, tuple[str, ...]]
    #: The type's name by kind, such as ``apps/v1/Deployment``.
    kinds: Mapping[str, str]
    #: The fields of each type, with the type of their values; empty if a value of any type is allowed.
    types: Mapping[str, Mapping[str, str]]


@cache
def field_names() -> FieldNames:
    """Load the file; the result is cached."""
    from importlib.resources import files

    return msgspec.json.decode((files(__package__) / FILE).read_bytes(), type=FieldNames)


@cache
def all_names() -> frozenset[str]:
    """Return the names of the fields of all types; the result is cached."""
    return frozenset(name for fields in field_names().types.values() for name in fields)


@cache
def kinds_by_version() -> Mapping[str, frozenset[str]]:
    """Return the kinds of each API version, such as ``apps/v1``; the result is cached."""
    found: dict[str, set[str]] = {}
    for name in field_names().kinds:
        version, _, kind = name.rpartition("/")
        found.setdefault(version, set()).add(kind)
    return {version: frozenset(kinds) for version, kinds in found.items()}


UNREADABLE: Final = "BadRequest"
_TEXT_HINT: Final = "quote it if it is text: in YAML, true, yes, on, y and their opposites are booleans unless quoted"
_RANGES: Final = {"int32": 2**31, "int64": 2**63}
_ZEROS: Final[dict[str, Any]] = {"string": "", "int32": 0, "int64": 0, "bool": False, "quantity": "0", "intOrString": 0}
#: The Go structs that embed another struct: the embedded struct's name, and the names of the outer struct's own fields.
#: The embedded struct's name is part of the path, in error messages, of all other fields.
_EMBEDDED: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "core.v1.Volume": ("VolumeSource", frozenset({"name"})),
    "core.v1.Probe": (
        "ProbeHandler",
        frozenset(
            {
                "initialDelaySeconds",
                "timeoutSeconds",
                "periodSeconds",
                "successThreshold",
                "failureThreshold",
                "terminationGracePeriodSeconds",
            }
        ),
    ),
    "core.v1.EphemeralContainer": ("EphemeralContainerCommon", frozenset({"targetContainerName"})),
    "core.v1.PersistentVolumeSpec": (
        "PersistentVolumeSource",
        frozenset(
            {
                "capacity",
                "accessModes",
                "claimRef",
                "persistentVolumeReclaimPolicy",
                "storageClassName",
                "mountOptions",
                "volumeMode",
                "nodeAffinity",
                "volumeAttributesClassName",
            }
        ),
    ),
    **{
        f"core.v1.{name}": ("LocalObjectReference", frozenset({"items", "optional", "key", "defaultMode"}))
        for name in (
            "ConfigMapVolumeSource",
            "ConfigMapProjection",
            "SecretProjection",
            "ConfigMapEnvSource",
            "SecretEnvSource",
            "ConfigMapKeySelector",
            "SecretKeySelector",
        )
    },
}


class _Type(msgspec.Struct, frozen=True):
    """The type of a field's values: its list and map nesting, the struct or leaf type inside, and its name in Go."""

    marks: str
    struct: str
    leaf: str
    named: str

    def inner(self) -> "_Type":
        """Return the type of the elements of this list or map."""
        return _type(self.marks[1:] + (self.struct or f"{LEAF}{self.leaf}{self._inner_name()}"))

    def _inner_name(self) -> str:
        return f" {self.named[2:]}" if self.named.startswith("[]") else ""

    def go(self) -> str:
        """Return the type's name in Go."""
        if self.named:
            return self.named
        kinds = {"quantity": "resource.Quantity", "intOrString": "intstr.IntOrString", "time": "v1.Time"}
        # Go's package name is the API version: "core.v1.PodSpec" is "v1.PodSpec".
        name = ".".join(self.struct.split(".")[-2:]) if self.struct else kinds.get(self.leaf, self.leaf)
        return "".join("[]" if mark == LIST else "map[string]" for mark in self.marks) + name


@cache
def _type(text: str) -> _Type:
    rest = text.lstrip(LIST + MAP)
    marks = text[: len(text) - len(rest)]
    if not rest.startswith(LEAF):
        return _Type(marks, rest, "", "")
    leaf, _, named = rest[1:].partition(" ")
    return _Type(marks, "", leaf, named)


class _UnreadableError(Exception):
    """An error of a Go type that decodes itself. It ends decoding, regardless of problems found before."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


class _Reader:
    """A decoder for one object; it records the first problem and its path."""

    def __init__(self, root: str) -> None:
        self.found: Finding | None = None
        self.steps: list[str | int] = []
        self._struct = root
        self._fields: tuple[str, ...] = ()
        self._names = field_names().types

    def struct(self, value: Mapping[str, Any], name: str) -> dict[str, Any]:
        outer, fields = self._struct, self._fields
        types = self._names[name]
        embedded, own = _EMBEDDED.get(name, ("", frozenset()))
        out = {}
        for key, item in value.items():
            if item is None or (text := types.get(key)) is None:
                continue
            if not text:
                out[key] = item
                continue
            self._struct = name
            self._fields = (*fields, *((embedded,) if embedded and key not in own else ()), key)
            self.steps.append(key)
            read = self.value(item, _type(text))
            self.steps.pop()
            if read is not None:
                out[key] = read
        self._struct, self._fields = outer, fields
        return out

    def value(self, value: Any, type_: _Type) -> Any:
        """Return the decoded value, or ``None`` if it has the wrong type."""
        if type_.marks:
            return self._read_list(value, type_) if type_.marks[0] == LIST else self._read_map(value, type_)
        if type_.struct:
            if isinstance(value, dict):
                return self.struct(value, type_.struct)
            return self._note_type_error(value, type_)
        return _LEAVES.get(type_.leaf, _any)(self, value, type_)

    def _read_list(self, value: Any, type_: _Type) -> Any:
        if not isinstance(value, list):
            return self._note_type_error(value, type_)
        of = type_.inner()
        out = []
        for i, item in enumerate(value):
            self.steps.append(i)
            out.append(_zero(of) if item is None else self.value(item, of))
            self.steps.pop()
        return out

    def _read_map(self, value: Any, type_: _Type) -> Any:
        if not isinstance(value, dict):
            return self._note_type_error(value, type_)
        of = type_.inner()
        if of.leaf == "string" and all(type(item) is str for item in value.values()):
            return dict(value)
        out = {}
        for key, item in value.items():
            self.steps.append(key)
            out[key] = _zero(of) if item is None else self.value(item, of)
            self.steps.pop()
        return out

    def string(self, value: Any, type_: _Type) -> Any:
        return value if isinstance(value, str) else self._note_type_error(value, type_)

    def boolean(self, value: Any, type_: _Type) -> Any:
        return value if isinstance(value, bool) else self._note_type_error(value, type_)

    def integer(self, value: Any, type_: _Type) -> Any:
        number = _whole_number(value)
        limit = _RANGES[type_.leaf]
        if number is None or not -limit <= number < limit:
            return self._note_type_error(value, type_, number=True)
        return number

    def int_or_string(self, value: Any, type_: _Type) -> Any:
        if isinstance(value, str):
            return value
        number = _whole_number(value)
        if number is None or not -(2**31) <= number < 2**31:
            raise _UnreadableError(self._unread(_go_kind(value, number=True), "int32"))
        return number

    def quantity(self, value: Any, type_: _Type) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            # Go parses any other JSON value as if it were quoted text, which is never a valid quantity.
            raise _UnreadableError(quantity_problem("?") or "", QUANTITY_HINT)
        if (problem := quantity_problem(value)) is not None:
            raise _UnreadableError(problem, QUANTITY_HINT)
        return value

    def time(self, value: Any, type_: _Type) -> Any:
        if not isinstance(value, str):
            raise _UnreadableError(self._unread(_go_kind(value), "string"))
        return value

    def _unread(self, kind: str, type_: str) -> str:
        at = f"{self._struct.rpartition('.')[2]}.{'.'.join(self._fields)}"
        return f"json: cannot unmarshal {kind} into Go struct field {at} of type {type_}"

    def _note_type_error(self, value: Any, type_: _Type, *, number: bool = False) -> None:
        if self.found is None:
            problem = self._unread(_go_kind(value, number=number), type_.go())
            self.found = Finding(problem, field_path(self.steps), _value_hint(value, type_), rule=UNREADABLE)


def _any(_: _Reader, value: Any, __: _Type) -> Any:
    return value


_LEAVES: Final[Mapping[str, Callable[[_Reader, Any, _Type], Any]]] = {
    "string": _Reader.string,
    "bool": _Reader.boolean,
    "int32": _Reader.integer,
    "int64": _Reader.integer,
    "intOrString": _Reader.int_or_string,
    "quantity": _Reader.quantity,
    "time": _Reader.time,
    "microTime": _Reader.time,
}


def decode_object(obj: Mapping[str, Any], api_version: str, kind: str) -> tuple[dict[str, Any], Finding | None]:
    """Decode an object.

    Args:
        obj: The object as written. It is not modified, and the result shares no list or map that has fields with
            it.
        api_version, kind: The object's version and kind, which must be known
            (``kschedctl.objects.schema.schema.is_known``).

    Returns: tree: the decoded object; finding: the first value of the wrong type, or ``None``; an API server
        rejects the object for it alone

    >>> tree, finding = decode_object({"spec": {"hostNetwork": None, "nodeSelector": {"gpu": True}}}, "v1", "Pod")
    >>> finding.problem
    'json: cannot unmarshal bool into Go struct field PodSpec.spec.nodeSelector of type string'
    >>> finding.field
    'spec.nodeSelector.gpu'
    """
    root = field_names().kinds[f"{api_version}/{kind}"]
    reader = _Reader(root)
    try:
        tree = reader.struct(obj, root)
    except _UnreadableError as error:
        return {}, Finding(str(error), field_path(reader.steps), error.hint, rule=UNREADABLE)
    return tree, reader.found


def _whole_number(value: Any) -> int | None:
    """Return a number without a fraction as an int, else ``None``; clients send YAML's 1.0 as 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 else None


def _zero(type_: _Type) -> Any:
    """Return Go's zero value for a null in a list or map."""
    if type_.marks:
        return [] if type_.marks[0] == LIST else {}
    return {} if type_.struct else _ZEROS.get(type_.leaf)


def _go_kind(value: Any, *, number: bool = False) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if number else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _value_hint(value: Any, type_: _Type) -> str:
    if type_.marks or not type_.leaf:
        return "a list is expected" if type_.marks.startswith(LIST) else "an object with fields is expected"
    if isinstance(value, str) and _is_other(value, type_.leaf):
        return "leave the quotes out"
    if type_.leaf != "string":
        return (
            "true or false is expected" if type_.leaf == "bool" else "an integer in the range of the type is expected"
        )
    if isinstance(value, bool):
        return _TEXT_HINT
    return f'quote it: "{value}"' if isinstance(value, int | float) else ""


def _is_other(text: str, leaf: str) -> bool:
    """Report whether a quoted value would be valid for the type without its quotes."""
    return text.isdecimal() if leaf in _RANGES else leaf == "bool" and text in ("true", "false")


# The errors of strict field validation, in the API server's words (``fieldValidation=Strict``).
#
# Unknown fields are fields that the object's type lacks in the newest supported release. Objects without a known type,
# such as custom resources, may have any fields. Repeated fields are found in the text
# (``kschedctl.common.text.tree``). Source: sigs.k8s.io/json ``UnmarshalStrict``.

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
    around: "_Place | None" = None

    def outward(self) -> "Iterator[_Place]":
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

    Args:
        api_version, kind: The object's version and kind; an unknown kind has no findings.

    Returns: The findings; their hints suggest the names that may have been meant.

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

    Args:
        position: The position of the repeated occurrence, if known.
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
    keys = [f"{_path_of_field(inside.steps, key)}.{name}" for key, of in fields.items() if _has_key(of, value)]
    if keys and all(of.startswith((LIST, MAP)) for of in fields.values()):
        return keys
    # For example, "nodeSelector" in a Deployment's spec is misplaced, not a misspelled "selector".
    places = inside.outward() if name in all_names() or name in _RESOURCES else ()
    found = (paths for place in places if (paths := _nearest_fields_below(name, value, place)))
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


def _nearest_fields_below(name: str, value: Any, place: _Place) -> list[str]:
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
                return [_path_of_field(each.steps, name)]
            maps = [key for key, of in fields.items() if name in _RESOURCES and of.startswith(f"{MAP}{LEAF}quantity")]
            if maps and not isinstance(value, list | Mapping):
                return [f"{_path_of_field(each.steps, key)}.{name}" for key in maps]
            for key, of in fields.items():
                inner = of.lstrip(LIST + MAP)
                # A field inside the items of a map has no path that could be named; people do not write the status.
                if inner in types and MAP not in of and key != "status" and inner not in seen:
                    seen.add(inner)
                    step = (key, "") if of.startswith(LIST) else (key,)
                    below.append(_Place((*each.steps, *step), written.get(key), inner))
        level = below
    return []


def _path_of_field(steps: Steps, name: str) -> str:
    """Return the path of a field; an empty step stands for any item of a list."""
    return _upstream_path((*steps, name)).replace("..", "[].")
