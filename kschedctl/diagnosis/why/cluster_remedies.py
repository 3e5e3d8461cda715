"""Remedies that no single reason proposes: another node, free capacity on a node, one pod less, another priority."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.new_nodes import lacking_on_copy, larger_nodes, nodes_like, shape_of, size_of
from kschedctl.diagnosis.node_health import lacks_setup
from kschedctl.diagnosis.rules.other_schedulers import rival_scheduler
from kschedctl.diagnosis.rules.volumes import nodes_at, volume_places
from kschedctl.objects.core import Node
from kschedctl.objects.pod import CONTROL_PLANE_TAINTS
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.resources import PODS, RequestRules, amount_of
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of
from kschedctl.scheduler.framework.operands import Shortfall
from kschedctl.scheduler.framework.remedy import (
    Remedy,
    RemedyContext,
    add_operation,
    can_make_way,
    delete_command,
    ending_awaited,
    ends_soon,
    min_count_lowered,
    pod_deleted,
    pods_text,
)
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import PodsInTheWay
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh

#: At most 16 kinds of nodes are tried, from the smallest.
_MOST_SHAPES: Final = 16
#: Pods are deleted for the members of a group on the first 64 nodes within reach.
_MOST_ROWS: Final = 64
#: The deletion of each single pod is tried if at most 300 pods are assigned to nodes.
_FEW_PODS: Final = 300
#: At most 5 pods are deleted to free capacity.
_MOST_DELETED: Final = 5
#: The filters whose result for a node no pod changes.
_WITHOUT_PODS: Final = frozenset((
    "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeDeclaredFeatures", "VolumeBinding",
    "VolumeZone",
))  # fmt: skip
#: The filters that look at the pods of the node, apart from their requests.
_BY_PODS_OF_NODE: Final = frozenset(("NodePorts", "NodeVolumeLimits"))
#: The filters whose result for a node no pod of another node changes.
_BY_NODE: Final = _WITHOUT_PODS | _BY_PODS_OF_NODE | {"NodeResourcesFit"}
_NEVER: Final = "Never"
_PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
_NODE_CRITICAL: Final = "system-node-critical"
#: The family of higher priorities for a DaemonSet's pod.
DAEMON_SET_PRIORITY: Final = "priority of a DaemonSet"


class _NodeKinds:
    """The nodes by the kind of node that can be added, each kind by the row of its first node.

    No node of the control plane is added, and none that waits for its set-up: a new one would have the same problem, as
    long as no agent or provider of the cluster is repaired.
    """

    def __init__(self, cluster: Cluster) -> None:
        first: dict[bytes, int] = {}
        self.kind_of = {
            row: first.setdefault(shape_of(node), row)
            for row, node in enumerate(cluster.nodes.objects)
            if not lacks_setup(node) and not any(taint.key in CONTROL_PLANE_TAINTS for taint in node.spec.taints)
        }
        size = {row: size_of(cluster.nodes.objects[row]) for row in first.values()}
        self.smallest_first = sorted(size, key=size.__getitem__)
        self.largest_first = sorted(size, key=size.__getitem__, reverse=True)


def new_nodes(decision: Decision, like: Collection[int] = ()) -> Iterator[Remedy]:
    """Yield remedies that each add nodes, at most 16: copies of kinds that are large enough, the smallest first.

    Of kinds that are too small for the pod a larger node is added, the largest first. It is tried only if no copy of a
    node helps.

    Args:
        like: The rows of nodes of whose kinds nodes are added; empty for all.
    """
    cluster, situation = decision.cluster, Situation(decision)
    kinds = cluster.derived(_NodeKinds, None, lambda: _NodeKinds(cluster), of=())
    wanted = {kinds.kind_of.get(row) for row in like or kinds.kind_of}
    large, reach = situation.large_enough, situation.in_reach
    rows = [row for row in kinds.smallest_first if large[row]] + [row for row in kinds.largest_first if not large[row]]
    ordered = sorted((row for row in rows if row in wanted), key=lambda row: not reach[row])
    for i, row in enumerate(ordered[:_MOST_SHAPES]):
        node = cluster.nodes.objects[row]
        lacking = lacking_on_copy(situation, row)
        if not lacking:
            yield nodes_like(cluster, node.name, _n_needed(decision, node), within=i)
        elif all(situation.offered(name)[row] for name in lacking):
            found = group_of(decision)
            number = max(_n_missing(found), 1) if found is not None else 1
            yield larger_nodes(situation, row, lacking, number, within=i)


def _n_needed(decision: Decision, model: Node) -> int:
    """Return the number of nodes like another one that the pod needs, or the members of its group that find no node."""
    found = group_of(decision)
    if found is None:
        return 1
    columns = decision.cluster.resources(RequestRules.of(decision.release))
    row = decision.cluster.nodes.row[model.name]
    wanted = {PODS: 1, **Situation(decision).requests}
    holds = [
        int(columns.allocatable[columns.index[name]][row]) // amount
        for name, amount in wanted.items()
        if amount and name in columns.index
    ]
    return max(-(-_n_missing(found) // max(min(holds, default=1), 1)), 1)


def _n_missing(group: PodGroupDecision) -> int:
    """Return the number of members that are needed and find no node; of a tree, that find none."""
    if group.group.is_tree:
        return len(group.group.unscheduled) - group.n_fitting
    return group.group.min_count - len(group.group.scheduled(group.cluster)) - group.n_fitting


def group_remedies(decision: Decision) -> Iterator[Remedy]:
    """Yield the wait for the victims of the pod's group, and ``minCount`` or ``minGroupCount`` that would be met."""
    found = group_of(decision)
    if found is None or found.group.group is None:
        return
    if found.victims:
        yield _wait_for_preemption(found.cluster, found.victims, "for the group")
    elif found.n_fitting:
        yield from _deletions_for_several(decision, _n_missing(found))
    rules = decision.release.pod_groups
    if rules is None or not rules.queues_groups:
        return
    for each in found.group.walk():
        if each.group is not None and 0 < (fitting := found.fitting_in(each)) < each.min_count:
            yield min_count_lowered(each.group, fitting)


