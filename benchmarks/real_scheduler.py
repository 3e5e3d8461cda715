"""CPU time beside that of the real kube-scheduler, over the same cluster in turns: python -m benchmarks.real_scheduler

Both decide for the same pods, 50 in a turn, and place each before the next. All nodes are filtered and all feasible
ones scored; for a pod that fits nowhere, every node is tried for preemption. The real scheduler runs as a library,
without an API server: ``python -m conformance build 1.37`` builds the program (``conformance/judge/bench.go``).
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import synthetic
from benchmarks.cycle import with_other_request
from benchmarks.many import KINDS, TURN, bind, deployments
from benchmarks.rows import Row, report, timed
from conformance.builds import built
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.cycle.scheduler import Scheduler

#: Turns of the pods that preempt; each has one pod.
N_PREEMPTING: Final = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_scheduler", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000, help="pods that run already")
    parser.add_argument("--bind", type=int, default=200, help="pods of each kind to bind")
    parser.add_argument("--judge", type=Path, default=built(LATEST.version), help="the program (of the newest release)")
    report(parser, measure)


class RealScheduler:
    """The real scheduler as a process, which decides for the pods that it is sent."""

    def __init__(self, program: Path, n_nodes: int, n_pods: int) -> None:
        self._process = subprocess.Popen([program, "-bench"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for item in chain(synthetic.nodes(n_nodes), synthetic.pods(n_pods, n_nodes)):
            self._send(item)

    def milliseconds(self, pods: Sequence[Pod]) -> float:
        """Return the CPU time for pods that are decided and placed one after another."""
        self._send([{"apiVersion": "v1", "kind": "Pod"} | msgspec.to_builtins(pod) for pod in pods])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline())["seconds"]) * 1e3

    def _send(self, data: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(data) + b"\n")

    def __enter__(self) -> "RealScheduler":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the real scheduler's CPU time as a multiple of ours for each kind of pods; notes have both times."""
    if args.judge is None:
        sys.exit(f"the program is not built: python -m conformance build {LATEST.version}")
    cluster = synthetic.cluster(args.nodes, args.pods)
    size = f"{args.nodes:,} nodes and {args.pods:,} pods"
    with RealScheduler(args.judge, args.nodes, args.pods) as real:
        for kind in KINDS:
            first, *pods = deployments(kind, args.bind + 1)
            # Data that is computed once per cluster is computed before the measurement.
            scheduler = bind(Scheduler(cluster), first)
            real.milliseconds([first])
            ours, theirs = [], []
            for start in range(0, args.bind, TURN):
                turn = pods[start : start + TURN]
                scheduler, milliseconds = timed(reduce, bind, turn, scheduler)
                ours.append(milliseconds / len(turn))
                theirs.append(real.milliseconds(turn) / len(turn))
            yield _compared(f"a pod of the kind {kind} placed, {size}", ours, theirs)
        preempting = [with_other_request(synthetic.pod_to_place("preempt"), i) for i in range(N_PREEMPTING + 1)]
        scheduler = Scheduler(cluster)
        both = [(timed(scheduler.decide, pod)[1], real.milliseconds([pod])) for pod in preempting][1:]
        yield _compared(f"candidates for preemption, {size}", *zip(*both, strict=True))


def _compared(what: str, ours: Sequence[float], theirs: Sequence[float]) -> Row:
    ratio = statistics.median(their / our for our, their in zip(ours, theirs, strict=True))
    note = f"{statistics.median(theirs):.2f} ms, ours {statistics.median(ours):.2f} ms, in {len(ours)} turns"
    return Row(f"kube-scheduler: {what}", ratio, "times ours", note)


if __name__ == "__main__":
    main()
