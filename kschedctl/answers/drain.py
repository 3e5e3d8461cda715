"""The answer of ``drain``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, Data
from kschedctl.answers.simulate import EvictionData, WaitingData
from kschedctl.simulate.timeline import TimelineEntry


class RefusalData(Data, frozen=True):
    """Why nothing of a node is evicted."""

    message: Annotated[str, Meta(description="In the words of kubectl drain.")]
    pods: Annotated[tuple[str, ...], Meta(description="As namespace/name.")]


class MovedPodData(Data, frozen=True):
    """A pod that is evicted."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    made_again: Annotated[str, Meta(description="The pod that its controller makes instead; empty without one.")]
    node: Annotated[str, Meta(description="Where that goes; empty where it waits.")]


class BlockedPodData(Data, frozen=True):
    """A pod that may not be evicted, however long one waits."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    message: Annotated[str, Meta(description="In the words of the API server.")]


class HeldUpData(Data, frozen=True):
    """A disruption budget that evictions waited for."""

    budget: Annotated[str, Meta(description="As namespace/name.")]
    seconds: Annotated[float, Meta(description="For how long, by the virtual clock.")]


class DrainedNodeData(Data, frozen=True):
    """What becomes of one node."""

    node: str
    drained: Annotated[bool, Meta(description="Whether all of its pods go that should.")]
    seconds: Annotated[float, Meta(description="How long that takes, by the virtual clock.")]
    refusals: Annotated[tuple[RefusalData, ...], Meta(description="Why nothing is evicted; empty where something is.")]
    blocked: tuple[BlockedPodData, ...]
    held_up: tuple[HeldUpData, ...]
    moved: Annotated[tuple[MovedPodData, ...], Meta(description="The pods that are evicted, in order.")]
    staying: Annotated[tuple[str, ...], Meta(description="Pods of DaemonSets and mirror pods, as namespace/name.")]


class Drained(ClusterAnswer, frozen=True, kw_only=True, tag="Drain"):
    """What becomes of drained nodes and of their pods."""

    summary: str
    finished: Annotated[bool, Meta(description="Whether it came to its end; else this is what was done so far.")]
    rolling: Annotated[bool, Meta(description="Whether each node comes back before the next one is drained.")]
    chance: Annotated[str, Meta(description="How it was settled which of equal nodes a pod goes to.")]
    seconds: Annotated[float, Meta(description="How long it took by the virtual clock.")]
    nodes: Annotated[tuple[DrainedNodeData, ...], Meta(description="In the order of the drain.")]
    not_tried: Annotated[tuple[str, ...], Meta(description="Nodes that a rolling drain does not come to.")]
    waiting: Annotated[tuple[WaitingData, ...], Meta(description="The pods without a node in the end that had one.")]
    evicted: Annotated[tuple[EvictionData, ...], Meta(description="Pods elsewhere that are evicted for those moved.")]
    timeline: tuple[TimelineEntry, ...]

    @property
    def yes(self) -> bool:
        """True if all nodes can be drained and all pods that move find a node."""
        return all(node.drained for node in self.nodes) and not self.not_tried and not self.waiting

    @property
    def interrupted(self) -> bool:
        """True if the run was cancelled before its end."""
        return not self.finished

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The pods that move, a line each: ``pod/NAMESPACE/NAME node/NODE``, without a node where one waits."""
        moved = (pod for node in self.nodes for pod in node.moved)
        return tuple(f"pod/{pod.pod} node/{pod.node}" if pod.node else f"pod/{pod.pod}" for pod in moved)
