"""Validation of cron schedules and time zones, with the messages of the API server's parser (robfig/cron)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from kschedctl.objects import field_errors
from kschedctl.objects.duration import Duration
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.validation.context import Found

_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY: Final = "@every "
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_MAX_INT64: Final = 2**63
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch
_MONTHS: Final = {
    name: i
    for i, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        start=1,
    )
}
_DAYS: Final = {name: i for i, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}


class _Bounds(NamedTuple):
    """The bounds of a schedule's field, and the names of its values."""

    lowest: int
    highest: int
    names: Mapping[str, int] = {}


_FIELDS: Final = (_Bounds(0, 59), _Bounds(0, 23), _Bounds(1, 31), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


class _CronError(ValueError):
    """A text that is not a cron schedule."""


def schedule(text: str, path: str) -> Found:
    """Yield the problems of the schedule of a CronJob."""
    try:
        _parse(text)
    except _CronError as error:
        yield field_errors.invalid(path, text, str(error))
    if "TZ" in text:
        yield field_errors.invalid(path, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def time_zone(name: str, path: str) -> Found:
    """Yield the problems of a time zone's name."""
    if not name:
        yield field_errors.invalid(path, Typed(name), "timeZone must be nil or non-empty string")
        return
    for part in name.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART(part):
            yield field_errors.invalid(path, Typed(name), f"unknown time zone {name}")
            return
    if name.lower() == "local":
        problem = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield field_errors.invalid(path, Typed(name), problem)
    # Go does not open files with such names.
    if ".." in name or name.startswith("/"):
        yield field_errors.invalid(path, Typed(name), "time: invalid location name")
    elif not _is_zone(name):
        yield field_errors.invalid(path, Typed(name), f"unknown time zone {name}")


def _is_zone(name: str) -> bool:
    """Report whether a time zone exists; without a time zone database, every zone counts as existing."""
    return name in ("", "UTC", "Local") or _loads(name) or not _loads("Etc/UTC")


def _loads(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _parse(text: str) -> None:
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = text.partition(" ")
        if not space:
            raise _CronError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = zone.partition("=")[2]
        if not _is_zone(zone):
            raise _CronError(f"provided bad location {zone}: unknown time zone {zone}")
        text = rest.strip()
    if text.startswith("@"):
        _descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise _CronError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _range(expression, bounds)


def _descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise _CronError(f"unrecognized descriptor: {text}")
    try:
        Duration.parse(text.removeprefix(_EVERY))
    except ValueError as error:
        raise _CronError(f"failed to parse duration {text}: {error}") from None


def _range(expression: str, bounds: _Bounds) -> None:
    parts = expression.split("/")
    limits = parts[0].split("-")
    if limits[0] in ("*", "?"):
        start, end = bounds.lowest, bounds.highest
    else:
        start = end = _number(limits[0], bounds.names)
        if len(limits) == 2:
            end = _number(limits[1], bounds.names)
        elif len(limits) > 2:
            raise _CronError(f"too many hyphens: {expression}")
    step = 1
    if len(parts) == 2:
        step = _number(parts[1], {})
        # "N/STEP" extends to the highest value.
        end = bounds.highest if len(limits) == 1 else end
    elif len(parts) > 2:
        raise _CronError(f"too many slashes: {expression}")
    if start < bounds.lowest:
        raise _CronError(f"beginning of range ({start}) below minimum ({bounds.lowest}): {expression}")
    if end > bounds.highest:
        raise _CronError(f"end of range ({end}) above maximum ({bounds.highest}): {expression}")
    if start > end:
        raise _CronError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if not step:
        raise _CronError(f"step of range should be a positive number: {expression}")


def _number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not _INTEGER(text):
        why = f"strconv.Atoi: parsing {field_errors.go_quote(text)}: invalid syntax"
        raise _CronError(f"failed to parse int from {text}: {why}")
    number = int(text) if len(text) < 100 else _MAX_INT64
    if not -_MAX_INT64 <= number < _MAX_INT64:
        why = f"strconv.Atoi: parsing {field_errors.go_quote(text)}: value out of range"
        raise _CronError(f"failed to parse int from {text}: {why}")
    if number < 0:
        raise _CronError(f"negative number ({number}) not allowed: {text}")
    return number
