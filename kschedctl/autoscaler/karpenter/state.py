"""The nodes that Karpenter counts on: those that exist, and those that it has asked for (``pkg/controllers/state``)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.autoscaler.instance_types import Amounts, Resources
from kschedctl.autoscaler.karpenter.pods import (
    HostPort,
    as_unschedulable,
    host_ports,
    is_owned_by,
    is_provisionable,
    requests_of,
)
from kschedctl.autoscaler.karpenter.volumes import Attachments, MissingObject, attachments
from kschedctl.autoscaler.requirements import Requirements, of_labels
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.cluster.pods import Pods
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.common.wording import listed
from kschedctl.objects.core import Condition, Node, ResourceList, Taint
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodeClaim, NodePool, condition, holds
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import parse_resources
from kschedctl.objects.volume import CSINode
from kschedctl.objects.well_known import HOSTNAME, INSTANCE_TYPE
from kschedctl.objects.workload import DaemonSet

#: The resource of a limit on the number of nodes.
NODES: Final = "nodes"
_REGISTERED: Final = "karpenter.sh/registered"
_INITIALIZED: Final = "karpenter.sh/initialized"
#: Taints that a node loses when it is ready.
_EPHEMERAL: Final = frozenset(
    {
        ("node.kubernetes.io/not-ready", NO_SCHEDULE),
        ("node.kubernetes.io/not-ready", NO_EXECUTE),
        ("node.kubernetes.io/unreachable", NO_SCHEDULE),
        ("node.cloudprovider.kubernetes.io/uninitialized", NO_SCHEDULE),
        ("karpenter.sh/unregistered", NO_EXECUTE),
        ("karpenter.sh/rebooting", NO_SCHEDULE),
    }
)
_READY: Final = Condition(type="Ready", status="True")
_READINESS: Final = "readiness.k8s.io/"


@lru_cache(maxsize=2)
def completed(cluster: Cluster, *, pods: bool = True) -> Cluster:
    """Return a cluster with what is written into objects while they run, where a snapshot by hand leaves it out.

    Karpenter waits for it, for ever.

    Args:
        pods: Mark pending pods as kube-scheduler marks those for which it finds no node.
    """
    machines = {each.status.node_name: each.status.provider_id for each in cluster.list(NodeClaim)}
    nodes = [_completed_node(each, machines.get(each.name, "")) for each in cluster.nodes.objects]
    if any(new is not old for new, old in zip(nodes, cluster.nodes.objects, strict=True)):
        cluster = cluster.with_nodes(nodes)
    pools = cluster.list(NodePool)
    if any(not each.status.conditions for each in pools):
        cluster = cluster.with_objects(NodePool, [_completed_pool(each) for each in pools])
    waiting = [cluster.pods.pod(index) for index in pending_pods(cluster)] if pods else []
    new = [
        as_unschedulable(pod, cluster.taken_at)
        for pod in waiting
        if not pod.spec.scheduling_gates and not is_provisionable(pod)
    ]
    return cluster.with_pods(added=new) if new else cluster


def waiting_words(cluster: Cluster) -> str:
    """Return what Karpenter waits for with all decisions: a NodeClaim, or a node that it does not know."""
    waiting = [each for each in cluster.list(NodeClaim) if not each.status.provider_id]
    if not waiting:
        return "a node is not known to it"
    problems = (condition(each.status.conditions, "Launched") for each in waiting)
    problem = next((f" ({each.reason}: {each.message})" for each in problems if each and each.message), "")
    return f"NodeClaim {listed([each.name for each in waiting], most=2)} has not been launched{problem}"


def is_under_consolidate_after(node: "StateNode", cluster: Cluster, now: datetime) -> bool:
    """Report whether pods have come to a node or left it within its pool's ``consolidateAfter``."""
    pool = cluster.get(NodePool, node.node_pool)
    claim = node.claim
    if pool is None or claim is None:
        return False
    initialized = condition(claim.status.conditions, "Initialized")
    # A snapshot by hand may lack all conditions.
    if claim.status.conditions and (initialized is None or initialized.status != "True"):
        return False
    after = pool.spec.disruption.seconds
    last = claim.status.last_pod_event_time or (initialized.last_transition_time if initialized is not None else None)
    return after is not None and last is not None and (now - last).total_seconds() < after


def is_starting(node: Node) -> bool:
    """Report whether a node says that it is not ready."""
    return any(each.type == "Ready" and each.status != "True" for each in node.status.conditions)


def _completed_node(node: Node, machine: str) -> Node:
    labels = node.metadata.labels
    if not labels.get(NODE_POOL_LABEL) or is_starting(node):
        return node
    if not node.spec.provider_id:
        node = replace(node, spec=replace(node.spec, provider_id=machine or f"node:///{node.name}"))
    if not labels.get(INSTANCE_TYPE) and not labels.get(_INITIALIZED):
        node = replace(node, metadata=replace(node.metadata, labels={**labels, _INITIALIZED: "true"}))
    return node


