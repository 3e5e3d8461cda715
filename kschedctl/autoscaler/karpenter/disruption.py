"""Consolidation of a node: whether Karpenter takes it away, and what it puts in its place (controllers/disruption)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np

from kschedctl.autoscaler.catalog import seen_types
from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, RESERVED, InstanceType, is_offered
from kschedctl.autoscaler.karpenter.budgets import EMPTY, UNDERUTILIZED, Room, room
from kschedctl.autoscaler.karpenter.new_nodes import NewNode
from kschedctl.autoscaler.karpenter.pods import (
    ignores_budget,
    is_evictable,
    is_movable,
    is_protected,
    is_provisionable,
    is_reschedulable,
    matching_budgets,
)
from kschedctl.autoscaler.karpenter.pools import types_of, unmet_min_values, usable_pools
from kschedctl.autoscaler.karpenter.provisioner import Plan, Round, Settings
from kschedctl.autoscaler.karpenter.state import StateNode, is_under_consolidate_after, state_nodes, waiting_words
from kschedctl.autoscaler.requirements import Requirements
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.objects.karpenter import DISRUPTION_COST, DO_NOT_DISRUPT, NodeClaim, NodePool, holds
from kschedctl.objects.pod import DELETION_COST, Pod
from kschedctl.objects.resources import CPU, MEMORY, parse_resources
from kschedctl.objects.well_known import INSTANCE_TYPE, ZONE
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
_NOT_CHEAPER: Final = "Can't replace with a cheaper node"


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
    #: True if no pod counts that would have to move.
    is_empty: bool = False
    #: True if something that is not known decides, such as prices.
    is_open: bool = False
    #: False if the budgets of its pool let no node go now.
    is_now: bool = True
    #: The nodes that its pods move to, as far as they exist, by pod.
    moved: dict[str, str] = field(default_factory=dict)
    replacement: NewNode | None = None
    #: The prices per hour of the node, and of the first instance type of the replacement at its most expensive place;
    #: ``None`` if not known.
    price: float | None = None
    new_price: float | None = None

    def kept(self, why: Why, *, is_open: bool = False) -> "Disruption":
        """Return the decision to keep the node."""
        return Disruption(
            node=self.node,
            pool=self.pool,
            reason=why[0],
            said=why[1],
            is_empty=self.is_empty,
            is_open=is_open,
            price=self.price,
        )


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
        self._by_node = {each.node.name: each for each in self._states.nodes if each.node is not None}
        #: True if the cluster has NodeClaims: without any, nodes with the label of a pool are taken for Karpenter's.
        self._has_claims = bool(cluster.list(NodeClaim))
        self._rooms: dict[tuple[str, str], Room] = {}

    @property
    def waits(self) -> bool:
        """True if Karpenter decides nothing until it knows more of a node."""
        return self._states.waits

    def every(self) -> Iterator[Disruption]:
        """Yield the decisions about all nodes that belong to a NodePool."""
        return (self._of(each) for each in self._states.nodes if each.node_pool and each.node is not None)

    def of(self, name: str) -> Disruption | None:
        """Return the decision about a node; ``None`` if Karpenter does not know the node."""
        known = self._by_node.get(name)
        return self._of(known) if known is not None else None

    def empty_nodes(self) -> Iterator[str]:
        """Yield the nodes that go because they are empty, the most expensive of each pool first, as budgets allow."""
        empty = (self._without_round(each) for each in self._states.nodes if each.node_pool and each.node is not None)
        gone: Counter[str] = Counter()
        for each in sorted(empty, key=lambda one: (-(one.price or 0.0), one.node)):
            if each.decision is Decision.DELETE and each.is_now:
                left = self._room(self._cluster.get(NodePool, each.pool), EMPTY).left
                if left is None or gone[each.pool] < left:
                    gone[each.pool] += 1
                    yield each.node

    def budgets(self, reason: str) -> dict[str, int | None]:
        """Return how many nodes of each NodePool may go now for a reason; ``None`` for any number."""
        return {each.name: self._room(each, reason).left for each in self._cluster.list(NodePool)}

    def _room(self, pool: NodePool | None, reason: str) -> Room:
        assert pool is not None
        known = self._rooms.get((pool.name, reason))
        if known is None:
            managed = [each for each in self._states.nodes if each.claim is not None or not self._has_claims]
            known = self._rooms[pool.name, reason] = room(pool, reason, managed, self._settings.now)
        return known

    def _pods(self, state: StateNode) -> list[Pod]:
        assert state.node is not None
        on_node = self._cluster.pods.on_node(self._cluster.nodes.row[state.node.name]).tolist()
        return sorted(map(self._cluster.pods.pod, on_node), key=lambda each: (each.namespace, each.name))

    def _of(self, state: StateNode) -> Disruption:
        found = self._without_round(state)
        if found.decision is not Decision.REPLACE:
            return found
        if not usable_pools(self._cluster, self._settings.classes):
            return found.kept(("no NodePool launches nodes, and Karpenter then decides about empty nodes alone", ""))
        plan = Round(self._cluster, self._types, with_field(self._settings, candidate=found.node)).solve()
        if problem := self._why_pods_stay(plan):
            return found.kept(problem)
        pods, budgets = self._pods(state), self._cluster.list(PodDisruptionBudget)
        placed = {*plan.placed, *(key for each in plan.nodes for key in each.pods)}
        lost = [
            each.key for each in pods if is_reschedulable(each, budgets, self._settings.now) and each.key not in placed
        ]
        if lost:
            return found.kept((f"{listed(lost, most=2)} would find no place", ""))
        own = {each.key for each in pods}
        moving = with_field(found, moved={pod: node for pod, node in plan.placed.items() if pod in own})
        return self._replaced(state, plan, moving) if plan.nodes else with_field(moving, decision=Decision.DELETE)

    def _without_round(self, state: StateNode) -> Disruption:
        """Return the decision about an empty node, or one that is kept anyway; else a replacement that is not known."""
        assert state.node is not None
        pool = self._cluster.get(NodePool, state.node_pool)
        pods = self._pods(state)
        is_empty = not any(is_movable(each) and _cost(each) > 0 for each in pods)
        unknown = Disruption(node=state.node.name, pool=state.node_pool, is_empty=is_empty, price=self._price(state))
        if self.waits:
            return unknown.kept((f"Karpenter decides nothing: {waiting_words(self._cluster)}", ""))
        if kept := _why_kept(state, has_claims=self._has_claims):
            return unknown.kept(kept)
        if pool is None:
            name = state.node_pool
            return unknown.kept((f"its NodePool {name} does not exist", f"NodePool not found (NodePool={name})"))
        if kept := self._held_pods(pods) or _why_never(pool):
            return unknown.kept(kept)
        if not is_empty and (lacks := self._what_is_unknown(state, pool)):
            return unknown.kept(lacks, is_open=True)
        if not is_empty and pool.spec.disruption.consolidation_policy == _WHEN_EMPTY:
            said = f'NodePool "{pool.name}" has consolidation policy WhenEmpty, but node is not empty'
            why = f"NodePool {pool.name} consolidates empty nodes only (consolidationPolicy: WhenEmpty)"
            return unknown.kept((why, said))
        if kept := _why_not_consolidatable(state, self._cluster, self._settings.now):
            return unknown.kept(kept)
        budget = self._why_no_budget(pool, EMPTY if is_empty else UNDERUTILIZED)
        if is_empty:
            return with_field(unknown, decision=Decision.DELETE, reason=budget, is_now=not budget)
        is_balanced = pool.spec.disruption.consolidation_policy == _BALANCED
        balance = "if the savings outweigh the pods that move (consolidationPolicy: Balanced)" if is_balanced else ""
        return with_field(
            unknown,
            decision=Decision.REPLACE,
            reason="; ".join(filter(None, (budget, balance))),
            is_open=is_balanced,
            is_now=not budget,
        )

    def _replaced(self, state: StateNode, plan: Plan, moving: Disruption) -> Disruption:
        """Return the decision where pods need new nodes."""
        if len(plan.nodes) > 1:
            return moving.kept(self._too_many(plan))
        (new,) = plan.nodes
        capacity_types = new.claimed.get(CAPACITY_TYPE)
        may_be_spot = capacity_types is None or capacity_types.has(_SPOT)
        if state.labels.get(CAPACITY_TYPE) == _SPOT and may_be_spot:
            return moving.kept(_SPOT_TO_SPOT)
        replaced = with_field(moving, replacement=new)
        if not self._has_prices:
            # A machine that is larger in everything is never cheaper, unless it is spot.
            smaller = new.types if may_be_spot else tuple(each for each in new.types if _is_smaller(each, state))
            if not smaller:
                return moving.kept(("no smaller known instance type would do", ""), is_open=True)
            spot = " (as spot, for instance)" if may_be_spot else ""
            reason = f"if the new node is cheaper{spot}: prices are not known"
            return with_field(
                replaced,
                replacement=with_field(new, types=smaller),
                reason="; ".join(filter(None, (reason, moving.reason))),
                is_open=True,
            )
        cheaper = tuple(each for each in new.types if _worst_price(each, new.claimed) < (moving.price or 0.0))
        if not cheaper:
            if moving.price is None:
                place = f"{state.labels.get(CAPACITY_TYPE)} in {state.labels.get(ZONE)}"
                why = f"the price of {state.instance_type} {place} is not known"
                return moving.kept((why, _NOT_CHEAPER), is_open=True)
            return moving.kept(("no instance type that would do is cheaper", _NOT_CHEAPER))
        names = {each.name for each in cheaper}
        mask = np.array([each.name in names for each in new.pool.types.types], dtype=np.bool_)
        if unmet_min_values(new.pool.types, mask, new.claimed):
            few = f"{counted(len(cheaper), 'cheaper instance type')} are too few for minValues"
            return moving.kept((few, "Filtering by price"))
        price = _worst_price(cheaper[0], new.claimed)
        return with_field(replaced, replacement=with_field(new, types=cheaper), new_price=price)

    def _is_pending(self, key: str) -> bool:
        namespace, _, name = key.partition("/")
        pods = self._cluster.pods
        return is_provisionable(pods.pod(pods.index[namespace, name]))

    def _too_many(self, plan: Plan) -> Why:
        n_new = len(plan.nodes)
        waiting = [all(map(self._is_pending, each.pods)) for each in plan.nodes]
        reason = f"its pods would need {n_new} new nodes"
        if any(waiting):
            reason = f"{n_new} new nodes would be needed, {sum(waiting)} of them for pending pods alone"
        return reason, f"Can't remove without creating {n_new} candidates"

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

    def _what_is_unknown(self, state: StateNode, pool: NodePool) -> Why | None:
        """Return what the price of a node cannot be known without."""
        for key in (INSTANCE_TYPE, CAPACITY_TYPE, ZONE):
            if not state.labels.get(key):
                said = 'Instance Type "" not found' if key == INSTANCE_TYPE else f'Node does not have label "{key}"'
                return f"it has no label {key}", said
        if state.instance_type not in {each.name for each in types_of(pool, self._types)}:
            return (
                f"instance type {state.instance_type} is not among those that are known",
                f'Instance Type "{state.instance_type}" not found',
            )
        return None

    def _why_no_budget(self, pool: NodePool, reason: str) -> str:
        """Return the clause that a pool's budgets let no node go now; empty if they do."""
        left = self._room(pool, reason)
        return f"not now: the budgets of NodePool {pool.name} let no node go ({left.words})" if left.left == 0 else ""

    @cached_property
    def _leaving(self) -> frozenset[str]:
        return frozenset(self._states.leaving(self._cluster))

    def _why_pods_stay(self, plan: Plan) -> Why | None:
        """Return the pods that would find no place, in our words and in Karpenter's."""
        errors: dict[str, str] = {}
        starting: dict[str, str] = {}
        for key in (*plan.errors, *plan.placed):
            # Pods that were pending before may stay so.
            if self._is_pending(key):
                continue
            if key in plan.errors:
                errors[key] = plan.errors[key]
            elif (state := self._starting.get(plan.placed[key])) is not None and key not in self._leaving:
                known = (("nodeclaim", state.claim), ("node", state.node))
                names = ", ".join(f"{kind}/{each.name}" for kind, each in known if each is not None)
                errors[key] = f"would schedule against uninitialized {names}"
                starting[key] = state.name
        if not errors:
            return None
        first = min(errors)
        said = f"Not all pods would schedule, {first} => {errors[first]}"
        who = f"pod {first} fits" if len(errors) == 1 else f"{len(errors)} pods fit"
        if starting.keys() == errors.keys():
            return f"{who} only on {listed(sorted(set(starting.values())), most=2)}, which is starting", said
        such = "" if len(errors) == 1 else f", as {first}"
        return f"{who} nowhere else{such}: {errors[first]}", said

    @cached_property
    def _starting(self) -> dict[str, StateNode]:
        return {each.name: each for each in self._states.nodes if not each.is_initialized}

    def _price(self, state: StateNode) -> float | None:
        """Return the price of a node; ``None`` if it is not known."""
        kind = next((each for each in self._types if each.name == state.instance_type), None)
        place = state.labels.get(ZONE), state.labels.get(CAPACITY_TYPE)
        offered = (each.price for each in kind.offerings if (each.zone, each.capacity_type) == place) if kind else ()
        return next(iter(offered), None) if self._has_prices else None


