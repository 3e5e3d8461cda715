"""The analyses behind ``optimum``: the best placement, the cheapest nodes to buy, and the nodes that can be emptied."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.core import Node
from kschedctl.objects.karpenter import NodePool
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.optimum.answer import (
    BoughtKindData,
    BoughtNodeData,
    Emptied,
    EmptiedNodeData,
    GoalData,
    Optimum,
    OptimumEvictionData,
    OptimumPlacementData,
    OptimumWorkloadData,
    Purchased,
    WayData,
)
from kschedctl.questions.optimum.request import OptimumRequest
from kschedctl.questions.provenance import Provenance, envelope, provenance
from kschedctl.trials.completeness import Missing, Part, missing_for_any, not_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.optimum.comparison import Adjustment, Comparison, compare, find_adjustments, stranded
from kschedctl.trials.optimum.consolidation import Consolidation, empty_nodes
from kschedctl.trials.optimum.gangs import notes_of
from kschedctl.trials.optimum.goals import Goal, ScoreGoal, Violations
from kschedctl.trials.optimum.program import load_solver
from kschedctl.trials.optimum.purchase import UNIT, Catalog, Purchase, buy
from kschedctl.trials.optimum.trial import PlacementStep
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEvent
from kschedctl.trials.simulate.world import is_recreated

# The answer of ``optimum``: the best placement beside the scheduler's own, which takes many steps.


def optimum_answer(
    comparison: Comparison, ways: Sequence[Adjustment], provenance: Provenance, ended: tuple[str, ...] = ()
) -> Optimum:
    """Return the answer.

    Args:
        ways: The adjustments with which the scheduler arrives at the best placement.
        ended: The pods that are being deleted in the snapshot, and gone in the question.
    """
    question, found = comparison.question, comparison.best
    steps = comparison.steps
    waiting = [pod for kind in question.kinds for pod in kind.pods]
    on_nodes = {step.pod.key for step in steps if not step.again}
    placed = sum(pod.key in on_nodes for pod in waiting)
    scheduled = {pod.key for pod in waiting if multi_step_node(comparison, pod.key)}
    multi_step = len(scheduled)
    left_out = tuple(pod.key for pod in waiting if pod.key not in on_nodes)
    evicted = {(entry.pod, entry.node): None for entry in comparison.evicted}
    before, after = comparison.question.start.cluster.pods, comparison.simulation.cluster.pods
    pending = np.flatnonzero(after.node_row == PENDING).tolist()
    # The new pod of a StatefulSet has the name of the old one.
    old = (before.index.get(after.records[index].name) for index in pending)
    return Optimum(
        **envelope(
            question.start.cluster, provenance, notes_of(question.start.cluster, question.start.release, question.gangs)
        ),
        summary=_optimum_summary(len(waiting), multi_step, placed, comparison),
        proven=found.proven,
        stalled=found.stalled,
        goals=tuple(_goals(comparison)),
        pods=len(waiting),
        multi_step_finished=comparison.finished,
        multi_step_placed=multi_step,
        placed=placed,
        stranded=tuple(stranded(comparison)),
        waiting=left_out,
        displaced=tuple(key for key in left_out if key in scheduled),
        gated=question.gated,
        workloads=tuple(_workloads(comparison, steps)),
        placements=tuple(
            OptimumPlacementData(step.pod.key, step.node, multi_step_node(comparison, step.pod.key), step.again)
            for step in steps
        ),
        evicted=tuple(OptimumEvictionData(pod.key, pod.spec.node_name) for pod in comparison.left),
        multi_step_evicted=tuple(OptimumEvictionData(pod, node) for pod, node in evicted),
        ways=tuple(
            WayData(way.lever, way.what, tuple(_in_turn(comparison, way.pods)), way.pods, way.n_evicted) for way in ways
        ),
        refused=found.n_refused,
        ended=ended,
        replacements_pending=sum(map(is_recreated, comparison.left)) - sum(step.again for step in steps),
        multi_step_replacements_pending=sum(index is None or bool(before.node_row[index] >= 0) for index in old),
    )


def multi_step_node(comparison: Comparison, key: str) -> str:
    """Return the node on which the scheduler leaves a pod at the end; empty if the pod is pending or gone."""
    cluster = comparison.simulation.cluster
    namespace, _, name = key.partition("/")
    index = cluster.pods.index.get((namespace, name))
    return cluster.pods.records[index].node_name if index is not None else ""


def _in_turn(comparison: Comparison, keys: Sequence[str]) -> Iterator[str]:
    """Yield the workloads of pods in order, with the number of successive pods of each."""
    cluster = comparison.question.start.cluster
    pods = cluster.pods
    names = []
    for key in keys:
        namespace, _, name = key.partition("/")
        kind, of, workload = workload_of(cluster, pods.records[pods.index[namespace, name]].metadata)
        names.append(f"{kind} {of}/{workload}")
    for name, row in groupby(names):
        n = len(list(row))
        yield name if n == 1 else f"{name} x{n}"


def _goals(comparison: Comparison) -> Iterator[GoalData]:
    for standing in comparison.best.standings:
        goal = standing.goal
        gap = None if standing.gap is None else round(standing.gap, 2)
        yield GoalData(
            goal.name,
            goal.maximize,
            comparison.value(goal),
            standing.value,
            standing.bound,
            standing.proven and comparison.best.exact,
            gap,
        )


def _optimum_summary(n_pods: int, multi_step: int, placed: int, comparison: Comparison) -> str:
    if not n_pods:
        return "no pod is pending"
    n_evicted, n_left = len(comparison.evicted), len(comparison.left)
    both = f"the scheduler places {multi_step} of {counted(n_pods, 'pod')}, the best placement {placed}"
    if n_evicted or n_left:
        both = (
            f"the scheduler places {multi_step} of {counted(n_pods, 'pod')} and evicts {n_evicted}"
            f"{_beyond(comparison, comparison.value)}; the best placement places {placed} and evicts {n_left}"
            f"{_beyond(comparison, lambda goal: goal.value(comparison.question, comparison.best.placement))}"
        )
    if comparison.best.proven:
        return both
    gaps = [standing for standing in comparison.best.standings if not standing.proven]
    first = gaps[0] if gaps else None
    if first is None or first.gap is None or first.bound is None:
        return f"{both}; not proven: a better placement may exist"
    if isinstance(first.goal, ScoreGoal):
        return f"{both}; its scores are within {first.gap:.1f} % of the best possible"
    number, (noun, _, rest) = abs(first.bound - first.value), first.goal.counted.partition(" ")
    noun = f"{'more' if first.goal.maximize else 'fewer'} {noun.removesuffix('s')}"
    return f"{both}; not proven: up to {counted(number, noun)} {rest} may be possible"


def _beyond(comparison: Comparison, value: Callable[[Goal], int]) -> str:
    """Return the number of evictions beyond disruption budgets, in parentheses; empty if there are none."""
    number = sum(value(goal) for goal in comparison.goals if isinstance(goal, Violations))
    return f" ({number} beyond disruption budgets)" if number else ""


def _workloads(comparison: Comparison, steps: Iterable[PlacementStep]) -> Iterator[OptimumWorkloadData]:
    cluster = comparison.question.start.cluster
    nodes = {step.pod.key: step.node for step in steps if not step.again}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for kind in comparison.question.kinds:
        for pod in kind.pods:
            groups.setdefault(workload_of(cluster, pod.metadata), []).append(pod.key)
    for (kind_name, namespace, name), keys in sorted(groups.items(), key=lambda item: (item[0][1:], item[0][0])):
        counts = Counter(nodes[key] for key in keys if key in nodes)
        multi_step = sum(bool(multi_step_node(comparison, key)) for key in keys)
        yield OptimumWorkloadData(
            kind_name, namespace, name, len(keys), multi_step, counts.total(), dict(sorted(counts.items()))
        )


# The answer of ``optimum --buy``: the nodes to buy.


def purchase_answer(before: Cluster, purchase: Purchase, provenance: Provenance) -> Purchased:
    """Return the answer.

    Args:
        before: The cluster before the purchase.
    """
    question = purchase.question
    steps = purchase.proof.steps if purchase.proof is not None else ()
    waiting = [pod.key for kind in question.kinds for pod in kind.pods]
    placed = {step.pod.key for step in steps}
    pods = purchase.simulation.cluster.pods
    rows = {key: pods.index.get((key.partition("/")[0], key.partition("/")[2])) for key in waiting}
    theirs = {key: pods.records[row].node_name if row is not None else "" for key, row in rows.items()}
    counts = Counter(kind.name for kind, _ in purchase.nodes)
    kinds = {kind.name: kind for kind, _ in purchase.nodes}
    cost, bound = purchase.cost, purchase.price.bound
    multi_step = sum(bool(node) for node in theirs.values())
    return Purchased(
        **envelope(before, provenance, ()),
        summary=_buy_answer_summary(purchase, len(waiting), len(placed), multi_step),
        proven=purchase.best.proven and purchase.proof is not None,
        stalled=purchase.best.stalled,
        cost=money(cost),
        least_cost=None if bound is None else money(bound),
        pods=len(waiting),
        placed=len(placed),
        multi_step_placed=multi_step,
        waiting=tuple(key for key in waiting if key not in placed),
        kinds=tuple(
            BoughtKindData(name, n, money(kinds[name].cost), money(n * kinds[name].cost)) for name, n in counts.items()
        ),
        nodes=tuple(
            BoughtNodeData(node.name, kind.name, tuple(step.pod.key for step in steps if step.node == node.name))
            for kind, node in purchase.nodes
        ),
        placements=tuple(OptimumPlacementData(s.pod.key, s.node, theirs.get(s.pod.key, ""), s.again) for s in steps),
        objects=tuple(manifest(node) for _, node in purchase.nodes),
    )


def money(amount: int) -> str:
    """Return an amount, given in millionths, as decimal text.

    >>> money(192_000), money(3_000_000), money(0)
    ('0.192', '3', '0')
    """
    text = f"{Decimal(amount) / UNIT:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def manifest(node: Node) -> dict[str, Any]:
    """Return a node as a manifest."""
    taints = [{"key": t.key, **({"value": t.value} if t.value else {}), "effect": t.effect} for t in node.spec.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.metadata.labels)},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": dict(node.status.capacity), "allocatable": dict(node.status.allocatable)},
    }


def _buy_answer_summary(purchase: Purchase, n_pods: int, n_placed: int, multi_step: int) -> str:
    if not n_pods:
        return "no pod is pending, so no node is needed"
    if purchase.proof is None:
        return "no placement was found that the filters accept"
    pods = f"{n_placed} of {counted(n_pods, 'pod')} placed"
    if not purchase.nodes:
        return f"{pods} without new nodes"
    bought = f"{counted(len(purchase.nodes), 'node')} for {money(purchase.cost)}: {pods}"
    price = purchase.price
    if not purchase.best.proven:
        bought += "" if price.gap is None else f", within {price.gap:.1f} % of the cheapest"
    if multi_step < n_placed:
        bought += f"; the scheduler alone places {multi_step}"
    return bought


# The answer of ``optimum --minimize``: the nodes that can be emptied.


def emptied_answer(before: Cluster, emptying: Consolidation, provenance: Provenance) -> Emptied:
    """Return the answer.

    Args:
        before: The cluster before the drain.
    """
    fewest = emptying.standing.bound
    if not emptying.n_used:
        summary = "no node has pods other than DaemonSet pods and mirror pods"
    else:
        n = len(emptying.nodes)
        said = f"{n} of {counted(emptying.n_used, 'node')} in use can be emptied" if n else "no node can be emptied"
        after = emptying.n_used_after
        if emptying.newly_used:
            new = listed(emptying.newly_used, most=3)
            said += f": {after} {'is' if after == 1 else 'are'} in use afterwards, including {new}, unused now"
        elif n:
            said += f": {after} {'stays' if after == 1 else 'stay'} in use"
        if fewest == after:
            summary = f"{said}, and no placement needs fewer"
        else:
            summary = said if fewest is None else f"{said}; no placement needs fewer than {fewest}"
    return Emptied(
        **envelope(before, provenance, ()),
        summary=summary,
        used=emptying.n_used,
        used_after=emptying.n_used_after,
        newly_used=emptying.newly_used,
        fewest=fewest,
        proven=fewest == emptying.n_used_after and emptying.best.exact,
        stalled=emptying.best.stalled,
        nodes=tuple(
            EmptiedNodeData(node.node, tuple(pod.key for pod in node.evicted), dict(node.waited))
            for node in emptying.nodes
        ),
        cordoned=emptying.closed,
        placements=emptying.placed,
        given_up=emptying.given_up,
        obstacles=emptying.obstacles,
        fixed=emptying.fixed,
        karpenter=dict(_by_itself(before, [node.node for node in emptying.nodes])),
    )


def _by_itself(cluster: Cluster, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what Karpenter does with nodes of its NodePools, if it is there."""
    if not names or not cluster.list(NodePool):
        return
    from kschedctl.autoscaler.karpenter.disruption import Decision, Disruptions
    from kschedctl.autoscaler.karpenter.state import completed

    disruptions = Disruptions(completed(cluster))
    for found in filter(None, map(disruptions.of, names)):
        is_plain = found.decision is not Decision.KEEP and not found.reason
        yield found.node, found.decision.value if is_plain else f"{found.decision.value}: {found.reason}"


