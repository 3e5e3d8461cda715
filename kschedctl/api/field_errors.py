"""What an API server or the scheduler says of a field that it refuses (apimachinery's ``field.Error``)."""

from __future__ import annotations

import json
from typing import Any, Final

_REQUIRED: Final = "Required value"


def go_json(value: Any) -> str:
    """A value as it is printed in a message: compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def required(detail: str = "") -> str:
    """A value is missing."""
    return f"{_REQUIRED}: {detail}" if detail else _REQUIRED


def invalid(value: Any, detail: str) -> str:
    """A value is not allowed.

    Examples
    --------
    >>> invalid(0, "must be greater than zero")
    'Invalid value: 0: must be greater than zero'
    """
    return f"Invalid value: {go_json(value)}: {detail}"


def duplicate(value: Any) -> str:
    """A value repeats another one."""
    return f"Duplicate value: {go_json(value)}"


def unsupported(value: str, supported: tuple[str, ...]) -> str:
    """A value is none of those that there are.

    Examples
    --------
    >>> unsupported("No", ("Always", "Never"))
    'Unsupported value: "No": supported values: "Always", "Never"'
    """
    return f"Unsupported value: {go_json(value)}: supported values: {', '.join(map(go_json, supported))}"
