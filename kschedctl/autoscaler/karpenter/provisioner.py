"""A round of Karpenter's provisioner: a place for every pending pod on nodes that exist or are to be launched."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.autoscaler.instance_types import Amounts, InstanceType, Resources, TypeMask
from kschedctl.autoscaler.karpenter.claims import Claim, Fit, Obstacle, Packing, Refusal, Reservations
from kschedctl.autoscaler.karpenter.daemons import daemon_pods, daemons_on
from kschedctl.autoscaler.karpenter.new_nodes import NewNode, finished
from kschedctl.autoscaler.karpenter.pods import (
    Stage,
    Stages,
    WaitingPod,
    is_provisionable,
    is_reschedulable,
    problem_of,
)
from kschedctl.autoscaler.karpenter.pools import (
    Pool,
    groups_of,
    made,
    pool_domains,
    soft_taints,
    types_of,
    usable_pools,
)
from kschedctl.autoscaler.karpenter.sorting import go_order
from kschedctl.autoscaler.karpenter.state import (
    NODES,
    Bound,
    StateNode,
    StateNodes,
    Usage,
    is_under_consolidate_after,
    state_nodes,
    volume_limits,
)
from kschedctl.autoscaler.karpenter.topology import Domains, Topology
from kschedctl.autoscaler.karpenter.volumes import Attachments, MissingObject, alternatives, attachments
from kschedctl.autoscaler.requirements import Requirements, added, are_compatible, conflict, requirement
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PENDING
from kschedctl.objects.karpenter import NodePool
from kschedctl.objects.meta import LabelSelector, LabelSelectorRequirement
from kschedctl.objects.pod import Pod, PodSpec, TopologySpreadConstraint
from kschedctl.objects.resources import parse_resources
from kschedctl.objects.selectors import IN
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import DaemonSet, PodDisruptionBudget
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import default_selector

_DEVICES: Final = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
_NO_POOLS: Final = "no dynamic nodepools found"
_NO_TYPES: Final = "nodepool requirements filtered out all available instance types"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The flags of Karpenter that a round depends on, and what only its memory has."""

    #: The API groups of NodeClasses that are its own; empty for all.
    classes: frozenset[str] = frozenset()
    prefers: bool = True
    best_effort: bool = False
    #: Constraints for pods that have none (``--scheduler-config``).
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    #: The names of nodes that it has decided to take away.
    going: frozenset[str] = frozenset()
    #: The name of a node that it would take away to save cost; running pods do not go to nodes that changed lately.
    candidate: str = ""
    now: datetime = datetime(2026, 11, 1, tzinfo=UTC)
    #: The only pending pod that takes part, as ``namespace/name``; empty for all.
    only: str = ""


@dataclass(eq=False)
class Plan:
    """The outcome of a round: the fates of its pods, and the nodes to launch."""

    #: True if Karpenter decides nothing until it knows more of a node.
    waits: bool = False
    #: The texts of pods that take no part, and of those that no node can be launched for.
    ignored: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    #: The names of existing nodes, by pod.
    placed: dict[str, str] = field(default_factory=dict)
    nodes: list[NewNode] = field(default_factory=list)
    #: Per pool without a usable instance type, why.
    refusals: dict[str, str] = field(default_factory=dict)


def provision(cluster: Cluster, types: Sequence[InstanceType], settings: Settings) -> Plan:
    """Return what Karpenter would do in one round."""
    return Round(cluster, types, settings).solve()


def _pending(cluster: Cluster, plan: Plan, only: str) -> list[Pod]:
    out = []
    for index in np.flatnonzero(cluster.pods.node_row == PENDING).tolist():
        if only and cluster.pods.key(index) != only:
            continue
        pod = cluster.pods.pod(index)
        if is_provisionable(pod):
            problem = problem_of(cluster, pod)
            if problem:
                plan.ignored[pod.key] = problem
            else:
                out.append(pod)
    return sorted(out, key=lambda pod: (pod.namespace, pod.name))


