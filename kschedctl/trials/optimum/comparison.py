"""Comparison of the best placement with the multi-step placement, which the scheduler reaches pod by pod."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from functools import partial
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.placed_pods import pod_at
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.quantity import NANO, parse_quantity
from kschedctl.objects.resources import CPU, MEMORY, format_amount
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.goals import Goal, Running, goal_values, goals_of
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.levers import Lever
from kschedctl.trials.optimum.question import PlacementQuestion, no_evictions, pose
from kschedctl.trials.optimum.search import Best, best
from kschedctl.trials.optimum.trial import PlacementStep
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

#: The share of the time for the search for a placement without evictions.
_WITHOUT_EVICTIONS: Final = 0.3


@dataclass(frozen=True, slots=True)
class Comparison:
    """The best placement and the multi-step placement."""

    #: The question that the best placement answers.
    question: PlacementQuestion
    #: The finished simulation of the scheduler.
    simulation: Simulation
    #: The placement at the end of the simulation.
    multi_step: Placement
    #: The best placement.
    best: Best
    #: The goals by which both placements are measured.
    goals: tuple[Goal, ...]
    #: False if the simulation was stopped because pods preempted each other repeatedly.
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
    scheduler: Scheduler,
    *,
    seconds: float,
    final: FinalGoal = FinalGoal.SCORES,
    choose: Choose = first_by_name,
    proves: bool = False,
) -> Comparison:
    """Simulate the scheduler with the pending pods, and find their best placement.

    Evictions are considered only if some pod cannot be placed without any.

    Args:
        seconds: The time limit of the solver.
        choose: Breaks ties in the simulation.
        proves: True to search until the time limit or a proof.
    """
    simulation = simulate_pending(scheduler, choose)
    deadline = time.monotonic() + seconds
    question = pose(scheduler, no_evictions)
    evicting = pose(scheduler)
    alone: Placement | None = None
    if evicting.occupants:
        goals = _running_goals(question)
        alone = best(question, seconds=seconds * _WITHOUT_EVICTIONS, goals=goals, proves=proves).placement
        if sum(alone.placed.values()) < question.n_waiting:
            question = evicting
    kinds = (
        with_fields(kind, pods=tuple(sorted(kind.pods, key=lambda pod: not _has_node(simulation, pod))))
        for kind in question.kinds
    )
    question = with_fields(question, kinds=tuple(kinds))
    multi_step = placement_of(question, simulation)
    evicted = any(entry.event is TimelineEvent.PREEMPTED for entry in simulation.timeline)
    # A placement with evictions is not valid for a question without evictions. Pending kinds have the same numbers in
    # both questions.
    known = [multi_step] if question.occupants or not evicted else []
    known += [alone] if alone is not None else []
    found = best(question, seconds=max(deadline - time.monotonic(), 0.1), final=final, known=known, proves=proves)
    goals = goals_of(question, final)
    return Comparison(question, simulation, multi_step, found, tuple(goals), finished=not simulation.restless)


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


# Adjustments with which the scheduler reaches the best placement: another order, other priorities, smaller requests.
#
# Each adjustment is simulated over the same cluster. It is reported only if it places as many pods of every priority as
# the best placement.

#: The shares to which the requests of stranded workloads are cut, in percent.
_SHARES: Final = (95, 90, 80, 70, 60, 50)
#: The greatest priority that users may set.
_MOST_PRIORITY: Final = 1_000_000_000
_MILLI: Final = NANO // 1000


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change with which the scheduler reaches the best placement."""

    #: The kind of the change.
    lever: Lever
    #: The change in words.
    what: str
    #: The changed pods, ``namespace/name``; for an order all pods, in order.
    pods: tuple[str, ...] = field(default=())
    n_evicted: int = 0


def find_adjustments(
    comparison: Comparison, *, seconds: float = 60.0, choose: Choose = first_by_name
) -> tuple[Adjustment, ...]:
    """Find adjustments; adjustments of requests are tried until `seconds` have passed."""
    if not comparison.places_more:
        return ()
    every = [pod for kind in comparison.question.kinds for pod in kind.pods]
    cluster = comparison.question.start.cluster
    wanted = set(stranded(comparison))
    workloads = {workload_of(cluster, pod.metadata) for pod in every if pod.key in wanted}
    of_workloads = [pod.key for pod in every if workload_of(cluster, pod.metadata) in workloads]
    deadline = time.monotonic() + seconds
    return (
        *_orders(comparison, every, choose),
        *_priorities(comparison, every, of_workloads, choose),
        *_requests(comparison, of_workloads, choose, deadline),
    )


