"""Scaling of a sweep with the cores: 1,000 what-ifs on 500 nodes and 15,000 pods: python -m benchmarks.sweep

Each case simulates the pods of a Deployment of 5 to 50 replicas with one of ten CPU requests; in nine cases of ten some
nodes are cordoned. Times are wall-clock times, as the benchmark is about cores; the ratio of CPU times shows the
overhead of using several cores at the same time.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks import synthetic
from benchmarks.rows import Row, report
from kschedctl.common.processes import available_cores
from kschedctl.questions.sweep.cases import read_plan
from kschedctl.questions.sweep.execution import run_here
from kschedctl.questions.sweep.job import Row as SweepRow
from kschedctl.questions.sweep.job import SweepJob

_DEPLOYMENT: Final = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "namespace-1"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "1"}}}]},
        },
    },
}
_PLAN: Final[dict[str, Any]] = {
    "apiVersion": "kschedctl/v1",
    "kind": "Sweep",
    "base": {"snapshot": "cluster.json", "whatIf": {"apply": "web.yaml"}},
    "axes": {
        "cordon": [None, *(f"node-{i}*" for i in range(1, 10))],
        "replicas": {
            "of": "set-replicas",
            "value": "deploy/namespace-1/web={}",
            "values": {"from": 5, "to": 50, "step": 5},
        },
        "cpu": {"of": "set-request", "value": "cpu={}m", "values": {"from": 500, "to": 5000, "step": 500}},
    },
    "measure": ["placed", "waiting", "nodesUsed", "utilisation.cpu", "utilisation.cpu.stdev", "skew.zone"],
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=15_000, help="pods that run already")
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=1, help="of several, turn by turn, the fastest counts")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the cases per second of wall-clock time for each number of processes; notes have the CPU time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, args.nodes, args.pods)
        job = SweepJob(read_plan(folder / "plan.yaml"), folder)
        job.start(job.variation(1).base)
        busy = os.getloadavg()[0]
        numbers = range(1, min(args.cases, len(job.read.cases)) + 1)
        table: list[SweepRow] = []
        fastest: dict[int, tuple[float, float]] = {}
        for _ in range(args.rounds):
            for jobs in args.jobs:
                before, begin = cpu_seconds(), time.perf_counter()
                rows = sorted(run_here(job, numbers, jobs), key=lambda row: row.case)
                taken = time.perf_counter() - begin, cpu_seconds() - before
                fastest[jobs] = min(fastest.get(jobs, taken), taken)
                table = table or rows
                assert rows == table, "the table is another one"
        first = fastest[args.jobs[0]][0]
        for jobs, (seconds, used) in fastest.items():
            processes = "one process" if jobs == 1 else f"{jobs} processes"
            what = f"sweep of {len(table):,} what-ifs, {args.nodes:,} nodes, {processes}"
            note = f"{seconds:.1f} s, {used:.1f} s CPU; {available_cores()} cores, {busy:.1f} busy before"
            yield Row(what, len(table) / seconds, "cases/s", f"{first / seconds:.2f} times the first; {note}")


def cpu_seconds() -> float:
    """Return the CPU time of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write(folder: Path, n_nodes: int, n_pods: int) -> None:
    """Write the snapshot, the manifest and the plan."""
    items = chain(synthetic.namespaces(), synthetic.nodes(n_nodes), synthetic.pods(n_pods, n_nodes))
    synthetic.write_list(folder / "cluster.json", items)
    (folder / "web.yaml").write_text(yaml.safe_dump(_DEPLOYMENT))
    (folder / "plan.yaml").write_text(yaml.safe_dump(_PLAN, sort_keys=False))


if __name__ == "__main__":
    main()
