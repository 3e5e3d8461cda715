"""Preemption and its victims, as data: printed by ``preempt -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import structs

from kschedctl.common.wording import counted
from kschedctl.questions.answer import AnswerList, ClusterAnswer, Data
from kschedctl.questions.answer_parts import CureData, DiagnosisData, PodGroupData
from kschedctl.questions.explain.answer import NodeData, PodData, StatusData, WorkloadData


class Result(StrEnum):
    """The outcome for a pod."""

    FITS = "fits"
    PREEMPTS = "preempts"
    NOT_HELPFUL = "notHelpful"
    NOT_ELIGIBLE = "notEligible"
    DISABLED = "disabled"
    GATED = "gated"
    ERROR = "error"


class PreemptVerdictData(Data, frozen=True):
    """The verdict: whether the pod fits, whom it would preempt on which node, or why preemption does not help."""

    result: Annotated[
        Result,
        "The outcome: the pod fits, preempts others, preemption does not help or is not allowed, or the cycle fails.",
    ]
    summary: Annotated[str, "The result in one or two sentences."]
    nodes: Annotated[
        tuple[str, ...],
        "The nodes that the pod is scheduled or nominated to; kube-scheduler picks one of several at random.",
    ]
    picked: Annotated[
        str | None,
        "The only one of these nodes, or the one that the seed draws; null if there are several and no seed, or none.",
    ]
    violates_budget: Annotated[bool, "True if an eviction on the chosen node violates a disruption budget."]


class OwnerData(Data, frozen=True, gc=False):
    """The controller of a pod."""

    kind: Annotated[str, "The kind of the controller."]
    name: Annotated[str, "The name of the controller."]


class BudgetData(Data, frozen=True, gc=False):
    """A disruption budget that covers a victim."""

    name: Annotated[str, "The budget, as namespace/name."]
    allowed: Annotated[int, "The number of disruptions that the budget allows at the moment."]
    evicted: Annotated[int, "The number of victims on the node that the budget covers."]
    below: Annotated[int, "The number of victims in excess of the allowed disruptions."]
    violated: Annotated[bool, "True if kube-scheduler counts this victim as a violation of the budget."]


class VictimData(Data, frozen=True, gc=False):
    """An eviction victim."""

    name: Annotated[str, "The pod, as namespace/name."]
    priority: Annotated[int, "The priority of the victim."]
    priority_class_name: Annotated[str, "The PriorityClass of the victim; empty if it names none."]
    started_at: Annotated[datetime | None, "The start time of the pod; null if it has not started."]
    running_seconds: Annotated[
        int | None,
        "The time for which the pod has been running when the snapshot was taken, in seconds; null if either time "
        "is unknown.",
    ]
    terminating: Annotated[bool, "True if the pod is already being deleted."]
    owner: Annotated[OwnerData | None, "The controller of the pod; null if there is none."]
    grace_seconds: Annotated[int, "The termination grace period, in seconds."]
    violates: Annotated[bool, "True if the eviction violates a disruption budget."]
    budgets: Annotated[tuple[BudgetData, ...], "The disruption budgets that select the victim."]
    certain: Annotated[
        bool,
        "True if the pod is a victim in every order of the pods that tie; false if another pod of equal priority "
        "and start time can be evicted instead. Determined for the first 3 of the best candidates.",
    ] = True


class LostAtData(Data, frozen=True, gc=False):
    """The criterion at which a candidate lost against the chosen one."""

    number: Annotated[int, "The position of the criterion in kube-scheduler's order, from 1."]
    criterion: Annotated[str, "The criterion of kube-scheduler at which the candidate lost."]
    has: Annotated[int, "The value of the candidate: a count, a priority, a sum, or microseconds since 1970."]
    against: Annotated[int, "The value of the winner."]


class TiedVictimsData(Data, frozen=True, gc=False):
    """The sets of victims that are possible because pods tie in priority and start time.

    kube-scheduler evicts one of the sets, by the order of the tied pods in its cache, which a snapshot does not show.
    """

    count: Annotated[int, "The number of possible sets, counted up to 1000; at least this many if not complete."]
    complete: Annotated[bool, "True if all orders of the tied pods were tried; false if 120 random ones were."]
    sets: Annotated[tuple[tuple[str, ...], ...], "Up to 10 of the sets, each with its pods as namespace/name."]
    possible: Annotated[tuple[str, ...], "The pods that are in any of the sets, as namespace/name."]


class PreemptCandidateData(Data, frozen=True, gc=False):
    """A preemption candidate: a node and the victims on it."""

    name: Annotated[str, "The name of the node."]
    zone: Annotated[str, "The value of the node's zone label; empty if the node has none."]
    victims: Annotated[tuple[VictimData, ...], "The victims, most important first."]
    pdb_violations: Annotated[int, "The number of evictions that violate a disruption budget."]
    lost_at: Annotated[
        LostAtData | None,
        "The criterion at which the candidate lost; null for the best candidates, one of which is picked at random.",
    ]
    tied_victims: Annotated[
        TiedVictimsData | None,
        "The sets of victims between which chance decides; null if the victims are certain. Determined for the "
        "first 3 of the best candidates, and for the node that the seed draws.",
    ] = None


class Cause(StrEnum):
    """The cause for which evicting pods does not help on a node."""

    STILL_DOES_NOT_FIT = "stillDoesNotFit"
    DECLINED = "declined"
    NO_LOWER_PRIORITY = "noLowerPriority"
    UNRESOLVABLE = "unresolvable"
    ERROR = "error"


class NotHelpfulData(NodeData, frozen=True):
    """A node on which evicting pods does not help, with the rejection that remains without them."""

    cause: Annotated[Cause, "The rejection that remains when the pods of lower priority are gone."]


class ReplacementData(Data, frozen=True):
    """The decision for the pod that a controller creates in place of a victim."""

    nodes: Annotated[
        tuple[str, ...],
        "The nodes with the highest score, one of which is picked at random; empty if the pod fits nowhere.",
    ]
    message: Annotated[str, "The message of kube-scheduler if the pod fits nowhere."]
    evicting: Annotated[tuple[str, ...], "The nodes that the pod could be nominated to by preempting in turn."]


class VictimFateData(Data, frozen=True):
    """The outcome for a victim."""

    name: Annotated[str, "The pod, as namespace/name."]
    owner: Annotated[OwnerData | None, "The controller that creates a new pod in its place; null if there is none."]
    bound_to_node: Annotated[bool, "True if the new pod can run on the same node only (DaemonSet)."]
    replacement: Annotated[
        ReplacementData | None, "The decision for the new pod; null if there is no new pod, or its decision is unknown."
    ]
    returns_to: Annotated[
        str,
        "The node that the new pod is scheduled to before the pod itself, by the simulation; empty if there is none.",
    ] = ""
    wait_seconds: Annotated[
        int,
        "The longest time until the victim is gone, in seconds: its grace period, or the rest of it for a pod "
        "that is already being deleted.",
    ] = 0
    deletion_timestamp: Annotated[
        datetime | None, "The deletionTimestamp of a pod that is already being deleted; null for others."
    ] = None
    other_scheduler: Annotated[
        str, "The scheduler of the pod if no profile of kube-scheduler has its name; else empty."
    ] = ""


class PreemptorFate(StrEnum):
    """The outcome for a pod that preempts others."""

    SCHEDULED = "scheduled"
    STAYS_PENDING = "staysPending"
    VICTIMS_RETURN = "victimsReturn"


class PreemptorFateData(Data, frozen=True):
    """The outcome for the pod by a simulation of the evictions, in which no other pending pod is tried."""

    result: Annotated[
        PreemptorFate,
        "The outcome: the pod is scheduled, stays pending, or evicts pods without end because those that it "
        "evicts are recreated and scheduled before its next attempt.",
    ]
    node: Annotated[str, "The node that the pod is scheduled to; empty if it is not scheduled."]
    seconds: Annotated[float, "The time until the pod is scheduled or the simulation ends, in seconds of virtual time."]
    evicted: Annotated[tuple[str, ...], "The pods that it evicts after the first victims, as namespace/name, in order."]
    message: Annotated[str, "The last message of kube-scheduler about the pod; empty if it is scheduled."]


class NextData(Data, frozen=True):
    """The next steps after a candidate is chosen."""

    node: Annotated[str, "The chosen node: the one that the seed draws, else the first of the best candidates."]
    wait_seconds: Annotated[int, "The longest time until the pod can start, in seconds: until the last victim is gone."]
    victims: Annotated[tuple[VictimFateData, ...], "The fate of each victim."]
    loses_nomination: Annotated[tuple[str, ...], "The pods whose nomination to the node is cleared."]
    preemptor: Annotated[
        PreemptorFateData | None, "The outcome for the pod itself; null if kube-scheduler does not try the pod."
    ] = None

    @property
    def in_vain(self) -> bool:
        """True if the pod is not scheduled although the victims are evicted."""
        return self.preemptor is not None and self.preemptor.result is not PreemptorFate.SCHEDULED


class Preemption(ClusterAnswer, frozen=True, kw_only=True):
    """The answer for one pod."""

    summary: Annotated[str, "The result in one or two sentences, that of the verdict."] = ""
    pod: Annotated[PodData, "The pod that preempts."]
    workload: Annotated[
        WorkloadData | None, "The workload that the pod stands for; null if the pod itself was requested."
    ] = None
    group: Annotated[
        PodGroupData | None, "The decision for the pod's group, which evicts pods as a whole; null for a pod by itself."
    ] = None
    verdict: Annotated[PreemptVerdictData, "The result of preemption."]
    status: Annotated[StatusData | None, "The status that DefaultPreemption returns; null if it was not run."]
    candidates: Annotated[
        tuple[PreemptCandidateData, ...], "The candidates, those that can be nominated first, then the closest."
    ]
    not_helpful: Annotated[tuple[NotHelpfulData, ...], "The nodes on which evicting pods does not help."]
    not_looked_at: Annotated[int, "The number of nodes that were skipped because of --min-candidate-nodes."]
    candidates_enough: Annotated[
        int | None,
        "The number of candidates after which kube-scheduler stops its search; null if there are not more than that.",
    ]
    next: Annotated[NextData | None, "The next steps; null if no candidate is chosen."]
    preemption_message: Annotated[str, "The part of the event message that preemption adds."]
    message: Annotated[str, "The text of the FailedScheduling event; empty where the pod fits."]
    diagnoses: Annotated[
        tuple[DiagnosisData, ...], "The causes for which the pod does not fit, the first one first."
    ] = ()
    cures: Annotated[
        tuple[CureData, ...],
        "Changes with which the pod is scheduled; empty if it fits, or if preemption helps and no other scheduler can "
        "take the place that is freed.",
    ] = ()

    def __post_init__(self) -> None:
        structs.force_setattr(self, "summary", self.verdict.summary)

    @property
    def helped(self) -> bool:
        """True if the pod would be scheduled, at once or after its victims are gone."""
        if self.verdict.result is Result.PREEMPTS:
            return self.next is None or not self.next.in_vain
        return self.verdict.result is Result.FITS

    @property
    def chosen(self) -> tuple[PreemptCandidateData, ...]:
        """The candidates that can be nominated: the one that the seed draws, else all best ones."""
        picked = self.verdict.picked
        return tuple(c for c in self.candidates if c.lost_at is None and picked in (None, c.name))

    @property
    def yes(self) -> bool:
        """True if the pod would be scheduled, at once or after its victims are gone."""
        return self.helped

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the victims, one line per victim: ``pod/NAMESPACE/NAME``.

        If the answer is one of several, each line starts with the pod: ``pod/NAMESPACE/NAME pod/NAMESPACE/VICTIM``.
        """
        start = "" if single else f"pod/{self.pod.namespace}/{self.pod.name} "
        of_group = self.group.victims if self.group is not None else ()
        victims = [victim.name for candidate in self.chosen for victim in candidate.victims]
        return tuple(f"{start}pod/{name}" for name in (*victims, *(pod for unit in of_group for pod in unit.pods)))


