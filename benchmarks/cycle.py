"""Time of one warm explain that filters and scores all nodes: python -m benchmarks.cycle"""

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cycle", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind of pod (repeatable)")
    parser.add_argument("--repeat", type=int, default=30, help="the median of so many is shown")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most expensive functions")
    args = parser.parse_args()
    start = time.perf_counter()
    cluster = synthetic.cluster(args.nodes, args.pods)
    built = time.perf_counter() - start
    print(f"{args.nodes} nodes, {args.pods} pods, {len(cluster.pods.classes)} classes; built in {built:.1f} s")
    scheduler = Scheduler(cluster)
    for kind in args.kind or KINDS:
        pod = synthetic.pod_to_place(kind)
        start = time.perf_counter()
        decision = scheduler.decide(pod)
        first = time.perf_counter() - start
        times = []
        for i in range(args.repeat):
            other = with_other_request(pod, i)
            start = time.perf_counter()
            scheduler.decide(other)
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        scheduler.decide(other)
        again = time.perf_counter() - start
        feasible = len(decision.scores.rows) if decision.scores is not None else 0
        print(
            f"{kind:7} first {first * 1e3:7.1f} ms, then {statistics.median(times) * 1e3:6.2f} ms median, "
            f"{min(times) * 1e3:6.2f} ms best of {args.repeat}, again {again * 1e3:5.2f} ms; "
            f"fits on {feasible} nodes{_evicting(decision)}"
        )
        if args.profile:
            profile = cProfile.Profile()
            profile.enable()
            for i in range(args.repeat):
                scheduler.decide(with_other_request(pod, args.repeat + i))
            profile.disable()
            pstats.Stats(profile).sort_stats("tottime").print_stats(args.profile)


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
