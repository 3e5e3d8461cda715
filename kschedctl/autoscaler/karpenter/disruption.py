"""Consolidation of a node: whether Karpenter takes it away, and what it puts in its place (controllers/disruption)."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import replace as with_field
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np

from kschedctl.autoscaler.catalog import seen_types
from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, RESERVED, InstanceType, is_offered
from kschedctl.autoscaler.karpenter.budgets import EMPTY, UNDERUTILIZED, room
from kschedctl.autoscaler.karpenter.new_nodes import NewNode
from kschedctl.autoscaler.karpenter.pods import (
    DO_NOT_DISRUPT,
    ignores_budget,
    is_evictable,
    is_movable,
    is_protected,
    is_provisionable,
    matching_budgets,
)
from kschedctl.autoscaler.karpenter.pools import types_of, unmet_min_values
from kschedctl.autoscaler.karpenter.provisioner import Plan, Round, Settings
from kschedctl.autoscaler.karpenter.state import StateNode, state_nodes
from kschedctl.autoscaler.requirements import Requirements
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.objects.karpenter import NodeClaim, NodePool, holds
from kschedctl.objects.pod import Pod
from kschedctl.objects.well_known import ZONE
from kschedctl.objects.workload import PodDisruptionBudget

_SPOT: Final = "spot"
_ON_DEMAND: Final = "on-demand"
_WHEN_EMPTY: Final = "WhenEmpty"
_BALANCED: Final = "Balanced"
#: The value of the annotation that keeps a node; a pod's may also be a time.
_TRUE: Final = "true"


#: A reason in our words and in Karpenter's.
Why: TypeAlias = tuple[str, str]
_SPOT_TO_SPOT: Final = (
    "Karpenter does not replace a spot node by another one (SpotToSpotConsolidation is off by default)",
    "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
)


class Decision(StrEnum):
    """The decisions about a node to save cost."""

    DELETE = "delete"
    REPLACE = "replace"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """Karpenter's decision about a node, if it looks at this one alone."""

    node: str
    #: The name of its NodePool; empty for none.
    pool: str = ""
    decision: Decision = Decision.KEEP
    #: The reason for which it is kept, or the condition of the decision, as a clause; empty if there is none.
    reason: str = ""
    #: The reason in the words of Karpenter's Event; empty if it writes none.
    said: str = ""
    #: True if no pod has to move.
    is_empty: bool = False
    #: True if something that is not known decides, such as prices.
    is_open: bool = False
    #: False if the budgets of its pool let no node go now.
    is_now: bool = True
    #: The nodes that its pods move to, as far as they exist, by pod.
    moved: dict[str, str] = field(default_factory=dict)
    replacement: NewNode | None = None
    #: The prices per hour of the node and of the cheapest replacement; ``None`` if not known.
    price: float | None = None
    new_price: float | None = None

    def kept(self, why: Why | None) -> "Disruption":
        """Return the decision to keep the node."""
        reason, said = why or ("", "")
        return with_field(self, decision=Decision.KEEP, reason=reason, said=said, moved={}, is_open=False, is_now=True)


