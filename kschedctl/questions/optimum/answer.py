"""The best placement compared with the multi-step one, as data: printed by ``optimum -o json``, the source of its text.

The multi-step placement is the scheduler's own, one pod after another. The form is part of the public interface.
``schema.json`` describes it and is made from these types.
"""

from typing import Annotated, Any, TypeAlias

from kschedctl.questions.answer import ClusterAnswer, Data
from kschedctl.trials.optimum.levers import Lever

#: The field of all three answers that says whether a longer search makes sense.
_Stalled: TypeAlias = Annotated[
    bool,
    "True if the search ended before a proof, as nothing better came for a while or little but the proof was missing; "
    "`--prove` goes on with it.",
]


class GoalData(Data, frozen=True):
    """A goal and its values in both placements; earlier goals take precedence over later ones."""

    goal: Annotated[str, "The name of the goal."]
    maximize: Annotated[bool, "True if a higher value is better."]
    multi_step: Annotated[int, "The value that the scheduler reaches, one pod after another."]
    optimum: Annotated[int, "The value in the best placement."]
    bound: Annotated[
        int | None,
        "The best value that is possible for any placement that is as good in all earlier goals; null if unknown.",
    ]
    proven: Annotated[bool, "True if the optimum is proven: no placement has a better value."]
    gap_percent: Annotated[
        float | None, "The distance from the optimum to the bound, in percent; null if the bound is unknown."
    ]


class OptimumWorkloadData(Data, frozen=True):
    """The outcome for the pods of one workload, or for pods without one."""

    kind: Annotated[str, "The kind of the pods' controller; Pod for pods without one."]
    namespace: Annotated[str, "The namespace of the workload."]
    name: Annotated[str, "The name of the workload."]
    pods: Annotated[int, "The number of pending pods."]
    multi_step: Annotated[int, "The number of pods that the scheduler places, one after another."]
    optimum: Annotated[int, "The number of pods that have a node in the best placement."]
    nodes: Annotated[dict[str, int], "The number of pods on each node in the best placement."]


class OptimumPlacementData(Data, frozen=True):
    """A pod and its node in the best placement."""

    pod: Annotated[str, "The pod, as namespace/name."]
    node: Annotated[str, "The node in the best placement."]
    multi_step_node: Annotated[str, "The node that the scheduler chooses; empty if the pod stays pending there."]
    again: Annotated[bool, "True if the pod replaces an evicted pod of the same name."]


class OptimumEvictionData(Data, frozen=True):
    """A pod that is evicted."""

    pod: Annotated[str, "The pod, as namespace/name."]
    node: Annotated[str, "The node that the pod is evicted from."]


class WayData(Data, frozen=True):
    """An adjustment with which the scheduler itself reaches the best placement, as shown by a simulation."""

    lever: Annotated[Lever, "The kind of adjustment."]
    what: Annotated[str, "The adjustment in words."]
    workloads: Annotated[
        tuple[str, ...], "The workloads of the pods in their order, with the number of consecutive pods."
    ]
    pods: Annotated[
        tuple[str, ...], "The pods that are adjusted; for an order, all pods in the order of their arrival."
    ]
    evicted: Annotated[int, "The number of pods that are evicted with the adjustment."]


