"""How many copies of pods more fit, as data: what ``capacity -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/capacity.json`` describes it and is made from these types.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import AnswerList, ClusterAnswer, Data
from kschedctl.answers.explain import NodeData, PodData


class NodeCopiesData(Data, frozen=True):
    """A node that takes copies."""

    node: str
    zone: Annotated[str, Meta(description="Of its label; empty where it has none.")]
    copies: int


class ZoneCopiesData(Data, frozen=True):
    """The copies that a zone takes."""

    zone: Annotated[str, Meta(description="Empty for nodes without one.")]
    nodes: Annotated[int, Meta(description="How many nodes take any.")]
    copies: int


class PodCapacity(ClusterAnswer, frozen=True, kw_only=True, tag="Capacity"):
    """How many copies of one pod more fit, one after another."""

    summary: str
    name: Annotated[str, Meta(description="What is copied: a pod, or a workload's pods.")]
    pod: PodData
    copies: Annotated[int, Meta(description="How many more fit.")]
    bounded: Annotated[bool, Meta(description="Whether more may fit than were looked for (--max).")]
    nodes: Annotated[tuple[NodeCopiesData, ...], Meta(description="Where they go, the most first.")]
    zones: tuple[ZoneCopiesData, ...]
    message: Annotated[str, Meta(description="What kube-scheduler writes for the next one; empty where it fits.")]
    refusals: Annotated[tuple[NodeData, ...], Meta(description="What stops the next one, node by node.")]

    @property
    def copied(self) -> str:
        """The pod that is copied, as namespace/name; the name of a copy has its number behind a plus sign."""
        return self.pod.key.partition("+")[0]

    @property
    def yes(self) -> bool:
        """True if at least one more copy fits."""
        return self.copies > 0

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The nodes with the number of copies, a line each; of several pods each line starts with what is copied."""
        start = "" if single else f"{self.name} "
        return tuple(f"{start}node/{room.node} {room.copies}" for room in self.nodes)


class CapacityList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods, each by itself."""

    items: tuple[PodCapacity, ...]