class PreemptionList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods."""

    items: Annotated[tuple[Preemption, ...], "The answers, one per pod."]

    def summed_up(self) -> str:
        evicting = [a for a in self.items if a.verdict.result is Result.PREEMPTS]
        n_in_vain = sum(not a.helped for a in evicting)
        n_fitting = sum(a.verdict.result is Result.FITS for a in self.items)
        rest = len(self.items) - len(evicting) - n_fitting
        verdicts = (
            f"{n_fitting} {'fits' if n_fitting == 1 else 'fit'}",
            f"{len(evicting)} would evict others{f' ({n_in_vain} of them in vain)' if n_in_vain else ''}",
            f"{rest} {'stays' if rest == 1 else 'stay'} pending",
        )
        return f"{counted(len(self.items), 'pod')}: {', '.join(verdicts)}."


class TakerData(Data, frozen=True):
    """A pending pod that would preempt the pod in question."""

    name: Annotated[str, "The pod, as namespace/name."]
    priority: Annotated[int, "The priority of the pending pod."]
    priority_class_name: Annotated[str, "The PriorityClass of the pending pod; empty if it names none."]
    node: Annotated[str, "The node that the pending pod would be nominated to."]
    certain: Annotated[
        bool,
        "True if the victim is preempted whatever chance decides: the node, and the victims among pods that tie "
        "in priority and start time.",
    ]
    violates_budget: Annotated[bool, "True if this eviction violates a disruption budget."]


class Threat(ClusterAnswer, frozen=True, kw_only=True):
    """The pending pods that would preempt a pod."""

    victim: Annotated[str, "The pod, as namespace/name."]
    priority: Annotated[int, "The priority of the pod."]
    priority_class_name: Annotated[str, "The PriorityClass of the pod; empty if it names none."]
    node: Annotated[str, "The node of the pod."]
    summary: Annotated[str, "The result in one sentence."]
    takers: Annotated[tuple[TakerData, ...], "The pending pods that would preempt the pod, highest priority first."]
    safe_priority: Annotated[
        int | None, "The lowest priority at which none of the pending pods would preempt the pod; null if none does."
    ]
    safe_class: Annotated[str, "The lowest PriorityClass with at least that priority; empty if there is none."]
    pending: Annotated[int, "The number of pending pods."]

    @property
    def yes(self) -> bool:
        """True if no pending pod would preempt the pod."""
        return not self.takers

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the pending pods that would preempt the pod, one line per pod: ``NAMESPACE/NAME``."""
        return tuple(taker.name for taker in self.takers)
