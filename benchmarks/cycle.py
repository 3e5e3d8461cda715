"""CPU time of one warm explain that filters and scores all nodes: python -m benchmarks.cycle"""

import argparse
import statistics
from collections.abc import Iterator

from msgspec.structs import replace

from benchmarks import synthetic
from benchmarks.rows import Row, profiled, report, timed
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler

KINDS = ("plain", "spread", "anti", "preempt")
SIZES = (3, 15, 100, 5_000)
PODS_PER_NODE = 30


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cycle", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=SIZES, help="the sizes of the clusters")
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS, help="the kinds of pods")
    parser.add_argument("--repeat", type=int, default=30, help="the median of so many is shown")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most expensive functions")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of decisions for pods that no cache knows; notes have the first one and the same pod again."""
    for n_nodes in args.nodes:
        scheduler = Scheduler(synthetic.cluster(n_nodes, PODS_PER_NODE * n_nodes))
        for kind in args.kind:
            pod = synthetic.pod_to_place(kind)
            decision, first = timed(scheduler.decide, pod)
            others = [with_other_request(pod, i) for i in range(args.repeat)]
            with profiled(args.profile):
                times = [timed(scheduler.decide, other)[1] for other in others]
            again = timed(scheduler.decide, others[-1])[1]
            note = f"first {first:.1f} ms, best {min(times):.2f} ms, again {again:.2f} ms"
            what = f"a pod of the kind {kind}, {n_nodes:,} nodes"
            yield Row(what, statistics.median(times), "ms", f"{note}; {_outcome(decision)}")


def _outcome(decision: Decision) -> str:
    found = decision.preemption
    if found is not None:
        return f"{len(found.candidates):,} candidates for preemption"
    return f"fits on {len(decision.scores.rows) if decision.scores is not None else 0:,} nodes"


def with_other_request(pod: Pod, number: int, **requested: str) -> Pod:
    """Return the pod with a memory request of 256 MiB plus ``number`` bytes, so that no cache knows its spec."""
    container = pod.spec.containers[0]
    requests = {**container.resources.requests, "memory": str(2**28 + number), **requested}
    resources = replace(container.resources, requests=requests)
    return replace(pod, spec=replace(pod.spec, containers=(replace(container, resources=resources),)))


if __name__ == "__main__":
    main()
