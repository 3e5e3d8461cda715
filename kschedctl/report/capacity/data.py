"""How many copies of pods more fit, as data: what ``capacity -o json`` prints and what its text is made of.

The form is part of the public interface. ``schema/capacity.json`` describes it and is made from these types.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from kschedctl.report.envelope import Answer, AnswerList, Data, json_schema
from kschedctl.report.explain.data import NodeData, PodData


class RoomData(Data, frozen=True):
    """A node that takes copies."""

    node: str
    zone: Annotated[str, Meta(description="Of its label; empty where it has none.")]
    copies: int


class ZoneRoomData(Data, frozen=True):
    """The copies that a zone takes."""

    zone: Annotated[str, Meta(description="Empty for nodes without one.")]
    nodes: Annotated[int, Meta(description="How many nodes take any.")]
    copies: int


class PodCapacity(Answer, frozen=True, kw_only=True, tag="Capacity"):
    """How many copies of one pod more fit, one after another."""

    summary: str
    name: Annotated[str, Meta(description="What is copied: a pod, or a workload's pods.")]
    pod: PodData
    copies: Annotated[int, Meta(description="How many more fit.")]
    bounded: Annotated[bool, Meta(description="Whether more may fit than were looked for (--max).")]
    nodes: Annotated[tuple[RoomData, ...], Meta(description="Where they go, the most first.")]
    zones: tuple[ZoneRoomData, ...]
    message: Annotated[str, Meta(description="What kube-scheduler writes for the next one; empty where it fits.")]
    refusals: Annotated[tuple[NodeData, ...], Meta(description="What stops the next one, node by node.")]

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The nodes with the number of copies, a line each; of several pods each line starts with what is copied."""
        start = "" if single else f"{self.name} "
        return tuple(f"{start}node/{room.node} {room.copies}" for room in self.nodes)


class CapacityList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods, each by itself."""

    items: tuple[PodCapacity, ...]


def schema() -> dict[str, Any]:
    """The JSON Schema of what ``-o json`` prints."""
    return json_schema("capacity", "One answer, or a list of them where several are meant.", PodCapacity, CapacityList)
