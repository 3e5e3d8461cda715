"""Karpenter's answer for one pod: the node that it would launch, or what each NodePool has against it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace as changed
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.autoscaler.catalog import SEEN, seen_types, type_labels
from kschedctl.autoscaler.expansion import Expansion, GroupChange, GroupRefusal, NodeOffer, Repair
from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, InstanceType, allocatable, is_offered
from kschedctl.autoscaler.karpenter.claims import Fit, NewNode, Obstacle, Refusal
from kschedctl.autoscaler.karpenter.pods import as_unschedulable, is_provisionable, requests_of, untolerated
from kschedctl.autoscaler.karpenter.pools import LIFECYCLE
from kschedctl.autoscaler.karpenter.provisioner import Plan, Round, Settings
from kschedctl.autoscaler.karpenter.reasons import (
    conflicting,
    own_types,
    reason_of,
    rounded,
    taints_text,
    why_unusable,
    without_types,
)
from kschedctl.autoscaler.karpenter.state import NODES, completed, is_starting, state_nodes
from kschedctl.autoscaler.requirements import Requirements
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.wording import listed
from kschedctl.objects.core import Condition, Node, NodeSpec, NodeStatus
from kschedctl.objects.karpenter import NODE_POOL_LABEL, NodeClaim, NodePool, condition, holds
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import DEFAULT_TOLERATIONS, Pod, protects_pods, toleration_of
from kschedctl.objects.quantity import NANO, quantity_text
from kschedctl.objects.resources import exact_quantity, is_extended_resource, parse_resources
from kschedctl.objects.selectors import IN
from kschedctl.objects.well_known import HOSTNAME, INSTANCE_TYPE, ZONE
from kschedctl.scheduler.framework.remedy import Change, add_operation, patched, replace_operation

NAME: Final = "Karpenter"
#: A name that no node has.
_NEW: Final = "new-node-of-"
#: Pools at their limit come closest to adding a node, those of other machines least.
_RANKS: Final = {Obstacle.LIMIT: 0, Obstacle.NODE_LIMIT: 0, Obstacle.TYPES: 2}
#: In a changed cluster with more pending pods, only the asked one takes part in the round.
_MANY_PENDING: Final = 200
#: The time after which a NodeClaim that is not launched is deleted (nodeclaim/lifecycle/liveness.go).
_LAUNCH: Final = timedelta(minutes=5)
_GET_CLAIMS: Final = "kubectl get nodeclaims.karpenter.sh"
#: Changes that are tried for a pod.
_MOST_CHANGES: Final = 3


def expansion(cluster: Cluster, pod: Pod) -> Expansion | None:
    """Return Karpenter's answer for a pod that no node of the cluster takes; ``None`` if there is no NodePool.

    Instance types are those that the cluster shows.
    """
    if not cluster.list(NodePool):
        return None
    if pod.spec.scheduling_gates:
        return Expansion(autoscaler=NAME, held="it waits until the pod's scheduling gates are gone")
    marked = as_unschedulable(pod, cluster.taken_at)
    if not is_provisionable(marked):
        return Expansion(autoscaler=NAME, held="it launches no nodes for static pods and pods of DaemonSets")
    few = cluster.is_as_read or len(pending_pods(cluster)) <= _MANY_PENDING
    waiting = completed(cluster, pods=few)
    own = _own_pod(waiting, pod)
    if own is None:
        waiting = waiting.with_pods(added=(marked,))
    return _known(waiting, "" if few else pod.key).answer(own or marked)


def _own_pod(cluster: Cluster, pod: Pod) -> Pod | None:
    """Return the cluster's own pod if it is the asked one but for what admission adds; ``None`` otherwise."""
    index = cluster.pods.index.get((pod.namespace, pod.name))
    own = cluster.pods.pod(index) if index is not None else None
    if own is None or not is_provisionable(own):
        return None
    # What admission adds to the asked pod does not matter to Karpenter.
    spec = replace(own.spec, priority=pod.spec.priority, preemption_policy=pod.spec.preemption_policy)
    tolerations = tuple(each for each in pod.spec.tolerations if each not in DEFAULT_TOLERATIONS)
    others = tuple(each for each in own.spec.tolerations if each not in DEFAULT_TOLERATIONS)
    same = own.metadata.labels == pod.metadata.labels and tolerations == others
    return own if same and replace(spec, tolerations=pod.spec.tolerations) == pod.spec else None


