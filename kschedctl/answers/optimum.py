"""The best placement beside the multi-step one, as data: what ``optimum -o json`` prints and its text is made of.

The form is part of the public interface. ``schema/optimum.json`` describes it and is made from these types.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from kschedctl.answers.base import ClusterAnswer, Data


class Lever(StrEnum):
    """The kind of an adjustment."""

    ORDER = "order"
    PRIORITY = "priority"
    REQUESTS = "requests"


class GoalData(Data, frozen=True):
    """One goal, those before it coming first, and how far both get."""

    goal: str
    maximize: Annotated[bool, Meta(description="Whether more is better.")]
    multi_step: Annotated[int, Meta(description="What the scheduler comes to, one pod after another.")]
    optimum: int
    bound: Annotated[
        int | None,
        Meta(description="What no placement surpasses that is as good in the goals before; null where not known."),
    ]
    proven: Annotated[bool, Meta(description="Whether no placement is better.")]
    gap_percent: Annotated[float | None, Meta(description="How far the bound is away; null where it is not known.")]


class OptimumWorkloadData(Data, frozen=True):
    """What becomes of the pods of one workload, or of pods without one."""

    kind: Annotated[str, Meta(description="The kind of their controller; Pod for those without.")]
    namespace: str
    name: str
    pods: Annotated[int, Meta(description="How many of its pods wait.")]
    multi_step: Annotated[int, Meta(description="How many of them the scheduler places, one after another.")]
    optimum: Annotated[int, Meta(description="How many the best placement has.")]
    nodes: Annotated[dict[str, int], Meta(description="How many of them the best placement has on each node.")]


class OptimumPlacementData(Data, frozen=True):
    """A pod of the best placement."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    node: str
    multi_step_node: Annotated[str, Meta(description="Where the scheduler puts it; empty where it waits.")]
    again: Annotated[bool, Meta(description="Whether it comes in place of one of that name that is evicted.")]


class OptimumEvictionData(Data, frozen=True):
    """A pod that is evicted."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    node: str


class WayData(Data, frozen=True):
    """A change with which the scheduler gets there by itself, as a simulation has shown."""

    lever: Lever
    what: str
    workloads: Annotated[tuple[str, ...], Meta(description="The workloads of the pods, in their order, with counts.")]
    pods: Annotated[
        tuple[str, ...], Meta(description="The pods that it is about; of an order all, in which they arrive.")
    ]
    evicted: Annotated[int, Meta(description="How many pods are evicted then.")]


class Optimum(ClusterAnswer, frozen=True, kw_only=True, tag="Optimum"):
    """The best placement of all pods at once beside the scheduler's own, one after another."""

    summary: str
    proven: Annotated[bool, Meta(description="Whether no placement is better in any goal.")]
    goals: tuple[GoalData, ...]
    pods: Annotated[int, Meta(description="How many pods wait for a node.")]
    finished: Annotated[
        bool, Meta(description="Whether the scheduler comes to an end, or pods evict each other for ever.")
    ]
    multi_step_placed: int
    placed: Annotated[int, Meta(description="How many of them the best placement has on nodes.")]
    stranded: Annotated[
        tuple[str, ...],
        Meta(description="Pods that the scheduler leaves waiting and the best placement has on a node."),
    ]
    waiting: Annotated[tuple[str, ...], Meta(description="Pods that find no node in the best placement either.")]
    gated: Annotated[tuple[str, ...], Meta(description="Pods that wait at a gate and so take no part.")]
    workloads: tuple[OptimumWorkloadData, ...]
    placements: Annotated[
        tuple[OptimumPlacementData, ...], Meta(description="In an order in which the filters let every pod pass.")
    ]
    evicted: tuple[OptimumEvictionData, ...]
    multi_step_evicted: tuple[OptimumEvictionData, ...]
    ways: tuple[WayData, ...]
    refused: Annotated[int, Meta(description="How many solutions the filters refused before.")]

    @property
    def yes(self) -> bool:
        """True if the best placement has all pods on nodes."""
        return not self.waiting and not self.gated

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The placements, a line each: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)


