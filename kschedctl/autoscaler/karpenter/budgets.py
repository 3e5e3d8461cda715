"""Disruption budgets of NodePools: how many nodes may go at once, at a time (apis/v1/nodepool.go)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from kschedctl.autoscaler.karpenter.state import StateNode, is_starting
from kschedctl.common.wording import listed
from kschedctl.objects.cron import Schedule
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
        if not Schedule.parse(budget.schedule.strip()).starts_between(now - timedelta(seconds=length), now):
            return None
    return allowed


def _words(budget: DisruptionBudget) -> str:
    when = (
        f" from {budget.schedule or 'no schedule'} for {budget.duration}" if budget.schedule or budget.duration else ""
    )
    why = f" for {', '.join(budget.reasons)}" if budget.reasons else ""
    return f"nodes: {budget.nodes}{why}{when}"
