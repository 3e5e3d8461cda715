"""The outcome of one scheduling cycle in a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from kschedctl.objects.core import Condition
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision
from kschedctl.trials.simulate.alike_pods import RankedDecision


@dataclass(slots=True)
class GroupAttempt:
    """An attempt at a pod group, shared by the attempts of its members.

    Attributes
    ----------
    key : str
        The group's ``namespace/name``.
    decision : PodGroupDecision or None
        The decision for the group; ``None`` while the attempt is under way, or if all members are being deleted.
    condition : Condition or None
        The condition that was written on the PodGroup; ``None`` if nothing was written.
    picks : list of (str, str)
        Every search for a node, in order: the pod and the node, which is empty if none was found. The group is tried
        once per placement, and again for preemption.
    victims : tuple of str
        The pods that are evicted for the group or its members, ``namespace/name`` in order.
    skipped : tuple of str
        The members that left the queue without being tried, because they are being deleted: ``namespace/name``. Where
        pods are queued, only the pod whose turn it was.
    """

    key: str
    decision: PodGroupDecision | None = None
    condition: Condition | None = None
    picks: list[tuple[str, str]] = field(default_factory=list)
    victims: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def outcome(self) -> GroupOutcome:
        """The outcome; a group is preempting if it, or a member for itself, evicts pods or keeps a nomination."""
        decision = self.decision
        settled = GroupOutcome.SCHEDULED, GroupOutcome.ERROR
        if decision is not None and decision.outcome in settled:
            return decision.outcome
        nominated = decision is not None and any(member.nominated for member in decision.members)
        return GroupOutcome.PREEMPTING if self.victims or nominated else GroupOutcome.UNSCHEDULABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A scheduling cycle and its outcome.

    Attributes
    ----------
    time : datetime
        The time of the cycle, by the virtual clock.
    pod : str
        The pod's ``namespace/name``.
    number : int
        The number of the attempt for this pod, from 1.
    search : Decision or RankedDecision
        The scheduler's decision, over the cluster at that time, or what is known of it before it is made.
    node : str
        The node that the pod is bound to; empty if there is none.
    waits : bool
        True if a Permit plugin lets the pod wait, so that it is not bound yet.
    message : str
        The reason why the pod is not scheduled, in the scheduler's words; empty if it is.
    nominated : str
        The node on which capacity is freed for the pod; empty if there is none.
    victims : tuple of str
        The pods that are evicted for this pod, ``namespace/name`` in order.
    group : GroupAttempt or None
        The attempt at the pod's group; ``None`` for a pod that is tried by itself.
    """

    time: datetime
    pod: str
    number: int
    search: Decision | RankedDecision
    node: str = ""
    waits: bool = False
    message: str = ""
    nominated: str = ""
    victims: tuple[str, ...] = ()
    group: GroupAttempt | None = None

    @property
    def decision(self) -> Decision:
        """The scheduler's decision, over the cluster at that time; it may be made when it is first read."""
        return self.search if isinstance(self.search, Decision) else self.search.decision

    @property
    def part_of_group(self) -> Decision:
        """The decision for the pod; for a member of a pod group as part of the decision for the group."""
        decision = self.group.decision if self.group is not None else None
        return decision.of_member(self.decision.pod) if decision is not None else self.decision
