"""All kinds and types of an API server with the names and types of their fields, as ``tools.field_names`` writes them.

The types of this package have only what scheduling reads; whether a field is misspelt is not seen from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

FILE: Final = "fields.json"
#: What stands before the type of a field that holds a list or a map of it.
LIST: Final = "*"
MAP: Final = "%"
#: What stands before what Go reads values as that have no fields: ``:string``, ``:int32``, ``:quantity``; the name of
#: its type follows where it has one of its own: ``:string v1.PullPolicy``.
LEAF: Final = ":"


class FieldNames(msgspec.Struct, frozen=True):
    """The fields of all types.

    Attributes
    ----------
    release : str
        The release whose API server told them, such as ``v1.36.3``.
    kinds : mapping of str to str
        The type of a kind, such as ``apps/v1/Deployment``.
    types : mapping of str to mapping
        The fields of a type, each with the type of its value: empty where it may have any.
    """

    release: str
    kinds: Mapping[str, str]
    types: Mapping[str, Mapping[str, str]]


@cache
def field_names() -> FieldNames:
    """Read the file."""
    return msgspec.json.decode((files(__package__) / FILE).read_bytes(), type=FieldNames)
