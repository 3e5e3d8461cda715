"""What an API server or the scheduler says of a field that it refuses (apimachinery's ``field.Error``), as findings.

Their rule is the ``ErrorType`` there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from kschedctl.findings.finding import Finding

#: A value that a message does not show (``field.OmitValueType``).
OMITTED: Final = object()
_HTML: Final = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def go_json(value: Any) -> str:
    """A value as Go's ``json.Marshal`` writes it: compact, and safe in HTML."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_HTML)


def go_quote(text: str) -> str:
    r"""A text as Go's ``%q`` writes it.

    Examples
    --------
    >>> print(go_quote('a "b" <c>'), go_quote("\x00\u00a0ü"))
    "a \"b\" <c>" "\x00\u00a0ü"
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if 0xD800 <= code < 0xE000:
        # Half a character, which Go cannot hold.
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class Typed(str):
    """A text whose type in Go is one of its own, or that is optional there: it is shown as JSON, not quoted."""

    __slots__ = ()


def shown(value: Any) -> str:
    """A value as it stands in a message."""
    return go_quote(value) if isinstance(value, str) and not isinstance(value, Typed) else go_json(value)


def required(field: str, detail: str = "") -> Finding:
    """A value is missing."""
    return _finding("FieldValueRequired", field, "Required value", detail)


def invalid(field: str, value: Any, detail: str) -> Finding:
    """A value is not allowed.

    Examples
    --------
    >>> print(invalid("weight", 0, "must be greater than zero"))
    weight: Invalid value: 0: must be greater than zero
    """
    return _finding("FieldValueInvalid", field, _with("Invalid value", value), detail)


def forbidden(field: str, detail: str) -> Finding:
    """A value may not be given here."""
    return _finding("FieldValueForbidden", field, "Forbidden", detail)


def duplicate(field: str, value: Any) -> Finding:
    """A value repeats another one."""
    return _finding("FieldValueDuplicate", field, _with("Duplicate value", value))


def not_found(field: str, value: Any, detail: str = "") -> Finding:
    """A value names something that is not there."""
    return _finding("FieldValueNotFound", field, _with("Not found", value), detail)


def unsupported(field: str, value: Any, supported: Iterable[str], *, plain: bool = False) -> Finding:
    """A value is none of those that there are.

    Parameters
    ----------
    plain : bool
        Whether it is a mere text; most such values have a type of their own.

    Examples
    --------
    >>> print(unsupported("policy", "No", ("Always", "Never")))
    policy: Unsupported value: "No": supported values: "Always", "Never"
    """
    detail = f"supported values: {', '.join(map(go_quote, supported))}"
    return _finding(
        "FieldValueNotSupported", field, _with("Unsupported value", value if plain else _typed(value)), detail
    )


def too_long(field: str, most: int) -> Finding:
    """A text has more bytes than it may."""
    return _finding("FieldValueTooLong", field, "Too long", f"may not be more than {most} bytes")


def too_many(field: str, number: int, most: int) -> Finding:
    """A list has more items than it may."""
    return _finding("FieldValueTooMany", field, f"Too many: {number}", f"must have at most {most} items")


def _typed(value: Any) -> Any:
    return Typed(value) if isinstance(value, str) else value


def _with(problem: str, value: Any) -> str:
    return problem if value is OMITTED else f"{problem}: {shown(value)}"


def _finding(rule: str, field: str, problem: str, detail: str = "") -> Finding:
    return Finding(f"{problem}: {detail}" if detail else problem, field, rule=rule)