def _displaced(cluster: Cluster, nodes: Sequence[StateNode], now: datetime) -> list[Pod]:
    """Return the pods of nodes that go away which need another node."""
    budgets = cluster.list(PodDisruptionBudget)
    out = []
    for each in nodes:
        if each.is_going and each.node is not None:
            on_node = cluster.pods.on_node(cluster.nodes.row[each.node.name]).tolist()
            pods = sorted(map(cluster.pods.pod, on_node), key=lambda pod: (pod.namespace, pod.name))
            out += [pod for pod in pods if is_reschedulable(pod, budgets, now)]
    return out


class _Existing:
    """The nodes that exist or start, in the order in which a pod is offered to them."""

    def __init__(self, cluster: Cluster, nodes: Sequence[StateNode], resources: Resources) -> None:
        self.nodes = sorted(nodes, key=lambda each: (not each.is_initialized, each.name))
        self._cluster = cluster
        self.bound = Bound(cluster, resources)
        self.taints = [each.taints for each in self.nodes]
        self.requirements: list[Requirements] = [
            added(each.requirements, (requirement(HOSTNAME, IN, (each.hostname,)),)) for each in self.nodes
        ]
        self._usage: dict[int, Usage] = {}
        #: The amounts that are left on each, shape (n_nodes, n_resources).
        self.free: Amounts = np.zeros((len(self.nodes), len(resources.names)), dtype=np.int64)
        self._refused: dict[int, set[int]] = {}

    def usage(self, i: int, fallback: dict[str, int]) -> Usage:
        """Return the ports and volumes in use; the limits of volumes are the instance type's if no driver says more."""
        known = self._usage.get(i)
        if known is None:
            node = self.nodes[i].node
            known = self._usage[i] = self.bound.usage(self._cluster.nodes.row[node.name]) if node else Usage()
            published = dict(volume_limits(self._cluster, node.name)) if node else {}
            known.limits = {driver: limit for driver, limit in published.items() if limit is not None}
            known.limits |= {driver: limit for driver, limit in fallback.items() if driver not in published}
        return known

    def open_to(self, stage: Stage) -> list[int]:
        """Return the nodes that have room for a stage and do not refuse it for their labels or taints."""
        refused = self._refused.setdefault(id(stage), set())
        room = ((self.free >= stage.requests) & (self.free >= 0)).all(axis=1)
        out = []
        for i in np.flatnonzero(room).tolist():
            if i in refused:
                continue
            if stage.tolerates(self.taints[i]) and are_compatible(self.requirements[i], stage.requirements):
                out.append(i)
            elif not stage.tolerates(self.taints[i]) or conflict(self.requirements[i], stage.requirements):
                refused.add(i)
        return out


