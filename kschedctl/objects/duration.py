"""Durations in Go's notation (``time.Duration``, ``metav1.Duration``)."""

import re
from typing import Final

import msgspec

_NANOSECOND: Final = 1
_MICROSECOND: Final = 1_000
_MILLISECOND: Final = 1_000_000
_SECOND: Final = 1_000_000_000
_UNITS: Final = {
    "ns": _NANOSECOND,
    "us": _MICROSECOND,
    "µs": _MICROSECOND,
    "μs": _MICROSECOND,
    "ms": _MILLISECOND,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


class Duration(msgspec.Struct, frozen=True, order=True):
    """A duration."""

    #: The duration in nanoseconds, an int64 as in Go.
    nanoseconds: int = 0

    @classmethod
    def seconds(cls, seconds: int) -> "Duration":
        return cls(seconds * _SECOND)

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Parse a duration as ``time.ParseDuration`` does, such as ``1h30m`` or ``-1.5s``.

        Raises ValueError if the text is not a duration, with Go's error message.
        """
        unsigned = text[1:] if text[:1] in ("+", "-") else text
        if unsigned == "0":
            return cls()
        total, position = 0, 0
        while position < len(unsigned):
            part = _PART.match(unsigned, position)
            if part is None or not (part[1] or part[2]):
                break
            scale, fraction = _UNITS[part[3]], part[2] or ""
            total += int(part[1] or "0") * scale + int(fraction or "0") * scale // 10 ** len(fraction)
            position = part.end()
        limit = 2**63 if text.startswith("-") else 2**63 - 1
        if not unsigned or position < len(unsigned) or total > limit:
            raise ValueError(f'time: invalid duration "{text}"')
        return cls(-total if text.startswith("-") else total)

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __str__(self) -> str:
        """Return the duration in Go's notation, such as ``1m30s``."""
        size, sign = abs(self.nanoseconds), "-" if self.nanoseconds < 0 else ""
        if size == 0:
            return "0s"
        if size < _SECOND:
            unit = "ns" if size < _MICROSECOND else "µs" if size < _MILLISECOND else "ms"
            return f"{sign}{_decimal(size, _UNITS[unit])}{unit}"
        minutes, rest = divmod(size, 60 * _SECOND)
        hours, minutes = divmod(minutes, 60)
        head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
        return f"{sign}{head}{_decimal(rest, _SECOND)}s"


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0") if unit > 1 else ""
    return f"{whole}.{digits}" if digits else str(whole)