def _completed_pool(pool: NodePool) -> NodePool:
    return pool if pool.status.conditions else replace(pool, status=replace(pool.status, conditions=(_READY,)))


@dataclass(frozen=True, eq=False)
class StateNode:
    """A Node, a NodeClaim, or both."""

    node: Node | None
    claim: NodeClaim | None
    #: True if Karpenter takes it away, so that its pods need another node.
    is_going: bool

    @cached_property
    def is_registered(self) -> bool:
        """True if the labels and taints of its Node are set."""
        return self.claim is None or self._is_labelled(_REGISTERED)

    @cached_property
    def is_initialized(self) -> bool:
        """True if it is ready for pods."""
        return self.claim is None or self._is_labelled(_INITIALIZED)

    @cached_property
    def is_rebooting(self) -> bool:
        return self.claim is not None and holds(self.claim.status.conditions, "Rebooting")

    def _is_labelled(self, key: str) -> bool:
        return self.node is not None and self.node.metadata.labels.get(key) == "true"

    @cached_property
    def known(self) -> Node | NodeClaim:
        """The object that has its name and labels."""
        known = self.node if self.is_registered else self.claim
        assert known is not None
        return known

    @cached_property
    def name(self) -> str:
        return self.known.name

    @cached_property
    def labels(self) -> dict[str, str]:
        return self.known.metadata.labels

    @cached_property
    def hostname(self) -> str:
        return self.labels.get(HOSTNAME) or self.name

    @cached_property
    def node_pool(self) -> str:
        """The name of its NodePool; empty for none."""
        return self.labels.get(NODE_POOL_LABEL, "")

    @cached_property
    def instance_type(self) -> str:
        return self.labels.get(INSTANCE_TYPE, "")

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The taints that it will have when it is ready."""
        if self.claim is None:
            return self.node.spec.taints if self.node is not None else ()
        taints = self.node.spec.taints if self.node is not None and self.is_registered else self.claim.spec.taints
        if self.is_initialized and not self.is_rebooting:
            return taints
        startup = {(each.key, each.effect) for each in self.claim.spec.startup_taints}
        passing = _EPHEMERAL | startup
        return tuple(
            each for each in taints if (each.key, each.effect) not in passing and not each.key.startswith(_READINESS)
        )

    @cached_property
    def requirements(self) -> Requirements:
        """Its labels as requirements."""
        return of_labels(self.labels)

    @cached_property
    def capacity(self) -> dict[str, int]:
        """Its capacity in nano-units, which counts against the limits of its pool: it is one node."""
        return {**parse_resources(self._resources("capacity")), NODES: NANO}

    @cached_property
    def allocatable(self) -> dict[str, int]:
        """The amounts for pods in nano-units."""
        return parse_resources(self._resources("allocatable"))

    def _resources(self, name: str) -> ResourceList:
        """Return the ``capacity`` or ``allocatable`` that it has, or will have when it is ready."""
        own: ResourceList = getattr(self.node.status, name) if self.node is not None else {}
        if self.claim is None or self.is_initialized:
            return own
        promised: ResourceList = getattr(self.claim.status, name)
        return own | {key: amount for key, amount in promised.items() if not parse_resources(own).get(key)}


class StateNodes:
    """The nodes by name, and whether Karpenter waits with all pods until it knows more of one."""

    def __init__(self, nodes: list[StateNode], *, waits: bool) -> None:
        self.nodes, self.waits = nodes, waits

    @cached_property
    def used(self) -> dict[str, Counter[str]]:
        """The capacity of the nodes that stay, in nano-units, by NodePool: what counts against its limits."""
        out: dict[str, Counter[str]] = defaultdict(Counter)
        for each in self.nodes:
            if not each.is_going:
                out[each.node_pool].update(each.capacity)
        return out

    def leaving(self, cluster: Cluster, but: str = "") -> Iterator[str]:
        """Yield the pods of nodes that go, as ``namespace/name``, but for those of one node."""
        for each in self.nodes:
            if each.is_going and each.node is not None and each.node.name != but:
                yield from map(cluster.pods.key, cluster.pods.on_node(cluster.nodes.row[each.node.name]).tolist())

    @cached_property
    def resource_names(self) -> frozenset[str]:
        """The resources that any node has."""
        return frozenset(name for node in self.nodes for each in (node.capacity, node.allocatable) for name in each)


def state_nodes(
    cluster: Cluster, classes: frozenset[str] = frozenset(), going: frozenset[str] = frozenset()
) -> StateNodes:
    """Return the nodes of a cluster, computed once for all that are derived from it with the same nodes and claims.

    Args:
        classes: The API groups of NodeClasses that are Karpenter's own; empty for all.
        going: The names of nodes that Karpenter has decided to take away.
    """
    return cluster.derived(StateNodes, (classes, going), lambda: _state_nodes(cluster, classes, going), of=(NodeClaim,))


def _state_nodes(cluster: Cluster, classes: Collection[str], going: Collection[str]) -> StateNodes:
    waits = False
    claims: dict[str, NodeClaim] = {}
    for claim in cluster.list(NodeClaim):
        if classes and claim.spec.node_class_ref.group not in classes:
            continue
        waits |= not claim.status.provider_id
        claims[claim.status.provider_id] = claim
    out = []
    for node in cluster.nodes.objects:
        labels = node.metadata.labels
        if labels.get(NODE_POOL_LABEL) and (
            not node.spec.provider_id or not (labels.get(INSTANCE_TYPE) or labels.get(_INITIALIZED))
        ):
            waits = True
            continue
        own = claims.pop(node.spec.provider_id or node.name, None)
        ends = _is_going(own) if own is not None else node.metadata.deletion_timestamp is not None
        out.append(StateNode(node, own, ends or node.name in going))
    out += [StateNode(None, claim, _is_going(claim)) for claim in claims.values()]
    return StateNodes(sorted(out, key=lambda each: each.name), waits=waits)


def _is_going(claim: NodeClaim) -> bool:
    return claim.metadata.deletion_timestamp is not None or holds(claim.status.conditions, "InstanceTerminating")


@dataclass(eq=False)
class Usage:
    """The ports and volumes that are in use on a node, by the pods that use them."""

    ports: list[tuple[str, HostPort]] = field(default_factory=list)
    volumes: dict[str, set[str]] = field(default_factory=dict)
    #: The most volumes per CSI driver.
    limits: dict[str, int] = field(default_factory=dict)

    def has_room_for(self, key: str, ports: Sequence[HostPort], more: Attachments) -> bool:
        """Report whether a pod's ports are free and its volumes can be attached."""
        if any(new.conflicts(port) for new in ports for user, port in self.ports if user != key):
            return False
        return all(
            len(self.volumes.get(driver, set()) | more.get(driver, frozenset())) <= limit
            for driver, limit in self.limits.items()
            if driver in self.volumes or driver in more
        )

    def add(self, key: str, ports: Sequence[HostPort], more: Attachments) -> None:
        """Count a pod."""
        self.ports += ((key, port) for port in ports)
        for driver, claims in more.items():
            self.volumes.setdefault(driver, set()).update(claims)