#: The time limit of the solver, in seconds.
TIME_LIMIT = 60.0


def optimum(cluster: LoadedCluster, request: OptimumRequest, handle: AnalysisHandle) -> Optimum:
    """Find the best placement of all pending pods at once, and compare it with the scheduler's placement one by one.

    Raises InputError if the solver is not installed.
    """
    load_solver()
    with handle.busy(_task("the best placement", proves=request.prove)):
        start = _after_deletions(cluster)
        comparison = compare(start.scheduler, seconds=request.time_limit, final=request.goal, proves=request.prove)
        found = find_adjustments(comparison, seconds=request.time_limit)
    ended = dict.fromkeys(entry.pod for entry in start.timeline if entry.event is TimelineEvent.DELETED)
    rests_on = provenance(cluster, _missing_for_pods(cluster, Part.EVICTION), many=True)
    return optimum_answer(comparison, found, rests_on, tuple(ended))


def purchase(
    cluster: LoadedCluster,
    catalog: Catalog,
    handle: AnalysisHandle,
    *,
    seconds: float = TIME_LIMIT,
    proves: bool = False,
) -> Purchased:
    """Find the cheapest nodes of a catalog that place every pending pod, with no evictions.

    Raises InputError if the solver is not installed.
    """
    load_solver()
    with handle.busy(_task("the cheapest nodes", proves=proves)):
        found = buy(_after_deletions(cluster).scheduler, catalog, seconds=seconds, proves=proves)
    return purchase_answer(
        cluster.cluster, found, provenance(cluster, _missing_for_pods(cluster, Part.NEW_NODES), many=True)
    )


