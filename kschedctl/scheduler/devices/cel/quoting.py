"""Quoted strings as in Go's error messages."""

from __future__ import annotations

from typing import Final

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
_ESCAPES_TOO: Final = {"\f": "\\f", "\v": "\\v"}


def quoted(text: str) -> str:
    r"""Quote a text as ``strconv.Quote`` does.

    Examples
    --------
    >>> print(quoted('say "hi"'), quoted("a\x00é"))
    "say \"hi\"" "a\x00é"
    """
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character) or _ESCAPES_TOO.get(character)
    if known is not None:
        return known
    if character.isprintable():
        return character
    number = ord(character)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