def _deletions_for_several(decision: Decision, n_members: int) -> Iterator[Remedy]:
    """Yield the deletion of pods that makes room for several members: as few and unimportant pods as possible."""
    rows = np.flatnonzero(Situation(decision).in_reach)[:_MOST_ROWS].tolist()
    if n_members < 2 or not rows:
        return
    pods = decision.cluster.pods
    taken: set[str] = set()

    def cheapest(row: int) -> tuple[int, int, tuple[str, ...], int] | None:
        for each in freeing_deletions(decision, row, taken):
            indices = [pods.index[key.partition("/")[0], key.partition("/")[2]] for key in each.evicts]
            return int(pods.priority[indices].max()), len(indices), each.evicts, row
        return None

    options = {row: option for row in rows if (option := cheapest(row)) is not None}
    for _ in range(n_members):
        if not options:
            return
        *_, evicted, row = min(options.values())
        taken |= set(evicted)
        # Only the node that pods are taken from offers something else now.
        del options[row]
        if (option := cheapest(row)) is not None:
            options[row] = option
    keys = tuple(sorted(taken))
    yield Remedy(
        summary=f"make room for {counted(n_members, 'member')}: delete {pods_text(keys)}",
        scope=RemedyScope.NODE,
        changes=tuple(change for key in keys for change in pod_deleted(decision.cluster, key)),
        risk=Risk.EVICTION,
        family="free",
        within=len(keys),
        evicts=keys,
        command=delete_command(keys),
    )


def nodes_in_reach_of_volumes(decision: Decision) -> Iterator[Remedy]:
    """Yield the addition of nodes like existing ones, at the place to which the pod's first volume is tied."""
    situation = Situation(decision)
    for place in volume_places(situation)[:1]:
        yield from nodes_at(situation, place)


def fewer_pods(decision: Decision) -> Iterator[Remedy]:
    """Yield the deletion of each single pod that can matter, if at most 300 pods are assigned to nodes.

    A pod matters everywhere if a filter that looks across nodes rejects one. Otherwise it matters on its own node, if
    a filter that looks at the node's pods rejects that; the shortage of resources is the matter of `freeing_deletions`.
    """
    pods = decision.cluster.pods
    if len(pods.assigned) > _FEW_PODS:
        return
    rejected = Situation(decision).rejected
    if any(plugin not in _BY_NODE and mask.any() for plugin, mask in rejected.items()):
        there = np.ones(len(decision.cluster.nodes), dtype=np.bool_)
    else:
        there = np.zeros(len(decision.cluster.nodes), dtype=np.bool_)
        for plugin in _BY_PODS_OF_NODE & set(rejected):
            there |= rejected[plugin]
        for plugin in _WITHOUT_PODS & set(rejected):
            there &= ~rejected[plugin]
    context, own = RemedyContext(decision.pod, decision.cluster, decision.release), _own_members(decision)
    for index in pods.assigned[there[pods.node_row[pods.assigned]]].tolist():
        ends = pods.records[index].metadata.deletion_timestamp is not None
        if pods.key(index) not in own and not ends and not _comes_back(decision, index):
            yield from context.pod_removed(pods.key(index), within=float(pods.priority[index]))


