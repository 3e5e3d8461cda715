"""Parsers for times and faults in the options of ``leader simulate`` and ``leader run``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

import typer

from kschedctl.common.findings import shortened

if TYPE_CHECKING:
    from kschedctl.leaderelection.network import Fault

_FORMS = {
    "--crash": "20s, 20s-35s or 20s=2",
    "--partition": "40s-70s, 40s or 40s-70s=2",
    "--slow-api": "3s, 3s@30s-50s or 3s@30s-50s=leader",
    "--upgrade": "60s",
}


def seconds(text: str, option: str) -> float:
    """Parse a Go duration and return it in seconds; a plain number is in seconds.

    Raises
    ------
    typer.BadParameter
        If the text is no duration, or is negative.
    """
    from kschedctl.objects.duration import Duration

    try:
        found = Duration.parse(text if not text.isascii() or not text.isdigit() else f"{text}s").nanoseconds / 1e9
    except ValueError:
        found = -1.0
    if found < 0:
        raise typer.BadParameter(f'"{shortened(text)}" is not a duration such as 15s or 1m30s', param_hint=option)
    return found


def part(text: str, option: str) -> float:
    """Parse a fraction: ``5%`` or ``0.05``.

    Raises
    ------
    typer.BadParameter
        If the text is no fraction, or is not in the range from 0 to below 0.5.
    """
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found < 0.5:
        raise typer.BadParameter(
            f'"{shortened(text)}" is not a fraction such as 5% or 0.05, from 0 to below 50%', param_hint=option
        )
    return found


def faults(
    crashes: Sequence[str], partitions: Sequence[str], slow: Sequence[str], upgrades: Sequence[str], candidates: int
) -> tuple[Fault, ...]:
    """Parse the faults of all fault options.

    Raises
    ------
    typer.BadParameter
        If a text is no fault of its option.
    """
    from kschedctl.leaderelection.network import ALL, LEADER, Crash, Partition, SlowApi, Upgrade

    def who(text: str, option: str, default: str) -> tuple[str, str]:
        rest, equals, name = text.partition("=")
        if not equals:
            return rest, default
        # Digits are compared as text: Python reads integers of at most 4,300 digits.
        whom = name.lstrip("0")
        if whom not in (LEADER, ALL, *map(str, range(1, candidates + 1))):
            problem = f'"{shortened(name)}" is not a candidate: 1 to {candidates}, {LEADER} or {ALL}'
            raise typer.BadParameter(problem, param_hint=option)
        return rest, whom

    found: list[Fault] = []
    windowed: tuple[tuple[str, Sequence[str], Callable[..., Fault]], ...] = (
        ("--crash", crashes, Crash),
        ("--partition", partitions, Partition),
    )
    for option, texts, kind in windowed:
        for text in texts:
            when, whom = who(text, option, LEADER)
            found.append(kind(*_window(when, option), whom))
    for text in slow:
        rest, whom = who(text, "--slow-api", ALL)
        how_long, at, when = rest.partition("@")
        window = _window(when, "--slow-api") if at else (0.0, inf)
        found.append(SlowApi(seconds(how_long, "--slow-api"), *window, whom))
    found += [Upgrade(seconds(text, "--upgrade")) for text in upgrades]
    return tuple(found)


def _window(text: str, option: str) -> tuple[float, float]:
    """Parse a time window; an open end is infinite."""
    begin, dash, end = text.partition("-")
    found = seconds(begin, option), seconds(end, option) if dash else inf
    if found[0] >= found[1]:
        raise typer.BadParameter(
            f'"{shortened(text)}" ends before it begins: give a value such as {_FORMS[option]}', param_hint=option
        )
    return found
