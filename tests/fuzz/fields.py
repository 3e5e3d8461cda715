"""Every field of the kinds that kschedctl decodes, and objects that have any value there."""

import types
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, Union, get_args, get_origin

import msgspec

#: The keys and indices from an object to one of its fields.
FieldPath: TypeAlias = tuple[str | int, ...]

#: Values of all types of JSON, with the limits of numbers, and texts that are a number, a percentage or a bad name.
VALUES: Final[tuple[Any, ...]] = (
    None,
    *(True, -1, 0, 1.5, 10**9, 2**31, 2**63, 10**30),
    *("", "x", "a/b", "../x", "-5", "150%", "x%", "2026-01-31T12:00:00Z", "0001-01-01T00:00:00Z"),
    *([], {}, [None], ["x"], [{}], [[]], {"a": None}, {"a": "b"}, {"a": {}}),
)


def fields_of(type_: Any, seen: set[Any] | None = None) -> Iterator[FieldPath]:
    """Yield the paths of all fields of a type, with one element of each list and map; each struct is visited once."""
    seen = set() if seen is None else seen
    members = get_args(type_) if get_origin(type_) in (Union, types.UnionType) else (type_,)
    for member in members:
        origin, arguments = get_origin(member), get_args(member)
        if origin in (dict, tuple):
            step = "a" if origin is dict else 0
            yield (step,)
            yield from ((step, *path) for path in fields_of(arguments[-1 if origin is dict else 0], seen))
        elif isinstance(member, type) and issubclass(member, msgspec.Struct) and member not in seen:
            seen.add(member)
            for field in msgspec.structs.fields(member):
                yield (field.encode_name,)
                yield from ((field.encode_name, *path) for path in fields_of(field.type, seen))


def with_value(base: Any, path: FieldPath, value: Any) -> Any:
    """Return a copy of JSON data with a value at a path; containers on the way are made where there are none."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return [with_value(base[0] if isinstance(base, list) and base else None, tuple(rest), value)]
    fields = base if isinstance(base, dict) else {}
    return {**fields, step: with_value(fields.get(step), tuple(rest), value)}
