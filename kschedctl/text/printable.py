"""Text that can be shown: what steers a terminal, hides or turns the reading direction is escaped, so that it is seen.

Names come from a cluster, and a snapshot can hold anything. Everything that a person will read goes through here.
"""

from __future__ import annotations

import re
from typing import Final

#: Default_Ignorable_Code_Point (DerivedCoreProperties.txt of Unicode) as far as `str.isprintable` lets it pass:
#: joiners, fillers and variation selectors, which take no room.
_UNSEEN: Final = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff"
_IGNORABLE: Final = re.compile(f"[{_UNSEEN}]")
#: What is looked at one by one: all but the characters of ASCII and Latin that everybody sees.
_SUSPECT: Final = re.compile("[^ -~\u00a1-\u00ac\u00ae-\u02ff]")
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    r"""A text of one line with all that cannot be seen as escapes: controls, separators but the space, unseen marks.

    A backslash stays as it is: what is shown is for reading, and what is escaped once may come here again.

    Examples
    --------
    >>> print(printable("web\x1b[2J\n\u202e1\u00e9"))
    web\x1b[2J\n\u202e1é
    """
    return text if text.isascii() and text.isprintable() else _SUSPECT.sub(_escape, text)


def unseen(character: str) -> bool:
    """Whether a character is one that `printable` escapes."""
    return not character.isprintable() or _IGNORABLE.match(character) is not None


def json_escape(character: str) -> str:
    r"""A character as JSON escapes it, which people can read as well.

    Examples
    --------
    >>> print(json_escape("\x9b"), json_escape("\U0001f600"))
    \u009b \ud83d\ude00
    """
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def json_text(data: bytes) -> str:
    r"""Encoded JSON as text without characters that cannot be seen, but for the newlines between its tokens.

    Within strings they are escaped; a JSON encoder escapes only those below U+0020.

    Examples
    --------
    >>> print(json_text('{"a": "\u202e"}'.encode()))
    {"a": "\u202e"}
    """
    text = data.decode()
    return text if data.isascii() and b"\x7f" not in data else _SUSPECT.sub(_escape_in_json, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if not unseen(character):
        return character
    return _SHORT.get(character) or character.encode("unicode_escape", "surrogatepass").decode()


def _escape_in_json(found: re.Match[str]) -> str:
    character = found[0]
    return json_escape(character) if unseen(character) and character != "\n" else character
