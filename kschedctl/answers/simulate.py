"""The answer of ``simulate``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, Data
from kschedctl.simulate.timeline import TimelineEntry


class PlacementData(Data, frozen=True):
    """A pod that got a node."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    node: str


class WorkloadPlacementData(Data, frozen=True):
    """What became of the pods of one workload, or of pods without one."""

    kind: Annotated[str, Meta(description="The kind of their controller; Pod for those without.")]
    namespace: str
    name: str
    pods: Annotated[int, Meta(description="How many of its pods were to be placed.")]
    placed: int
    nodes: Annotated[dict[str, int], Meta(description="How many of them went to each node.")]
    zones: Annotated[dict[str, int], Meta(description="How many of them went to each zone; nodes without one aside.")]


class WaitingData(Data, frozen=True):
    """Pods that wait for the same reason."""

    message: Annotated[str, Meta(description="What kube-scheduler said last, or what holds them back at a gate.")]
    gated: Annotated[bool, Meta(description="Whether they were not tried at all.")]
    attempts: Annotated[int, Meta(description="How often they were tried together.")]
    pods: Annotated[tuple[str, ...], Meta(description="As namespace/name.")]


class EvictionData(Data, frozen=True):
    """A pod that was evicted for another one."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    node: str
    time: datetime
    by: Annotated[str, Meta(description="The pod that it made room for.")]


class UtilisationData(Data, frozen=True):
    """How much of a resource the pods on nodes request."""

    zone: Annotated[str, Meta(description="Empty for all nodes together.")]
    resource: str
    allocatable: Annotated[int, Meta(description="What the nodes offer: milli-CPU, bytes or a count.")]
    before: Annotated[int, Meta(description="What was requested before, in the same unit.")]
    after: int


class SimulatedAttemptData(Data, frozen=True):
    """One scheduling cycle."""

    time: datetime
    pod: Annotated[str, Meta(description="As namespace/name.")]
    number: Annotated[int, Meta(description="Which attempt of the pod it was, from 1.")]
    node: Annotated[str, Meta(description="Where it went; empty where nowhere.")]
    waits: Annotated[bool, Meta(description="Whether a Permit plugin let it wait, so that it was not bound yet.")]
    best: Annotated[tuple[str, ...], Meta(description="The nodes that chance decides among.")]
    message: Annotated[str, Meta(description="Why it went nowhere, in kube-scheduler's words.")]
    nominated: Annotated[str, Meta(description="The node that is made room on for it.")]
    victims: tuple[str, ...]


class Simulated(ClusterAnswer, frozen=True, kw_only=True, tag="Simulation"):
    """What came of many pods, one after another."""

    summary: str
    finished: Annotated[bool, Meta(description="Whether it came to its end; else this is what was done so far.")]
    chance: Annotated[str, Meta(description="How it was settled which of equal nodes a pod goes to.")]
    began: Annotated[datetime, Meta(description="When it began, by the virtual clock.")]
    seconds: Annotated[float, Meta(description="How long it took by the virtual clock.")]
    pods: Annotated[int, Meta(description="How many pods were to be placed, those made again included.")]
    placed: int
    waiting: Annotated[tuple[WaitingData, ...], Meta(description="The pods that wait in the end, in groups.")]
    evicted: tuple[EvictionData, ...]
    workloads: tuple[WorkloadPlacementData, ...]
    placements: tuple[PlacementData, ...]
    utilisation: tuple[UtilisationData, ...]
    attempts: tuple[SimulatedAttemptData, ...]
    timeline: tuple[TimelineEntry, ...]

    @property
    def yes(self) -> bool:
        """True if all pods got a node."""
        return not self.waiting

    @property
    def interrupted(self) -> bool:
        """True if the run was cancelled before its end."""
        return not self.finished

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The placements, a line each: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)
