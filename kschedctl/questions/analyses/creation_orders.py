"""The dependence of a simulation on the order in which its pods are created, and on the choice among equal nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.questions.analyses.handle import INTERRUPTIONS, AnalysisHandle
from kschedctl.questions.answers.simulate import CreationOrdersData, OrderWorkloadData, PodInOrdersData
from kschedctl.trials.simulate.simulation import Simulation


def try_orders(
    simulation_of: Callable[[int], Simulation], n_orders: int, handle: AnalysisHandle
) -> CreationOrdersData | None:
    """Run simulations with random orders of creation, and compare the pods that they place.

    Parameters
    ----------
    simulation_of : callable
        Returns a simulation that has not run yet, by the seed of its order.
    n_orders : int
        The number of orders, with the seeds from 0.

    Returns
    -------
    CreationOrdersData or None
        ``None`` if no order was tried to the end.
    """
    placed: list[frozenset[str]] = []
    workload_by_pod: dict[str, tuple[str, str, str]] = {}
    try:
        for seed in handle.track(range(n_orders), "trying orders"):
            simulation = simulation_of(seed)
            for key, metadata in simulation.met.items():
                workload_by_pod[key] = workload_of(simulation.cluster, metadata)
            keys = tuple(simulation.met)
            for _ in simulation:
                handle.check()
            placed.append(frozenset(_on_nodes(simulation, keys)))
    except INTERRUPTIONS:
        pass
    return _compared(placed, workload_by_pod) if placed else None


def _on_nodes(simulation: Simulation, keys: Sequence[str]) -> Iterator[str]:
    pods = simulation.cluster.pods
    for key in keys:
        namespace, _, name = key.partition("/")
        index = pods.index.get((namespace, name))
        if index is not None and pods.node_row[index] >= 0:
            yield key


def _compared(
    placed: Sequence[frozenset[str]], workload_by_pod: Mapping[str, tuple[str, str, str]]
) -> CreationOrdersData:
    n_placed = [len(keys) for keys in placed]
    times = Counter(key for keys in placed for key in keys)
    varying = tuple(
        PodInOrdersData(key, times[key]) for key in sorted(workload_by_pod) if times[key] not in (0, len(placed))
    )
    return CreationOrdersData(
        tried=len(placed),
        pods=len(workload_by_pod),
        fewest=min(n_placed),
        most=max(n_placed),
        sets=len(set(placed)),
        varying=varying,
        workloads=tuple(_workloads(placed, workload_by_pod, {each.pod for each in varying})),
    )


def _workloads(
    placed: Sequence[frozenset[str]], workload_by_pod: Mapping[str, tuple[str, str, str]], varying: set[str]
) -> Iterator[OrderWorkloadData]:
    """Yield the workloads of the pods that are not placed in every order, nor in none."""
    members: dict[tuple[str, str, str], set[str]] = {}
    for key, workload in workload_by_pod.items():
        members.setdefault(workload, set()).add(key)
    for (kind, namespace, name), keys in sorted(members.items(), key=lambda item: (item[0][1:], item[0][0])):
        if keys & varying:
            counts = [len(keys & each) for each in placed]
            yield OrderWorkloadData(kind, namespace, name, len(keys), min(counts), max(counts))


def orders_in_words(orders: CreationOrdersData) -> str:
    """Return the number of placed pods over all orders as a sentence."""
    start = f"In {counted(orders.tried, 'random order')} of creation, "
    if orders.fewest == orders.pods:
        return f"{start}{'the pod is' if orders.pods == 1 else f'all {orders.pods} pods are'} placed"
    of = f"of the {counted(orders.pods, 'pod')}"
    if orders.fewest != orders.most:
        return f"{start}{orders.fewest} to {orders.most} {of} are placed"
    verb = "is" if orders.most == 1 else "are"
    same = "always the same ones" if orders.sets == 1 else f"not always the same ones: {len(orders.varying)} vary"
    return f"{start}{orders.most} {of} {verb} placed" + (f", {same}" if 0 < orders.most < orders.pods else "")
