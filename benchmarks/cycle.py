"""CPU time of one warm explain that filters and scores all nodes: python -m benchmarks.cycle"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time

from msgspec.structs import replace

from benchmarks import synthetic
from kschedctl.api.pod import Pod
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler

KINDS = ("plain", "spread", "anti", "preempt")
SIZES = (3, 15, 100, 5_000)
PODS_PER_NODE = 30


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cycle", description=__doc__)
    parser.add_argument("--nodes", type=int, action="append", help="only a cluster of so many nodes (repeatable)")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind of pod (repeatable)")
    parser.add_argument("--repeat", type=int, default=30, help="the median of so many is shown")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most expensive functions")
    args = parser.parse_args()
    for n_nodes in args.nodes or SIZES:
        start = time.process_time()
        cluster = synthetic.cluster(n_nodes, PODS_PER_NODE * n_nodes)
        built = time.process_time() - start
        print(f"{n_nodes} nodes, {len(cluster.pods)} pods, {len(cluster.pods.classes)} classes; built in {built:.1f} s")
        scheduler = Scheduler(cluster)
        for kind in args.kind or KINDS:
            measure(scheduler, kind, args.repeat)
            if args.profile:
                profile(scheduler, kind, args.repeat, args.profile)


def measure(scheduler: Scheduler, kind: str, repeat: int) -> None:
    """Print the CPU time of decisions for a kind of pod: the first, those for unseen specs, and the same pod again."""
    pod = synthetic.pod_to_place(kind)
    start = time.process_time()
    decision = scheduler.decide(pod)
    first = time.process_time() - start
    times = []
    for i in range(repeat):
        other = with_other_request(pod, i)
        start = time.process_time()
        scheduler.decide(other)
        times.append(time.process_time() - start)
    start = time.process_time()
    scheduler.decide(other)
    again = time.process_time() - start
    feasible = len(decision.scores.rows) if decision.scores is not None else 0
    print(
        f"{kind:7} first {first * 1e3:7.1f} ms, then {statistics.median(times) * 1e3:6.2f} ms median, "
        f"{min(times) * 1e3:6.2f} ms best of {repeat}, again {again * 1e3:5.2f} ms; "
        f"fits on {feasible} nodes{_evicting(decision)}"
    )


def profile(scheduler: Scheduler, kind: str, repeat: int, n_functions: int) -> None:
    """Print the most expensive functions of decisions for unseen specs."""
    pod = synthetic.pod_to_place(kind)
    profiler = cProfile.Profile(time.thread_time)
    profiler.enable()
    for i in range(repeat):
        scheduler.decide(with_other_request(pod, repeat + i))
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(n_functions)


def with_other_request(pod: Pod, number: int) -> Pod:
    """Return the pod with a memory request of 256 MiB plus ``number`` bytes, so that no cache knows its spec."""
    container = pod.spec.containers[0]
    requests = {**container.resources.requests, "memory": str(2**28 + number)}
    resources = replace(container.resources, requests=requests)
    return replace(pod, spec=replace(pod.spec, containers=(replace(container, resources=resources),)))


def _evicting(decision: Decision) -> str:
    found = decision.preemption
    return f", {len(found.candidates)} candidates for preemption" if found is not None else ""


if __name__ == "__main__":
    main()
