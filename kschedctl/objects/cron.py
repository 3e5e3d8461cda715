"""Cron schedules, as the parser of Kubernetes and Karpenter reads them (``ParseStandard`` of robfig/cron)."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Self

from kschedctl.objects.field_errors import go_quote

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_MAX_INT64: Final = 2**63
_MONTHS: Final = {
    name: i
    for i, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_DAYS: Final = {name: i for i, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}


class _Bounds(NamedTuple):
    """The bounds of a schedule's field, and the names of its values."""

    lowest: int
    highest: int
    names: Mapping[str, int] = {}


_FIELDS: Final = (_Bounds(0, 59), _Bounds(0, 23), _Bounds(1, 31), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


class CronError(ValueError):
    """A text that is not a cron schedule; its message is the parser's."""


class Schedule(NamedTuple):
    """The minutes at which a schedule starts."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    #: From 0 for Sunday.
    weekdays: frozenset[int]
    #: True if both day and day of the week must match, because one of them is a star.
    needs_both_days: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse five fields, or a name such as ``@daily``.

        Raises CronError if the text is neither.

        >>> Schedule.parse("0 9 * * mon-fri").weekdays == {1, 2, 3, 4, 5}
        True
        """
        if text.startswith("@") and text not in _DESCRIPTORS:
            raise CronError(f"unrecognized descriptor: {text}")
        fields = _DESCRIPTORS.get(text, text).split()
        if len(fields) != len(_FIELDS):
            raise CronError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
        ranges = [
            [_range(each, bounds) for each in filter(None, field.split(","))]
            for field, bounds in zip(fields, _FIELDS, strict=True)
        ]
        minutes, hours, days, months, weekdays = (frozenset().union(*(own for own, _ in each)) for each in ranges)
        stars = [any(is_star for _, is_star in each) for each in ranges]
        return cls(minutes, hours, days, months, weekdays, stars[2] or stars[4])

    def starts_between(self, after: datetime, until: datetime) -> bool:
        """Report whether it starts after a time, and not after another one."""
        return any(after < start <= until for start in self._starts(after, until))

    def _starts(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yield the starts of the days from one time to another, the last day first."""
        midnight = until.replace(hour=0, minute=0, second=0, microsecond=0)
        while midnight > after - timedelta(days=1):
            if self._is_day(midnight):
                for hour in sorted(self.hours, reverse=True):
                    for minute in sorted(self.minutes, reverse=True):
                        yield midnight + timedelta(hours=hour, minutes=minute)
            midnight -= timedelta(days=1)

    def _is_day(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month and of_week if self.needs_both_days else of_month or of_week


def _range(expression: str, bounds: _Bounds) -> tuple[range, bool]:
    """Return the values of a part of a field, and whether it is a star without a step."""
    parts = expression.split("/")
    limits = parts[0].split("-")
    is_star = limits[0] in ("*", "?")
    if is_star:
        start, end = bounds.lowest, bounds.highest
    else:
        start = end = _parsed_number(limits[0], bounds.names)
        if len(limits) == 2:
            end = _parsed_number(limits[1], bounds.names)
        elif len(limits) > 2:
            raise CronError(f"too many hyphens: {expression}")
    step = 1
    if len(parts) == 2:
        step = _parsed_number(parts[1], {})
        # "N/STEP" extends to the highest value.
        end = bounds.highest if len(limits) == 1 else end
    elif len(parts) > 2:
        raise CronError(f"too many slashes: {expression}")
    if start < bounds.lowest:
        raise CronError(f"beginning of range ({start}) below minimum ({bounds.lowest}): {expression}")
    if end > bounds.highest:
        raise CronError(f"end of range ({end}) above maximum ({bounds.highest}): {expression}")
    if start > end:
        raise CronError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if not step:
        raise CronError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step), is_star and step == 1


def _parsed_number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not _INTEGER(text):
        why = f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax"
        raise CronError(f"failed to parse int from {text}: {why}")
    number = int(text) if len(text) < 100 else _MAX_INT64
    if not -_MAX_INT64 <= number < _MAX_INT64:
        why = f"strconv.Atoi: parsing {go_quote(text)}: value out of range"
        raise CronError(f"failed to parse int from {text}: {why}")
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {text}")
    return number
