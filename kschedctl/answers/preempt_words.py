"""Phrases for the parts of a preemption: times, disruption budgets, criteria and the outcome for victims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from kschedctl.answers.preempt import (
    BudgetData,
    LostAtData,
    OwnerData,
    PreemptCandidateData,
    Preemption,
    ReplacementData,
    VictimData,
    VictimFateData,
)
from kschedctl.api.wording import counted, listed

#: The offset that kube-scheduler adds to every priority before it sums up the priorities of victims.
_SHIFT: Final = 2**31
#: The longest duration in seconds alone, and the shortest one in years.
_IN_SECONDS, _YEARS = 120, 2
_YEAR: Final = 365 * 86_400


def violated(victims: Sequence[VictimData]) -> str:
    """Return the disruption budgets that the eviction of the victims violates; ``-`` for none."""
    names = {budget.name for victim in victims for budget in victim.budgets if budget.violated}
    return ", ".join(sorted(names)) or "-"


def below_words(budget: BudgetData) -> str:
    """Return by how many disruptions the evictions exceed those that a budget allows, in words."""
    if budget.below:
        return f"{budget.below} too many"
    # All pods of lower priority on the node are counted, also those that are spared afterwards.
    return "counted as violated before others were reprieved" if budget.violated else "-"


def lost_words(candidate: PreemptCandidateData, lost: LostAtData, answer: Preemption) -> str:
    """Return the criterion at which a candidate lost, with the values of the candidate and of the winner."""
    has, against = str(lost.has), str(lost.against)
    match lost.number:
        case 3:
            # kube-scheduler adds 2^31 to every priority; without that the sums can be read.
            n_taken = len(answer.chosen[0].victims)
            has = _sum(lost.has, len(candidate.victims))
            against = _sum(lost.against, n_taken)
            if len(candidate.victims) != n_taken:
                return f"3. {lost.criterion} ({has} against {against}; each pod counts 2^31 more)"
        case 5:
            has, against = (_moment(value) for value in (lost.has, lost.against))
    return f"{lost.number}. {lost.criterion} ({has} against {against})"


def _sum(shifted: int, n_pods: int) -> str:
    return f"{shifted - n_pods * _SHIFT} for {counted(n_pods, 'pod')}"


def _moment(microseconds: int) -> str:
    if microseconds == 2**63 - 1:
        return "not started"
    return f"{datetime.fromtimestamp(microseconds // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}"


def fates(victims: Sequence[VictimFateData]) -> Iterator[str]:
    """Yield the outcome for the victims, one sentence per group with the same outcome."""
    remade: dict[str, list[VictimFateData]] = {}
    for fate in victims:
        if fate.owner is not None and fate.bound_to_node:
            fits = (
                "where it still fits"
                if fate.replacement is not None and fate.replacement.nodes
                else "where it stays pending"
            )
            maker = owner_words(fate.owner)
            yield f"{fate.name} cannot move: {maker} creates its new pod for this node only, {fits}."
        elif fate.owner is not None:
            remade.setdefault(_replaced(fate.replacement), []).append(fate)
    for outcome, alike in remade.items():
        makers = listed(list(dict.fromkeys(owner_words(fate.owner) for fate in alike)))
        names = listed([fate.name for fate in alike])
        if len(alike) == 1:
            yield f"{makers} creates a new pod for {names}: it would {outcome}."
        else:
            yield f"New pods are created for {names} ({makers}): each would {outcome}."
    alone = [fate.name for fate in victims if fate.owner is None]
    if alone:
        verb = "has" if len(alone) == 1 else "have"
        yield f"{listed(alone)} {verb} no controller; no new pod is created."


def _replaced(new: ReplacementData | None) -> str:
    if new is None:
        return "be scheduled by another scheduler"
    if new.nodes:
        return f"fit on {listed(new.nodes, 'or')}"
    if new.evicting:
        return f"preempt other pods in turn, on {listed(new.evicting, 'or')}"
    return f"fit nowhere ({new.message.partition('. ')[0].removesuffix('.')})"


def running(victim: VictimData) -> str:
    """Return the time for which a victim has been running, or its start date."""
    if victim.started_at is None:
        return "not started"
    if victim.running_seconds is None:
        return f"since {victim.started_at:%Y-%m-%d}"
    return duration(victim.running_seconds)


def duration(seconds: int) -> str:
    """Format a duration in its two largest units.

    Examples
    --------
    >>> duration(30), duration(3600), duration(95), duration(200_000)
    ('30 s', '1 h', '1 min 35 s', '2 d 7 h')
    """
    parts = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        amount, seconds = divmod(seconds, size)
        parts.append((amount, unit))
    first = next((i for i, (amount, _) in enumerate(parts) if amount), len(parts) - 1)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount) or "0 s"


def time_span(seconds: float) -> str:
    """Format a duration of any length: up to two minutes in seconds, from two years on in years.

    Examples
    --------
    >>> time_span(100), time_span(3700), time_span(2_147_483_647)
    ('100 s', '1 h 1 min', '68 years')
    """
    whole = max(round(seconds), 0)
    years = whole // _YEAR
    return f"{years:,} years" if years >= _YEARS else f"{whole} s" if whole <= _IN_SECONDS else duration(whole)


def owner_words(owner: OwnerData | None) -> str:
    """Return the kind and name of a controller; ``-`` for none."""
    return f"{owner.kind} {owner.name}" if owner is not None else "-"