class Disruptions:
    """The decisions about the nodes of a cluster.

    Args:
        types: The instance types of the cloud; by default those that the cluster shows, whose prices are not known.
    """

    def __init__(self, cluster: Cluster, types: Sequence[InstanceType] = (), settings: Settings | None = None) -> None:
        self._cluster = cluster
        self._types = types or seen_types(cluster)
        self._has_prices = any(each.price for kind in self._types for each in kind.offerings)
        self._settings = settings or Settings(now=cluster.taken_at or Settings().now)
        self._states = state_nodes(cluster, self._settings.classes, self._settings.going)
        #: True if the cluster has NodeClaims: without any, nodes with the label of a pool are taken for Karpenter's.
        self._has_claims = bool(cluster.list(NodeClaim))

    @property
    def waits(self) -> bool:
        """True if Karpenter decides nothing until it knows more of a node."""
        return self._states.waits

    def every(self) -> Iterator[Disruption]:
        """Yield the decisions about all nodes that belong to a NodePool."""
        return (self._of(each) for each in self._states.nodes if each.node_pool and each.node is not None)

    def of(self, name: str) -> Disruption | None:
        """Return the decision about a node; ``None`` if Karpenter does not know the node."""
        known = next((each for each in self._states.nodes if each.node is not None and each.node.name == name), None)
        return self._of(known) if known is not None else None

    def budgets(self, reason: str) -> dict[str, int | None]:
        """Return how many nodes of each NodePool may go now for a reason; ``None`` for any number."""
        return {each.name: self._room(each, reason)[0] for each in self._cluster.list(NodePool)}

    def _room(self, pool: NodePool, reason: str) -> tuple[int | None, str]:
        managed = [each for each in self._states.nodes if each.claim is not None or not self._has_claims]
        return room(pool, reason, managed, self._settings.now)

    def _of(self, state: StateNode) -> Disruption:
        assert state.node is not None
        pool = self._cluster.get(NodePool, state.node_pool)
        on_node = self._cluster.pods.on_node(self._cluster.nodes.row[state.node.name]).tolist()
        pods = sorted(map(self._cluster.pods.pod, on_node), key=lambda each: (each.namespace, each.name))
        is_empty = not any(is_movable(each) and _cost(each) > 0 for each in pods)
        unknown = Disruption(node=state.node.name, pool=state.node_pool, is_empty=is_empty, price=self._price(state))
        if self.waits:
            return unknown.kept(("Karpenter decides nothing as long as a NodeClaim is not launched", ""))
        kept = _why_kept(state, has_claims=self._has_claims) or self._held_pods(pods)
        kept = kept or self._why_not_consolidated(state, pool, is_empty=is_empty)
        if kept or pool is None:
            return unknown.kept(kept)
        budget = self._why_no_budget(pool, EMPTY if is_empty else UNDERUTILIZED)
        if is_empty:
            return with_field(unknown, decision=Decision.DELETE, reason=budget, is_now=not budget)
        plan = Round(self._cluster, self._types, with_field(self._settings, candidate=state.node.name)).solve()
        if problem := self._why_pods_stay(plan):
            return unknown.kept(problem)
        is_balanced = pool.spec.disruption.consolidation_policy == _BALANCED
        balance = "if the savings outweigh the pods that move (consolidationPolicy: Balanced)" if is_balanced else ""
        own = {each.key for each in pods}
        moving = with_field(
            unknown,
            moved={pod: node for pod, node in plan.placed.items() if pod in own},
            reason="; ".join(filter(None, (budget, balance))),
            is_open=is_balanced,
            is_now=not budget,
        )
        return self._replaced(state, plan, moving) if plan.nodes else with_field(moving, decision=Decision.DELETE)

    def _replaced(self, state: StateNode, plan: Plan, moving: Disruption) -> Disruption:
        """Return the decision where the pods need new nodes."""
        if len(plan.nodes) > 1:
            n_new = len(plan.nodes)
            return moving.kept(
                (
                    f"its pods and the pending ones would need {n_new} new nodes",
                    f"Can't remove without creating {n_new} candidates",
                )
            )
        (new,) = plan.nodes
        capacity_types = new.claimed.get(CAPACITY_TYPE)
        may_be_spot = capacity_types is None or capacity_types.has(_SPOT)
        if state.labels.get(CAPACITY_TYPE) == _SPOT and may_be_spot:
            return moving.kept(_SPOT_TO_SPOT)
        replaced = with_field(moving, decision=Decision.REPLACE, replacement=new)
        if not self._has_prices:
            if not may_be_spot and all(each.name == state.instance_type for each in new.types):
                return moving.kept(("no other known instance type would do", ""))
            reason = "; ".join(filter(None, ("if the new node is cheaper: prices are not known", moving.reason)))
            return with_field(replaced, reason=reason, is_open=True)
        cheaper = tuple(each for each in new.types if _worst_price(each, new.claimed) < (moving.price or 0.0))
        if not cheaper:
            return moving.kept(("no instance type that would do is cheaper", "Can't replace with a cheaper node"))
        mask = np.array([each in cheaper for each in new.pool.types.types], dtype=np.bool_)
        if unmet_min_values(new.pool.types, mask, new.claimed):
            few = f"{counted(len(cheaper), 'cheaper instance type')} are too few for minValues"
            return moving.kept((few, "Filtering by price"))
        price = _worst_price(cheaper[0], new.claimed)
        return with_field(replaced, replacement=with_field(new, types=cheaper), new_price=price)

    def _held_pods(self, pods: Sequence[Pod]) -> Why | None:
        """Return the first pod that must not be evicted, in our words and in Karpenter's."""
        now = self._settings.now
        for pod in pods:
            if pod.metadata.deletion_timestamp is None and is_protected(pod, now):
                return f"pod {pod.key} has the annotation {DO_NOT_DISRUPT}", (
                    f'Pod has "{DO_NOT_DISRUPT}" annotation (Pod={pod.key})'
                )
        budgets = self._cluster.list(PodDisruptionBudget)
        for pod in pods:
            matching = matching_budgets(pod, budgets) if is_evictable(pod, now) else []
            names = [f"{each.namespace}/{each.name}" for each in matching]
            if len(matching) > 1:
                reason = f"PodDisruptionBudgets {listed(names)} select pod {pod.key}, and an eviction allows only one"
                said = f"Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{' '.join(names)}])"
                return reason, said
            if matching and not ignores_budget(pod, matching[0]) and not matching[0].status.disruptions_allowed:
                reason = f"PodDisruptionBudget {names[0]} does not let pod {pod.key} go now"
                return reason, f"Pdb prevents pod evictions (PodDisruptionBudget=[{names[0]}])"
        return None

    def _why_not_consolidated(self, state: StateNode, pool: NodePool | None, *, is_empty: bool) -> Why | None:
        if pool is None:
            name = state.node_pool
            return f"its NodePool {name} does not exist", f"NodePool not found (NodePool={name})"
        name, disruption, labels = pool.name, pool.spec.disruption, state.labels
        if pool.spec.replicas is not None:
            return f"NodePool {name} is static, and keeps {pool.spec.replicas} nodes", ""
        if not is_empty:
            known = {each.name for each in types_of(pool, self._types)}
            if state.instance_type not in known:
                return (
                    f"instance type {state.instance_type} is not known",
                    f'Instance Type "{state.instance_type}" not found',
                )
            for key in (CAPACITY_TYPE, ZONE):
                if key not in labels:
                    return f"it has no label {key}", f'Node does not have label "{key}"'
        if disruption.seconds is None:
            reason = f"NodePool {name} consolidates nothing (consolidateAfter: Never)"
            return reason, f'NodePool "{name}" has consolidation disabled'
        if not is_empty and disruption.consolidation_policy == _WHEN_EMPTY:
            said = f'NodePool "{name}" has consolidation policy WhenEmpty, but node is not empty'
            return f"NodePool {name} consolidates empty nodes only (consolidationPolicy: WhenEmpty)", said
        if state.claim is not None and not holds(state.claim.status.conditions, "Consolidatable"):
            after = disruption.consolidate_after or "0s"
            return f"NodeClaim {state.claim.name} is not Consolidatable: its pods changed within {after}", ""
        return None

    def _why_no_budget(self, pool: NodePool, reason: str) -> str:
        """Return the clause that a pool's budgets let no node go now; empty if they do."""
        n, words = self._room(pool, reason)
        return f"not now: the budget of NodePool {pool.name} is used up ({words})" if n == 0 else ""

    def _why_pods_stay(self, plan: Plan) -> Why | None:
        """Return the pods that would find no place, in our words and in Karpenter's."""
        pods, states = self._cluster.pods, self._states.nodes
        starting = {each.name: each for each in states if not each.is_initialized}
        leaving = set(self._states.leaving(self._cluster))
        errors: dict[str, str] = {}
        for key in (*plan.errors, *plan.placed):
            namespace, _, name = key.partition("/")
            pod = pods.pod(pods.index[namespace, name])
            # Pods that were pending before may stay so.
            if is_provisionable(pod):
                continue
            if key in plan.errors:
                errors[key] = plan.errors[key]
            elif (state := starting.get(plan.placed[key])) is not None and key not in leaving:
                known = (("nodeclaim", state.claim), ("node", state.node))
                names = ", ".join(f"{kind}/{each.name}" for kind, each in known if each is not None)
                errors[key] = f"would schedule against uninitialized {names}"
        if not errors:
            return None
        first = min(errors)
        told = (
            f"pod {first} fits nowhere else" if len(errors) == 1 else f"{len(errors)} pods fit nowhere else, as {first}"
        )
        return f"{told}: {errors[first]}", f"Not all pods would schedule, {first} => {errors[first]}"

    def _price(self, state: StateNode) -> float | None:
        if not self._has_prices:
            return None
        kind = next((each for each in self._types if each.name == state.instance_type), None)
        place = state.labels.get(ZONE), state.labels.get(CAPACITY_TYPE)
        offered = (each.price for each in kind.offerings if (each.zone, each.capacity_type) == place) if kind else ()
        return next(iter(offered), 0.0)


