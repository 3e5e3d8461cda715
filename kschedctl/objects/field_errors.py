"""Validation errors of fields, in the words of the API server and the scheduler (apimachinery's ``field.Error``).

The errors are findings whose rule is the upstream ``ErrorType``.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from kschedctl.common.findings import Finding

#: A placeholder for a value that a message omits (``field.OmitValueType``).
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
    """Encode a value as Go's ``json.Marshal`` does: compact, and safe in HTML."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_HTML)


def go_quote(text: str) -> str:
    r"""Quote a text as Go's ``%q`` does.

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
        # A lone surrogate, which a Go string cannot contain.
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class Typed(str):
    """A string that is of a named type or a pointer in Go; messages show it as JSON instead of quoting it."""

    __slots__ = ()


def shown(value: Any) -> str:
    """Format a value as messages show it."""
    return go_quote(value) if isinstance(value, str) and not isinstance(value, Typed) else go_json(value)


def required(field: str, detail: str = "") -> Finding:
    """Return the finding for a missing value."""
    return _finding("FieldValueRequired", field, "Required value", detail)


def invalid(field: str, value: Any, detail: str) -> Finding:
    """Return the finding for an invalid value.

    >>> print(invalid("weight", 0, "must be greater than zero"))
    weight: Invalid value: 0: must be greater than zero
    """
    return _finding("FieldValueInvalid", field, _with_value("Invalid value", value), detail)


def forbidden(field: str, detail: str) -> Finding:
    """Return the finding for a field that must not be set."""
    return _finding("FieldValueForbidden", field, "Forbidden", detail)


def duplicate(field: str, value: Any) -> Finding:
    """Return the finding for a duplicate value."""
    return _finding("FieldValueDuplicate", field, _with_value("Duplicate value", value))


def not_found(field: str, value: Any, detail: str = "") -> Finding:
    """Return the finding for a reference to something that does not exist."""
    return _finding("FieldValueNotFound", field, _with_value("Not found", value), detail)


def unsupported(field: str, value: Any, supported: Iterable[str], *, plain: bool = False) -> Finding:
    """Return the finding for a value outside of a fixed set.

    Args:
        plain: True if the value is a plain string in Go; most such values are of a named type.

    >>> print(unsupported("policy", "No", ("Always", "Never")))
    policy: Unsupported value: "No": supported values: "Always", "Never"
    """
    detail = f"supported values: {', '.join(map(go_quote, supported))}"
    return _finding(
        "FieldValueNotSupported", field, _with_value("Unsupported value", value if plain else _typed(value)), detail
    )


def too_long(field: str, most: int, unit: str = "bytes") -> Finding:
    """Return the finding for a text of more than `most` bytes or characters."""
    return _finding("FieldValueTooLong", field, "Too long", f"may not be more than {most} {unit}")


def too_many(field: str, number: int, most: int) -> Finding:
    """Return the finding for a list of more than `most` items."""
    return _finding(
        "FieldValueTooMany",
        field,
        f"Too many: {number}",
        f"must have at most {most} {'item' if most == 1 else 'items'}",
    )


def _typed(value: Any) -> Any:
    return Typed(value) if isinstance(value, str) else value


def _with_value(problem: str, value: Any) -> str:
    return problem if value is OMITTED else f"{problem}: {shown(value)}"


def _finding(rule: str, field: str, problem: str, detail: str = "") -> Finding:
    return Finding(f"{problem}: {detail}" if detail else problem, field, rule=rule)
