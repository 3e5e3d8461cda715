"""Rules about single values: numbers, names, shares, one of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kschedctl.api import field_errors
from kschedctl.api.canonical import Amount
from kschedctl.api.formats import percent_problems, port_name_problems, port_problems
from kschedctl.api.names import label_problems, label_value_problems, qualified_name_problems, subdomain_problems
from kschedctl.api.selectors import parse_int64
from kschedctl.validation.context import Found

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"


def refused(problems: Iterable[str], value: Any, path: str) -> Found:
    """Everything that is wrong with a value."""
    for problem in problems:
        yield field_errors.invalid(path, value, problem)


def not_negative(value: int | None, path: str) -> Found:
    """A number, or none, is not below zero."""
    if value is not None and value < 0:
        yield field_errors.invalid(path, value, NOT_NEGATIVE)


def not_negative_amount(value: Any, path: str) -> Found:
    """A quantity is not below zero."""
    amount = Amount.parse(value)
    if amount.nanos < 0:
        yield field_errors.invalid(path, str(amount), NOT_NEGATIVE)


def positive_amount(value: Any, path: str) -> Found:
    """A quantity is above zero."""
    amount = Amount.parse(value)
    if amount.nanos <= 0:
        yield field_errors.invalid(path, str(amount), NOT_POSITIVE)


def one_of(value: Any, supported: Iterable[str], path: str) -> Found:
    """A value is one of those that there are."""
    if value not in supported:
        yield field_errors.unsupported(path, value, supported)


def given_one_of(value: str, supported: Iterable[str], path: str) -> Found:
    """A value is given, and one of those that there are."""
    if not value:
        yield field_errors.required(path)
    else:
        yield from one_of(value, supported, path)


def given(value: Any, path: str, detail: str = "") -> Found:
    """A value is given."""
    if not value:
        yield field_errors.required(path, detail)


def label_name(value: str, path: str) -> Found:
    """A name without dots."""
    yield from refused(label_problems(value), value, path)


def given_label_name(value: str, path: str) -> Found:
    """A name without dots, which is given."""
    yield from label_name(value, path) if value else given(value, path)


def subdomain_name(value: str, path: str) -> Found:
    """A name as most objects have."""
    yield from refused(subdomain_problems(value), value, path)


def qualified_name(value: str, path: str) -> Found:
    """The key of a label."""
    yield from refused(qualified_name_problems(value), value, path)


def labels(values: dict[str, str], path: str) -> Found:
    """Labels, or a selector of them."""
    for key, value in values.items():
        yield from qualified_name(key, path)
        yield from refused(label_value_problems(value), value, path)


def int_or_percent(value: int | str, path: str) -> Found:
    """A number or a share, not below zero."""
    if isinstance(value, str):
        yield from refused(percent_problems(value), value, path)
    else:
        yield from not_negative(value, path)


def percent(value: int | str) -> int | None:
    """The number of a share; ``None`` for anything else."""
    return int(value[:-1]) if isinstance(value, str) and not percent_problems(value) else None


def number_or_percent(value: int | str) -> int:
    """The number of either; 0 for a text that is none."""
    if isinstance(value, int):
        return value
    share = percent(value)
    return share if share is not None else parse_int64(value) or 0


def at_most_all(value: int | str, path: str) -> Found:
    """A share is not more than 100%."""
    if (percent(value) or 0) > 100:
        yield field_errors.invalid(path, value, "must not be greater than 100%")


def port(value: int | str, path: str) -> Found:
    """The number or name of a port."""
    problems: Callable[[Any], Iterable[str]] = port_name_problems if isinstance(value, str) else port_problems
    yield from refused(problems(value), value, path)


def relative_path(value: str, path: str) -> Found:
    """A path below a folder."""
    if value.startswith("/"):
        yield field_errors.invalid(path, value, "must be a relative path")
    yield from without_backsteps(value, path)


def without_backsteps(value: str, path: str) -> Found:
    """A path without steps back."""
    if ".." in value and ".." in value.split("/"):
        yield field_errors.invalid(path, value, "must not contain '..'")


def volume_path(value: str, path: str) -> Found:
    """The path of a file within a volume."""
    yield from relative_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield field_errors.invalid(path, value, "must not start with '..'")