class Optimum(ClusterAnswer, frozen=True, kw_only=True, tag="Optimum"):
    """The best placement of all pods at once, compared with the scheduler's own, one pod after another."""

    summary: Annotated[str, "The result in one or two sentences."]
    proven: Annotated[bool, "True if no placement is better in any goal."]
    stalled: _Stalled
    goals: Annotated[tuple[GoalData, ...], "The goals, the most important first."]
    pods: Annotated[int, "The number of pending pods."]
    multi_step_finished: Annotated[
        bool, "True if the simulated scheduler comes to an end; false if pods keep preempting each other."
    ]
    multi_step_placed: Annotated[int, "The number of pods that the scheduler places, one after another."]
    placed: Annotated[int, "The number of pending pods that have a node in the best placement."]
    stranded: Annotated[
        tuple[str, ...], "The pods that the scheduler leaves pending and that have a node in the best placement."
    ]
    waiting: Annotated[tuple[str, ...], "The pods that have no node in the best placement."]
    displaced: Annotated[
        tuple[str, ...], "The pods of these that the scheduler places: the best placement has other pods instead."
    ]
    gated: Annotated[
        tuple[str, ...],
        "The pods that are left out because they are gated, or because their group is not scheduled in any case: "
        "pods or the PodGroup are missing, or its members do not agree.",
    ]
    workloads: Annotated[tuple[OptimumWorkloadData, ...], "The outcome by workload."]
    placements: Annotated[
        tuple[OptimumPlacementData, ...], "The placements, in an order in which every pod passes the filters."
    ]
    evicted: Annotated[tuple[OptimumEvictionData, ...], "The pods that the best placement evicts."]
    multi_step_evicted: Annotated[tuple[OptimumEvictionData, ...], "The pods that the scheduler evicts."]
    ways: Annotated[tuple[WayData, ...], "The adjustments with which the scheduler reaches the best placement."]
    refused: Annotated[int, "The number of solutions that the filters rejected before this one."]
    ended: Annotated[
        tuple[str, ...], "The pods that are being deleted in the snapshot; both placements take them as gone."
    ] = ()
    replacements_pending: Annotated[
        int, "The number of new pods of evicted pods that have no node in the best placement."
    ] = 0
    multi_step_replacements_pending: Annotated[
        int, "The number of new pods of evicted pods that the scheduler leaves pending."
    ] = 0

    @property
    def yes(self) -> bool:
        """True if all pods that are considered have a node in the best placement; gated pods are not considered."""
        return not self.waiting

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the placements, one line per pod: ``pod/NAMESPACE/NAME node/NODE``."""
        return tuple(f"pod/{placement.pod} node/{placement.node}" for placement in self.placements)


class BoughtKindData(Data, frozen=True):
    """A node type of the catalog that is bought."""

    kind: Annotated[str, "The name of the node type in the catalog."]
    nodes: Annotated[int, "The number of nodes of the type."]
    price: Annotated[str, "The price of one node, in the unit of the catalog."]
    cost: Annotated[str, "The price of all nodes of the type."]


class BoughtNodeData(Data, frozen=True):
    """A node that is bought, and the pods on it."""

    node: Annotated[str, "The name of the new node."]
    kind: Annotated[str, "The name of its node type in the catalog."]
    pods: Annotated[tuple[str, ...], "The pods on the node, as namespace/name."]


class Purchased(ClusterAnswer, frozen=True, kw_only=True, tag="Purchase"):
    """The cheapest additional nodes with which all pending pods can be placed."""

    summary: Annotated[str, "The result in one or two sentences."]
    proven: Annotated[bool, "True if no cheaper purchase places as many pods, and none places more."]
    stalled: _Stalled
    cost: Annotated[str, "The price of all bought nodes, in the unit of the catalog."]
    least_cost: Annotated[
        str | None, "The lower bound of the cost of any purchase that places as many pods; null if unknown."
    ]
    pods: Annotated[int, "The number of pending pods."]
    placed: Annotated[int, "The number of pending pods that have a node after the purchase."]
    multi_step_placed: Annotated[
        int, "The number of pods that the scheduler itself places after the purchase, one after another."
    ]
    waiting: Annotated[tuple[str, ...], "The pods that have no node even after the purchase."]
    kinds: Annotated[tuple[BoughtKindData, ...], "The node types that are bought, with their numbers."]
    nodes: Annotated[tuple[BoughtNodeData, ...], "The nodes that are bought."]
    placements: Annotated[
        tuple[OptimumPlacementData, ...], "The placements, in an order in which every pod passes the filters."
    ]
    objects: Annotated[tuple[dict[str, Any], ...], "The bought nodes as manifests, usable as input of --apply."]

    @property
    def yes(self) -> bool:
        """True if all pending pods have a node after the purchase."""
        return not self.waiting

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the bought nodes, one line per node: ``node/NAME KIND``."""
        return tuple(f"node/{node.node} {node.kind}" for node in self.nodes)


class EmptiedNodeData(Data, frozen=True):
    """A node that is drained."""

    node: Annotated[str, "The name of the node."]
    evicted: Annotated[tuple[str, ...], "The evicted pods in order, as namespace/name."]
    waited: Annotated[
        dict[str, float], "The time for which each disruption budget (namespace/name) delayed evictions, in seconds."
    ]


class Emptied(ClusterAnswer, frozen=True, kw_only=True, tag="EmptiedNodes"):
    """The nodes that can be emptied, in the order in which to drain them."""

    summary: Annotated[str, "The result in one or two sentences."]
    used: Annotated[int, "The number of nodes in use: those with pods that do not belong to the node itself."]
    used_after: Annotated[int, "The number of nodes in use at the end."]
    newly_used: Annotated[tuple[str, ...], "The nodes in use at the end that are not in use at the start."]
    fewest: Annotated[int | None, "The lower bound of the number of nodes that any placement uses; null if unknown."]
    proven: Annotated[bool, "True if no placement uses fewer nodes than are in use at the end."]
    stalled: _Stalled
    nodes: Annotated[
        tuple[EmptiedNodeData, ...], "The nodes in the order in which to drain them, all of them cordoned first."
    ]
    cordoned: Annotated[tuple[str, ...], "The nodes without pods that are cordoned first, so that they stay empty."]
    placements: Annotated[dict[str, str], "The node of each recreated pod, by namespace/name."]
    given_up: Annotated[
        tuple[str, ...], "The nodes that some placement leaves empty but that no simulated drain empties."
    ]
    obstacles: Annotated[
        dict[str, str], "The cause for which the drain of such a node did not finish, by node, as far as known."
    ]
    fixed: Annotated[tuple[str, ...], "The nodes with pods that no controller recreates."]
    karpenter: Annotated[
        dict[str, str],
        "Karpenter's own decision about these nodes, one at a time: delete, replace, or keep with the reason, by "
        "node; empty without Karpenter.",
    ]

    @property
    def yes(self) -> bool:
        """True if at least one node can be emptied."""
        return bool(self.nodes)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the nodes that can be emptied, one line per node: ``node/NAME``."""
        return tuple(f"node/{node.node}" for node in self.nodes)
