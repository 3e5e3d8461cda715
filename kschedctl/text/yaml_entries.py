"""What a line of YAML in block style says by itself: the dashes it begins with, a key, and a scalar after it."""

from __future__ import annotations

import re
from typing import Any, Final

from kschedctl.text.yaml_scalars import FIRST_OF_OTHERS, NotFiniteError, plain_key, plain_scalar

#: How many levels deep entries may be; `EventReader` allows some more.
MAX_DEPTH: Final = 64
_MAX_KEY: Final = 200

#: The value of a key that has none on its line, and one that needs a reader of all YAML.
FOLLOWS: Final = object()
OTHER: Final = object()

#: What begins something else than a scalar without quotes; a dash does so with a blank after it.
_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_KEY: Final = re.compile(rf"[A-Za-z0-9_/.$][!-~]{{0,{_MAX_KEY}}}")
_QUOTED: Final = re.compile(r"\"[^\"\\\t]*\"|'[^'\t]*'")
#: Markers, directives, explicit keys and merges.
_NO_ENTRIES: Final = ("---", "...", "%", "?", "<")

#: The column of a key that begins its line, its key and value; then the columns of the dashes and of what follows them.
Entry = tuple[int, str | None, Any, tuple[int, ...], int]
#: The first of these where the line begins with a dash, or has no key.
NO_KEY_COLUMN: Final = -1


class NotPlainError(Exception):
    """Something needs a reader of all YAML."""


def parse_entry(line: str) -> Entry | None:
    """Take a line apart.

    Parameters
    ----------
    line : str
        Without its end.

    Returns
    -------
    tuple, optional
        Nothing for blank lines and comments.

    Raises
    ------
    NotPlainError
        Where it is no entry in itself.
    """
    rest = line.lstrip(" ")
    if not rest or rest[0] == "#":
        return None
    column = len(line) - len(rest)
    dashes: tuple[int, ...] = ()
    while rest.startswith("- ") and len(dashes) < MAX_DEPTH:
        dashes = (*dashes, column)
        rest = rest[2:]
        column += 2
    if not rest or rest[0] == " " or rest.startswith(_NO_ENTRIES):
        raise NotPlainError
    key, colon, text = rest.partition(": ")
    if not colon and rest[-1] != ":":
        return NO_KEY_COLUMN, None, _scalar(rest), dashes, column
    if not colon:
        key = rest[:-1]
    if _KEY.fullmatch(key):
        try:
            key = plain_key(key)
        except ValueError:
            raise NotPlainError from None
    elif _QUOTED.fullmatch(key) and len(key) <= _MAX_KEY:
        key = key[1:-1]
    else:
        return NO_KEY_COLUMN, None, OTHER, dashes, column
    return NO_KEY_COLUMN if dashes else column, key, _scalar(text) if colon else FOLLOWS, dashes, column


def _scalar(text: str) -> Any:
    """What a scalar on one line is, where it has no more than quotes."""
    if not text or "\t" in text:
        return OTHER
    first = text[0]
    if first not in _INDICATORS or (first == "-" and text[1:2] not in ("", " ")):
        if ": " in text or " #" in text or text[-1] in ": ":
            return OTHER
        try:
            return plain_scalar(text) if first in FIRST_OF_OTHERS else text
        except NotFiniteError:
            raise NotPlainError from None
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    return {"{}": {}, "[]": []}.get(text, OTHER)
