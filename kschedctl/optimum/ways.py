"""What would have got the scheduler to the best placement: another order, other priorities, other requests.

Each is tried in a simulation over the same cluster, and told only where as many pods of every priority end up on nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from kschedctl.api.amounts import format_amount
from kschedctl.api.pod import Container, Pod
from kschedctl.api.quantity import NANO, parse_quantity
from kschedctl.api.resources import CPU, MEMORY
from kschedctl.optimum.compare import Comparison, running, stranded
from kschedctl.optimum.multi_step import placement_of, run_to_end
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.choice import Choose, first_by_name
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.timeline import Happening
from kschedctl.workloads.ownership import workload_of

#: To which share of what they request the pods that find no place are cut, in percent, one after another.
_SHARES: Final = (95, 90, 80, 70, 60, 50)
#: The greatest priority that users may give.
_MOST_PRIORITY: Final = 1_000_000_000
_MILLI: Final = NANO // 1000


class Lever(StrEnum):
    """What is changed."""

    ORDER = "order"
    PRIORITY = "priority"
    REQUESTS = "requests"


@dataclass(frozen=True, slots=True)
class Way:
    """A change that gets the scheduler there.

    Attributes
    ----------
    lever : Lever
        What is changed.
    what : str
        In words.
    pods : tuple of str
        The pods that it is about, ``namespace/name``; of an order all, in order.
    n_evicted : int
        How many pods are evicted then.
    """

    lever: Lever
    what: str
    pods: tuple[str, ...] = field(default=())
    n_evicted: int = 0


def ways(comparison: Comparison, *, seconds: float = 60.0, choose: Choose = first_by_name) -> tuple[Way, ...]:
    """Find what would have got the scheduler to as many pods on nodes.

    Parameters
    ----------
    seconds : float
        After so long nothing more is tried.
    """
    if not comparison.places_more:
        return ()
    return tuple(_found(comparison, choose, time.monotonic() + seconds))


def _found(comparison: Comparison, choose: Choose, deadline: float) -> Iterator[Way]:
    left = list(stranded(comparison))
    every = [pod for kind in comparison.question.kinds for pod in kind.pods]
    placed = [step.pod for step in comparison.steps if not step.again]
    done = {pod.key for pod in placed}
    others = [pod for pod in every if pod.key not in done]
    orders = (
        ("one after another in the order of the best placement", [*placed, *others]),
        ("one after another, the largest first", sorted(every, key=_size, reverse=True)),
    )
    for what, order in orders:
        n_evicted = _one_after_another(comparison, order, choose)
        if n_evicted is not None:
            yield Way(Lever.ORDER, what, tuple(pod.key for pod in order), n_evicted)
            break
    of_workloads = _of_their_workloads(comparison, every, left)
    highest = max((pod.spec.priority or 0 for pod in every), default=0)
    if highest < _MOST_PRIORITY:
        n_evicted = _with_changed(comparison, of_workloads, lambda pod: _first_in_line(pod, highest + 1), choose)
        if n_evicted is not None:
            words = f"priority {highest + 1} without preemption (preemptionPolicy: Never)"
            yield Way(Lever.PRIORITY, words, tuple(of_workloads), n_evicted)
    for resource in (CPU, MEMORY):
        for share in _SHARES:
            if time.monotonic() > deadline:
                return
            n_evicted = _with_changed(comparison, of_workloads, lambda pod: _cut(pod, resource, share), choose)  # noqa: B023
            if n_evicted is not None:
                amounts = sorted({_told(pod, resource, share) for pod in every if pod.key in of_workloads})
                yield Way(Lever.REQUESTS, f"requests of {', '.join(amounts)}", tuple(of_workloads), n_evicted)
                break


def _of_their_workloads(comparison: Comparison, every: Sequence[Pod], left: Iterable[str]) -> list[str]:
    """The pods of the workloads of which some find no place."""
    cluster = comparison.question.start.cluster
    wanted = set(left)
    short = {workload_of(cluster, pod.metadata) for pod in every if pod.key in wanted}
    return [pod.key for pod in every if workload_of(cluster, pod.metadata) in short]


def _size(pod: Pod) -> tuple[int, int, int]:
    requests = [container.resources.requests for container in pod.spec.containers]
    cpu, memory = (sum(parse_quantity(each[name]) for each in requests if name in each) for name in (CPU, MEMORY))
    return pod.spec.priority or 0, cpu, memory


def _first_in_line(pod: Pod, priority: int) -> Pod:
    return replace(pod, spec=replace(pod.spec, priority=priority, preemption_policy="Never"))


def _cut(pod: Pod, resource: str, share: int) -> Pod:
    containers = tuple(_cut_container(container, resource, share) for container in pod.spec.containers)
    return replace(pod, spec=replace(pod.spec, containers=containers))


def _cut_container(container: Container, resource: str, share: int) -> Container:
    requests = container.resources.requests
    if resource not in requests:
        return container
    cut = {**requests, resource: _cut_amount(requests[resource], resource, share)}
    return replace(container, resources=replace(container.resources, requests=cut))


def _cut_amount(quantity: str | int | float, resource: str, share: int) -> str:
    nanos = parse_quantity(quantity) * share // 100
    return f"{nanos // _MILLI}m" if resource == CPU else str(nanos // NANO)


def _told(pod: Pod, resource: str, share: int) -> str:
    was = sum(parse_quantity(c.resources.requests.get(resource, "0")) for c in pod.spec.containers)
    unit = _MILLI if resource == CPU else NANO
    now = sum(
        parse_quantity(c.resources.requests.get(resource, "0")) for c in _cut(pod, resource, share).spec.containers
    )
    texts = [format_amount(resource, nanos // unit) for nanos in (now, was)]
    return f"{texts[0]} {resource} in place of {texts[1]}"


def _one_after_another(comparison: Comparison, order: Sequence[Pod], choose: Choose) -> int | None:
    """How many are evicted where pods come in an order, each when the one before it is done; ``None`` if it fails."""
    start = comparison.question.start
    index = start.cluster.pods.index
    without = start.cluster.with_pods(removed=[index[pod.namespace, pod.name] for pod in order])
    simulation = Simulation(start.moved(without), choose=choose)
    for pod in order:
        simulation.create([pod])
        run_to_end(simulation)
    return _reached(comparison, simulation)


def _with_changed(
    comparison: Comparison, keys: Sequence[str], change: Callable[[Pod], Pod], choose: Choose
) -> int | None:
    """How many are evicted where some pods are otherwise; ``None`` if that does not get there, or changes nothing."""
    start = comparison.question.start
    pods = start.cluster.pods
    before = [pods.pod(pods.index[namespace, name]) for namespace, _, name in (key.partition("/") for key in keys)]
    after = [change(pod) for pod in before]
    if not after or all(one == other for one, other in zip(before, after, strict=True)):
        return None
    scheduler: Scheduler = start.moved(start.cluster.with_pods(added=after))
    simulation = Simulation(scheduler, choose=choose)
    simulation.enqueue_pending()
    run_to_end(simulation)
    return _reached(comparison, simulation)


def _reached(comparison: Comparison, simulation: Simulation) -> int | None:
    question = comparison.question
    evicted = sum(entry.event is Happening.PREEMPTED for entry in simulation.timeline)
    if evicted and not question.occupants:
        return None
    reached = running(question, placement_of(question, simulation))
    return evicted if reached >= running(question, comparison.best.placement) else None