def _is_smaller(kind: InstanceType, state: StateNode) -> bool:
    """Report whether a machine has less of anything than a node."""
    capacity = parse_resources(kind.capacity)
    return any(capacity.get(name, 0) < amount for name, amount in state.capacity.items() if name in (CPU, MEMORY))


def _why_never(pool: NodePool) -> Why | None:
    name, disruption = pool.name, pool.spec.disruption
    if pool.spec.replicas is not None:
        return f"NodePool {name} is static, and keeps {pool.spec.replicas} nodes", ""
    if disruption.seconds is None:
        reason = f"NodePool {name} consolidates nothing (consolidateAfter: Never)"
        return reason, f'NodePool "{name}" has consolidation disabled'
    return None


def _why_not_consolidatable(state: StateNode, cluster: Cluster, now: datetime) -> Why | None:
    if state.claim is None or holds(state.claim.status.conditions, "Consolidatable"):
        return None
    if is_under_consolidate_after(state, cluster, now):
        pool = cluster.get(NodePool, state.node_pool)
        after = pool.spec.disruption.consolidate_after if pool is not None else ""
        return f"its pods have changed within {after} (consolidateAfter)", ""
    # A snapshot by hand may lack all conditions.
    if not state.claim.status.conditions:
        return None
    return f"NodeClaim {state.claim.name} does not have the condition Consolidatable", ""


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


_INT: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
#: Annotations with the cost of a pod's eviction, the first of which counts.
_COSTS: Final = (DISRUPTION_COST, DELETION_COST)


def _cost(pod: Pod) -> float:
    """Return the cost of a pod's eviction, 1 for a usual pod (utils/disruption)."""
    cost = 1.0
    own = next((pod.metadata.annotations[key] for key in _COSTS if key in pod.metadata.annotations), "")
    if _INT.fullmatch(own) and -(2**31) <= int(own) < 2**31:
        cost += int(own) / 2**27
    return cost + (pod.spec.priority or 0) / 2**25
