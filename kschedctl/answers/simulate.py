"""The answer of ``simulate``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, Data
from kschedctl.answers.cures import CureData
from kschedctl.simulate.timeline import TimelineEntry


class PlacementData(Data, frozen=True):
    """A pod that was scheduled, and its node."""

    pod: Annotated[str, Meta(description="The pod, as namespace/name.")]
    node: str


class WorkloadPlacementData(Data, frozen=True):
    """The outcome for the pods of one workload, or for pods without one."""

    kind: Annotated[str, Meta(description="The kind of the pods' controller; Pod for pods without one.")]
    namespace: str
    name: str
    pods: Annotated[int, Meta(description="The number of pods to schedule.")]
    placed: int
    nodes: Annotated[dict[str, int], Meta(description="The number of pods that were scheduled to each node.")]
    zones: Annotated[
        dict[str, int],
        Meta(description="The number of pods that were scheduled to each zone, without nodes that have no zone label."),
    ]


class WaitingData(Data, frozen=True):
    """Pods that stay pending for the same reason."""

    message: Annotated[str, Meta(description="The last message of kube-scheduler, or that of the scheduling gate.")]
    gated: Annotated[bool, Meta(description="True if the pods were never tried because of a scheduling gate.")]
    attempts: Annotated[int, Meta(description="The number of scheduling attempts of all these pods together.")]
    pods: Annotated[tuple[str, ...], Meta(description="The pods, as namespace/name.")]
    cause: Annotated[
        str, Meta(description="The cause in one clause, with names and numbers; empty if no pod of them was tried.")
    ] = ""


class EvictionData(Data, frozen=True):
    """A pod that was preempted."""

    pod: Annotated[str, Meta(description="The pod, as namespace/name.")]
    node: str
    time: datetime
    by: Annotated[str, Meta(description="The pod that preempted it.")]
    made_again: Annotated[
        str, Meta(description="The pod that its controller creates in its place; empty if there is none (yet).")
    ] = ""
    lost: Annotated[
        bool, Meta(description="True if the pod is gone and no controller recreates it: it is lost for good.")
    ] = False


class SlowestPodData(Data, frozen=True):
    """The evicted pod that takes longest to stop."""

    pod: Annotated[str, Meta(description="The pod, as namespace/name.")]
    node: str
    grace_seconds: Annotated[int, Meta(description="Its termination grace period, in seconds.")]


class UtilisationData(Data, frozen=True):
    """The requests of the pods on nodes, by resource and zone."""

    zone: Annotated[str, Meta(description="The zone; empty for all nodes together.")]
    resource: str
    allocatable: Annotated[int, Meta(description="The allocatable amount of the nodes: milli-CPU, bytes or a count.")]
    before: Annotated[int, Meta(description="The requested amount before the simulation, in the same unit.")]
    after: int


class SimulatedAttemptData(Data, frozen=True):
    """A scheduling attempt: one scheduling cycle of a pod."""

    time: datetime
    pod: Annotated[str, Meta(description="The pod, as namespace/name.")]
    number: Annotated[int, Meta(description="The number of the pod's attempt, from 1.")]
    node: Annotated[str, Meta(description="The node that the pod was scheduled to; empty if there was none.")]
    waits: Annotated[bool, Meta(description="True if a Permit plugin delayed the pod, so that it was not bound yet.")]
    best: Annotated[
        tuple[str, ...], Meta(description="The nodes with the highest score, one of which is picked at random.")
    ]
    message: Annotated[
        str, Meta(description="The reason why the pod was not scheduled, in kube-scheduler's words; empty if it was.")
    ]
    nominated: Annotated[
        str, Meta(description="The node that the pod was nominated to by preemption; empty if there is none.")
    ]
    victims: tuple[str, ...]


class Simulated(ClusterAnswer, frozen=True, kw_only=True, tag="Simulation"):
    """The outcome for many pods that are scheduled one after another."""

    summary: str
    finished: Annotated[
        bool,
        Meta(description="True if the simulation finished; false if the answer covers only the part that was done."),
    ]
    chance: Annotated[str, Meta(description="The tie-breaking rule among nodes with equal scores.")]
    began: Annotated[datetime, Meta(description="The start time, by the virtual clock.")]
    seconds: Annotated[float, Meta(description="The duration, in seconds of the virtual clock.")]
    pods: Annotated[int, Meta(description="The number of pods to schedule, including recreated ones.")]
    placed: int
    waiting: Annotated[tuple[WaitingData, ...], Meta(description="The pods that are pending at the end, by reason.")]
    cures: Annotated[
        tuple[CureData, ...],
        Meta(description="Changes with which the first pod of each of the largest groups would be scheduled."),
    ]
    evicted: tuple[EvictionData, ...]
    workloads: tuple[WorkloadPlacementData, ...]
    placements: tuple[PlacementData, ...]
    utilisation: tuple[UtilisationData, ...]
    attempts: tuple[SimulatedAttemptData, ...]
    timeline: tuple[TimelineEntry, ...]
    slowest: Annotated[
        SlowestPodData | None,
        Meta(description="The evicted pod with the longest grace period; null if no pod takes time to stop."),
    ] = None

    @property
    def yes(self) -> bool:
        """True if all pods were scheduled."""
        return not self.waiting

    @property
    def interrupted(self) -> bool:
        """True if the run was cancelled before its end."""
        return not self.finished

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the placements, one line per pod: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)
