"""JSON decoded as by Go's stream decoder: only the first value counts, and errors have Go's messages."""

from __future__ import annotations

import json
import re
from string import hexdigits
from typing import Any, Final

from kschedctl.scheduler.extenders.transport import Response
from kschedctl.scheduler.framework.extender import ExtenderError

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_LITERALS: Final = ("true", "false", "null")
_UNEXPECTED_END: Final = "unexpected EOF"


class GoNumber(str):
    """A JSON number in its original notation."""

    __slots__ = ()


class _ConstantError(Exception):
    """The error for NaN and Infinity, which are not JSON numbers."""


def first_value(response: Response) -> Any:
    """Return the first JSON value of a response, with numbers in their original notation.

    Raises
    ------
    ExtenderError
        If the response has no complete JSON value.
    """
    text = response.body.decode(errors="replace")
    start = _SPACE.match(text)
    at = start.end() if start is not None else 0
    if at == len(text):
        raise ExtenderError(response.broken_off or "EOF")
    decoder = json.JSONDecoder(parse_int=GoNumber, parse_float=GoNumber, parse_constant=_no_constant)
    try:
        return decoder.raw_decode(text, at)[0]
    except json.JSONDecodeError as error:
        problem = _syntax(text, error)
    except RecursionError:
        problem = "exceeded max depth"
    except _ConstantError as error:
        problem = str(error)
    # For a response that broke off, the reason of the break is reported instead of the syntax error.
    raise ExtenderError(response.broken_off if problem == _UNEXPECTED_END and response.broken_off else problem)


def _no_constant(text: str) -> Any:
    # NaN, Infinity and -Infinity: Go reports the first invalid character.
    if text.startswith("-"):
        raise _ConstantError("invalid character 'I' in numeric literal")
    raise _ConstantError(f"invalid character '{text[0]}' looking for beginning of value")


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    """Return the message of Go's decoder for a syntax error.

    Go's message names the expected syntax element. If both decoders agree on the position, it is derived from Python's
    message.
    """
    at = error.pos
    if error.msg.startswith("Invalid control character"):
        return f"invalid character {_quoted(text[at])} in string literal"
    if error.msg.startswith("Unterminated string"):
        return _UNEXPECTED_END
    if error.msg.startswith("Invalid \\escape"):
        after = text[at + 1 : at + 2]
        return f"invalid character {_quoted(after)} in string escape code" if after else _UNEXPECTED_END
    if error.msg.startswith("Invalid \\uXXXX"):
        digits = text[text.rindex("\\u", 0, at + 2) + 2 :][:4]
        wrong = next((digit for digit in digits if digit not in hexdigits), "")
        return f"invalid character {_quoted(wrong)} in \\u hexadecimal character escape" if wrong else _UNEXPECTED_END
    space = _SPACE.match(text, at)
    at = space.end() if space is not None else at
    if at >= len(text) or re.fullmatch("-|[.]|[.]?[0-9]*[eE][+-]?", text[at:]):
        return _UNEXPECTED_END
    if text[at] == "-":
        return f"invalid character {_quoted(text[at + 1])} in numeric literal"
    looked_for = {
        "Expecting value": "looking for beginning of value",
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Illegal trailing comma before end of object": "looking for beginning of object key string",
        "Illegal trailing comma before end of array": "looking for beginning of value",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": "after array element" if _in_array(text, at) else "after object key:value pair",
    }.get(error.msg, "looking for beginning of value")
    if error.msg.startswith("Illegal trailing comma"):
        at = text.index("}" if "object" in error.msg else "]", at)
    return _literal(text, at) or f"invalid character {_quoted(text[at])} {looked_for}"


def _literal(text: str, at: int) -> str:
    """Return the error of a misspelled true, false or null; empty without one."""
    for literal in _LITERALS:
        if text[at] == literal[0]:
            for i, expected in enumerate(literal):
                if at + i >= len(text):
                    return _UNEXPECTED_END
                if text[at + i] != expected:
                    return f"invalid character {_quoted(text[at + i])} in literal {literal} (expecting '{expected}')"
    return ""


def _in_array(text: str, at: int) -> bool:
    """Report whether the innermost open bracket before a position is an array's."""
    opened: list[str] = []
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: "_" * len(found[0]), text[:at])
    for character in outside:
        if character in "[{":
            opened.append(character)
        elif character in "]}" and opened:
            opened.pop()
    return bool(opened) and opened[-1] == "["


def _quoted(character: str) -> str:
    """Return a character as Go quotes it."""
    if character in ("'", "\\"):
        return f"'\\{character}'"
    if character == '"':
        return "'\"'"
    return f"'{character}'" if character.isprintable() else f"'{json.dumps(character)[1:-1]}'"
