"""Decoding of an object as an API server does it, with its error for a value of the wrong type (sigs.k8s.io/json).

The result has only fields of the object's type, each of the right type. A null is treated as absent, or in a list
or map as the zero value. Later code therefore need not check the types of values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from kschedctl.common.findings import Finding, field_path
from kschedctl.objects.quantity import QUANTITY_HINT, quantity_problem
from kschedctl.objects.schema.fields import LEAF, LIST, MAP, field_names

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

    def inner(self) -> _Type:
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
            return self._list(value, type_) if type_.marks[0] == LIST else self._map(value, type_)
        if type_.struct:
            if isinstance(value, dict):
                return self.struct(value, type_.struct)
            return self._wrong(value, type_)
        return _LEAVES.get(type_.leaf, _any)(self, value, type_)

    def _list(self, value: Any, type_: _Type) -> Any:
        if not isinstance(value, list):
            return self._wrong(value, type_)
        of = type_.inner()
        out = []
        for i, item in enumerate(value):
            self.steps.append(i)
            out.append(_zero(of) if item is None else self.value(item, of))
            self.steps.pop()
        return out

    def _map(self, value: Any, type_: _Type) -> Any:
        if not isinstance(value, dict):
            return self._wrong(value, type_)
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
        return value if isinstance(value, str) else self._wrong(value, type_)

    def boolean(self, value: Any, type_: _Type) -> Any:
        return value if isinstance(value, bool) else self._wrong(value, type_)

    def integer(self, value: Any, type_: _Type) -> Any:
        number = _whole(value)
        limit = _RANGES[type_.leaf]
        if number is None or not -limit <= number < limit:
            return self._wrong(value, type_, number=True)
        return number

    def int_or_string(self, value: Any, type_: _Type) -> Any:
        if isinstance(value, str):
            return value
        number = _whole(value)
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

    def _wrong(self, value: Any, type_: _Type, *, number: bool = False) -> None:
        if self.found is None:
            problem = self._unread(_go_kind(value, number=number), type_.go())
            self.found = Finding(problem, field_path(self.steps), _hint(value, type_), rule=UNREADABLE)


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

    Parameters
    ----------
    obj : mapping
        The object as written. It is not modified, and the result shares no list or map that has fields with it.
    api_version, kind : str
        The object's version and kind, which must be known (``kschedctl.objects.schema.strict.is_known``).

    Returns
    -------
    tree : dict
        The decoded object.
    finding : Finding or None
        The first value of the wrong type, or ``None``; an API server rejects the object for it alone.

    Examples
    --------
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


def _whole(value: Any) -> int | None:
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


def _hint(value: Any, type_: _Type) -> str:
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