def _own_members(decision: Decision) -> frozenset[str]:
    """Return the pod, and the pending members of its group or tree: they may have a node while a later one is tried."""
    group = group_of(decision)
    return frozenset((decision.pod.key, *(pod.key for pod in (group.group.unscheduled if group is not None else ()))))


def _comes_back(decision: Decision, index: int) -> bool:
    """Report whether a controller recreates a pod in vain, as anti-affinity or a spread constraint rejects its node.

    A new pod in the way of anti-affinity would be pending instead, and one that a spread constraint counts is counted
    again.
    """
    pods = decision.cluster.pods
    if pods.owner(index) is None:
        return False
    said = decision.verdict(int(pods.node_row[index])).reasons
    operands = [each.operands for _, reasons in said for each in reasons]
    in_the_way = [each for each in operands if isinstance(each, PodsInTheWay) and each.pod == pods.key(index)]
    return any(not each.can_move for each in in_the_way) or any(isinstance(each, SkewTooHigh) for each in operands)


def freeing_deletions(decision: Decision, row: int, kept: Collection[str] = ()) -> Iterator[Remedy]:
    """Yield the deletion of pods of a node that frees what the pod requests: as few and unimportant pods as possible.

    If pods that are being deleted free enough, only the wait for their end is yielded. If the deletion of a single pod
    suffices, the least important such pod is deleted; else up to 5 are, those that free most first. Pods that their
    controller recreates on the same node are kept. Nothing is yielded if the node rejects the pod for anything but a
    shortage.

    Args:
        kept: Further pods that are not deleted, as ``namespace/name``.
    """
    cluster, lacking = decision.cluster, _lacking(decision, row)
    if not lacking:
        return
    columns = cluster.resources(RequestRules.of(decision.release))
    per_class = {name: columns.per_class[columns.index[name]] for name in lacking if name in columns.index}
    if len(per_class) < len(lacking):
        return
    pods = cluster.pods
    held = {
        index: {name: int(per_class[name][pods.class_id[index]]) for name in lacking}
        for index in pods.on_node(row).tolist()
    }
    stay = {*kept, *_own_members(decision)}
    ending = {index: has for index, has in held.items() if pods.records[index].metadata.deletion_timestamp is not None}
    soon = [index for index in ending if ends_soon(cluster, index)]
    if all(sum(ending[index][name] for index in soon) >= lacking[name] for name in lacking):
        enough = [index for index in soon if all(ending[index][name] >= lacking[name] for name in lacking)]
        awaited = enough[:1] or [index for index in soon if any(ending[index].values())]
        yield ending_awaited(cluster, tuple(sorted(map(pods.key, awaited))), cluster.nodes.names[row])
        return
    amounts = {
        index: has
        for index, has in held.items()
        if index not in ending and can_make_way(cluster, index, decision.pod) and pods.key(index) not in stay
    }
    own = decision.pod.spec.priority or 0

    def importance(index: int) -> tuple[bool, int]:
        return int(pods.priority[index]) >= own, int(pods.priority[index])

    singles = [i for i, has in amounts.items() if all(has[name] >= lacking[name] for name in lacking)]
    if singles:
        best = min(singles, key=lambda i: (*importance(i), sum(amounts[i].values()), pods.key(i)))
        yield _freed(decision, row, lacking, [best])
        return
    left, taken = dict(lacking), list[int]()
    while left and len(taken) < _MOST_DELETED:
        gains = {
            index: sum(min(has[name], amount) / lacking[name] for name, amount in left.items())
            for index, has in amounts.items()
            if index not in taken
        }
        index = max(gains, key=lambda i: (gains[i] > 0, not importance(i)[0], gains[i], pods.key(i)), default=-1)
        if not gains.get(index):
            return
        taken.append(index)
        left = {name: more for name, amount in left.items() if (more := amount - amounts[index][name]) > 0}
    if not left:
        yield _freed(decision, row, lacking, taken)