class _Known:
    """The round over a cluster, computed once for all of its pods."""

    def __init__(self, cluster: Cluster, key: str) -> None:
        self._cluster = cluster
        self._types = seen_types(cluster)
        self._settings = Settings(now=cluster.taken_at or Settings().now, only=key)
        self._answers: dict[str, Expansion] = {}

    @cached_property
    def _first(self) -> Round:
        return Round(self._cluster, self._types, self._settings)

    @cached_property
    def _plan(self) -> Plan:
        return Round(self._cluster, self._types, self._settings).solve()

    def answer(self, pod: Pod) -> Expansion:
        """Return the answer for a pod of the cluster."""
        if pod.key not in self._answers:
            self._answers[pod.key] = self._answer(pod)
        return self._answers[pod.key]

    def _answer(self, pod: Pod) -> Expansion:
        cluster, types, plan = self._cluster, self._types, self._plan
        held = _held(cluster, pod, plan)
        if held:
            stuck = _stuck_claims(cluster, self._settings.now) if plan.waits else ()
            return Expansion(autoscaler=NAME, held=held, repairs=tuple(stuck))
        if pod.key in plan.placed:
            return _counted_on(cluster, plan.placed[pod.key])
        pools = sorted(cluster.list(NodePool), key=lambda each: (-(each.spec.weight or 0), each.name))
        said = {pool.name: answer for pool, answer in self._first.alone(pod.key)}
        node = next((each for each in plan.nodes if pod.key in each.pods), None)
        refusals: list[tuple[int, GroupRefusal]] = []
        changes: list[GroupChange] = []
        repairs: list[Repair] = []
        for pool in pools:
            answer = said.get(pool.name)
            if isinstance(answer, Fit):
                continue
            unusable = why_unusable(pool)
            if answer is None and not unusable:
                answer = without_types(pod, pool)
            # The cloud may have instance types that the cluster does not show.
            is_open = not unusable and (answer is None or answer.obstacle is Obstacle.TYPES) and not _names_types(pool)
            reason = unusable or reason_of(cluster, pod, pool, answer, types)
            text = answer.text if answer is not None else ""
            refusal = GroupRefusal(group=f"NodePool {pool.name}", reason=reason, said=text, is_open=is_open)
            refusals.append((_RANKS.get(answer.obstacle, 1) if answer is not None else 1, refusal))
            if _is_broken(pool):
                repairs.append(
                    Repair(f"repair NodePool {pool.name}, which {unusable}", _describe("nodepools", pool.name))
                )
            if answer is not None and node is None and len(changes) < _MOST_CHANGES:
                settings = changed(self._settings, only=pod.key)
                changes += islice(_changes(cluster, pod, pool, answer, types, settings), 1)
        if node is None and any(isinstance(each, Fit) for each in said.values()):
            text = plan.errors.get(pod.key, "")
            held = (
                f"nodes for other pending pods leave none for it: {text}"
                if text and "limits" not in text
                else "nodes for other pending pods use up the limits of the NodePools that would take it"
            )
        return Expansion(
            autoscaler=NAME,
            offer=offer_of(node) if node is not None else None,
            nodes=self._nodes_for(pod, plan) if node is not None else (),
            refusals=tuple(each for _, each in sorted(refusals, key=itemgetter(0))),
            changes=tuple(changes),
            repairs=tuple(repairs) if node is None else (),
            held=held,
            source=SEEN,
        )

    def _nodes_for(self, pod: Pod, plan: Plan) -> tuple[Node, ...]:
        """Return the new nodes for pods of the same controller."""
        pods, owner = self._cluster.pods, pod.metadata.controller
        uid = owner.uid if owner is not None else ""

        def is_alike(key: str) -> bool:
            namespace, _, name = key.partition("/")
            other = pods.owner(pods.index[namespace, name])
            return key == pod.key or (bool(uid) and other is not None and other.uid == uid)

        chosen = [each for each in plan.nodes if any(map(is_alike, each.pods))]
        return tuple(node_of(each, f"{_NEW}{each.pool.name}-{number}") for number, each in enumerate(chosen, 1))


@lru_cache(maxsize=2)
def _known(cluster: Cluster, key: str) -> _Known:
    return _Known(cluster, key)


