"""The kinds and types of the Kubernetes API with the names and types of their fields, from ``tools.field_names``.

The Python types of ``kschedctl.objects`` have only the fields that scheduling reads, so they do not show misspellings.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

FILE: Final = "fields.json"
#: The prefixes of an element type for a list and for a map.
LIST: Final = "*"
MAP: Final = "%"
#: The prefix of a type without fields: ``:string``, ``:int32``, ``:quantity``. If Go has a named type for it, the name
#: follows: ``:string v1.PullPolicy``.
LEAF: Final = ":"


class FieldNames(msgspec.Struct, frozen=True):
    """The fields of all types.

    Attributes
    ----------
    releases : tuple of str
        The versions of Kubernetes that the fields were read from, such as ``1.36.3``.
    added : mapping of str to tuple of str
        The kinds and fields that each version but the oldest added, such as ``core.v1.PodSpec.evictionResponders``.
    removed : mapping of str to tuple of str
        The kinds that each version but the oldest no longer serves.
    kinds : mapping of str to str
        The type's name by kind, such as ``apps/v1/Deployment``.
    types : mapping of str to mapping
        The fields of each type, with the type of their values; empty if a value of any type is allowed.
    """

    releases: tuple[str, ...]
    added: Mapping[str, tuple[str, ...]]
    removed: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str]
    types: Mapping[str, Mapping[str, str]]


@cache
def field_names() -> FieldNames:
    """Load the file; the result is cached."""
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
