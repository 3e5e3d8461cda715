"""The changes for pods between two sides: snapshots, each under a release's rules and a configuration."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from kschedctl.answers.base import CompoundAnswer, Data, Envelope


class SideOutcome(StrEnum):
    """What comes of a pod on one side."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    ERROR = "error"
    ABSENT = "absent"
    OTHER_SCHEDULER = "otherScheduler"


class Part(StrEnum):
    """What of an answer changes."""

    PLACE = "place"
    OUTCOME = "outcome"
    WINNER = "winner"
    VICTIMS = "victims"
    NODES = "nodes"
    SCORES = "scores"
    MESSAGE = "message"


class OutcomeData(Data, frozen=True):
    """What comes of a pod on one side."""

    outcome: Annotated[SideOutcome, Meta(description="As in explain; absent where the side does not have the pod.")]
    node_name: Annotated[str, Meta(description="Where it runs; it is decided for as if it did not.")] = ""
    nodes: Annotated[tuple[str, ...], Meta(description="The nodes that it can go to.")] = ()
    feasible_nodes: Annotated[int, Meta(description="On how many nodes it fits.")] = 0
    victims: Annotated[
        dict[str, tuple[str, ...]], Meta(description="Whom preemption would evict, by the nodes it can fall on.")
    ] = field(default_factory=dict)
    message: Annotated[str, Meta(description="The text of the FailedScheduling event; empty where the pod fits.")] = ""
    error: Annotated[str, Meta(description="Why kube-scheduler gives up; empty where it does not.")] = ""


class NodeOutcomeData(Data, frozen=True):
    """What is said of a node on one side."""

    fits: bool
    plugin: Annotated[str, Meta(description="The plugin that kube-scheduler stops at; empty where the pod fits.")]
    reasons: Annotated[tuple[str, ...], Meta(description="What that plugin says, in the scheduler's own words.")]
    score: Annotated[int | None, Meta(description="The total; null where nothing was scored.")]
    scores: Annotated[dict[str, int], Meta(description="By plugin, times its weight.")]


class NodeChangeData(Data, frozen=True):
    """A node of which something else is said."""

    name: str
    before: Annotated[NodeOutcomeData | None, Meta(description="null where that side does not have the node.")]
    after: Annotated[NodeOutcomeData | None, Meta(description="null where that side does not have the node.")]


class PodChangeData(Data, frozen=True):
    """A pod for which something changes."""

    namespace: str
    name: str
    summary: Annotated[tuple[str, ...], Meta(description="What changes, in words; equal for pods that change alike.")]
    parts: Annotated[tuple[Part, ...], Meta(description="What of the answer changes.")]
    worse: Annotated[bool, Meta(description="Whether it had a node, or would have got one, and now gets none.")]
    before: OutcomeData
    after: OutcomeData
    nodes: Annotated[
        tuple[NodeChangeData, ...] | None,
        Meta(
            description="The nodes of which something else is said; null where so many pods are compared that they "
            "are left out: ask about this pod alone."
        ),
    ]

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class SideData(Envelope, frozen=True, kw_only=True):
    """One of the two sides."""

    config: Annotated[str, Meta(description="The file with the scheduler's configuration; empty for none.")]


class Diff(CompoundAnswer, frozen=True, kw_only=True):
    """What changes from one side to the other."""

    before: SideData
    after: SideData
    summary: Annotated[str, Meta(description="Who loses and who moves, in one or two sentences.")]
    pods: Annotated[int, Meta(description="How many pods were compared.")]
    changed: tuple[PodChangeData, ...]
    nodes_gone: Annotated[tuple[str, ...], Meta(description="Nodes that only the first side has.")]
    nodes_new: Annotated[tuple[str, ...], Meta(description="Nodes that only the second side has.")]

    @property
    def yes(self) -> bool:
        """True if nothing changes but scores."""
        return all(pod.parts == (Part.SCORES,) for pod in self.changed)

    @property
    def complete(self) -> bool:
        """True if nothing puts either side in doubt."""
        return self.before.complete and self.after.complete

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The pods that change, a line each."""
        return tuple(pod.key for pod in self.changed)
