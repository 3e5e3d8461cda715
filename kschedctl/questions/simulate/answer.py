"""The answer of ``simulate``."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from kschedctl.questions.answer import ClusterAnswer, Data
from kschedctl.questions.answer_parts import CureData
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineTable


class PlacementData(Data, frozen=True):
    """A pod that was scheduled, and its node."""

    pod: Annotated[str, "The pod, as namespace/name."]
    node: Annotated[str, "The node that the pod is bound to."]


class WorkloadPlacementData(Data, frozen=True):
    """The outcome for the pods of one workload, or for pods without one."""

    kind: Annotated[str, "The kind of the pods' controller; Pod for pods without one."]
    namespace: Annotated[str, "The namespace of the workload."]
    name: Annotated[str, "The name of the workload."]
    pods: Annotated[int, "The number of pods to schedule."]
    placed: Annotated[int, "The number of pods that got a node."]
    nodes: Annotated[dict[str, int], "The number of pods that were scheduled to each node."]
    zones: Annotated[
        dict[str, int], "The number of pods that were scheduled to each zone, without nodes that have no zone label."
    ]


class WaitingData(Data, frozen=True):
    """Pods that stay pending for the same reason."""

    message: Annotated[str, "The last message of kube-scheduler, or that of the scheduling gate."]
    gated: Annotated[bool, "True if the pods were never tried because of a scheduling gate."]
    attempts: Annotated[int, "The number of scheduling attempts of all these pods together."]
    pods: Annotated[tuple[str, ...], "The pods, as namespace/name."]
    cause: Annotated[str, "The cause in one clause, with names and numbers; empty if no pod of them was tried."] = ""
    group: Annotated[
        str,
        "The PodGroup of the pods, as namespace/name; empty for pods that are tried by themselves. The message "
        "and the cause are then those of the group.",
    ] = ""


class EvictionData(Data, frozen=True):
    """A pod that was preempted."""

    pod: Annotated[str, "The pod, as namespace/name."]
    node: Annotated[str, "The node that the pod is evicted from."]
    time: Annotated[datetime, "The time of the eviction on the virtual clock."]
    by: Annotated[str, "The pod that preempted it; `pod group NAMESPACE/NAME` if a group did."]
    made_again: Annotated[str, "The pod that its controller creates in its place; empty if there is none (yet)."] = ""
    lost: Annotated[bool, "True if the pod is gone and no controller recreates it: it is lost for good."] = False


class SlowestPodData(Data, frozen=True):
    """The evicted pod that takes longest to stop."""

    pod: Annotated[str, "The pod, as namespace/name."]
    node: Annotated[str, "The node that it is evicted from."]
    grace_seconds: Annotated[int, "Its termination grace period, in seconds."]


class UtilisationData(Data, frozen=True):
    """The requests of the pods on nodes, by resource and zone."""

    zone: Annotated[str, "The zone; empty for all nodes together."]
    resource: Annotated[str, "The name of the resource."]
    allocatable: Annotated[str, "The allocatable amount of the nodes, as a quantity."]
    before: Annotated[str, "The requested amount before the simulation, as a quantity."]
    after: Annotated[str, "The requested amount after the simulation, as a quantity."]


class SimulatedAttemptData(Data, frozen=True):
    """A scheduling attempt: one scheduling cycle of a pod."""

    time: Annotated[datetime, "The time of the attempt on the virtual clock."]
    pod: Annotated[str, "The pod, as namespace/name."]
    number: Annotated[int, "The number of the pod's attempt, from 1."]
    node: Annotated[str, "The node that the pod was scheduled to; empty if there was none."]
    waits: Annotated[bool, "True if a Permit plugin delayed the pod, so that it was not bound yet."]
    best: Annotated[tuple[str, ...], "The nodes with the highest score, one of which is picked at random."]
    message: Annotated[str, "The reason why the pod was not scheduled, in kube-scheduler's words; empty if it was."]
    nominated: Annotated[str, "The node that the pod was nominated to by preemption; empty if there is none."]
    victims: Annotated[tuple[str, ...], "The pods that the attempt evicts, as namespace/name."]
    group: Annotated[str, "The PodGroup that the pod was tried with, as namespace/name; empty if by itself."] = ""


class GroupResult(StrEnum):
    """The result for a pod group at the end of a simulation."""

    PLACED = "placed"
    PART = "placedInPart"
    WAITING = "waiting"
    GATED = "gated"


class SimulatedGroupData(Data, frozen=True):
    """The outcome for a pod group that has pods to schedule."""

    namespace: Annotated[str, "The namespace of the PodGroup."]
    name: Annotated[str, "The name of the PodGroup."]
    tree: Annotated[
        str, "The CompositePodGroup with which it is tried, as namespace/name; empty if it is tried by itself."
    ]
    min_count: Annotated[
        int | None, "minCount of the gang; null for the basic policy, and if the PodGroup does not exist."
    ]
    pods: Annotated[int, "The number of its pods at the end."]
    placed: Annotated[int, "The number of its pods that have a node at the end."]
    result: Annotated[
        GroupResult,
        "placed: all pods have a node; placedInPart: the gang is scheduled, but some pods have no node; waiting: "
        "it was tried and is not scheduled; gated: it was never tried.",
    ]
    attempts: Annotated[int, "The number of attempts at the group."]
    message: Annotated[str, "The last message of kube-scheduler about the group; empty if all pods have a node."]
    cause: Annotated[str, "The cause in one clause; empty if all pods have a node."]
    count: Annotated[
        str,
        "The number of members that find a node in the last attempt, and the number that is needed, in words; "
        "empty if all pods have a node, the group was never tried, or the attempt ended with an error.",
    ]
    waiting: Annotated[tuple[str, ...], "Its pods without a node at the end, as namespace/name."]

    @property
    def key(self) -> str:
        """The group's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class SimulatedGroupAttemptData(Data, frozen=True):
    """An attempt at a pod group: its members are tried together."""

    time: Annotated[datetime, "The time of the attempt on the virtual clock."]
    group: Annotated[str, "The PodGroup, as namespace/name."]
    outcome: Annotated[GroupOutcome, "The outcome of the attempt."]
    members: Annotated[tuple[str, ...], "The members that were tried, as namespace/name, in their order."]
    fitting: Annotated[int, "The number of these that find a node, in the placement in which most do."]
    placement: Annotated[
        str, "The value of the topology label whose nodes the group is scheduled to; empty if there is none."
    ]
    message: Annotated[str, "The message of the group; empty if it is scheduled."]
    victims: Annotated[tuple[str, ...], "The pods that the attempt evicts, as namespace/name."]


