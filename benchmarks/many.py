"""Pods bound per second, one after another, every node evaluated for each: python -m benchmarks.many

The pods belong to ten Deployments on the synthetic cluster. For every pod: explain, take the first of the best nodes,
bind the pod to it, and update cluster and scheduler. Times are CPU times, to exclude other load on the machine.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import chain, islice
from typing import Final

from msgspec.structs import replace

from benchmarks import synthetic
from benchmarks.rows import Row, profiled, report, timed
from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.pods import another
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.capacity import capacity
from kschedctl.trials.simulate.drain import DrainOptions, drain
from kschedctl.trials.simulate.simulation import Simulation

KINDS = ("plain", "spread", "anti")
N_DEPLOYMENTS: Final = 10
#: The number of pods that are bound or simulated in turn.
TURN: Final = 50


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000, help="pods that run already")
    parser.add_argument("--bind", type=int, default=10_000, help="pods to bind")
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS, help="the kinds of pods")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most expensive functions")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the rates of bound and of simulated pods, and the times of whole answers and of changes."""
    cluster = synthetic.cluster(args.nodes, args.pods)
    size = f"{args.nodes:,} nodes"
    for kind in args.kind:
        with profiled(args.profile):
            bound, simulated = loop_rates(cluster, kind, args.bind)
        yield Row(f"{args.bind:,} {kind} pods bound one after another, {size}", bound, "pods/s")
        share = f"{100 * simulated / bound:.0f} % of the pods bound one after another"
        yield Row(f"simulation of {args.bind:,} {kind} pods, {size}", simulated, "pods/s", share)
    for what, milliseconds in chain(whole_answers(cluster), changes(Scheduler(cluster))):
        yield Row(f"{what}, {size}", milliseconds, "ms")


def deployments(kind: str, n_pods: int) -> Iterator[Pod]:
    """Yield the pods of ten Deployments, one Deployment after the other."""
    for number in range(N_DEPLOYMENTS):
        pod = synthetic.pod_to_place(kind, app=7 * 10 * (number + 1) + 1)
        for i in range(n_pods * number // N_DEPLOYMENTS, n_pods * (number + 1) // N_DEPLOYMENTS):
            yield replace(pod, metadata=replace(pod.metadata, name=f"new-{kind}-{i}", uid=f"new-{kind}-{i}"))


def bind(scheduler: Scheduler, pod: Pod) -> Scheduler:
    """Schedule a pod, and return the scheduler of the cluster that contains it."""
    node = scheduler.decide(pod).best[0]
    bound = replace(pod, spec=replace(pod.spec, node_name=node))
    return scheduler.moved(scheduler.cluster.with_pods(added=[bound]))


def loop_rates(cluster: Cluster, kind: str, n_pods: int) -> tuple[float, float]:
    """Return the pods per second of CPU that are decided and bound, and that a simulation tries.

    Both take turns of 50 pods, so that they see the same load of the machine; the medians count.
    """
    pods = list(deployments(kind, n_pods))
    # Data that is computed once per cluster is computed before the measurement, as in benchmarks.cycle.
    scheduler = bind(Scheduler(cluster), synthetic.pod_to_place(kind))
    simulation = Simulation(scheduler)
    _, created = timed(simulation.create, pods)
    attempts = iter(simulation)
    bound, simulated = [], []
    for start in range(0, n_pods, TURN):
        scheduler, milliseconds = timed(reduce, bind, pods[start : start + TURN], scheduler)
        bound.append(milliseconds)
        simulated.append(timed(list, islice(attempts, TURN))[1])
    turns = len(bound) / 1e3
    return n_pods / (statistics.median(bound) * turns), n_pods / (statistics.median(simulated) * turns + created / 1e3)


def whole_answers(cluster: Cluster) -> Iterator[tuple[str, float]]:
    """Yield the CPU time in milliseconds of a capacity estimate and a drain, each on a warm scheduler."""
    pod = synthetic.pod_to_place("plain")

    def counted(scheduler: Scheduler) -> object:
        return capacity(scheduler, lambda i: another(pod, f"copy-{i}", scheduler.cluster))

    def drained(scheduler: Scheduler) -> object:
        options = DrainOptions(ignore_daemonsets=True, force=True, delete_emptydir_data=True)
        return list(drain(Simulation(scheduler), cluster.nodes.names[:50], options))

    for what, answer in (("capacity of a plain pod", counted), ("drain of 50 nodes", drained)):
        scheduler = Scheduler(cluster)
        scheduler.decide(pod)
        yield what, timed(answer, scheduler)[1]


def changes(scheduler: Scheduler) -> Iterator[tuple[str, float]]:
    """Yield the CPU time in milliseconds of a change and a following explain of a plain pod: the median of five."""
    pod = synthetic.pod_to_place("plain")
    cluster = scheduler.cluster
    nodes = cluster.nodes.objects
    cordoned = replace(nodes[7], spec=replace(nodes[7].spec, unschedulable=True))
    fiftieth = range(0, len(cluster.pods), len(cluster.pods) // 50)
    every: tuple[tuple[str, Callable[[], Scheduler]], ...] = (
        ("50 pods deleted", lambda: scheduler.moved(cluster.with_pods(removed=fiftieth))),
        ("a node cordoned", lambda: scheduler.moved(cluster.with_nodes((*nodes[:7], cordoned, *nodes[8:])))),
        ("a node gone", lambda: scheduler.moved(cluster.with_nodes((*nodes[:7], *nodes[8:])))),
    )
    scheduler.decide(pod)
    for what, change in every:
        times = []
        for _ in range(5):
            scheduler.decide(pod)
            begin = time.process_time()
            change().decide(pod)
            times.append((time.process_time() - begin) * 1e3)
        yield f"{what}, and an explain", statistics.median(times)


if __name__ == "__main__":
    main()
