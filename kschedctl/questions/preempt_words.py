"""Phrases for the parts of a preemption: times, disruption budgets, criteria and the outcome for victims."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from kschedctl.common.wording import counted, duration, listed
from kschedctl.questions.preempt.answer import (
    BudgetData,
    LostAtData,
    NextData,
    OwnerData,
    PreemptCandidateData,
    Preemption,
    PreemptorFate,
    TiedVictimsData,
    VictimData,
    VictimFateData,
)

#: The number of sets of victims beyond which they are not counted.
_MOST_COUNTED: Final = 1000
#: The number of single victims that are named.
_FEW: Final = 3
#: The offset that kube-scheduler adds to every priority before it sums up the priorities of victims.
_SHIFT: Final = 2**31


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
            has, against = (
                "not started"
                if microseconds == 2**63 - 1
                else f"{datetime.fromtimestamp(microseconds // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}"
                for microseconds in (lost.has, lost.against)
            )
    return f"{lost.number}. {lost.criterion} ({has} against {against})"


def _sum(shifted: int, n_pods: int) -> str:
    return f"{shifted - n_pods * _SHIFT} for {counted(n_pods, 'pod')}"


def one_of_words(tied: TiedVictimsData) -> str:
    """Return the possible victims as a clause: the pods themselves if one of a few is evicted, else the sets."""
    if tied.complete and tied.count == len(tied.possible) <= _FEW and all(len(one) == 1 for one in tied.sets):
        return f"by chance {listed(tied.possible, 'or')}"
    return f"by chance one of {sets_words(tied)}"


def sets_words(tied: TiedVictimsData) -> str:
    """Return the number of possible sets of victims."""
    more = "" if tied.complete and tied.count < _MOST_COUNTED else "at least "
    return f"{more}{tied.count} possible sets"


def in_vain_words(after: NextData) -> str:
    """Return the reason for which the evictions do not help the pod, as a clause; empty if they do."""
    fate = after.preemptor
    if fate is None or not after.in_vain:
        return ""
    if fate.result is PreemptorFate.VICTIMS_RETURN:
        return "the pods that it evicts come back before its next attempt"
    return f"it then still fits nowhere ({_first_sentence(fate.message)})"


def terminating_words(victims: Sequence[VictimFateData]) -> str:
    """Return the number of victims that are already being deleted, as the end of a clause; empty for none."""
    n_going = sum(fate.deletion_timestamp is not None for fate in victims)
    number = "" if n_going == len(victims) else f"{n_going} of them "
    return f", {number}already being deleted" if n_going else ""


def deletions(victims: Sequence[VictimFateData]) -> Iterator[str]:
    """Yield the end of each deletion that has already begun, one sentence per victim."""
    for fate in victims:
        if fate.deletion_timestamp is not None:
            end = f"{fate.deletion_timestamp:%H:%M:%S} UTC"
            when = f"until {end} at the latest ({duration(fate.wait_seconds)})"
            yield f"{fate.name} is already being deleted, {when if fate.wait_seconds else f'overdue since {end}'}."


def preemptor_words(after: NextData) -> str:
    """Return when and where the pod can start, as a sentence; ``fates`` adds the outcome for the victims."""
    fate, in_vain = after.preemptor, in_vain_words(after)
    if in_vain:
        rounds = f", {len(fate.evicted)} more evictions later" if fate is not None and fate.evicted else ""
        return f"It stays pending{rounds}: {in_vain}."
    gone = "the victim is gone" if len(after.victims) == 1 else f"all {len(after.victims)} victims are gone"
    stop = f"within {duration(after.wait_seconds)}" if after.wait_seconds else "at once"
    if fate is None or (fate.node == after.node and not fate.evicted):
        slowest = [each.name for each in after.victims if each.wait_seconds == after.wait_seconds]
        whose = f", the grace period of {listed(slowest, most=3)}" if 2 * len(slowest) <= len(after.victims) else ""
        rivals = dict.fromkeys(each.other_scheduler for each in after.victims if each.owner and each.other_scheduler)
        unless = f", unless {listed(list(rivals), 'or')} takes the place first" if rivals else ""
        return f"It can start as soon as {gone}: {stop}{whose}{unless}."
    evicting = f"evicts {listed(fate.evicted, most=3)} as well, and " if fate.evicted else ""
    return f"It {evicting}starts on {fate.node} after about {duration(round(fate.seconds))}."


def returning(victims: Sequence[VictimFateData]) -> Iterator[str]:
    """Yield the outcome for the victims of a pod that evicts them in vain, as it is simulated."""
    places: dict[str, list[VictimFateData]] = {}
    for fate in victims:
        if fate.owner is not None:
            places.setdefault(fate.returns_to, []).append(fate)
    for node, alike in places.items():
        names = listed([fate.name for fate in alike])
        makers = listed(list(dict.fromkeys(owner_words(fate.owner) for fate in alike)))
        where = f"scheduled to {node}" if node else "pending"
        yield f"{makers} recreates {names}: {'it is' if len(alike) == 1 else 'each is'} {where}."
    yield from _gone(victims)


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
            remade.setdefault(_replaced(fate), []).append(fate)
    for outcome, alike in remade.items():
        makers = listed(list(dict.fromkeys(owner_words(fate.owner) for fate in alike)))
        names = listed([fate.name for fate in alike])
        if len(alike) == 1:
            yield f"{makers} creates a new pod for {names}: it would {outcome}."
        else:
            yield f"New pods are created for {names} ({makers}): each would {outcome}."
    yield from _gone(victims)


def _gone(victims: Sequence[VictimFateData]) -> Iterator[str]:
    alone = [fate.name for fate in victims if fate.owner is None]
    if alone:
        verb, them = ("is", "it") if len(alone) == 1 else ("are", "them")
        yield f"{listed(alone)} {verb} gone for good: no controller recreates {them}."


def _replaced(fate: VictimFateData) -> str:
    new = fate.replacement
    if new is None:
        return f"be scheduled by another scheduler{f' ({fate.other_scheduler})' if fate.other_scheduler else ''}"
    if new.nodes:
        return f"fit on {listed(new.nodes, 'or')}"
    if new.evicting:
        return f"preempt other pods in turn, on {listed(new.evicting, 'or')}"
    return f"fit nowhere ({_first_sentence(new.message)})"


def _first_sentence(message: str) -> str:
    return message.partition(". ")[0].removesuffix(".")


def running(victim: VictimData) -> str:
    """Return the time for which a victim has been running, or its start date."""
    if victim.started_at is None:
        return "not started"
    if victim.running_seconds is None:
        return f"since {victim.started_at:%Y-%m-%d}"
    return duration(victim.running_seconds)


def owner_words(owner: OwnerData | None) -> str:
    """Return the kind and name of a controller; ``-`` for none."""
    return f"{owner.kind} {owner.name}" if owner is not None else "-"
