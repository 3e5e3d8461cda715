"""Validation of single values: numbers, names, percentages, enumerations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.canonical_quantity import Amount
from kschedctl.objects.formats import percent_problems, port_name_problems, port_problems
from kschedctl.objects.names import label_problems, label_value_problems, qualified_name_problems, subdomain_problems
from kschedctl.objects.selectors import parse_int64
from kschedctl.objects.validation.context import Found

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"


def invalid_findings(problems: Iterable[str], value: Any, path: str) -> Found:
    """Yield a finding for each problem of a value."""
    for problem in problems:
        yield field_errors.invalid(path, value, problem)


def not_negative(value: int | None, path: str) -> Found:
    """Yield a problem if a number is negative; ``None`` is valid."""
    if value is not None and value < 0:
        yield field_errors.invalid(path, value, NOT_NEGATIVE)


def not_negative_amount(value: Any, path: str) -> Found:
    """Yield a problem if a quantity is negative."""
    amount = Amount.parse(value)
    if amount.nanos < 0:
        yield field_errors.invalid(path, str(amount), NOT_NEGATIVE)


def positive_amount(value: Any, path: str) -> Found:
    """Yield a problem if a quantity is not positive."""
    amount = Amount.parse(value)
    if amount.nanos <= 0:
        yield field_errors.invalid(path, str(amount), NOT_POSITIVE)


def one_of(value: Any, supported: Iterable[str], path: str) -> Found:
    """Yield a problem if a value is not one of the supported values."""
    if value not in supported:
        yield field_errors.unsupported(path, value, supported)


def given_one_of(value: str, supported: Iterable[str], path: str) -> Found:
    """Yield a problem if a value is empty, or not one of the supported values."""
    if not value:
        yield field_errors.required(path)
    else:
        yield from one_of(value, supported, path)


def require(value: Any, path: str, detail: str = "") -> Found:
    """Yield a problem if a value is empty."""
    if not value:
        yield field_errors.required(path, detail)


def label_name(value: str, path: str) -> Found:
    """Yield the problems of a name that must be a DNS label (no dots)."""
    yield from invalid_findings(label_problems(value), value, path)


def given_label_name(value: str, path: str) -> Found:
    """Yield the problems of a required name that must be a DNS label (no dots)."""
    yield from label_name(value, path) if value else require(value, path)


def subdomain_name(value: str, path: str) -> Found:
    """Yield the problems of a name that must be a DNS subdomain, as that of most objects."""
    yield from invalid_findings(subdomain_problems(value), value, path)


def qualified_name(value: str, path: str) -> Found:
    """Yield the problems of a label key."""
    yield from invalid_findings(qualified_name_problems(value), value, path)


def labels(values: dict[str, str], path: str) -> Found:
    """Yield the problems of labels, or of a selector's ``matchLabels``."""
    for key, value in values.items():
        yield from qualified_name(key, path)
        yield from invalid_findings(label_value_problems(value), value, path)


def int_or_percent(value: int | str, path: str) -> Found:
    """Yield the problems of a number or percentage, which must not be negative."""
    if isinstance(value, str):
        yield from invalid_findings(percent_problems(value), value, path)
    else:
        yield from not_negative(value, path)


def percent(value: int | str) -> int | None:
    """Return the number in a percentage; ``None`` for any other value."""
    return int(value[:-1]) if isinstance(value, str) and not percent_problems(value) else None


def number_or_percent(value: int | str) -> int:
    """Return the number itself or the number in a percentage; 0 for any other text that is not an integer."""
    if isinstance(value, int):
        return value
    share = percent(value)
    return share if share is not None else parse_int64(value) or 0


def at_most_all(value: int | str, path: str) -> Found:
    """Yield a problem if a percentage is above 100%."""
    if (percent(value) or 0) > 100:
        yield field_errors.invalid(path, value, "must not be greater than 100%")


def port(value: int | str, path: str) -> Found:
    """Yield the problems of a port's number or name."""
    problems: Callable[[Any], Iterable[str]] = port_name_problems if isinstance(value, str) else port_problems
    yield from invalid_findings(problems(value), value, path)


def relative_path(value: str, path: str) -> Found:
    """Yield the problems of a path that must be relative and must not contain ``..``."""
    if value.startswith("/"):
        yield field_errors.invalid(path, value, "must be a relative path")
    yield from without_backsteps(value, path)


def without_backsteps(value: str, path: str) -> Found:
    """Yield a problem if a path contains the segment ``..``."""
    if ".." in value and ".." in value.split("/"):
        yield field_errors.invalid(path, value, "must not contain '..'")


def volume_path(value: str, path: str) -> Found:
    """Yield the problems of the path of a file within a volume."""
    yield from relative_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield field_errors.invalid(path, value, "must not start with '..'")
