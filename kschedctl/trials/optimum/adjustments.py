"""Adjustments with which the scheduler reaches the best placement: another order, other priorities, smaller requests.

Each adjustment is simulated over the same cluster. It is reported only if it places as many pods of every priority as
the best placement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.quantity import NANO, parse_quantity
from kschedctl.objects.resources import CPU, MEMORY, format_amount
from kschedctl.questions.answers.optimum import Lever
from kschedctl.trials.optimum.comparison import Comparison, placement_of, running, simulate_pending, stranded
from kschedctl.trials.simulate.choice import Choose, first_by_name
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEvent

#: The shares to which the requests of stranded workloads are cut, in percent.
_SHARES: Final = (95, 90, 80, 70, 60, 50)
#: The greatest priority that users may set.
_MOST_PRIORITY: Final = 1_000_000_000
_MILLI: Final = NANO // 1000


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change with which the scheduler reaches the best placement.

    Attributes
    ----------
    lever : Lever
        The kind of the change.
    what : str
        The change in words.
    pods : tuple of str
        The changed pods, ``namespace/name``; for an order all pods, in order.
    n_evicted : int
        The number of evicted pods.
    """

    lever: Lever
    what: str
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
    orders = (
        ("one after another in the order of the best placement", [*placed, *others]),
        ("one after another, the largest first", sorted(every, key=_size, reverse=True)),
    )
    for what, order in orders:
        n_evicted = _one_after_another(comparison, order, choose)
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
    pods = _pods(comparison, keys)
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


def _size(pod: Pod) -> tuple[int, int, int]:
    return pod.spec.priority or 0, _requested(pod, CPU), _requested(pod, MEMORY)


def _cut(pod: Pod, resource: str, share: int) -> Pod:
    containers = tuple(_cut_container(container, resource, share) for container in pod.spec.containers)
    return replace(pod, spec=replace(pod.spec, containers=containers))


def _cut_container(container: Container, resource: str, share: int) -> Container:
    requests = container.resources.requests
    if resource not in requests:
        return container
    nanos = parse_quantity(requests[resource]) * share // 100
    amount = f"{nanos // _MILLI}m" if resource == CPU else str(nanos // NANO)
    return replace(container, resources=replace(container.resources, requests={**requests, resource: amount}))


def _cut_in_words(pod: Pod, resource: str, share: int) -> str:
    unit = _MILLI if resource == CPU else NANO
    now, was = (
        format_amount(resource, _requested(each, resource) // unit) for each in (_cut(pod, resource, share), pod)
    )
    return f"{now} {resource} instead of {was}"


def _pods(comparison: Comparison, keys: Sequence[str]) -> list[Pod]:
    pods = comparison.question.start.cluster.pods
    return [pods.pod(pods.index[namespace, name]) for namespace, _, name in (key.partition("/") for key in keys)]


def _one_after_another(comparison: Comparison, order: Sequence[Pod], choose: Choose) -> int | None:
    """Simulate pods that arrive one by one; return the number of evictions, ``None`` if too few pods are placed."""
    start = comparison.question.start
    index = start.cluster.pods.index
    without = start.cluster.with_pods(removed=[index[pod.namespace, pod.name] for pod in order])
    simulation = Simulation(start.moved(without), choose=choose)
    for pod in order:
        simulation.create([pod])
        for _ in simulation:
            pass
    return _evictions(comparison, simulation)


def _with_changed(
    comparison: Comparison, keys: Sequence[str], change: Callable[[Pod], Pod], choose: Choose
) -> int | None:
    """Simulate changed pods; return the number of evictions, ``None`` if nothing changes or too few are placed."""
    start = comparison.question.start
    before = _pods(comparison, keys)
    after = [change(pod) for pod in before]
    if after == before:
        return None
    scheduler = start.moved(start.cluster.with_pods(added=after))
    return _evictions(comparison, simulate_pending(scheduler, choose))


def _evictions(comparison: Comparison, simulation: Simulation) -> int | None:
    question = comparison.question
    evicted = sum(entry.event is TimelineEvent.PREEMPTED for entry in simulation.timeline)
    if evicted and not question.occupants:
        return None
    reached = running(question, placement_of(question, simulation))
    return evicted if reached >= running(question, comparison.best.placement) else None
