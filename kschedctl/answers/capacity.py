"""The remaining capacity for copies of pods, as data: printed by ``capacity -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import AnswerList, ClusterAnswer, Data
from kschedctl.answers.explain import NodeData, PodData


class NodeCopiesData(Data, frozen=True):
    """A node that copies are scheduled to."""

    node: Annotated[str, Meta(description="The node.")]
    zone: Annotated[str, Meta(description="The value of the node's zone label; empty if the node has none.")]
    copies: Annotated[int, Meta(description="The number of copies.")]


class ZoneCopiesData(Data, frozen=True):
    """The copies that are scheduled to a zone."""

    zone: Annotated[str, Meta(description="The zone; empty for the nodes without a zone label.")]
    nodes: Annotated[int, Meta(description="The number of nodes in the zone with at least one copy.")]
    copies: Annotated[int, Meta(description="The number of copies.")]


class PodCapacity(ClusterAnswer, frozen=True, kw_only=True, tag="Capacity"):
    """The number of further copies of one pod that fit, scheduled one after another without preemption."""

    summary: Annotated[str, Meta(description="The result in one sentence.")]
    name: Annotated[str, Meta(description="The pod or workload that is copied, with its kind.")]
    pod: Annotated[PodData, Meta(description="The pod that is copied.")]
    copies: Annotated[int, Meta(description="The number of further copies that fit.")]
    bounded: Annotated[
        bool, Meta(description="True if the count stopped at the limit (--max), so that more copies may fit.")
    ]
    nodes: Annotated[
        tuple[NodeCopiesData, ...], Meta(description="The nodes that the copies are scheduled to, most copies first.")
    ]
    zones: Annotated[tuple[ZoneCopiesData, ...], Meta(description="The copies by zone.")]
    message: Annotated[
        str, Meta(description="The message of kube-scheduler for the next copy; empty if that copy fits.")
    ]
    refusals: Annotated[
        tuple[NodeData, ...], Meta(description="The nodes that reject the next copy, with the reasons.")
    ]

    @property
    def copied(self) -> str:
        """The name of the copied pod, as namespace/name, without the "+NUMBER" suffix of copies."""
        return self.pod.key.partition("+")[0]

    @property
    def yes(self) -> bool:
        """True if at least one more copy fits."""
        return self.copies > 0

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return one line per node with its copies, ``node/NAME COPIES``, after the copied object unless ``single``."""
        start = "" if single else f"{self.name} "
        return tuple(f"{start}node/{room.node} {room.copies}" for room in self.nodes)


class CapacityList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods, each computed independently."""

    items: Annotated[tuple[PodCapacity, ...], Meta(description="The answers, one per pod.")]