def _counted_on(cluster: Cluster, name: str) -> Expansion:
    """Return the answer for a pod for which a node is there or on its way."""
    node = cluster.nodes.row.get(name)
    starts = node is None or is_starting(cluster.nodes.objects[node])
    what = f"{'NodeClaim' if node is None else 'node'} {name}"
    wait = Repair(f"wait until {what} is ready", f"{_GET_CLAIMS},nodes --watch", waits=True)
    return Expansion(
        autoscaler=NAME,
        held=f"it counts the pod on {what}" + (", which is starting" if starts else ", where it fits by its rules"),
        repairs=(wait,) if starts else (),
    )


def _names_types(pool: NodePool) -> bool:
    """Report whether a pool allows named instance types only: others that the cloud has do not count."""
    return any(each.key == INSTANCE_TYPE and each.operator == IN for each in pool.spec.template.spec.requirements)


def _held(cluster: Cluster, pod: Pod, plan: Plan) -> str:
    if plan.waits:
        waiting = [each.name for each in cluster.list(NodeClaim) if not each.status.provider_id]
        unknown = (
            f"NodeClaim {listed(waiting, most=2)} has not been launched" if waiting else "a node is not known to it"
        )
        return f"it decides for no pod as long as {unknown}{next(_launch_problems(cluster, waiting), '')}"
    problem = plan.ignored.get(pod.key)
    return f"it leaves the pod out: {problem}" if problem else ""


def _stuck_claims(cluster: Cluster, now: datetime) -> Iterator[Repair]:
    for claim in cluster.list(NodeClaim):
        if claim.status.provider_id:
            continue
        launched, created = condition(claim.status.conditions, "Launched"), claim.metadata.creation_timestamp
        failed = launched is not None and launched.status != "True" and launched.message
        if not failed and created is not None and now - created < _LAUNCH:
            yield Repair(f"wait until NodeClaim {claim.name} is launched", f"{_GET_CLAIMS} --watch", waits=True)
        else:
            summary = f"find out why NodeClaim {claim.name} is not launched, and repair that or delete it"
            yield Repair(summary, _describe("nodeclaims", claim.name))


def _describe(plural: str, name: str) -> str:
    return f"kubectl describe {plural}.karpenter.sh {name}"


