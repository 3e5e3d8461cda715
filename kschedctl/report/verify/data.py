"""Our answers beside kube-scheduler's as data: what ``verify -o json`` prints and its text is made of.

The form is part of the public interface. ``schema/verify.json`` describes it and is made from these types.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from kschedctl.report.envelope import Answer, Data, json_schema
from kschedctl.report.explain.data import StatusData
from kschedctl.scheduler.verify import Match


class PendingCountsData(Data, frozen=True):
    """How many pending pods there are of each kind."""

    equal: Annotated[int, Meta(description="Our message is the stored one.")]
    different: Annotated[int, Meta(description="It is another.")]
    not_tried: Annotated[int, Meta(description="No message is stored.")]
    other_scheduler: Annotated[int, Meta(description="They name a scheduler that the configuration does not have.")]


class BoundCountsData(Data, frozen=True):
    """How many pods on nodes there are of each kind."""

    feasible: Annotated[int, Meta(description="They would still fit on their node.")]
    infeasible: Annotated[int, Meta(description="They would not.")]
    other_scheduler: Annotated[int, Meta(description="They name a scheduler that the configuration does not have.")]
    static: Annotated[int, Meta(description="Kubelets made them without a scheduler.")]
    lost: Annotated[int, Meta(description="The snapshot does not have their node.")]


class PendingPodData(Data, frozen=True):
    """A pending pod."""

    namespace: str
    name: str
    scheduler_name: str
    outcome: Match
    theirs: Annotated[str, Meta(description="What kube-scheduler stored in the condition PodScheduled.")]
    ours: Annotated[str, Meta(description="What we say; empty where another scheduler is responsible.")]
    causes: Annotated[tuple[str, ...], Meta(description="Why they may differ, the likeliest first.")]


class InfeasiblePodData(Data, frozen=True):
    """A pod that would not fit on its node any more."""

    namespace: str
    name: str
    node: str
    status: Annotated[StatusData, Meta(description="What kube-scheduler would stop at.")]
    causes: Annotated[tuple[str, ...], Meta(description="Why that may be, the likeliest first.")]


class VerificationData(Answer, frozen=True, kw_only=True, tag="Verification"):
    """All answers of a snapshot compared with what kube-scheduler did."""

    equal: Annotated[bool, Meta(description="Whether there is no difference.")]
    summary: Annotated[str, Meta(description="One or two sentences.")]
    pending: PendingCountsData
    bound: BoundCountsData
    pending_pods: tuple[PendingPodData, ...]
    infeasible_pods: tuple[InfeasiblePodData, ...]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The pods that differ, a line each."""
        names = [(pod.namespace, pod.name) for pod in self.pending_pods if pod.outcome is Match.DIFFERENT]
        names += [(pod.namespace, pod.name) for pod in self.infeasible_pods]
        return tuple(f"pod/{namespace}/{name}" for namespace, name in names)


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``-o json`` prints."""
    return json_schema("verify", "All answers of a snapshot compared with what kube-scheduler did.", VerificationData)
