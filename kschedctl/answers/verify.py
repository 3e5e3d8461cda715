"""The comparison of all answers for a snapshot with kube-scheduler's."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, Data
from kschedctl.answers.explain import StatusData


class Match(StrEnum):
    """The result of comparing our answer for a pending pod with the stored one."""

    EQUAL = "equal"
    DIFFERENT = "different"
    NOT_TRIED = "notTried"
    OTHER_SCHEDULER = "otherScheduler"


class Standing(StrEnum):
    """The meaning of a running pod that would not fit on its node any more, from the strongest to the weakest."""

    DIFFERENT = "different"
    CHANGED = "changed"
    CORDONED = "cordoned"
    WHAT_IF = "whatIf"


_Causes = Annotated[tuple[str, ...], Meta(description="Why that may be, the likeliest first.")]


class PendingCountsData(Data, frozen=True):
    """How many pending pods there are of each kind."""

    equal: Annotated[int, Meta(description="Our message is the stored one.")]
    different: Annotated[int, Meta(description="It is another.")]
    not_tried: Annotated[int, Meta(description="No message is stored.")]
    other_scheduler: Annotated[int, Meta(description="They name a scheduler that the configuration does not have.")]


class BoundCountsData(Data, frozen=True):
    """How many pods on nodes there are of each kind."""

    feasible: Annotated[int, Meta(description="They would still fit on their node.")]
    infeasible: Annotated[int, Meta(description="They would not, for whatever reason.")]
    different: Annotated[int, Meta(description="Those of them of which no later change explains it.")]
    changed: Annotated[int, Meta(description="Those of them of which a later change may explain it.")]
    cordoned: Annotated[int, Meta(description="Those of them whose node is cordoned, which leaves its pods alone.")]
    what_if: Annotated[int, Meta(description="Those of them that fit without the what-ifs.")]
    other_scheduler: Annotated[int, Meta(description="They name a scheduler that the configuration does not have.")]
    static: Annotated[int, Meta(description="Kubelets made them without a scheduler.")]
    lost: Annotated[int, Meta(description="The snapshot does not have their node.")]


class ComparedPodData(Data, frozen=True):
    """Which pod."""

    namespace: str
    name: str

    @property
    def key(self) -> str:
        """``NAMESPACE/NAME``."""
        return f"{self.namespace}/{self.name}"


class BoundPodData(ComparedPodData, frozen=True):
    """Which pod, and where it runs."""

    node: str


class PendingGroupData(Data, frozen=True):
    """Pending pods with the same messages."""

    outcome: Match
    theirs: Annotated[str, Meta(description="What kube-scheduler stored in the condition PodScheduled.")]
    ours: Annotated[str, Meta(description="What we say; empty where another scheduler is responsible.")]
    causes: _Causes
    pods: tuple[ComparedPodData, ...]


class InfeasibleGroupData(Data, frozen=True):
    """Pods that would not fit on their nodes any more, for the same reason."""

    standing: Annotated[
        Standing,
        Meta(
            description="different: no later change explains it; changed: one may; cordoned: it leaves pods alone; "
            "whatIf: without the what-ifs they fit. Only the first is a difference."
        ),
    ]
    status: Annotated[StatusData, Meta(description="The refusal that says most, in kube-scheduler's words.")]
    causes: _Causes
    pods: tuple[BoundPodData, ...]


class RecordedCaseData(Data, frozen=True):
    """The case that was written."""

    path: str
    pod: Annotated[ComparedPodData, Meta(description="The pod in the snapshot that it is about.")]
    objects: Annotated[int, Meta(description="How many objects it has.")]


class Verification(ClusterAnswer, frozen=True, kw_only=True, tag="Verification"):
    """All answers of a snapshot compared with what kube-scheduler did."""

    equal: Annotated[bool, Meta(description="Whether there is no difference.")]
    summary: Annotated[str, Meta(description="One or two sentences.")]
    pending: PendingCountsData
    bound: BoundCountsData
    pending_groups: tuple[PendingGroupData, ...]
    infeasible_groups: tuple[InfeasibleGroupData, ...]
    recorded: Annotated[RecordedCaseData | None, Meta(description="With --record: what was written.")] = None

    @property
    def yes(self) -> bool:
        """True if nothing differs."""
        return self.equal

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The pods that differ, a line each."""
        differing: list[ComparedPodData] = []
        for group in self.pending_groups:
            differing += group.pods if group.outcome is Match.DIFFERENT else ()
        for infeasible in self.infeasible_groups:
            differing += infeasible.pods if infeasible.standing is Standing.DIFFERENT else ()
        return tuple(f"pod/{pod.key}" for pod in differing)
