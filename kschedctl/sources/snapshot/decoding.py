"""Decoding of JSON, as text or plain data, to the API types: fast for valid data, with exact errors for invalid data.

msgspec decodes valid data. If it fails, the value is decoded again from plain data, for two reasons: Go's decoders take
null for "absent" everywhere, and an error has to name the exact field, whereas msgspec leaves map keys out of its paths
and stops at the first problem.
"""

import json
import types
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, TypeGuard, TypeVar, Union, cast, get_args, get_origin

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Finding, joined
from kschedctl.objects.core import QuantityText
from kschedctl.objects.meta import Int32, Int64, Time
from kschedctl.objects.workload import IntOrPercent

T = TypeVar("T", bound=msgspec.Struct)
#: A JSON value as text, known to be well-formed.
JsonText: TypeAlias = msgspec.Raw | memoryview | bytes
#: A JSON value as text, or decoded to plain data.
JsonValue: TypeAlias = JsonText | dict[str, Any] | list[Any] | str | int | float | None
TEXTS: Final = (msgspec.Raw, memoryview, bytes)
_MAX_SHOWN: Final = 60
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"
_KINDS: Final = ((bool, "a boolean"), (dict, "an object"), (list, "a list"), (str, "text"), (int | float, "a number"))
_EXPECTED: Final[dict[Any, str]] = {
    str: "text",
    int: "an integer",
    Int32: "an integer of 32 bits",
    Int64: "an integer of 64 bits",
    bool: "true or false",
    Time: "a time such as 2026-01-31T12:00:00Z",
    QuantityText: "a quantity such as 2, 500m or 1.5Gi",
    IntOrPercent: "an integer of 32 bits or a percentage such as 25%",
}


