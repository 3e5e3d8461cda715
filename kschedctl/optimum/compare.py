"""The best placement beside what the scheduler makes of the same pods, one after another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from kschedctl.api.pod import Pod
from kschedctl.optimum.best import Best, best
from kschedctl.optimum.goals import Goal, Last, Placement, Running, goals_of, worth
from kschedctl.optimum.multi_step import placement_of, run_to_end
from kschedctl.optimum.question import Question, nobody, pose
from kschedctl.optimum.trial import Step
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.pods import pod_at
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.timeline import Happening, TimelineEntry

#: What share of the time it is looked for a placement without evictions.
_WITHOUT_EVICTIONS = 0.3


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both answers.

    Attributes
    ----------
    question : Question
        What was asked.
    simulation : Simulation
        The multi-step answer, at its end.
    multi_step : Placement
        The same as a placement.
    best : Best
        The best placement.
    goals : tuple of Goal
        What both are measured by.
    finished : bool
        Whether the multi-step answer has come to an end: pods may evict each other for ever.
    """

    question: Question
    simulation: Simulation
    multi_step: Placement
    best: Best
    goals: tuple[Goal, ...]
    finished: bool = True

    @property
    def evicted(self) -> tuple[TimelineEntry, ...]:
        """Who was evicted in the multi-step answer."""
        return tuple(entry for entry in self.simulation.timeline if entry.event is Happening.PREEMPTED)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Who is placed in the best placement, in an order that works."""
        if self.best.proof is not None:
            return self.best.proof.steps
        # The multi-step answer itself, which holds only in the steps that led there.
        return tuple(_steps(self.question, self.simulation))

    @property
    def left(self) -> tuple[Pod, ...]:
        """Who is evicted in the best placement, with the node."""
        if self.best.proof is not None:
            return self.best.proof.left
        cluster = self.question.start.cluster
        names = dict.fromkeys((namespace, name) for namespace, _, name in (e.pod.partition("/") for e in self.evicted))
        return tuple(pod_at(cluster, cluster.pods.index[name]) for name in names if name in cluster.pods.index)

    def value(self, goal: Goal) -> int:
        """What the multi-step answer comes to."""
        return goal.value(self.question, self.multi_step)

    @property
    def places_more(self) -> bool:
        """Whether the best placement has more pods on nodes, by priority from the highest."""
        return running(self.question, self.best.placement) > running(self.question, self.multi_step)


def running(question: Question, placement: Placement) -> tuple[int, ...]:
    """How many pods of each priority are on nodes, from the highest."""
    return worth(question, _running_goals(question), placement)


def _running_goals(question: Question) -> list[Goal]:
    return [goal for goal in goals_of(question, Last.NODES) if isinstance(goal, Running)]


def compare(
    scheduler: Scheduler, *, seconds: float, last: Last = Last.SCORES, choose: Choose = first_by_name
) -> Comparison:
    """Put the pods that wait through the queue, and find the best placement of them all.

    Evictions are looked at only where without any some pod finds no place.

    Parameters
    ----------
    scheduler : Scheduler
        Over the cluster with the pods that wait.
    seconds : float
        How long the solver may take.
    last : Last
        What decides between placements that are equal in everything else.
    choose : callable
        Settles chance in the multi-step answer.
    """
    simulation = Simulation(scheduler, choose=choose)
    simulation.enqueue_pending()
    finished = run_to_end(simulation)
    deadline = time.monotonic() + seconds
    question = pose(scheduler, nobody)
    evicting = pose(scheduler)
    alone: Placement | None = None
    if evicting.occupants:
        goals = _running_goals(question)
        alone = best(question, seconds=seconds * _WITHOUT_EVICTIONS, goals=goals).placement
        if sum(alone.placed.values()) < question.n_waiting:
            question = evicting
    multi_step = placement_of(question, simulation)
    evicted = any(entry.event is Happening.PREEMPTED for entry in simulation.timeline)
    # What others made room for by evictions is no placement where nobody is evicted. Kinds that wait have the same
    # numbers in both questions.
    known = [multi_step] if question.occupants or not evicted else []
    known += [alone] if alone is not None else []
    found = best(question, seconds=max(deadline - time.monotonic(), 0.1), last=last, known=known)
    return Comparison(question, simulation, multi_step, found, tuple(goals_of(question, last)), finished)


def stranded(comparison: Comparison) -> Iterator[str]:
    """The pods that the scheduler leaves waiting and the best placement has on a node, ``namespace/name``."""
    pods = comparison.simulation.cluster.pods
    for step in comparison.steps:
        index = pods.index.get((step.pod.namespace, step.pod.name))
        if not step.again and (index is None or pods.node_row[index] < 0):
            yield step.pod.key


def _steps(question: Question, simulation: Simulation) -> Iterator[Step]:
    """Who was placed in a simulation and is still there, in order."""
    waiting = {pod.key: (pod, number) for number, kind in enumerate(question.kinds) for pod in kind.pods}
    pods = simulation.cluster.pods
    came = dict.fromkeys(entry.pod for entry in simulation.timeline if entry.event is Happening.SCHEDULED)
    for key in came:
        namespace, _, name = key.partition("/")
        index = pods.index.get((namespace, name))
        if index is not None and pods.node_row[index] >= 0:
            there = pod_at(simulation.cluster, index)
            pod, number = waiting.get(key, (there, question.kind_number(there)))
            yield Step(pod, number, there.spec.node_name, key not in waiting)
