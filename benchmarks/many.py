"""Pods bound per second, one after another, every node evaluated for each: python -m benchmarks.many

The pods belong to ten Deployments on the synthetic cluster. For every pod: explain, take the first of the best nodes,
bind the pod to it, and update cluster and scheduler. Times are CPU times, to exclude other load on the machine.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from benchmarks import synthetic
from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.capacity import capacity
from kschedctl.simulate.drain import DrainOptions, drain
from kschedctl.simulate.simulation import Simulation

KINDS = ("plain", "spread", "anti")
N_DEPLOYMENTS: Final = 10
#: The number of pods that are bound or simulated in turn.
TURN: Final = 50


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000, help="pods that run already")
    parser.add_argument("--bind", type=int, default=10_000, help="pods to bind")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind of pod (repeatable)")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most expensive functions")
    args = parser.parse_args()
    cluster = synthetic.cluster(args.nodes, args.pods)
    print(f"{args.nodes} nodes, {args.pods} pods, {len(cluster.pods.classes)} classes")
    for kind in args.kind or KINDS:
        scheduler = Scheduler(cluster)
        pods = list(deployments(kind, args.bind))
        # Data that is computed once per cluster is computed before the measurement, as in benchmarks.cycle.
        scheduler = bind(scheduler, synthetic.pod_to_place(kind))
        profile = cProfile.Profile()
        if args.profile:
            profile.enable()
        begin = time.process_time()
        for pod in pods:
            scheduler = bind(scheduler, pod)
        seconds = time.process_time() - begin
        profile.disable()
        print(f"{kind:7} {args.bind / seconds:7.0f} pods/s, {seconds / args.bind * 1e6:6.0f} us per pod")
        if args.profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(args.profile)
    for kind in args.kind or KINDS:
        bound, simulated = loop_rates(cluster, kind, args.bind)
        share = f"{100 * simulated / bound:.0f} % of {bound:.0f} pods/s bound in turn"
        print(f"simulate of {args.bind} {kind} pods: {simulated:.0f} pods/s, {share}")
    for what, seconds in whole_answers(cluster, args.bind):
        print(f"{what:42} {seconds:6.2f} s")
    for what, milliseconds in changes(Scheduler(cluster)):
        print(f"{what:42} {milliseconds:6.2f} ms")


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
    scheduler = bind(Scheduler(cluster), synthetic.pod_to_place(kind))
    simulation = Simulation(scheduler)
    begin = time.process_time()
    simulation.create(pods)
    created = time.process_time() - begin
    attempts = iter(simulation)
    bound, simulated = [], []
    for start in range(0, n_pods, TURN):
        begin = time.process_time()
        for pod in pods[start : start + TURN]:
            scheduler = bind(scheduler, pod)
        middle = time.process_time()
        for _ in range(TURN):
            next(attempts, None)
        bound.append(middle - begin)
        simulated.append(time.process_time() - middle)
    turns = len(bound)
    return n_pods / (statistics.median(bound) * turns), n_pods / (statistics.median(simulated) * turns + created)


def whole_answers(cluster: Cluster, n_pods: int) -> Iterator[tuple[str, float]]:
    """Yield the CPU time in seconds of a simulation, a capacity estimate and a drain, each on a warm scheduler."""
    pod = synthetic.pod_to_place("plain")

    def simulated(scheduler: Scheduler) -> object:
        simulation = Simulation(scheduler)
        simulation.create(deployments("plain", n_pods))
        return list(simulation)

    def counted(scheduler: Scheduler) -> object:
        return capacity(scheduler, lambda i: replace(pod, metadata=replace(pod.metadata, name=f"copy-{i}", uid="")))

    def drained(scheduler: Scheduler) -> object:
        options = DrainOptions(ignore_daemon_sets=True, force=True, delete_empty_dir_data=True)
        return list(drain(Simulation(scheduler), cluster.nodes.names[:50], options))

    for what, answer in (
        (f"simulate of {n_pods} plain pods", simulated),
        ("capacity of a plain pod: 400,000 copies", counted),
        ("drain of 50 nodes: 1,500 pods", drained),
    ):
        scheduler = Scheduler(cluster)
        scheduler.decide(pod)
        begin = time.process_time()
        answer(scheduler)
        yield what, time.process_time() - begin


def changes(scheduler: Scheduler) -> Iterator[tuple[str, float]]:
    """Yield the CPU time in milliseconds of a change and a following explain of a plain pod: the median of five."""
    pod = synthetic.pod_to_place("plain")
    cluster = scheduler.cluster
    nodes = cluster.nodes.objects
    cordoned = replace(nodes[7], spec=replace(nodes[7].spec, unschedulable=True))
    every: tuple[tuple[str, Callable[[], Scheduler]], ...] = (
        ("50 pods deleted", lambda: scheduler.moved(cluster.with_pods(removed=range(0, 150_000, 3_000)))),
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