def _orders(comparison: Comparison, every: Sequence[Pod], choose: Choose) -> Iterator[Adjustment]:
    placed = [step.pod for step in comparison.steps if not step.again]
    done = {pod.key for pod in placed}
    others = [pod for pod in every if pod.key not in done]
    largest_first = sorted(
        every, key=lambda pod: (pod.spec.priority or 0, _requested(pod, CPU), _requested(pod, MEMORY)), reverse=True
    )
    orders = (
        ("one after another in the order of the best placement", [*placed, *others]),
        ("one after another, the largest first", largest_first),
    )
    for what, order in orders:
        start = comparison.question.start
        index = start.cluster.pods.index
        without = start.cluster.with_pods(removed=[index[pod.namespace, pod.name] for pod in order])
        simulation = Simulation(start.moved(without), choose=choose)
        for pod in order:
            simulation.create([pod])
            for _ in simulation:
                pass
        n_evicted = _evictions(comparison, simulation)
        if n_evicted is not None:
            yield Adjustment(Lever.ORDER, what, tuple(pod.key for pod in order), n_evicted)
            return


def _priorities(
    comparison: Comparison, every: Sequence[Pod], keys: Sequence[str], choose: Choose
) -> Iterator[Adjustment]:
    first = max((pod.spec.priority or 0 for pod in every), default=0) + 1
    if first > _MOST_PRIORITY:
        return

    def change(pod: Pod) -> Pod:
        return replace(pod, spec=replace(pod.spec, priority=first, preemption_policy="Never"))

    n_evicted = _with_changed(comparison, keys, change, choose)
    if n_evicted is not None:
        words = f"priority {first} without preemption (preemptionPolicy: Never)"
        yield Adjustment(Lever.PRIORITY, words, tuple(keys), n_evicted)


def _requests(comparison: Comparison, keys: Sequence[str], choose: Choose, deadline: float) -> Iterator[Adjustment]:
    pods = _pods_with_keys(comparison, keys)
    for resource in (CPU, MEMORY):
        for share in _SHARES:
            if time.monotonic() > deadline:
                return
            n_evicted = _with_changed(comparison, keys, partial(_cut, resource=resource, share=share), choose)
            if n_evicted is not None:
                amounts = sorted({_cut_in_words(pod, resource, share) for pod in pods})
                yield Adjustment(Lever.REQUESTS, f"requests of {', '.join(amounts)}", tuple(keys), n_evicted)
                break


def _requested(pod: Pod, resource: str) -> int:
    """Return the containers' requests in nano-units."""
    return sum(parse_quantity(each.resources.requests.get(resource, "0")) for each in pod.spec.containers)


def _cut(pod: Pod, resource: str, share: int) -> Pod:
    containers: list[Container] = []
    for container in pod.spec.containers:
        requests = container.resources.requests
        if resource in requests:
            nanos = parse_quantity(requests[resource]) * share // 100
            amount = f"{nanos // _MILLI}m" if resource == CPU else str(nanos // NANO)
            cut = replace(container.resources, requests={**requests, resource: amount})
            container = replace(container, resources=cut)
        containers.append(container)
    return replace(pod, spec=replace(pod.spec, containers=tuple(containers)))


def _cut_in_words(pod: Pod, resource: str, share: int) -> str:
    unit = _MILLI if resource == CPU else NANO
    now, was = (
        format_amount(resource, _requested(each, resource) // unit) for each in (_cut(pod, resource, share), pod)
    )
    return f"{now} {resource} instead of {was}"


def _pods_with_keys(comparison: Comparison, keys: Sequence[str]) -> list[Pod]:
    pods = comparison.question.start.cluster.pods
    return [pods.pod(pods.index[namespace, name]) for namespace, _, name in (key.partition("/") for key in keys)]


def _with_changed(
    comparison: Comparison, keys: Sequence[str], change: Callable[[Pod], Pod], choose: Choose
) -> int | None:
    """Simulate changed pods; return the number of evictions, ``None`` if nothing changes or too few are placed."""
    start = comparison.question.start
    before = _pods_with_keys(comparison, keys)
    after = [change(pod) for pod in before]
    if after == before:
        return None
    return _evictions(comparison, simulate_pending(start.moved(start.cluster.with_pods(added=after)), choose))


def _evictions(comparison: Comparison, simulation: Simulation) -> int | None:
    question = comparison.question
    evicted = sum(entry.event is TimelineEvent.PREEMPTED for entry in simulation.timeline)
    if evicted and not question.occupants:
        return None
    reached = running(question, placement_of(question, simulation))
    return evicted if reached >= running(question, comparison.best.placement) else None
