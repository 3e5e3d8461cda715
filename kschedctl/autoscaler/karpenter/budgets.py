"""Disruption budgets of NodePools: how many nodes may go at once, at a time (apis/v1/nodepool.go)."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from kschedctl.autoscaler.karpenter.state import StateNode, is_starting
from kschedctl.objects.duration import Duration
from kschedctl.objects.karpenter import DisruptionBudget, NodePool, holds

EMPTY: Final = "Empty"
UNDERUTILIZED: Final = "Underutilized"
#: The fields of a schedule, with the least and the largest value of each.
_FIELDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


def room(pool: NodePool, reason: str, nodes: Iterable[StateNode], now: datetime) -> tuple[int | None, str]:
    """Return how many more nodes of a pool may go for a reason, ``None`` for any number, and the budget that says so.

    The budget is given as its owner has written it; it is empty if none is active.

    Args:
        nodes: The nodes that Karpenter manages.
    """
    own = [
        each
        for each in nodes
        if each.node_pool == pool.name
        and each.node is not None
        and each.is_initialized
        and (each.claim is None or not holds(each.claim.status.conditions, "InstanceTerminating"))
    ]
    n_going = sum(
        each.is_going or each.is_rebooting or (each.node is not None and is_starting(each.node)) for each in own
    )
    least: int | None = None
    words = ""
    for budget in pool.spec.disruption.budgets:
        allowed = _allowed(budget, len(own), now)
        if (
            allowed is not None
            and (not budget.reasons or reason in budget.reasons)
            and (least is None or allowed < least)
        ):
            least, words = allowed, _words(budget)
    return (None if least is None else max(least - n_going, 0)), words


def _allowed(budget: DisruptionBudget, n_nodes: int, now: datetime) -> int | None:
    """Return the number of nodes that a budget allows, a share rounded up; ``None`` if it is not active."""
    if not _is_active(budget, now):
        return None
    share, percent, _ = budget.nodes.partition("%")
    if not share.isdigit():
        return 0
    return -(-int(share) * n_nodes // 100) if percent else int(share)


def _words(budget: DisruptionBudget) -> str:
    when = f" from {budget.schedule} for {budget.duration}" if budget.schedule else ""
    why = f" for {', '.join(budget.reasons)}" if budget.reasons else ""
    return f"nodes: {budget.nodes}{why}{when}"


def _is_active(budget: DisruptionBudget, now: datetime) -> bool:
    """Report whether the last start of a budget's schedule, in UTC, is no longer ago than its duration."""
    if not budget.schedule and not budget.duration:
        return True
    try:
        length = Duration.parse(budget.duration or "0s").nanoseconds / 1e9
        starts = _Schedule(budget.schedule)
    except ValueError:
        # As in Karpenter, a budget that cannot be read allows nothing.
        return True
    minute = now.astimezone(UTC).replace(second=0, microsecond=0)
    earliest = now.astimezone(UTC) - timedelta(seconds=length)
    return any(starts.has(minute - timedelta(minutes=i)) for i in range(_n_minutes(minute, earliest)))


def _n_minutes(last: datetime, earliest: datetime) -> int:
    """Return the number of whole minutes after a time, up to and including another one; a year at most."""
    return min(max(math.ceil((last - earliest).total_seconds() / 60), 0), 366 * 24 * 60)


class _Schedule:
    """The minutes at which a schedule in the form of cron starts: minute, hour, day, month and day of the week."""

    def __init__(self, text: str) -> None:
        fields = _MACROS.get(text.strip(), text).split()
        if len(fields) != len(_FIELDS):
            raise ValueError(text)
        self._sets = [_values(field, *limits) for field, limits in zip(fields, _FIELDS, strict=True)]
        #: True each if day and day of the week begin with a star: then both must match, else one is enough.
        self._stars = fields[2].startswith(("*", "?")), fields[4].startswith(("*", "?"))

    def has(self, time: datetime) -> bool:
        minutes, hours, days, months, weekdays = self._sets
        if time.minute not in minutes or time.hour not in hours or time.month not in months:
            return False
        day, weekday = time.day in days, time.isoweekday() % 7 in weekdays
        return day and weekday if any(self._stars) else day or weekday


def _values(field: str, least: int, most: int) -> set[int]:
    out: set[int] = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if first in ("*", "?"):
            begin, end = least, most
        else:
            begin = _number(first, most)
            end = _number(last, most) if last else most if step else begin
        out.update(range(begin, end + 1, int(step) if step else 1))
    return out


def _number(text: str, most: int) -> int:
    names = _MONTHS if most == len(_MONTHS) else _DAYS if most == len(_DAYS) - 1 else ()
    return names.index(text) + (most == len(_MONTHS)) if text in names else int(text)