@cache
def _decoder(type_: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def build_decoders(types: Iterable[type[msgspec.Struct]]) -> None:
    """Build the decoders for some types, before threads use ``decode``.

    While msgspec inspects a type, other threads see it in an incomplete state and crash. No other thread may decode
    meanwhile.
    """
    for type_ in types:
        _decoder(type_)


def decode(value: JsonValue, type_: type[T]) -> T:
    """Decode an object.

    Raises InputError if the object is invalid: all its problems, each with its path in Kubernetes spelling.
    """
    try:
        if isinstance(value, TEXTS):
            return cast("T", _decoder(type_).decode(value))
        return msgspec.convert(value, type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        findings: list[Finding] = []
        conformed = _conform(plain(value), type_, "", findings)
        if findings:
            raise InputError.together(findings) from None
        return msgspec.convert(conformed, type_)


def plain(value: JsonValue) -> Any:
    """Decode a JSON value to dicts and lists.

    Raises InputError if the value has text that is not UTF-8 or a bad escape, or is nested too deeply.
    """
    return _decoded(value, Any) if isinstance(value, TEXTS) else value


def plain_or_none(value: JsonValue) -> Any:
    """Decode a JSON value to dicts and lists; return ``None`` if ``plain`` would raise an error."""
    try:
        return plain(value)
    except InputError:
        return None


def top_level(value: JsonValue) -> dict[str, JsonValue]:
    """Decode the keys of a JSON object; if the object is text, its values stay text.

    Raises InputError as for ``plain``.
    """
    decoded = _decoded(value, dict[str, msgspec.Raw]) if isinstance(value, TEXTS) else value
    return cast("dict[str, JsonValue]", decoded)


def elements(value: JsonValue) -> Sequence[JsonValue]:
    """Decode a JSON list; if the list is text, its elements stay text. ``null`` is an empty list.

    Raises msgspec.ValidationError if the value is not a list.
    """
    if isinstance(value, TEXTS):
        return msgspec.json.decode(value, type=list[msgspec.Raw] | None) or ()
    return msgspec.convert(value, list[Any] | None) or ()


def json_text(value: JsonValue) -> bytes:
    """Return a JSON value as text."""
    return bytes(value) if isinstance(value, TEXTS) else msgspec.json.encode(value)


def _decoded(text: JsonText, type_: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # Before 0.23, msgspec raises Python's own error for text that is not UTF-8.
        if isinstance(error, UnicodeDecodeError) or "UTF-8" in str(error):
            raise InputError("holds text that is not UTF-8", hint="save it as UTF-8") from None
        # msgspec does not fully check text that it skips, so a bad escape is only found here.
        problem = str(error).removeprefix("JSON is malformed: ").partition(" (byte")[0]
        raise InputError(f"is not valid JSON: {problem}") from None
    except RecursionError:
        raise InputError("is nested too deeply") from None


def _conform(value: Any, type_: Any, path: str, findings: list[Finding]) -> Any:
    """Return the value with nulls replaced as in Go; append mismatches with the type to ``findings``."""
    type_ = _without_none(type_)
    if value is None:
        return _zero(type_)
    origin, args = get_origin(type_), get_args(type_)
    if origin is dict:
        if not isinstance(value, dict):
            return _add_type_finding(value, "an object", path, findings)
        return {key: _conform(item, args[1], joined(path, key), findings) for key, item in value.items()}
    if origin is tuple:
        if not isinstance(value, list):
            return _add_type_finding(value, "a list", path, findings)
        return [_conform(item, args[0], f"{path}[{index}]", findings) for index, item in enumerate(value)]
    struct = next((each for each in args or (type_,) if _is_struct(each)), None)
    if struct is not None and (isinstance(value, dict) or struct is type_):
        if not isinstance(value, dict):
            return _add_type_finding(value, "an object", path, findings)
        return _conform_fields(value, struct, path, findings)
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError:
        return _add_type_finding(value, _expected(type_), path, findings, _conversion_hint(value, type_))
    return value


def _conform_fields(
    value: dict[str, Any], type_: type[msgspec.Struct], path: str, findings: list[Finding]
) -> dict[str, Any]:
    fields = {}
    for field in msgspec.structs.fields(type_):
        name = field.encode_name
        if value.get(name) is not None:
            fields[name] = _conform(value[name], field.type, joined(path, name), findings)
        elif field.required:
            fields[name] = _zero(field.type)
    return fields


def _expected(type_: Any) -> str:
    if type_ in _EXPECTED:
        return _EXPECTED[type_]
    # A field that has a different type in each version of its API has one of several types here.
    return "an object" if _is_struct(type_) else " or ".join(map(_expected, get_args(type_)))


def _is_struct(type_: Any) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(type_, type) and issubclass(type_, msgspec.Struct)


def _without_none(type_: Any) -> Any:
    """Return the type without ``None``, which every field allows."""
    if type_ is QuantityText or get_origin(type_) not in (Union, types.UnionType):
        return type_
    rest = tuple(arg for arg in get_args(type_) if arg is not types.NoneType)
    return rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007


def _zero(type_: Any) -> Any:
    """Return Go's zero value for a null in a list or map."""
    origin = get_origin(type_)
    if origin is dict or _is_struct(type_):
        return {} if origin is dict else _conform_fields({}, type_, "", [])
    if origin is tuple:
        return []
    return _ZERO_TIME if type_ is Time else type_() if isinstance(type_, type) else 0


def _add_type_finding(value: Any, expected: str, path: str, findings: list[Finding], hint: str = "") -> None:
    kind = next(name for kind, name in _KINDS if isinstance(value, kind))
    findings.append(Finding(f"{shown(value)} is {kind}, {expected} is expected", path, hint))


def _conversion_hint(value: Any, type_: Any) -> str:
    if type_ is not str:
        return ""
    if isinstance(value, bool):
        return "quote it if it is text: in YAML, true, yes, on, y and their opposites are booleans unless quoted"
    return f'quote it: "{shown(value)}"' if isinstance(value, int | float) else ""


def shown(value: Any) -> str:
    """Return a value as JSON, shortened to at most 60 characters for messages."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


# The handling of unknown and duplicate fields in manifests.