class Bound:
    """The pods on nodes, as sums per node: requests, those of DaemonSets, ports and volumes.

    requested, of_daemons: Arrays of int64, shape (n_nodes, n_resources).
    """

    def __init__(self, cluster: Cluster, resources: Resources) -> None:
        self._cluster = cluster
        has_daemons = bool(cluster.list(DaemonSet))
        self.requested, self.of_daemons, self._busy = _sums(cluster.pods, len(cluster.nodes), resources, has_daemons)

    def usage(self, row: int) -> Usage:
        """Return the ports and volumes in use on a node."""
        out, pods = Usage(), self._cluster.pods
        for index in pods.on_node(row).tolist():
            if self._busy[pods.class_id[index]]:
                pod = pods.pod(index)
                try:
                    volumes = attachments(self._cluster, pod)
                except MissingObject:
                    volumes = {}
                out.add(pod.key, host_ports(pod.spec), volumes)
        return out


@lru_cache(maxsize=2)
def _sums(pods: Pods, n_nodes: int, resources: Resources, has_daemons: bool) -> tuple[Amounts, Amounts, Mask]:
    """Return the sums per node of all pods and of those of DaemonSets, and the classes with ports or volumes."""
    per_class = np.array(
        [resources.amounts(requests_of(each.pod)[0]) for each in pods.classes], dtype=np.int64
    ).reshape(len(pods.classes), len(resources.names))
    placed = np.flatnonzero(pods.node_row >= 0)
    of_daemons = (
        i for i in placed.tolist() if has_daemons and is_owned_by(pods.records[i].metadata, "apps/v1", "DaemonSet")
    )
    daemons = np.fromiter(of_daemons, dtype=np.int64)
    busy = [bool(host_ports(each.pod.spec) or each.pod.spec.volumes) for each in pods.classes]
    return (
        _summed(pods.node_row[placed], per_class[pods.class_id[placed]], n_nodes),
        _summed(pods.node_row[daemons], per_class[pods.class_id[daemons]], n_nodes),
        np.array(busy, dtype=np.bool_),
    )


def _summed(rows: Int64Array, amounts: Amounts, n_nodes: int) -> Amounts:
    out = np.zeros((n_nodes, amounts.shape[1]), dtype=np.int64)
    np.add.at(out, rows, amounts)
    return out


def volume_limits(cluster: Cluster, name: str) -> Iterator[tuple[str, int | None]]:
    """Yield the CSI drivers of a node, each with the number of its volumes; ``None`` if there is no limit."""
    found = cluster.get(CSINode, name)
    for driver in found.spec.drivers if found is not None else ():
        yield driver.name, driver.allocatable.count if driver.allocatable is not None else None
