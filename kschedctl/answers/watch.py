"""What ``watch -o jsonl`` prints, an object per line: first what all answers rest on, then what is said of pods.

The form is part of the public interface. ``schema/watch.json`` describes it and is made from these types.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, CompoundAnswer, Data, MissingData, NotModelledData
from kschedctl.api.wording import counted
from kschedctl.scheduler.outcome import Outcome

_At = Annotated[datetime, Meta(description="When it is said.")]


class NodeGroupData(Data, frozen=True):
    """Nodes that are out for the same reasons."""

    nodes: Annotated[int, Meta(description="How many.")]
    plugin: Annotated[str, Meta(description="The plugin that kube-scheduler stops at.")]
    reasons: Annotated[tuple[str, ...], Meta(description="The scheduler's own words.")]


class PreemptionHelpData(Data, frozen=True):
    """What preemption would do."""

    nodes: Annotated[int, Meta(description="On how many nodes it can fall; chance decides among several.")]
    node: Annotated[str, Meta(description="The first of them by name.")]
    victims: Annotated[tuple[str, ...], Meta(description="Whom it would evict there, as namespace/name.")]


class WatchBegun(ClusterAnswer, frozen=True, kw_only=True):
    """The first line: the cluster was listed, and is watched from now on; the rules hold for all lines."""

    at: _At
    context: Annotated[str, Meta(description="The name of the context.")]
    pods: Annotated[str, Meta(description="Which pods are meant.")]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Nothing."""
        return ()


class _OfPod(CompoundAnswer, frozen=True, kw_only=True):
    """What is said of a pod."""

    at: _At
    namespace: str
    name: str
    uid: str

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The pod."""
        return (f"pod/{self.namespace}/{self.name}",)


class PodWaits(_OfPod, frozen=True, kw_only=True):
    """The answer for a pod that waits is another than the one before."""

    result: Annotated[Outcome, Meta(description="It fits by now, fits nowhere, is not tried, or fails.")]
    message: Annotated[str, Meta(description="Why it is not scheduled, in the scheduler's words; empty where it fits.")]
    groups: Annotated[tuple[NodeGroupData, ...], Meta(description="What the nodes are out for, the most first.")]
    closest: Annotated[
        str,
        Meta(description="Which node comes closest and what it lacks at this moment; empty where nothing tells."),
    ]
    preemption: Annotated[PreemptionHelpData | None, Meta(description="null where it would not help.")]
    missing: Annotated[tuple[MissingData, ...], Meta(description="What bears on the answer and is not known.")]
    not_modelled: tuple[NotModelledData, ...]
    again: Annotated[bool, Meta(description="Whether another answer of this pod was told before.")]

    @property
    def hints(self) -> tuple[str, ...]:
        """The closest node, and what preemption would do, in words; empty where neither is known."""
        found = [self.closest] if self.closest else []
        if self.preemption is not None:
            room = self.preemption
            whom = room.victims[0] if len(room.victims) == 1 else counted(len(room.victims), "pod")
            where = room.node if room.nodes == 1 else f"{room.nodes} nodes such as {room.node}"
            found.append(f"preemption would help on {where}, evicting {whom}")
        return tuple(found)


class PodPlaced(_OfPod, frozen=True, kw_only=True):
    """A pod that an answer was told of has got a node."""

    node: str


class PodGone(_OfPod, frozen=True, kw_only=True):
    """A pod that an answer was told of is gone, or on its way."""


Line = WatchBegun | PodWaits | PodPlaced | PodGone
