"""The answer of ``rollout``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer
from kschedctl.answers.explain import WorkloadData
from kschedctl.answers.simulate import PlacementData
from kschedctl.simulate.rollout_steps import RolloutStep, RolloutWaiting


class RolledOut(ClusterAnswer, frozen=True, kw_only=True, tag="Rollout"):
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
    waiting: tuple[RolloutWaiting, ...]
    steps: tuple[RolloutStep, ...]
    placements: Annotated[tuple[PlacementData, ...], Meta(description="The new pods that have a node.")]

    @property
    def yes(self) -> bool:
        """True if the rollout finishes."""
        return self.finished

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The new pods with their nodes, a line each: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)