class Round:
    """A round over a cluster: the state that its decisions change."""

    def __init__(self, cluster: Cluster, types: Sequence[InstanceType], settings: Settings) -> None:
        self._plan = Plan()
        self._waiting: list[WaitingPod] = []
        self._pools: list[Pool] = []
        going = settings.going | {settings.candidate} if settings.candidate else settings.going
        known = state_nodes(cluster, settings.classes, going)
        self._plan.waits = known.waits
        if known.waits:
            return
        pending = _pending(cluster, self._plan, settings.only)
        pools = usable_pools(cluster, settings.classes)
        pods = [*pending, *_displaced(cluster, known.nodes, settings.now)]
        if not pools:
            self._plan.errors = dict.fromkeys((pod.key for pod in pending), _NO_POOLS)
        elif pods:
            self._prepare(cluster, types, settings, known, pools, pods)

    def _prepare(
        self,
        cluster: Cluster,
        types: Sequence[InstanceType],
        settings: Settings,
        every: StateNodes,
        pools: Sequence[NodePool],
        pods: Sequence[Pod],
    ) -> None:
        self._cluster, self._settings = cluster, settings
        nodes = [each for each in every.nodes if not each.is_going]
        own_types = [types_of(pool, types) for pool in pools]
        resources = _resources(cluster, types, every)
        self._stages = Stages(resources, prefers=settings.prefers, soft_taints=soft_taints(pools))
        self._waiting = [self._waiting_pod(pod) for pod in pods]
        domains: dict[str, Domains] = {}

        def domains_of(key: str) -> Domains:
            if key not in domains:
                domains[key] = pool_domains(pools, own_types, key)
            return domains[key]

        known = [each for each in self._waiting if not each.volume_problem]
        self._topology = Topology(cluster, nodes, domains_of, known, prefers=settings.prefers)
        offered = [
            made(pool, own, resources, best_effort=settings.best_effort)
            for pool, own in zip(pools, own_types, strict=True)
        ]
        self._plan.refusals = {each.name: each.refusal for each in offered if each.refusal}
        self._pools = [each for each in offered if not each.refusal]
        self._types = {each.name: {kind.name: kind for kind in own} for each, own in zip(pools, own_types, strict=True)}
        daemons = daemon_pods(cluster, resources)
        self._daemons = groups_of(self._pools, daemons, resources)
        self._existing = _Existing(cluster, nodes, resources)
        self._limits = {each.name: _Limit(each, resources) for each in offered}
        for i, node in enumerate(self._existing.nodes):
            limit = self._limits.get(node.node_pool)
            if limit is not None:
                limit.subtract(node.capacity, resources)
            to_come = np.zeros(len(resources.names), dtype=np.int64)
            for daemon in daemons_on(daemons, node.taints, node.requirements):
                to_come += daemon.requests
            row = cluster.nodes.row[node.node.name] if node.node is not None else None
            here = self._existing.bound.of_daemons[row] if row is not None else 0
            used = self._existing.bound.requested[row] if row is not None else 0
            free = resources.amounts(node.allocatable)
            self._existing.free[i] = free - used - np.maximum(to_come - here, 0)
            self._topology.register_host(node.hostname)
        self._closed = frozenset(
            i
            for i, node in enumerate(self._existing.nodes)
            if settings.candidate and is_under_consolidate_after(node, cluster, settings.now)
        )
        self._leaving = set(every.leaving(cluster, settings.candidate)) if self._closed else set()
        reservations = Reservations(kind for own in own_types for kind in own)
        self._packing = Packing(self._topology, reservations, best_effort=settings.best_effort)
        self._n_opened = 0
        self._chosen: dict[WaitingPod, Stage] = {}
        self._node_of: dict[str, str] = {}

    def _waiting_pod(self, pod: Pod) -> WaitingPod:
        problem, places = "", list[Requirements]()
        attached: Attachments = {}
        spec = pod.spec
        try:
            attached = attachments(self._cluster, pod)
            places = alternatives(self._cluster, pod)
        except MissingObject as error:
            problem = str(error)
        if self._settings.default_constraints and not spec.topology_spread_constraints and not problem:
            selector = default_selector(self._cluster, pod)
            if selector:
                expressions = tuple(
                    LabelSelectorRequirement(key=each.key, operator=each.operator, values=each.values)
                    for each in selector
                )
                own = LabelSelector(match_expressions=expressions)
                constraints = tuple(replace(each, label_selector=own) for each in self._settings.default_constraints)
                spec = replace(spec, topology_spread_constraints=constraints)
        return WaitingPod(pod, self._stages.of(spec), places, attached, problem)

    def alone(self, key: str) -> Iterator[tuple[Pool, Fit | Refusal]]:
        """Yield what each pool says to a pod before any other has got a place, in the order in which they are asked."""
        waiting = next((each for each in self._waiting if each.key == key), None)
        if waiting is None:
            return
        for pool in self._pools:
            stage: Stage | None = waiting.first
            while stage is not None:
                self._topology.update(waiting, stage)
                _, found = self._offered(pool, waiting, stage)
                if isinstance(found, Refusal) and found.obstacle in (Obstacle.TYPES, Obstacle.LIMIT):
                    found = self._without_limit(pool, waiting, stage, found)
                stage = None if isinstance(found, Fit) else self._stages.relaxed(stage)
            yield pool, found
        self._topology.update(waiting, waiting.first)

    def _without_limit(self, pool: Pool, waiting: WaitingPod, stage: Stage, refusal: Refusal) -> Refusal:
        """Return the limit as the obstacle if the pool would take a pod but for it, else what it lacks besides."""
        every = np.ones(len(pool.types.types), dtype=np.bool_)
        claim = Claim.of(pool, self._n_opened + 1, self._daemons[pool.name], every)
        found = self._packing.fit(claim, waiting, stage, is_new=True)
        return Refusal(Obstacle.LIMIT, refusal.text) if isinstance(found, Fit) else found

    def solve(self) -> Plan:
        """Try all pods until none makes progress."""
        plan = self._plan
        if not self._waiting:
            return plan
        queue = deque(sorted(self._waiting, key=_order))
        last: dict[WaitingPod, int] = {}
        while queue and last.get(queue[0]) != len(queue):
            waiting = queue.popleft()
            problem = self._try(waiting)
            if not problem:
                plan.errors.pop(waiting.key, None)
                continue
            plan.errors[waiting.key] = problem
            self._topology.update(waiting, waiting.first)
            queue.append(waiting)
            last[waiting] = len(queue)
        plan.placed = self._node_of
        for claim in sorted(self._packing.open, key=lambda each: each.number):
            node = finished(claim, [self._chosen[each] for each in claim.pods])
            if isinstance(node, NewNode):
                plan.nodes.append(node)
            else:
                plan.errors |= dict.fromkeys((each.key for each in claim.pods), node)
        return plan

    def _try(self, waiting: WaitingPod) -> str:
        """Find a place for a pod, giving up its preferences one by one; return the last error if there is none."""
        stage: Stage | None = waiting.first
        problem = ""
        while stage is not None:
            if stage is not waiting.first:
                self._topology.update(waiting, stage)
            problem, is_final = self._add(waiting, stage)
            if not problem or is_final:
                return problem
            stage = self._stages.relaxed(stage)
        return problem

    def _add(self, waiting: WaitingPod, stage: Stage) -> tuple[str, bool]:
        """Find a place for a pod at one stage; return the error, and whether concessions are of no use."""
        if waiting.uses_devices:
            return _DEVICES, True
        if waiting.volume_problem:
            return waiting.volume_problem, False
        if self._add_to_existing(waiting, stage):
            return "", True
        packing = self._packing
        order = go_order([len(claim.pods) for claim in packing.open])
        packing.open[:] = [packing.open[i] for i in order]
        for claim in packing.open:
            if id(stage) not in claim.refused:
                fit = packing.fit(claim, waiting, stage, is_new=False)
                if isinstance(fit, Fit):
                    packing.add(claim, waiting, stage, fit)
                    self._chosen[waiting] = stage
                    return "", True
        return self._add_to_new(waiting, stage) if self._pools else (_NO_TYPES, False)

    def _add_to_existing(self, waiting: WaitingPod, stage: Stage) -> bool:
        existing = self._existing
        attached = waiting.attachments
        runs = waiting.pod.status.phase != "Pending" and waiting.key not in self._leaving
        for i in existing.open_to(stage):
            if runs and i in self._closed:
                continue
            if stage.host_ports or attached:
                node = existing.nodes[i]
                kind = self._types.get(node.node_pool, {}).get(node.instance_type)
                usage = existing.usage(i, kind.volume_limits if kind is not None else {})
                if not usage.has_room_for(waiting.key, stage.host_ports, attached):
                    continue
            base = added(existing.requirements[i], stage.requirements.values())
            for place in waiting.places or [{}]:
                wanted = base
                if place:
                    if not are_compatible(base, place):
                        continue
                    wanted = added(base, place.values())
                narrowed, problem = self._topology.narrowed(waiting, stage.strict, wanted)
                if problem or not are_compatible(wanted, narrowed):
                    continue
                existing.requirements[i] = wanted = added(wanted, narrowed.values())
                existing.free[i] -= stage.requests
                self._topology.record(waiting, existing.taints[i], wanted)
                if stage.host_ports or attached:
                    usage.add(waiting.key, stage.host_ports, attached)
                self._node_of[waiting.key] = existing.nodes[i].name
                return True
        return False

    def _add_to_new(self, waiting: WaitingPod, stage: Stage) -> tuple[str, bool]:
        problems = []
        for pool in self._pools:
            claim, fit = self._offered(pool, waiting, stage)
            if isinstance(fit, Fit):
                claim.min_values_relaxed = any(
                    fit.requirements[key].min_values != each.min_values
                    for key, each in claim.requirements.items()
                    if each.min_values is not None
                )
                self._packing.add(claim, waiting, stage, fit)
                self._packing.open.append(claim)
                self._chosen[waiting] = stage
                self._limits[pool.name].take(pool, fit.types)
                return "", True
            problems.append(fit.text)
            if fit.obstacle is Obstacle.RESERVATION:
                return "; ".join(problems), True
        return "; ".join(problems), False

    def _offered(self, pool: Pool, waiting: WaitingPod, stage: Stage) -> tuple[Claim, Fit | Refusal]:
        """Return a new claim of a pool, and what is left of it with a pod."""
        types = self._limits[pool.name].types(pool)
        every = np.ones(len(pool.types.types), dtype=np.bool_)
        if isinstance(types, Refusal):
            return Claim.of(pool, 0, self._daemons[pool.name], every), types
        self._n_opened += 1
        claim = Claim.of(pool, self._n_opened, self._daemons[pool.name], types)
        return claim, self._packing.fit(claim, waiting, stage, is_new=True)