def _lacking(decision: Decision, row: int) -> dict[str, int]:
    """Return the missing amount per resource; empty if a reason is no shortage, or the node is too small altogether."""
    lacking: dict[str, int] = {}
    for _, said in decision.verdict(row).reasons:
        for reason in said:
            found: Shortfall | None = reason.operands.shortfall() if reason.operands is not None else None
            if found is None or found.hopeless:
                return {}
            lacking[found.resource] = found.lacking
    return lacking


def _freed(decision: Decision, row: int, lacking: dict[str, int], taken: list[int]) -> Remedy:
    cluster = decision.cluster
    keys = tuple(sorted(cluster.pods.key(index) for index in taken))
    amounts = [amount_of(name, amount) for name, amount in lacking.items()]
    return Remedy(
        summary=f"free {listed(amounts)} on {cluster.nodes.names[row]}: delete {pods_text(keys)}",
        scope=RemedyScope.NODE,
        changes=tuple(change for key in keys for change in pod_deleted(cluster, key)),
        risk=Risk.EVICTION,
        family="free",
        within=len(taken),
        evicts=keys,
        command=delete_command(keys),
        side_of="free",
        side=f"{listed(amounts)} on {cluster.nodes.names[row]}: delete {pods_text(keys)}",
    )


def preemption_remedies(decision: Decision) -> Iterator[Remedy]:
    """Yield the deletion of the victims that preemption evicts without any change.

    To wait is no cure if another scheduler puts new pods on their place.
    """
    preemption = decision.preemption
    if preemption is None or not preemption.nominated or rival_scheduler(decision) is not None:
        return
    found = preemption.candidate(preemption.nominated[0])
    yield _wait_for_preemption(decision.cluster, [victim.pod for victim in found.victims], f"from {found.node}")


def _wait_for_preemption(cluster: Cluster, victims: Iterable[int], where: str) -> Remedy:
    keys = tuple(sorted(map(cluster.pods.key, victims)))
    return Remedy(
        summary=f"wait: preemption evicts {pods_text(keys)} {where}",
        scope=RemedyScope.CLUSTER,
        changes=tuple(change for key in keys for change in pod_deleted(cluster, key)),
        risk=Risk.WAIT,
        family="preemption",
        evicts=keys,
    )


def other_priorities(decision: Decision) -> Iterator[Remedy]:
    """Yield the PriorityClasses of higher priority, from the lowest; and permission to preempt, if the pod has none.

    Nothing is yielded if preemption already finds a node. Classes whose names begin with ``system-`` are left out,
    except system-node-critical for a DaemonSet's pod, which has no other node to go to. A pod of negative priority is
    meant to be the first to go, such as one that reserves room for others: it gets no class either.
    """
    pod = decision.pod
    owner = pod.metadata.controller
    is_of_daemon_set = owner is not None and owner.kind == "DaemonSet"
    context = RemedyContext(pod, decision.cluster, decision.release)
    if decision.preemption is not None and decision.preemption.nominated:
        return
    if pod.spec.preemption_policy == _NEVER:
        yield context.pod_patch(
            f"preemptionPolicy {_PREEMPT_LOWER_PRIORITY} instead of {_NEVER}",
            add_operation(_PREEMPT_LOWER_PRIORITY, "spec", "preemptionPolicy"),
            risk=Risk.EVICTION,
            family="preemption policy",
        )
    own = pod.spec.priority or 0
    if own < 0:
        return
    classes = sorted(decision.cluster.list(PriorityClass), key=lambda each: (each.value, each.name))
    allowed = [
        one
        for one in classes
        if not one.name.startswith("system-") or (is_of_daemon_set and one.name == _NODE_CRITICAL)
    ]
    for i, each in enumerate(one for one in allowed if one.value > own):
        reserved = ", for pods that every node needs" if each.name == _NODE_CRITICAL else ""
        yield context.pod_patch(
            f"priority class {each.name} ({each.value} instead of {own}{reserved})",
            add_operation(each.name, "spec", "priorityClassName"),
            add_operation(each.value, "spec", "priority"),
            add_operation(each.preemption_policy or _PREEMPT_LOWER_PRIORITY, "spec", "preemptionPolicy"),
            risk=Risk.EVICTION,
            family=DAEMON_SET_PRIORITY if is_of_daemon_set else "priority",
            # A DaemonSet's pod makes room on its node: that comes before the deletion of pods by hand.
            within=i - len(allowed) if is_of_daemon_set else i,
            once=True,
        )