def consolidate(
    cluster: LoadedCluster, handle: AnalysisHandle, *, seconds: float = TIME_LIMIT, proves: bool = False
) -> Emptied:
    """Find the most nodes that can be drained one after another.

    Raises InputError if the solver is not installed.
    """
    load_solver()
    with handle.busy(_task("nodes that could be emptied", proves=proves)):
        found = empty_nodes(_after_deletions(cluster).scheduler, seconds=seconds, proves=proves)
    # Every pod of the cluster may have to move.
    missing = (*not_listed(cluster.cluster, Part.EVICTION), *missing_for_any(cluster.cluster, preempts=False))
    return emptied_answer(cluster.cluster, found, provenance(cluster, missing, many=True))


def _task(what: str, *, proves: bool) -> str:
    """Return the text of the progress line."""
    return f"looking for {what}, and for a proof" if proves else f"looking for {what}"


def _missing_for_pods(cluster: LoadedCluster, part: Part) -> tuple[Missing, ...]:
    """Return the data that is missing for the pending pods, and for another part of the answer."""
    pods = map(cluster.pods.pod, pending_pods(cluster.cluster))
    alike = {(pod.metadata.namespace, id(pod.spec)): pod for pod in pods}
    found = (cluster.missing_for(pod, preempts=False, is_scored=True) for pod in alike.values())
    return tuple(dict.fromkeys((*not_listed(cluster.cluster, part), *(each for missing in found for each in missing))))


def _after_deletions(cluster: LoadedCluster) -> Simulation:
    """Return a simulation in which the pods that are being deleted are gone, and nothing else has happened."""
    simulation = cluster.simulation()
    simulation.clock.run()
    return simulation
