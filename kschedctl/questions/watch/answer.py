"""The lines of ``watch -o jsonl``, one object per line: first the provenance of all answers, then events of pods.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from datetime import datetime
from typing import Annotated

from kschedctl.common.wording import counted
from kschedctl.questions.answer import ClusterAnswer, CompoundAnswer, Data, MissingData, NotModelledData
from kschedctl.questions.answer_parts import CureData, DiagnosisData, PodGroupData
from kschedctl.scheduler.cycle.outcome import Outcome

_At = Annotated[datetime, "The time of the line."]


class NodeGroupData(Data, frozen=True):
    """Nodes that are rejected for the same reasons."""

    nodes: Annotated[int, "The number of nodes."]
    plugin: Annotated[str, "The plugin that rejects the nodes."]
    reasons: Annotated[tuple[str, ...], "The reasons, in the scheduler's own words."]


class PreemptionHelpData(Data, frozen=True):
    """The result of preemption."""

    nodes: Annotated[int, "The number of nodes that can be nominated, one of which is picked at random."]
    node: Annotated[str, "The first of these nodes by name."]
    victims: Annotated[tuple[str, ...], "The pods that would be evicted on that node, as namespace/name."]


class WatchBegun(ClusterAnswer, frozen=True, kw_only=True):
    """The first line: the cluster has been listed and is watched; its rules apply to all lines."""

    at: _At
    context: Annotated[str, "The name of the kubectl context."]
    pods: Annotated[str, "The selection of pods, in words."]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        return ()


class _OfPod(CompoundAnswer, frozen=True, kw_only=True):
    """Base of the lines about a pod."""

    at: _At
    namespace: Annotated[str, "The namespace of the pod."]
    name: Annotated[str, "The name of the pod."]
    uid: Annotated[str, "The UID of the pod."]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        return (f"pod/{self.namespace}/{self.name}",)


class PodWaits(_OfPod, frozen=True, kw_only=True):
    """A change of the answer for a pending pod."""

    result: Annotated[
        Outcome,
        "The outcome: the pod fits, fits nowhere, is not tried because of a scheduling gate, or the cycle fails.",
    ]
    message: Annotated[str, "The reason why the pod is not scheduled, in the scheduler's words; empty if it fits."]
    diagnoses: Annotated[
        tuple[DiagnosisData, ...], "The causes at this moment, the most important first; empty if the pod fits."
    ]
    cures: Annotated[
        tuple[CureData, ...], "Changes with which the pod is scheduled; only in the first line about a pod."
    ]
    groups: Annotated[tuple[NodeGroupData, ...], "The rejected nodes by reason, largest group first."]
    closest: Annotated[
        str, "The node that comes closest and what it lacks at this moment; empty if that cannot be measured."
    ]
    preemption: Annotated[PreemptionHelpData | None, "The result of preemption; null if it would not help."]
    missing: Annotated[tuple[MissingData, ...], "The objects that the answer depends on and that are not known."]
    not_modelled: Annotated[
        tuple[NotModelledData, ...], "The features that the answer depends on and that are not modelled."
    ]
    again: Annotated[bool, "True if another answer for this pod was printed before."]

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes, the most important first."""
        return tuple(each.cause for each in self.diagnoses)

    @property
    def hints(self) -> tuple[str, ...]:
        """The closest node and the result of preemption, in words; empty if neither is known."""
        found = [self.closest] if self.closest else []
        if self.preemption is not None:
            room = self.preemption
            whom = room.victims[0] if len(room.victims) == 1 else counted(len(room.victims), "pod")
            where = room.node if room.nodes == 1 else f"{room.nodes} nodes such as {room.node}"
            found.append(f"preemption would help on {where}, evicting {whom}")
        return tuple(found)


class GroupWaits(PodWaits, frozen=True, kw_only=True):
    """A change of the answer for the pending pods of a PodGroup, which are tried together."""

    namespace: Annotated[str, "The namespace of the PodGroup."]
    name: Annotated[str, "The name of the PodGroup."]
    uid: Annotated[str, "The UID of the PodGroup; empty if it does not exist."]
    pods: Annotated[tuple[str, ...], "Its pending pods with this answer, as namespace/name."]
    group: Annotated[PodGroupData | None, "The decision for the PodGroup; null if the group is not tried."]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        return (f"podgroup/{self.namespace}/{self.name}",)

    @property
    def title(self) -> str:
        """The group in words, with the number of its pods."""
        title = self.group.title if self.group is not None else f"pod group {self.namespace}/{self.name}"
        return f"{title} ({counted(len(self.pods), 'pod')})"

    @property
    def causes(self) -> tuple[str, ...]:
        causes = tuple(each.cause for each in self.diagnoses)
        if self.group is None or self.result is not Outcome.UNSCHEDULABLE:
            return causes
        return ("; ".join((self.group.count, *causes[:1])), *causes[1:])


class PodPlaced(_OfPod, frozen=True, kw_only=True):
    """A pod of an earlier line that has been bound to a node."""

    node: Annotated[str, "The node that the pod is bound to."]


class PodGone(_OfPod, frozen=True, kw_only=True):
    """A pod of an earlier line that is deleted or being deleted."""


class WatchStale(CompoundAnswer, frozen=True, kw_only=True):
    """The cluster cannot be watched: answers can be out of date until the line ``WatchCurrent``."""

    at: _At
    age: Annotated[float, "The time since the stalest kind was last up to date, in seconds."]
    kinds: Annotated[int, "The number of kinds that cannot be watched."]
    problem: Annotated[str, "The cause of the last failure. Another cause is another line."]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        return ()


class WatchCurrent(CompoundAnswer, frozen=True, kw_only=True):
    """The cluster is watched again: the following answers are current."""

    at: _At
    after: Annotated[float, "The duration of the standstill, in seconds."]
    failures: Annotated[int, "The number of requests that failed."]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        return ()


OfWatch = WatchBegun | WatchStale | WatchCurrent
OfPod = PodWaits | GroupWaits | PodPlaced | PodGone
Line = OfWatch | OfPod
