"""``provision``: rounds of Karpenter's provisioner, and the scheduler's placement on the nodes that they launch."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kschedctl.autoscaler.catalog import SEEN, no_node_pools, read_catalog
from kschedctl.autoscaler.instance_types import InstanceType
from kschedctl.autoscaler.karpenter.expansion import Answers
from kschedctl.autoscaler.karpenter.new_nodes import NewNode, node_of, offer_of
from kschedctl.autoscaler.karpenter.state import completed
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.wording import counted, listed
from kschedctl.objects.core import Node
from kschedctl.objects.karpenter import NodePool
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import envelope, provenance
from kschedctl.questions.provision.answer import (
    ElsewhereData,
    EvictedPodData,
    LaunchedNodeData,
    Provisioning,
    WaitingPodData,
)
from kschedctl.questions.provision.request import ProvisionRequest
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import World, with_more_nodes

_MOST_ROUNDS: Final = 20
#: Pods that are evicted are gone before Karpenter's round.
_AT_ONCE: Final = World(grace=False, leftovers=False)


@dataclass
class _Launched:
    """A new node, and the pods that it is for."""

    round: int
    plan: NewNode
    node: Node


@dataclass
class _Run:
    """The state after some rounds."""

    scheduler: Scheduler
    launched: list[_Launched] = field(default_factory=list)
    #: The node of each pod that got one, by the pod's ``namespace/name``.
    placed: dict[str, str] = field(default_factory=dict)
    #: The pod for which each evicted pod makes room.
    evicted: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    #: Karpenter's answers in the last round; ``None`` before the first one.
    answers: Answers | None = None


def provisioning(cluster: LoadedCluster, request: ProvisionRequest, handle: AnalysisHandle) -> Provisioning:
    """Run one round of Karpenter's provisioner, or rounds until one launches nothing.

    Raises InputError if the cluster has no NodePool, or the catalog cannot be read.
    Raises ClusterError if this user cannot list NodePools.
    """
    types = read_catalog(request.instance_types) if request.instance_types else ()
    require_listed(cluster.cluster, NodePool.__name__)
    if not cluster.cluster.list(NodePool):
        raise no_node_pools(cluster.cluster)
    scheduler = cluster.with_edited_pending()
    asked = _waiting(scheduler.cluster)
    with handle.busy("scheduling the pending pods"):
        run = _Run(scheduler)
        fitting = _schedule(run)
        unplaced = _waiting(run.scheduler.cluster)
    while run.rounds < (_MOST_ROUNDS if request.until_settled else 1) and _waiting(run.scheduler.cluster):
        with handle.busy(f"round {run.rounds + 1} of Karpenter"):
            if not _round(run, types):
                break
    waiting = _waiting(run.scheduler.cluster)
    on_node: dict[str, list[str]] = {}
    for pod, node in run.placed.items():
        on_node.setdefault(node, []).append(pod)
    nodes = tuple(_launched_data(each, on_node) for each in run.launched)
    prices = [each.price for each in nodes]
    elsewhere = tuple(
        ElsewhereData(pod, each.node.name, run.placed.get(pod, ""))
        for each in run.launched
        for pod in each.plan.pods
        if run.placed.get(pod, "") != each.node.name
    )
    left = tuple(_waiting_data(pod, run) for pod in waiting)
    return Provisioning(
        **envelope(cluster.cluster, provenance(cluster, (), many=True)),
        summary=_summary(fitting, unplaced, nodes, left, run.evicted),
        pending=len(asked),
        fitting=fitting,
        nodes=nodes,
        elsewhere=elsewhere,
        evicted=tuple(EvictedPodData(*each) for each in run.evicted.items()),
        waiting=left,
        rounds=run.rounds,
        price=sum(price for price in prices if price is not None) if prices and None not in prices else None,
        source=f"file {request.instance_types}" if request.instance_types else SEEN,
    )


def _waiting(cluster: Cluster) -> list[str]:
    return [cluster.pods.key(index) for index in pending_pods(cluster)]


def _schedule(run: _Run) -> dict[str, str]:
    """Let kube-scheduler place the pending pods, if need be by preemption; return the nodes of those that it places.

    The controllers replace evicted pods.
    """
    simulation = Simulation(run.scheduler, world=_AT_ONCE)
    simulation.enqueue_pending()
    found: dict[str, str] = {}
    for attempt in simulation.run():
        run.evicted |= dict.fromkeys(attempt.victims, attempt.pod)
        for gone in attempt.victims:
            found.pop(gone, None)
            run.placed.pop(gone, None)
        if attempt.node:
            found[attempt.pod] = attempt.node
    run.scheduler = simulation.scheduler
    run.placed |= found
    return found


def _round(run: _Run, types: Sequence[InstanceType]) -> bool:
    """Run a round, add its nodes and schedule the pods; report whether it launched any."""
    cluster = completed(run.scheduler.cluster)
    run.answers = Answers(cluster, types, tries=False)
    run.rounds += 1
    new = [
        _Launched(run.rounds, each, node_of(each, f"{each.pool.name}-new-{len(run.launched) + number}"))
        for number, each in enumerate(run.answers.plan.nodes, 1)
    ]
    if not new:
        return False
    run.launched += new
    run.scheduler = run.scheduler.moved(with_more_nodes(cluster, [each.node for each in new]))
    _schedule(run)
    return True


def _launched_data(one: _Launched, on_node: Mapping[str, Iterable[str]]) -> LaunchedNodeData:
    offer = offer_of(one.plan)
    return LaunchedNodeData(
        node=one.node.name,
        round=one.round,
        pool=one.plan.pool.name,
        instance_types=offer.types,
        zones=offer.zones,
        capacity_types=offer.capacity_types,
        price=offer.price,
        requirements=one.plan.requirements,
        planned=one.plan.pods,
        placed=tuple(on_node.get(one.node.name, ())),
    )


def _waiting_data(key: str, run: _Run) -> WaitingPodData:
    cluster = run.scheduler.cluster
    namespace, _, name = key.partition("/")
    pod = cluster.pods.pod(cluster.pods.index[namespace, name])
    if run.answers is None or pod.spec.scheduling_gates:
        return WaitingPodData(key, "its scheduling gates hold it back" if pod.spec.scheduling_gates else "", "")
    plan = run.answers.plan
    if any(key in each.pods for each in plan.nodes):
        why = "a new node was planned for it, and kube-scheduler put other pods there; the next round plans again"
        return WaitingPodData(key, why, "")
    found = run.answers.answer(pod)
    why = found.held or "; ".join(f"{each.group} {each.reason}" for each in found.refusals)
    return WaitingPodData(key, why, plan.errors.get(key) or plan.ignored.get(key, ""))


def _summary(
    fitting: Mapping[str, str],
    unplaced: Sequence[str],
    nodes: Sequence[LaunchedNodeData],
    waiting: Sequence[WaitingPodData],
    evicted: Mapping[str, str],
) -> str:
    if not fitting and not unplaced:
        return "no pod is pending"
    if not unplaced:
        room = f" after kube-scheduler evicts {counted(len(evicted), 'pod')}" if evicted else ""
        fits = "fits" if len(fitting) == 1 else "fit"
        return f"{counted(len(fitting), 'pending pod')} {fits} on existing nodes{room}, and Karpenter launches none"
    pools = Counter(each.pool for each in nodes)
    launched = listed([f"{counted(n, 'node')} of NodePool {pool}" for pool, n in pools.items()]) or "no node"
    n_planned = len({pod for each in nodes for pod in each.planned})
    of = f"{n_planned} of " if 0 < n_planned < len(unplaced) else ""
    parts = [f"Karpenter would launch {launched} for {of}{counted(len(unplaced), 'pending pod')}"]
    if fitting:
        room = f" after kube-scheduler evicts {counted(len(evicted), 'pod')}" if evicted else ""
        parts.append(f"{counted(len(fitting), 'pod')} {'fits' if len(fitting) == 1 else 'fit'} on existing nodes{room}")
    if waiting and (nodes or len(waiting) != len(unplaced)):
        parts.append(f"{counted(len(waiting), 'pod')} {'stays' if len(waiting) == 1 else 'stay'} pending")
    return "; ".join(parts)