class Simulated(ClusterAnswer, TimelineTable, frozen=True, kw_only=True, tag="Simulation"):
    """The outcome for many pods that are scheduled one after another."""

    summary: Annotated[str, "The result in one sentence."]
    interrupted: Annotated[
        bool, "True if the run was cancelled, so that the answer covers only the part that was done."
    ]
    chance: Annotated[str, "The tie-breaking rule among nodes with equal scores."]
    began: Annotated[datetime, "The start time, by the virtual clock."]
    seconds: Annotated[float, "The duration, in seconds of the virtual clock."]
    pods: Annotated[int, "The number of pods to schedule, including recreated ones."]
    placed: Annotated[int, "The number of pods that got a node."]
    waiting: Annotated[tuple[WaitingData, ...], "The pods that are pending at the end, by reason."]
    cures: Annotated[
        tuple[CureData, ...], "Changes with which the first pod of each of the largest groups would be scheduled."
    ]
    ended: Annotated[
        tuple[str, ...], "The pods that were being deleted at the start and are gone at the end, as namespace/name."
    ]
    evicted: Annotated[tuple[EvictionData, ...], "The pods that were evicted."]
    workloads: Annotated[tuple[WorkloadPlacementData, ...], "The outcome by workload."]
    placements: Annotated[tuple[PlacementData, ...], "The pods that got a node, with their nodes."]
    utilisation: Annotated[tuple[UtilisationData, ...], "The requests before and after, over all nodes and by zone."]
    attempts: Annotated[tuple[SimulatedAttemptData, ...], "The scheduling attempts, in the order of time."]
    timeline: Annotated[tuple[TimelineEntry, ...], "The events besides the attempts, in the order of time."]
    groups: Annotated[
        tuple[SimulatedGroupData, ...], "The outcome by pod group; empty without the feature gates of pod groups."
    ] = ()
    group_attempts: Annotated[
        tuple[SimulatedGroupAttemptData, ...],
        "The attempts at pod groups, in the order of time; `attempts` has one entry per member.",
    ] = ()
    slowest: Annotated[
        SlowestPodData | None, "The evicted pod with the longest grace period; null if no pod takes time to stop."
    ] = None

    @property
    def yes(self) -> bool:
        """True if all pods were scheduled."""
        return not self.waiting

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the placements, one line per pod: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)