class _Limit:
    """The rest of the limits of a pool."""

    def __init__(self, pool: Pool, resources: Resources) -> None:
        nanos = parse_resources(pool.pool.spec.limits)
        self.names = list(nanos)
        self.left = resources.amounts(nanos)
        self.limited = resources.mask(nanos)
        self.n_nodes = nanos.get(NODES)

    def subtract(self, capacity: dict[str, int], resources: Resources) -> None:
        """Count a node that exists or starts."""
        self.left = self.left - np.where(self.limited, resources.amounts(capacity), 0)
        if self.n_nodes is not None:
            self.n_nodes -= capacity.get(NODES, 0)

    def types(self, pool: Pool) -> TypeMask | Refusal:
        """Return the instance types of which one more may be launched; a refusal if there is none."""
        if self.n_nodes == 0:
            text = f"node limits have been exhausted for nodepool (NodePool={pool.name})"
            return Refusal(Obstacle.NODE_LIMIT, text)
        mask = np.asarray(((pool.types.capacity <= self.left) | ~self.limited).all(axis=1))
        if not mask.any():
            text = f"all available instance types exceed limits for nodepool (NodePool={pool.name})"
            return Refusal(Obstacle.LIMIT, text)
        return mask

    def take(self, pool: Pool, types: TypeMask) -> None:
        """Count a new node as the largest that it may become."""
        most = pool.types.capacity[types].max(axis=0)
        self.left = self.left - np.where(self.limited, most, 0)


