"""Strict decoding of plain data (JSON values) to configuration types, as in kube-scheduler's decoder.

Names are case-sensitive. Unknown and repeated fields are problems. Values are not converted (``"1"``, ``1.0`` and
``true`` are not integers), and integers must fit their type. ``null`` is the same as an omitted field, except for
durations. All problems are collected, whereas kube-scheduler stops at the first wrong type.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, inspect

from kschedctl.common.text.tree import Fields
from kschedctl.objects.duration import Duration
from kschedctl.objects.field_errors import go_json
from kschedctl.scheduler.framework.config.problems import Problems, child

T = TypeVar("T", bound=msgspec.Struct)

_MAX_FLOAT32: Final = 3.4028235677973366e38
_INT32: Final = (-(2**31), 2**31 - 1)


class Decoder:
    """A decoder of objects that collects the problems.

    Parameters
    ----------
    problems : Problems
        The collector that problems are added to.
    absent : frozenset of str
        Fields that do not exist in the release.
    """

    def __init__(self, problems: Problems, absent: frozenset[str]) -> None:
        self._problems = problems
        self._absent = absent

    def struct(self, data: Any, cls: type[T], path: str) -> T:
        """Decode an object; record invalid fields as problems and omit them."""
        if not isinstance(data, Mapping):
            self._wrong(path, "object", data)
            return cls()
        for name in data.repeated if isinstance(data, Fields) else ():
            self._problems.add(child(path, name), "duplicate field")
        fields = _fields(cls)
        zero_means_default: frozenset[str] = getattr(cls, "zero_means_default", frozenset())
        values: dict[str, Any] = {}
        for name, value in data.items():
            field = fields.get(name)
            if field is None or name in self._absent:
                self._problems.add(child(path, name), "unknown field")
                continue
            decoded = self._value(value, field.type, child(path, name))
            if decoded is not UNSET and (decoded or field.name not in zero_means_default):
                values[field.name] = decoded
        for field in fields.values():
            if field.required and field.name not in values:
                values[field.name] = ""
        return cls(**values)

    def _value(self, data: Any, type_: inspect.Type, path: str) -> Any:
        """Decode a value; return ``UNSET`` if it is absent or invalid."""
        match type_:
            case inspect.UnionType(types=types):
                return UNSET if data is None else self._value(data, _not_none(types), path)
            case inspect.StructType(cls=cls) if cls is Duration:
                return self._duration("" if data is None else data, path)
            case inspect.AnyType():
                return data
        return UNSET if data is None else self._present(data, type_, path)

    def _present(self, data: Any, type_: inspect.Type, path: str) -> Any:
        match type_:
            case inspect.StructType(cls=cls):
                return self.struct(data, cls, path)
            case inspect.VarTupleType(item_type=item_type):
                return self._array(data, item_type, path)
            case inspect.DictType():
                return self._texts(data, path)
            case inspect.BoolType():
                return data if isinstance(data, bool) else self._wrong(path, "bool", data)
            case inspect.StrType():
                return data if isinstance(data, str) else self._wrong(path, "string", data)
            case inspect.BytesType():
                return self._bytes(data, path)
            case inspect.FloatType():
                number = isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < _MAX_FLOAT32
                return float(data) if number else self._wrong(path, "float32", data)
            case inspect.IntType(ge=ge, le=le):
                low, high = _INT32 if ge is None or le is None else (ge, le)
                whole = isinstance(data, int) and not isinstance(data, bool) and low <= data <= high
                return data if whole else self._wrong(path, "int64" if high > _INT32[1] else "int32", data)
            case _:
                raise TypeError(f"no rule to decode {type_}")

    def _array(self, data: Any, item_type: inspect.Type, path: str) -> Any:
        if not isinstance(data, list | tuple):
            return self._wrong(path, "array", data)
        items = [self._item(item, item_type, f"{path}[{i}]") for i, item in enumerate(data)]
        return tuple(item for item in items if item is not UNSET)

    def _texts(self, data: Any, path: str) -> Any:
        if not isinstance(data, Mapping):
            return self._wrong(path, "object", data)
        texts = {key: self._item(value, inspect.StrType(), f"{path}[{key}]") for key, value in data.items()}
        return {key: text for key, text in texts.items() if text is not UNSET}

    def _item(self, data: Any, type_: inspect.Type, path: str) -> Any:
        """Decode a list item; ``null`` becomes an empty object or string."""
        if data is None:
            return self.struct({}, type_.cls, path) if isinstance(type_, inspect.StructType) else ""
        return self._value(data, type_, path)

    def _duration(self, data: Any, path: str) -> Any:
        if not isinstance(data, str):
            return self._wrong(path, "string", data)
        try:
            return Duration.parse(data)
        except ValueError as error:
            self._problems.add(path, str(error))
            return UNSET

    def _bytes(self, data: Any, path: str) -> Any:
        if not isinstance(data, str):
            return self._wrong(path, "string", data)
        try:
            return base64.b64decode(data.replace("\r", "").replace("\n", ""), validate=True)
        except binascii.Error:
            self._problems.add(path, "illegal base64 data")
            return UNSET

    def _wrong(self, path: str, wanted: str, data: Any) -> Any:
        self._problems.add(path, f"expected {wanted}, got {_kind(data)}")
        return UNSET


@functools.cache
def _fields(cls: type[msgspec.Struct]) -> dict[str, inspect.Field]:
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field for field in info.fields}


def _not_none(types: tuple[inspect.Type, ...]) -> inspect.Type:
    return next(type_ for type_ in types if not isinstance(type_, inspect.NoneType))


def _kind(data: Any) -> str:
    """Describe the type of a JSON value, with the value itself for booleans, strings and numbers."""
    match data:
        case bool():
            return f"bool {go_json(data)}"
        case str():
            return f"string {go_json(data)}"
        case int() | float():
            return f"number {data}"
        case Mapping():
            return "object"
        case None:
            return "null"
        case _:
            return "array"
