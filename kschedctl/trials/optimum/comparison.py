"""Comparison of the best placement with the multi-step placement, which the scheduler reaches pod by pod."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.goals import FinalGoal, Goal, Running, goal_values, goals_of
from kschedctl.trials.optimum.placement import Placement
from kschedctl.trials.optimum.question import PlacementQuestion, no_evictions, pose
from kschedctl.trials.optimum.search import Best, best
from kschedctl.trials.optimum.trial import PlacementStep
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.pods import pod_at
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

#: The share of the time for the search for a placement without evictions.
_WITHOUT_EVICTIONS: Final = 0.3


@dataclass(frozen=True, slots=True)
class Comparison:
    """The best placement and the multi-step placement.

    Attributes
    ----------
    question : PlacementQuestion
        The question that the best placement answers.
    simulation : Simulation
        The finished simulation of the scheduler.
    multi_step : Placement
        The placement at the end of the simulation.
    best : Best
        The best placement.
    goals : tuple of Goal
        The goals by which both placements are measured.
    finished : bool
        False if the simulation was stopped because pods preempted each other repeatedly.
    """

    question: PlacementQuestion
    simulation: Simulation
    multi_step: Placement
    best: Best
    goals: tuple[Goal, ...]
    finished: bool = True

    @property
    def evicted(self) -> tuple[TimelineEntry, ...]:
        """The evictions of the multi-step placement."""
        return tuple(entry for entry in self.simulation.timeline if entry.event is TimelineEvent.PREEMPTED)

    @property
    def steps(self) -> tuple[PlacementStep, ...]:
        """The pods of the best placement, in an order that the filters accept."""
        if self.best.proof is not None:
            return self.best.proof.steps
        # The best placement is the multi-step placement, which can be reached only in the order of the simulation.
        return tuple(simulated_steps(self.question, self.simulation))

    @property
    def left(self) -> tuple[Pod, ...]:
        """The pods that the best placement evicts, each with its node."""
        if self.best.proof is not None:
            return self.best.proof.left
        cluster = self.question.start.cluster
        names = dict.fromkeys((namespace, name) for namespace, _, name in (e.pod.partition("/") for e in self.evicted))
        return tuple(pod_at(cluster, cluster.pods.index[name]) for name in names if name in cluster.pods.index)

    def value(self, goal: Goal) -> int:
        """Return the value of the multi-step placement for a goal."""
        return goal.value(self.question, self.multi_step)

    @property
    def places_more(self) -> bool:
        """True if the best placement has more pods on nodes, by priority from the highest."""
        return running(self.question, self.best.placement) > running(self.question, self.multi_step)


def running(question: PlacementQuestion, placement: Placement) -> tuple[int, ...]:
    """Return the number of pods on nodes per priority, from the highest."""
    return goal_values(question, _running_goals(question), placement)


def _running_goals(question: PlacementQuestion) -> list[Goal]:
    return [goal for goal in goals_of(question, FinalGoal.NODES) if isinstance(goal, Running)]


def compare(
    scheduler: Scheduler, *, seconds: float, final: FinalGoal = FinalGoal.SCORES, choose: Choose = first_by_name
) -> Comparison:
    """Simulate the scheduler with the pending pods, and find their best placement.

    Evictions are considered only if some pod cannot be placed without any.

    Parameters
    ----------
    seconds : float
        The time limit of the solver.
    choose : callable
        Breaks ties in the simulation.
    """
    simulation = simulate_pending(scheduler, choose)
    deadline = time.monotonic() + seconds
    question = pose(scheduler, no_evictions)
    evicting = pose(scheduler)
    alone: Placement | None = None
    if evicting.occupants:
        goals = _running_goals(question)
        alone = best(question, seconds=seconds * _WITHOUT_EVICTIONS, goals=goals).placement
        if sum(alone.placed.values()) < question.n_waiting:
            question = evicting
    question = _scheduled_first(question, simulation)
    multi_step = placement_of(question, simulation)
    evicted = any(entry.event is TimelineEvent.PREEMPTED for entry in simulation.timeline)
    # A placement with evictions is not valid for a question without evictions. Pending kinds have the same numbers in
    # both questions.
    known = [multi_step] if question.occupants or not evicted else []
    known += [alone] if alone is not None else []
    found = best(question, seconds=max(deadline - time.monotonic(), 0.1), final=final, known=known)
    goals = goals_of(question, final)
    return Comparison(question, simulation, multi_step, found, tuple(goals), finished=not simulation.restless)


def _scheduled_first(question: PlacementQuestion, simulation: Simulation) -> PlacementQuestion:
    """Return the question with the pods first in each kind that the scheduler places: pods of a kind are equal."""
    kinds = (
        replace(kind, pods=tuple(sorted(kind.pods, key=lambda pod: not _has_node(simulation, pod))))
        for kind in question.kinds
    )
    return replace(question, kinds=tuple(kinds))


def _has_node(simulation: Simulation, pod: Pod) -> bool:
    """Report whether a pod has a node at the end of a simulation."""
    pods = simulation.cluster.pods
    index = pods.index.get((pod.namespace, pod.name))
    return index is not None and bool(pods.node_row[index] >= 0)


def stranded(comparison: Comparison) -> Iterator[str]:
    """Yield the pods that are on a node only in the best placement, as ``namespace/name``."""
    for step in comparison.steps:
        if not step.again and not _has_node(comparison.simulation, step.pod):
            yield step.pod.key


def simulate_pending(scheduler: Scheduler, choose: Choose = first_by_name) -> Simulation:
    """Simulate the scheduler with all pending pods to the end."""
    simulation = Simulation(scheduler, choose=choose)
    simulation.enqueue_pending()
    for _ in simulation:
        pass
    return simulation


def simulated_steps(question: PlacementQuestion, simulation: Simulation) -> Iterator[PlacementStep]:
    """Yield the pods that were placed in a finished simulation and are still on a node, in order."""
    waiting = {pod.key: (pod, number) for number, kind in enumerate(question.kinds) for pod in kind.pods}
    pods = simulation.cluster.pods
    came = dict.fromkeys(entry.pod for entry in simulation.timeline if entry.event is TimelineEvent.SCHEDULED)
    for key in came:
        namespace, _, name = key.partition("/")
        index = pods.index.get((namespace, name))
        if index is not None and pods.node_row[index] >= 0:
            there = pod_at(simulation.cluster, index)
            # A pod that was simulated with another priority or other requests is still of its kind.
            pod, kind = waiting[key] if key in waiting else (there, question.kind_number(there))
            yield PlacementStep(pod, kind, there.spec.node_name, key not in waiting)


def placement_of(question: PlacementQuestion, simulation: Simulation) -> Placement:
    """Return the placement at the end of a simulation that began with the cluster of a question."""
    start, rows = question.start.cluster.pods, simulation.cluster.nodes.row
    evicted = {entry.pod for entry in simulation.timeline if entry.event is TimelineEvent.PREEMPTED}
    leaving = {
        number: gone
        for number, occupants in enumerate(question.occupants)
        if (gone := sum(start.key(index) in evicted for index in occupants.pods))
    }
    placed = Counter((step.kind, rows[step.node]) for step in simulated_steps(question, simulation) if step.kind >= 0)
    return Placement(dict(placed), leaving)
