"""Who would be evicted, as data: what ``preempt -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/preempt.json`` describes it and is made from these types.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import AnswerList, ClusterAnswer, Data
from kschedctl.answers.explain import NodeData, PodData, StatusData, WorkloadData


class Result(StrEnum):
    """What becomes of a pod."""

    FITS = "fits"
    PREEMPTS = "preempts"
    NOT_HELPFUL = "notHelpful"
    NOT_ELIGIBLE = "notEligible"
    DISABLED = "disabled"
    GATED = "gated"
    ERROR = "error"


class PreemptVerdictData(Data, frozen=True):
    """What comes of it."""

    result: Annotated[Result, Meta(description="Whether it fits, evicts others, cannot be helped so, or may not.")]
    summary: Annotated[str, Meta(description="One or two sentences.")]
    nodes: Annotated[
        tuple[str, ...], Meta(description="Where it goes or is nominated to; chance decides among several.")
    ]
    picked: Annotated[str | None, Meta(description="The only one of them, or the one a seed picked.")]
    violates_budget: Annotated[bool, Meta(description="Whether an eviction there breaks a disruption budget.")]


class OwnerData(Data, frozen=True):
    """The controller of a pod."""

    kind: str
    name: str


class BudgetData(Data, frozen=True):
    """A disruption budget that covers a victim."""

    name: Annotated[str, Meta(description="As namespace/name.")]
    allowed: Annotated[int, Meta(description="How many disruptions it allows now.")]
    evicted: Annotated[int, Meta(description="How many victims on the node it covers.")]
    below: Annotated[int, Meta(description="How many more that is than it allows.")]
    violated: Annotated[bool, Meta(description="Whether kube-scheduler counts this victim as a violation of it.")]


class VictimData(Data, frozen=True):
    """A pod that would be evicted."""

    name: Annotated[str, Meta(description="As namespace/name.")]
    priority: int
    priority_class_name: str
    started_at: Annotated[datetime | None, Meta(description="null where it has not started.")]
    running_seconds: Annotated[
        int | None,
        Meta(description="How long it has been running; null where when the snapshot was taken is not known."),
    ]
    terminating: Annotated[bool, Meta(description="Whether it is being deleted already.")]
    owner: Annotated[OwnerData | None, Meta(description="Its controller, if any.")]
    grace_seconds: Annotated[int, Meta(description="How long it may take to stop.")]
    violates: Annotated[bool, Meta(description="Whether its eviction breaks a disruption budget.")]
    budgets: tuple[BudgetData, ...]


class LostAtData(Data, frozen=True):
    """The criterion at which a candidate lost."""

    number: Annotated[int, Meta(description="Its place in kube-scheduler's order, from 1.")]
    criterion: str
    has: Annotated[
        int, Meta(description="What the candidate has: a count, a priority, a sum, or microseconds since 1970.")
    ]
    against: Annotated[int, Meta(description="What the winner has.")]


class PreemptCandidateData(Data, frozen=True):
    """A node that evictions would make room on."""

    name: str
    zone: str
    victims: Annotated[tuple[VictimData, ...], Meta(description="The most important first.")]
    pdb_violations: Annotated[int, Meta(description="How many evictions break a disruption budget.")]
    lost_at: Annotated[LostAtData | None, Meta(description="null for those that chance decides among.")]


class Cause(StrEnum):
    """Why evicting pods does not help on a node."""

    STILL_DOES_NOT_FIT = "stillDoesNotFit"
    DECLINED = "declined"
    NO_LOWER_PRIORITY = "noLowerPriority"
    UNRESOLVABLE = "unresolvable"
    ERROR = "error"


class NotHelpfulData(NodeData, frozen=True):
    """A node on which evicting pods does not help, and who says so once they are gone."""

    cause: Cause


class ReplacementData(Data, frozen=True):
    """Where the new pod would go that a controller makes in place of a victim."""

    nodes: Annotated[tuple[str, ...], Meta(description="Chance decides among several; none where it fits nowhere.")]
    message: Annotated[str, Meta(description="What kube-scheduler would write where it fits nowhere.")]
    evicting: Annotated[tuple[str, ...], Meta(description="The nodes that it would make room on in turn.")]


class FateData(Data, frozen=True):
    """What becomes of a victim."""

    name: Annotated[str, Meta(description="As namespace/name.")]
    owner: Annotated[OwnerData | None, Meta(description="Who makes a new pod in its place; null for nobody.")]
    bound_to_node: Annotated[bool, Meta(description="Whether the new pod can run on the same node alone (DaemonSet).")]
    replacement: Annotated[ReplacementData | None, Meta(description="null where none is made, or it is not known.")]


class NextData(Data, frozen=True):
    """What happens once a node is taken."""

    node: Annotated[str, Meta(description="The node; where chance decides, the one picked or else the first.")]
    wait_seconds: Annotated[int, Meta(description="When at the latest the pod can start: the longest grace period.")]
    victims: tuple[FateData, ...]
    loses_nomination: Annotated[tuple[str, ...], Meta(description="Pods that are no longer nominated to the node.")]


class Preemption(ClusterAnswer, frozen=True, kw_only=True):
    """The answer for one pod."""

    pod: PodData
    workload: Annotated[WorkloadData | None, Meta(description="null for a pod that stands for itself.")] = None
    verdict: PreemptVerdictData
    status: Annotated[StatusData | None, Meta(description="What DefaultPreemption says; null where it is not asked.")]
    candidates: Annotated[tuple[PreemptCandidateData, ...], Meta(description="The nominated first, then the closest.")]
    not_helpful: Annotated[tuple[NotHelpfulData, ...], Meta(description="The nodes where evicting pods does not help.")]
    not_looked_at: Annotated[int, Meta(description="How many nodes are left out for --min-candidate-nodes.")]
    candidates_enough: Annotated[
        int | None, Meta(description="At how many candidates kube-scheduler stops, where there are more; else null.")
    ]
    next: NextData | None
    preemption_message: Annotated[str, Meta(description="The part of the event that preemption adds.")]
    message: Annotated[str, Meta(description="The text of the FailedScheduling event; empty where the pod fits.")]

    @property
    def helped(self) -> bool:
        """Whether the pod would be scheduled, now or once its victims are gone."""
        return self.verdict.result in (Result.FITS, Result.PREEMPTS)

    @property
    def chosen(self) -> tuple[PreemptCandidateData, ...]:
        """The candidates that can be taken: the one a seed picked, else all that chance decides among."""
        picked = self.verdict.picked
        return tuple(c for c in self.candidates if c.lost_at is None and picked in (None, c.name))

    @property
    def yes(self) -> bool:
        """True if the pod would be scheduled, now or once its victims are gone."""
        return self.helped

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The victims, a line each; of several pods each line starts with the pod: ``pod/NAMESPACE/NAME VICTIM``."""
        start = "" if single else f"pod/{self.pod.namespace}/{self.pod.name} "
        return tuple(f"{start}{victim.name}" for candidate in self.chosen for victim in candidate.victims)


class PreemptionList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods."""

    items: tuple[Preemption, ...]


class TakerData(Data, frozen=True):
    """A pending pod that would evict the pod in question."""

    name: Annotated[str, Meta(description="As namespace/name.")]
    priority: int
    priority_class_name: str
    node: str
    certain: Annotated[bool, Meta(description="Whether chance has no say.")]
    violates_budget: Annotated[bool, Meta(description="Whether this eviction breaks a disruption budget.")]


class Threat(ClusterAnswer, frozen=True, kw_only=True):
    """Who would evict a pod."""

    victim: Annotated[str, Meta(description="As namespace/name.")]
    priority: int
    priority_class_name: str
    node: str
    summary: str
    takers: Annotated[tuple[TakerData, ...], Meta(description="Highest priority first.")]
    safe_priority: Annotated[
        int | None, Meta(description="From which priority on none would; null where none would now.")
    ]
    safe_class: Annotated[str, Meta(description="The lowest PriorityClass that has it; empty where there is none.")]
    pending: Annotated[int, Meta(description="How many pending pods were asked.")]

    @property
    def yes(self) -> bool:
        """True if no pending pod would evict it."""
        return not self.takers

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The pods that would evict it, a line each."""
        return tuple(taker.name for taker in self.takers)