class BoughtKindData(Data, frozen=True):
    """A kind of node of the catalog that is bought."""

    kind: str
    nodes: Annotated[int, Meta(description="How many.")]
    price: Annotated[str, Meta(description="Of one, as the catalog has it.")]
    cost: Annotated[str, Meta(description="Of all of them.")]


class BoughtNodeData(Data, frozen=True):
    """A node that is bought, and who goes there."""

    node: str
    kind: str
    pods: Annotated[tuple[str, ...], Meta(description="As namespace/name.")]


class Purchased(ClusterAnswer, frozen=True, kw_only=True, tag="Purchase"):
    """The cheapest nodes with which all pods that wait find a place."""

    summary: str
    proven: Annotated[bool, Meta(description="Whether no cheaper ones do, nor place more.")]
    cost: Annotated[str, Meta(description="Of all that is bought.")]
    least_cost: Annotated[
        str | None, Meta(description="What no purchase is cheaper than that places as many; null where not known.")
    ]
    pods: Annotated[int, Meta(description="How many pods wait for a node.")]
    placed: Annotated[int, Meta(description="How many of them have a node then.")]
    multi_step_placed: Annotated[
        int, Meta(description="How many of them the scheduler places by itself, one after another, once it is bought.")
    ]
    waiting: Annotated[tuple[str, ...], Meta(description="Pods that no node of the catalog helps.")]
    kinds: tuple[BoughtKindData, ...]
    nodes: tuple[BoughtNodeData, ...]
    placements: Annotated[
        tuple[OptimumPlacementData, ...], Meta(description="In an order in which the filters let every pod pass.")
    ]
    objects: Annotated[tuple[dict[str, Any], ...], Meta(description="The bought nodes as manifests, as --apply takes.")]

    @property
    def yes(self) -> bool:
        """True if all pods have a node with the purchase."""
        return not self.waiting

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The bought nodes, a line each: ``node/NAME KIND``."""
        return tuple(f"node/{node.node} {node.kind}" for node in self.nodes)


class EmptiedNodeData(Data, frozen=True):
    """A node that is drained."""

    node: str
    evicted: Annotated[tuple[str, ...], Meta(description="Who is evicted, in order, as namespace/name.")]
    waited: Annotated[
        dict[str, float], Meta(description="For how many seconds each budget, namespace/name, held evictions up.")
    ]


class Emptied(ClusterAnswer, frozen=True, kw_only=True, tag="EmptiedNodes"):
    """Which nodes could be emptied, in which order to drain them."""

    summary: str
    used: Annotated[int, Meta(description="How many nodes have pods that do not belong to the node.")]
    used_after: Annotated[int, Meta(description="How many have any in the end.")]
    fewest: Annotated[int | None, Meta(description="How many any placement needs; null where not known.")]
    proven: Annotated[bool, Meta(description="Whether no placement needs fewer nodes than are in use in the end.")]
    nodes: Annotated[tuple[EmptiedNodeData, ...], Meta(description="To be drained in this order, all cordoned before.")]
    cordoned: Annotated[tuple[str, ...], Meta(description="Nodes without pods to be cordoned before, to stay empty.")]
    placements: Annotated[dict[str, str], Meta(description="Where the pods are that are made again.")]
    given_up: Annotated[
        tuple[str, ...], Meta(description="Nodes that some placement empties, but no drain does by itself.")
    ]
    fixed: Annotated[tuple[str, ...], Meta(description="Nodes with pods that nobody makes again.")]

    @property
    def yes(self) -> bool:
        """True if a node could be emptied."""
        return bool(self.nodes)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The nodes, a line each."""
        return tuple(f"node/{node.node}" for node in self.nodes)
