"""Disruption budgets of NodePools: how many nodes may go at once, at a time (apis/v1/nodepool.go)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from kschedctl.autoscaler.karpenter.state import StateNode, is_starting
from kschedctl.common.wording import listed
from kschedctl.objects.duration import Duration
from kschedctl.objects.karpenter import DisruptionBudget, NodePool, holds

EMPTY: Final = "Empty"
UNDERUTILIZED: Final = "Underutilized"


@dataclass(frozen=True, slots=True)
class Room:
    """The room in the budgets of a NodePool for one reason."""

    #: The number of nodes that may still go; ``None`` for any number.
    left: int | None
    #: The budget that decides, as its owner has written it, with the nodes that use it up; empty if none is active.
    words: str


def room(pool: NodePool, reason: str, nodes: Iterable[StateNode], now: datetime) -> Room:
    """Return the room in the budgets of a pool for a reason.

    Args:
        nodes: The nodes that Karpenter manages.
    """
    own = [each for each in nodes if each.node_pool == pool.name and _counts(each)]
    going = [each.name for each in own if each.is_going or each.is_rebooting or (each.node and is_starting(each.node))]
    least: int | None = None
    words = ""
    for budget in pool.spec.disruption.budgets:
        try:
            allowed = _allowed(budget, len(own), now)
        except ValueError:
            # As in Karpenter, nothing goes for any reason if one budget cannot be read.
            return Room(0, f"{_words(budget)}, which cannot be read")
        applies = not budget.reasons or reason in budget.reasons
        if applies and allowed is not None and (least is None or allowed < least):
            least, words = allowed, _words(budget)
    if least and going:
        words += f"; {listed(going, most=2)} {'counts' if len(going) == 1 else 'count'} as disrupted"
    return Room(None if least is None else max(least - len(going), 0), words)


def _counts(state: StateNode) -> bool:
    """Report whether a node is one of those that shares are of."""
    is_ready = state.node is not None and (state.is_initialized or state.is_rebooting)
    return is_ready and (state.claim is None or not holds(state.claim.status.conditions, "InstanceTerminating"))


def _allowed(budget: DisruptionBudget, n_nodes: int, now: datetime) -> int | None:
    """Return the number of nodes that a budget allows, a share rounded up; ``None`` if it is not active.

    Raises ValueError if the budget cannot be read.
    """
    share, percent, _ = budget.nodes.partition("%")
    allowed = -(-int(share) * n_nodes // 100) if percent else int(share)
    if budget.schedule or budget.duration:
        length = Duration.parse(budget.duration or "0s").nanoseconds / 1e9
        now = now.astimezone(UTC)
        if not _Schedule(budget.schedule).starts_between(now - timedelta(seconds=length), now):
            return None
    return allowed


def _words(budget: DisruptionBudget) -> str:
    when = (
        f" from {budget.schedule or 'no schedule'} for {budget.duration}" if budget.schedule or budget.duration else ""
    )
    why = f" for {', '.join(budget.reasons)}" if budget.reasons else ""
    return f"nodes: {budget.nodes}{why}{when}"


# Schedules in the form of cron, as robfig/cron reads them (ParseStandard).

#: The fields of a schedule, with the least and the largest value of each, and names of values.
_FIELDS: Final = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    (0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ANY: Final = ("*", "?")


class _Schedule:
    """The minutes at which a schedule starts, in UTC.

    Raises ValueError if the schedule cannot be read.
    """

    def __init__(self, text: str) -> None:
        fields = _MACROS.get(text.strip(), text).split()
        if len(fields) != len(_FIELDS):
            raise ValueError(text)
        read = [_values(field, *limits) for field, limits in zip(fields, _FIELDS, strict=True)]
        self._minutes, self._hours, self._days, self._months, self._weekdays = (values for values, _ in read)
        #: True if both day and day of the week must match, because one of them is a star.
        self._both = read[2][1] or read[4][1]

    def starts_between(self, after: datetime, until: datetime) -> bool:
        """Report whether it starts after a time, and not after another one."""
        return any(after < start <= until for start in self._starts(after, until))

    def _starts(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yield the starts of the days from one time to another, the last day first."""
        midnight = until.replace(hour=0, minute=0, second=0, microsecond=0)
        while midnight > after - timedelta(days=1):
            if self._is_day(midnight):
                for hour in sorted(self._hours, reverse=True):
                    for minute in sorted(self._minutes, reverse=True):
                        yield midnight + timedelta(hours=hour, minutes=minute)
            midnight -= timedelta(days=1)

    def _is_day(self, day: datetime) -> bool:
        if day.month not in self._months:
            return False
        of_month, of_week = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        return of_month and of_week if self._both else of_month or of_week


def _values(field: str, least: int, most: int, names: tuple[str, ...]) -> tuple[set[int], bool]:
    """Return the values of a field, and whether a part of it is a star without a step.

    Raises ValueError if the field cannot be read, or a value is outside.
    """
    out: set[int] = set()
    is_star = False
    for part in field.lower().split(","):
        span, slash, step_text = part.partition("/")
        step = int(step_text) if slash else 1
        first, dash, last = span.partition("-")
        if first in _ANY and not dash:
            begin, end = least, most
            is_star |= step == 1
        else:
            begin = _number(first, least, names)
            end = _number(last, least, names) if dash else most if slash else begin
        if not least <= begin <= end <= most or step < 1:
            raise ValueError(field)
        out.update(range(begin, end + 1, step))
    return out, is_star


def _number(text: str, least: int, names: tuple[str, ...]) -> int:
    return names.index(text) + least if text in names else int(text)
