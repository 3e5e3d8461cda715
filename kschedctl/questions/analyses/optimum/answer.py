"""The answer of ``optimum``: the best placement beside the scheduler's own, which takes many steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.questions.analyses.provenance import Provenance, envelope
from kschedctl.questions.answers.optimum import (
    GoalData,
    Optimum,
    OptimumEvictionData,
    OptimumPlacementData,
    OptimumWorkloadData,
    WayData,
)
from kschedctl.trials.optimum.comparison import Adjustment, Comparison, stranded
from kschedctl.trials.optimum.gangs import notes_of
from kschedctl.trials.optimum.goals import Goal, ScoreGoal, Violations
from kschedctl.trials.optimum.trial import PlacementStep
from kschedctl.trials.simulate.world import is_recreated


def optimum_answer(
    comparison: Comparison, ways: Sequence[Adjustment], provenance: Provenance, ended: tuple[str, ...] = ()
) -> Optimum:
    """Return the answer.

    Parameters
    ----------
    ways : sequence of Adjustment
        The adjustments with which the scheduler arrives at the best placement.
    provenance : Provenance
        The provenance of the answer.
    ended : tuple of str
        The pods that are being deleted in the snapshot, and gone in the question.
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
    return Optimum(
        **envelope(question.start.cluster, provenance, notes_of(question.start.cluster, question.gangs)),
        summary=_summary(len(waiting), multi_step, placed, comparison),
        proven=found.proven,
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
        multi_step_replacements_pending=_n_new_pending(comparison),
    )


def _n_new_pending(comparison: Comparison) -> int:
    """Return the number of pods that the simulation of the scheduler recreated and leaves pending."""
    before, after = comparison.question.start.cluster.pods, comparison.simulation.cluster.pods
    pending = np.flatnonzero(after.node_row == PENDING).tolist()
    # The new pod of a StatefulSet has the name of the old one.
    old = (before.index.get(after.records[index].name) for index in pending)
    return sum(index is None or bool(before.node_row[index] >= 0) for index in old)


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


def _summary(n_pods: int, multi_step: int, placed: int, comparison: Comparison) -> str:
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
        return f"{both}; a better placement may exist"
    if isinstance(first.goal, ScoreGoal):
        return f"{both}; its scores are within {first.gap:.1f} % of the best possible"
    number, (noun, _, rest) = abs(first.bound - first.value), first.goal.counted.partition(" ")
    noun = f"{'more' if first.goal.maximize else 'fewer'} {noun.removesuffix('s')}"
    return f"{both}; up to {counted(number, noun)} {rest} may be possible"


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