def _resources(cluster: Cluster, types: Sequence[InstanceType], nodes: StateNodes) -> Resources:
    names = {"pods", NODES, *nodes.resource_names, *_requested_names(cluster.pods)}
    names |= {name for each in types for name in each.capacity}
    names |= {name for pool in cluster.list(NodePool) for name in pool.spec.limits}
    templates = (each.spec.template.spec for each in cluster.list(DaemonSet) if each.spec.template is not None)
    names |= {name for spec in templates for name in _names(spec)}
    return Resources([dict.fromkeys(names, 0)])


@lru_cache(maxsize=2)
def _requested_names(pods: Pods) -> frozenset[str]:
    return frozenset(name for each in pods.classes for name in _names(each.pod.spec))


def _names(spec: PodSpec) -> Iterator[str]:
    """Yield the resources that a pod asks for."""
    yield from (*spec.overhead, *spec.resources.requests)
    for container in (*spec.containers, *spec.init_containers):
        yield from (*container.resources.requests, *container.resources.limits)


def _order(waiting: WaitingPod) -> tuple[int, int, datetime, bool, str]:
    nanos, metadata = waiting.first.nanos, waiting.pod.metadata
    created = metadata.creation_timestamp or datetime(1, 1, 1, tzinfo=UTC)
    # A pod that a what-if makes has no UID, and is newer than all that the snapshot shows.
    return -nanos.get("cpu", 0), -nanos.get("memory", 0), created, not metadata.uid, metadata.uid