def _why_kept(state: StateNode, *, has_claims: bool) -> Why | None:
    """Return why a node is not looked at, whatever its pods are, in our words and in Karpenter's."""
    assert state.node is not None
    if state.claim is None and (has_claims or not state.node_pool):
        return "Karpenter does not manage it", ""
    if state.is_rebooting:
        return "it is rebooting", "Node is rebooting"
    if state.is_going:
        return "it is being deleted", "Node is deleting or marked for deletion"
    if not state.is_initialized:
        said = "Node isn't initialized" if state.is_registered else "Node isn't initialized nor registered"
        return "it is starting", said
    if state.node.metadata.annotations.get(DO_NOT_DISRUPT) == _TRUE:
        return f"it has the annotation {DO_NOT_DISRUPT}", (
            f'Disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
        )
    return None


def _worst_price(kind: InstanceType, wanted: Requirements) -> float:
    """Return the highest price at which an instance type may be launched, of the capacity type that is tried first."""
    offered = [each for each in kind.offerings if each.is_launchable and is_offered(wanted, each)]
    for capacity_type in (RESERVED, _SPOT, _ON_DEMAND):
        prices = [each.price for each in offered if each.capacity_type == capacity_type]
        if prices:
            return max(prices)
    return float("inf")


#: Annotations with the cost of a pod's eviction, the first of which counts.
_COSTS: Final = ("karpenter.sh/disruption-cost", "controller.kubernetes.io/pod-deletion-cost")


def _cost(pod: Pod) -> float:
    """Return the cost of a pod's eviction, 1 for a usual pod (utils/disruption)."""
    cost = 1.0
    own = next((pod.metadata.annotations[key] for key in _COSTS if key in pod.metadata.annotations), "")
    with suppress(ValueError):
        cost += int(own) / 2**27
    return cost + (pod.spec.priority or 0) / 2**25
