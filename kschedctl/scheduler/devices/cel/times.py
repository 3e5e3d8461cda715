"""Durations and timestamps in CEL: parsing, formatting, arithmetic and access to parts, as in cel-go."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from kschedctl.objects.duration import Duration as GoDuration
from kschedctl.scheduler.devices.cel.functions import STANDARD, Function
from kschedctl.scheduler.devices.cel.values import (
    CIDR,
    IP,
    CelDuration,
    CelError,
    NoSuchOverloadError,
    Timestamp,
    type_name,
)

_SECOND: Final = 10**9
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_MILLISECOND: Final = 10**6
_MAX: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_SECONDS: Final = -62135596800
_MAX_SECONDS: Final = 253402300799
_RFC3339: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_OFFSET: Final = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def _duration(value: Any) -> CelDuration:
    if isinstance(value, CelDuration):
        return value
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise NoSuchOverloadError
    try:
        return CelDuration(GoDuration.parse(str(value) if isinstance(value, str) else "").nanoseconds)
    except ValueError:
        raise _not_converted(value, "Duration") from None


def _timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return _in_range(value * _SECOND)
    if not isinstance(value, str):
        raise NoSuchOverloadError
    found = _RFC3339.fullmatch(value)
    try:
        if found is None:
            raise ValueError
        whole = datetime.fromisoformat(f"{value[:19]}{found[8]}")
        since = whole - _EPOCH
    except (ValueError, OverflowError):
        raise _not_converted(value, "Timestamp") from None
    nanos = int((found[7] or "").ljust(9, "0")[:9])
    offset = whole.utcoffset() or timedelta()
    return _in_range((since.days * 86400 + since.seconds) * _SECOND + nanos, offset // timedelta(minutes=1))


def _not_converted(value: str | int, kind: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to 'google.protobuf.{kind}'")


def _in_range(nanos: int, offset: int = 0) -> Timestamp:
    if not _MIN_SECONDS <= nanos // _SECOND <= _MAX_SECONDS:
        raise CelError("timestamp overflow")
    return Timestamp(nanos, offset)


def _in_int64(nanos: int) -> CelDuration:
    if not -_MAX - 1 <= nanos <= _MAX:
        raise CelError("integer overflow")
    return CelDuration(nanos)


def plus(left: Any, right: Any) -> Any:
    """Return the sum of two durations, or of a timestamp and a duration; ``None`` for other values."""
    match left, right:
        case CelDuration(a), CelDuration(b):
            return _in_int64(a + b)
        case (Timestamp(a, offset), CelDuration(b)) | (CelDuration(b), Timestamp(a, offset)):
            return _in_range(a + b, offset)
    return None


def minus(left: Any, right: Any) -> Any:
    """Return the difference of durations and timestamps; ``None`` for other values."""
    match left, right:
        case CelDuration(a), CelDuration(b):
            return _in_int64(a - b)
        case Timestamp(a, _), Timestamp(b, _):
            return _in_int64(a - b)
        case Timestamp(a, offset), CelDuration(b):
            return _in_range(a - b, offset)
    return None


def time_text(value: CelDuration | Timestamp) -> str:
    """Return the result of CEL's ``string()``.

    >>> time_text(CelDuration(90 * 10**9)), time_text(Timestamp(1_500_000_000))
    ('90s', '1970-01-01T00:00:01.5Z')
    """
    whole, nanos = divmod(abs(value.nanos) if isinstance(value, CelDuration) else value.nanos, _SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    if isinstance(value, CelDuration):
        return f"{'-' if value.nanos < 0 else ''}{whole}{fraction}s"
    zone = timezone(timedelta(minutes=value.offset))
    written = (_EPOCH + timedelta(seconds=whole)).astimezone(zone).isoformat(timespec="seconds")
    return f"{written[:19]}{fraction}{written[19:] if value.offset else 'Z'}"


def _zone(name: Any) -> tzinfo:
    if not isinstance(name, str):
        raise NoSuchOverloadError
    found = _OFFSET.fullmatch(name)
    if found is not None:
        minutes = int(found[2]) * 60 + int(found[3])
        return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
    try:
        return UTC if name in ("", "UTC") else ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise CelError(f"unknown time zone {name}") from None


def _time_part(of_timestamp: Callable[[datetime], int], of_duration: int = 0) -> Function:
    """Return a function for a part of a timestamp, in an optional time zone, or for the whole units of a duration."""

    def part(value: Any, zone: Any = "UTC") -> int:
        if isinstance(value, CelDuration) and of_duration and zone == "UTC":
            size = abs(value.nanos) // of_duration
            return size if value.nanos >= 0 else -size
        if not isinstance(value, Timestamp):
            raise NoSuchOverloadError
        moment = _EPOCH + timedelta(seconds=value.nanos // _SECOND, microseconds=value.nanos % _SECOND // 1000)
        try:
            return of_timestamp(moment.astimezone(_zone(zone)))
        except OverflowError:
            raise CelError("timestamp overflow") from None

    return part


TIMES: Final[dict[str, Function]] = {
    "duration": _duration,
    "timestamp": _timestamp,
    "getFullYear": _time_part(lambda moment: moment.year),
    "getMonth": _time_part(lambda moment: moment.month - 1),
    "getDate": _time_part(lambda moment: moment.day),
    "getDayOfMonth": _time_part(lambda moment: moment.day - 1),
    "getDayOfWeek": _time_part(lambda moment: moment.isoweekday() % 7),
    "getDayOfYear": _time_part(lambda moment: moment.timetuple().tm_yday - 1),
    "getHours": _time_part(lambda moment: moment.hour, _HOUR),
    "getMinutes": _time_part(lambda moment: moment.minute, _MINUTE),
    "getSeconds": _time_part(lambda moment: moment.second, _SECOND),
    "getMilliseconds": _time_part(lambda moment: moment.microsecond // 1000, _MILLISECOND),
}


def _or_standard(special: Callable[[Any, Any], Any], operator: str) -> Function:
    """Return an operator that takes durations and timestamps as well as the operands of the standard operator."""
    standard = STANDARD[operator]

    def operate(left: Any, right: Any) -> Any:
        found = special(left, right)
        return standard(left, right) if found is None else found

    return operate


def _string(value: Any) -> str:
    if isinstance(value, CelDuration | Timestamp):
        return time_text(value)
    return str(value) if isinstance(value, IP | CIDR) else str(STANDARD["string"](value))


def _int(value: Any) -> Any:
    if isinstance(value, Timestamp):
        return value.nanos // _SECOND
    return value.nanos if isinstance(value, CelDuration) else STANDARD["int"](value)


#: Standard operators and conversions, extended to durations, timestamps and addresses.
WITH_TIMES: Final[dict[str, Function]] = {
    "_+_": _or_standard(plus, "_+_"),
    "_-_": _or_standard(minus, "_-_"),
    "string": _string,
    "int": _int,
}
