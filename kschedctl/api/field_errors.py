"""What an API server or the scheduler says of a field that it refuses (apimachinery's ``field.Error``), as findings.

Their rule is the ``ErrorType`` there.
"""

from __future__ import annotations

import json
from typing import Any

from kschedctl.findings.finding import Finding


def go_json(value: Any) -> str:
    """A value as it is printed in a message: compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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
    return _finding("FieldValueInvalid", field, f"Invalid value: {go_json(value)}", detail)


def forbidden(field: str, detail: str) -> Finding:
    """A value may not be given here."""
    return _finding("FieldValueForbidden", field, "Forbidden", detail)


def duplicate(field: str, value: Any) -> Finding:
    """A value repeats another one."""
    return _finding("FieldValueDuplicate", field, f"Duplicate value: {go_json(value)}")


def unsupported(field: str, value: str, supported: tuple[str, ...]) -> Finding:
    """A value is none of those that there are.

    Examples
    --------
    >>> print(unsupported("policy", "No", ("Always", "Never")))
    policy: Unsupported value: "No": supported values: "Always", "Never"
    """
    detail = f"supported values: {', '.join(map(go_json, supported))}"
    return _finding("FieldValueNotSupported", field, f"Unsupported value: {go_json(value)}", detail)


def _finding(rule: str, field: str, problem: str, detail: str = "") -> Finding:
    return Finding(f"{problem}: {detail}" if detail else problem, field, rule=rule)