def _launch_problems(cluster: Cluster, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        claim = cluster.get(NodeClaim, name)
        launched = condition(claim.status.conditions, "Launched") if claim is not None else None
        if launched is not None and launched.message:
            yield f" ({launched.reason}: {launched.message})"


def offer_of(node: NewNode) -> NodeOffer:
    """Return a NodeClaim as the node that its cheapest instance type makes of it."""
    return NodeOffer(
        group=f"NodePool {node.pool.name}",
        node=node_of(node, f"{_NEW}{node.pool.name}"),
        types=tuple(each.name for each in node.types),
        zones=_values(node.labels, ZONE),
        capacity_types=_values(node.labels, CAPACITY_TYPE),
        price=node.types[0].price(node.labels) or None if node.types else None,
    )


def _values(requirements: Requirements, key: str) -> tuple[str, ...]:
    own = requirements.get(key)
    return tuple(sorted(own.values)) if own is not None and not own.complement else ()


def node_of(node: NewNode, name: str) -> Node:
    """Return the node that the cheapest instance type of a NodeClaim becomes, with its startup taints gone."""
    kind = node.types[0]
    fixed = {
        key: next(iter(each.values))
        for key, each in node.labels.items()
        if len(each.values) == 1 and not each.complement
    }
    launchable = [each for each in kind.offerings if each.is_launchable and is_offered(node.labels, each)]
    place = min(launchable, key=lambda each: (each.price, each.zone), default=None)
    labels = {**fixed, **type_labels(kind), NODE_POOL_LABEL: node.pool.name, HOSTNAME: name}
    if place is not None:
        labels |= {ZONE: place.zone, CAPACITY_TYPE: place.capacity_type}
    labels |= dict.fromkeys(LIFECYCLE, "true")
    offered = {each: quantity_text(max(amount, 0)) for each, amount in allocatable(kind).items()}
    return Node(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=NodeSpec(taints=node.pool.taints, provider_id=f"{_NEW}{name}"),
        status=NodeStatus(
            capacity=kind.capacity, allocatable=dict(offered), conditions=(Condition(type="Ready", status="True"),)
        ),
    )


def _is_broken(pool: NodePool) -> bool:
    deleted, static = pool.metadata.deletion_timestamp is not None, pool.spec.replicas is not None
    return not deleted and not static and not holds(pool.status.conditions, "Ready")


# Changes that would help; each is tried.


def _changes(
    cluster: Cluster, pod: Pod, pool: NodePool, refusal: Refusal, types: Sequence[InstanceType], settings: Settings
) -> Iterator[GroupChange]:
    for summary, command, new, asked in _candidates(cluster, pod, pool, refusal, types):
        objects = [new if each.name == pool.name else each for each in cluster.list(NodePool)]
        tried = cluster.with_objects(NodePool, objects)
        if asked is not pod:
            tried = tried.with_pods(added=(asked,))
        plan = Round(tried, types, settings).solve()
        node = next((each for each in plan.nodes if pod.key in each.pods), None)
        if node is not None:
            changes: tuple[Change, ...] = ()
            if new is not pool:
                changes = (_pool_patch(pool, new),)
            if asked is not pod:
                changes = (*changes, _pod_patch(pod, asked))
            yield GroupChange(summary=summary, command=command, changes=changes, offer=offer_of(node))
            return


def _candidates(
    cluster: Cluster, pod: Pod, pool: NodePool, refusal: Refusal, types: Sequence[InstanceType]
) -> Iterator[tuple[str, str, NodePool, Pod]]:
    edit = f"kubectl edit nodepools.karpenter.sh {pool.name}"
    spec = pool.spec
    if refusal.obstacle in (Obstacle.LIMIT, Obstacle.NODE_LIMIT):
        used = state_nodes(cluster).used[pool.name]
        limits = parse_resources(spec.limits)
        own = sorted(own_types(pool, types), key=lambda each: parse_resources(each.capacity).get("cpu", 0))
        for kind in own:
            wanted = {**parse_resources(kind.capacity), NODES: NANO}
            more = {
                name: used[name] + wanted.get(name, 0)
                for name, limit in limits.items()
                if used[name] + wanted.get(name, 0) > limit
            }
            if not more:
                continue
            texts = {name: exact_quantity(name, rounded(name, amount)) for name, amount in more.items()}
            parts = [f"{name} from {spec.limits[name]} to {text}" for name, text in texts.items()]
            new = replace(pool, spec=replace(spec, limits={**spec.limits, **texts}))
            yield (
                f"raise the limit of NodePool {pool.name} for {listed(parts)} or more",
                f"{edit}    # spec.limits",
                new,
                pod,
            )
    elif refusal.obstacle in (Obstacle.REQUIREMENTS, Obstacle.PLACES):
        keys = conflicting(refusal)
        if all(key in refusal.known and refusal.wanted[key].operator == IN for key in keys) and keys:
            requirements = list(spec.template.spec.requirements)
            for i, each in enumerate(requirements):
                if each.key in keys and each.operator == IN:
                    values = (*each.values, *sorted(refusal.wanted[each.key].values - set(each.values)))
                    requirements[i] = replace(each, values=values)
            if requirements != list(spec.template.spec.requirements):
                template = replace(spec.template, spec=replace(spec.template.spec, requirements=tuple(requirements)))
                new = replace(pool, spec=replace(spec, template=template))
                added = listed([f"{listed(sorted(refusal.wanted[key].values))} to {key}" for key in keys])
                summary = f"add {added} in the requirements of NodePool {pool.name}"
                yield summary, f"{edit}    # spec.template.spec.requirements", new, pod
    elif refusal.obstacle is Obstacle.TAINTS:
        taints = untolerated(pod.spec, spec.template.spec.taints)
        # Pools with taints are for pods with a purpose; a device is one that can be seen.
        if any(map(protects_pods, taints)) or not any(map(is_extended_resource, requests_of(pod)[0])):
            return
        tolerations = (*pod.spec.tolerations, *map(toleration_of, taints))
        asked = replace(pod, spec=replace(pod.spec, tolerations=tolerations))
        summary = f"tolerate the {taints_text(taints)} of NodePool {pool.name}"
        yield summary, f"# {summary} in the pod's template", pool, asked


def _pool_patch(old: NodePool, new: NodePool) -> Change:
    operations = []
    if new.spec.limits != old.spec.limits:
        operations.append(replace_operation(new.spec.limits, "spec", "limits"))
    if new.spec.template != old.spec.template:
        data: Any = msgspec.to_builtins(new.spec.template.spec.requirements)
        operations.append(replace_operation(data, "spec", "template", "spec", "requirements"))
    return patched(new, *operations)


def _pod_patch(old: Pod, new: Pod) -> Change:
    data: Any = msgspec.to_builtins(new.spec.tolerations)
    operation = replace_operation if old.spec.tolerations else add_operation
    return patched(old, operation(data, "spec", "tolerations"))
