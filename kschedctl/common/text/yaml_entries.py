"""A line of YAML in block style: its leading dashes, key and scalar."""

from __future__ import annotations

import re
from typing import Any, Final

from kschedctl.common.text.yaml_scalars import FIRST_OF_OTHERS, NotFiniteError, plain_key, plain_scalar

#: The maximum nesting depth of entries; the limit of `EventReader` is higher.
MAX_DEPTH: Final = 64
_MAX_KEY: Final = 200

#: Stand-ins for the value of a key without a value on its line, and for a value that needs the full YAML parser.
FOLLOWS: Final = object()
OTHER: Final = object()

#: The characters that cannot begin an unquoted scalar; a dash can unless a blank follows.
_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_KEY: Final = re.compile(rf"[A-Za-z0-9_/.$][!-~]{{0,{_MAX_KEY}}}")
_QUOTED: Final = re.compile(r"\"[^\"\\\t]*\"|'[^'\t]*'")
#: The beginnings of document markers, directives, explicit keys and merges.
_NO_ENTRIES: Final = ("---", "...", "%", "?", "<")

#: A parsed line: the column of a key that begins the line, the key, its value, the columns of the dashes, and the
#: column of the text after them.
Entry = tuple[int, str | None, Any, tuple[int, ...], int]
#: The column of the key if the line begins with a dash, or has no key.
NO_KEY_COLUMN: Final = -1


class NotPlainError(Exception):
    """YAML that needs the full YAML parser."""


def parse_entry(line: str) -> Entry | None:
    """Parse one line.

    Parameters
    ----------
    line : str
        The line, without its line break.

    Returns
    -------
    tuple, optional
        The parsed line; ``None`` for blank lines and comments.

    Raises
    ------
    NotPlainError
        If the line cannot be parsed by itself.
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
    """Return the value of a scalar on one line, or ``OTHER`` if it needs the full parser."""
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
