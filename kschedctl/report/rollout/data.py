"""What becomes of a rollout, as data: what ``rollout -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/rollout.json`` describes it and is made from these types.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from kschedctl.report.envelope import Answer, Data, json_schema
from kschedctl.report.explain.data import WorkloadData
from kschedctl.report.simulate.data import PlacementData
from kschedctl.simulate.revisions import Side


class RolloutStepData(Data, frozen=True):
    """One thing that the workload's controller does."""

    number: Annotated[int, Meta(description="From 1.")]
    time: datetime
    seconds: Annotated[float, Meta(description="How long after the first one, by the virtual clock.")]
    revision: Annotated[Side, Meta(description="Which revision gets more or fewer pods.")]
    before: Annotated[int, Meta(description="How many pods of it there are, those that are going not counted.")]
    after: int
    pods: Annotated[tuple[str, ...], Meta(description="Those that come or go, as namespace/name.")]
    available: Annotated[int, Meta(description="How many pods of the workload are available right after it.")]


class RolloutWaitingData(Data, frozen=True):
    """Pods of the workload that wait for the same reason."""

    message: Annotated[str, Meta(description="What kube-scheduler said last, or what holds them back at a gate.")]
    new: Annotated[tuple[str, ...], Meta(description="Those of the new revision, as namespace/name.")]
    old: tuple[str, ...]


class RolledOut(Answer, frozen=True, kw_only=True, tag="Rollout"):
    """What becomes of a rollout."""

    summary: str
    workload: WorkloadData
    strategy: Annotated[str, Meta(description="How the workload brings a new revision in.")]
    finished: Annotated[bool, Meta(description="Whether all pods are replaced that are to be, and available.")]
    held: Annotated[str, Meta(description="Why nothing happens by itself; empty where pods wait, or it finishes.")]
    old: Annotated[int, Meta(description="How many pods of another revision there were.")]
    left: Annotated[int, Meta(description="How many of them are there in the end.")]
    kept: Annotated[int, Meta(description="How many pods are to stay: those below the partition of a StatefulSet.")]
    available_before: Annotated[int, Meta(description="How many pods were available at first.")]
    available_least: Annotated[int, Meta(description="How many were available at the worst time.")]
    available_promised: Annotated[int, Meta(description="How many the strategy keeps available, where all are first.")]
    seconds: Annotated[float, Meta(description="How long it takes by the virtual clock, or until nothing moves.")]
    waiting: tuple[RolloutWaitingData, ...]
    steps: tuple[RolloutStepData, ...]
    placements: Annotated[tuple[PlacementData, ...], Meta(description="The new pods that have a node.")]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The new pods with their nodes, a line each: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``-o json`` prints."""
    return json_schema("rollout", "What becomes of a rollout.", RolledOut)
