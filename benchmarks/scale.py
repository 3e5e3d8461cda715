"""CPU time and memory of whole answers on clusters of 50 to 50,000 nodes of 20 pods: python -m benchmarks.scale

Each size has a process of its own, which reads what ``kubectl get namespaces,nodes,pods -A -o json`` prints, with the
fields that scheduling reads: about 2 KB per pod. Every answer is measured twice: the first one for the cluster, and a
later one for a pod that no cache knows.
"""

import argparse
import gc
import math
import statistics
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

import kschedctl
from benchmarks import synthetic
from benchmarks.cycle import with_other_request
from benchmarks.pending import pending
from benchmarks.rows import Row, in_a_process, peak_megabytes, profiled, report, timed
from kschedctl.cli.start import OBJECTS_BETWEEN_COLLECTIONS
from kschedctl.objects.pod import Pod

#: The numbers of nodes, each with the number of processes whose median counts.
SIZES: Final = {50: 3, 500: 3, 5_000: 1, 50_000: 1}
PODS_PER_NODE: Final = 20
N_PENDING: Final = 20
#: Half a core less than a large node has: with pods on it, it is free on none.
PREEMPTING_CPU: Final = "62.5"
#: Later answers are measured so often; only once if one takes more than a second.
N_LATER: Final = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[*SIZES], help="the sizes of the clusters")
    parser.add_argument("--profile", default="", metavar="WHAT", help="profile this row, such as load or pending")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of every size, then the exponents between the largest size and a hundredth of it.

    A time that grows with the number of nodes has the exponent 1.
    """
    found: dict[int, list[Row]] = {}
    for n_nodes in args.nodes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "snapshot.json"
            in_a_process(_write, path, n_nodes)
            runs = [in_a_process(_answers, path, args.profile) for _ in range(SIZES.get(n_nodes, 1))]
        found[n_nodes] = [
            same[0]._replace(value=statistics.median(row.value for row in same)) for same in zip(*runs, strict=True)
        ]
        for row in found[n_nodes]:
            yield row._replace(what=f"{n_nodes:,} nodes: {row.what}")
    large = max(found)
    small = large // 100
    for one, other in zip(found.get(small, ()), found[large], strict=False):
        yield Row(
            f"exponent: {other.what}", math.log(other.value / one.value, 100), "", f"{small:,} to {large:,} nodes"
        )


def _write(path: Path, n_nodes: int) -> None:
    """Write a cluster as kubectl prints it, with pending pods that fit nowhere."""
    pods = synthetic.pods(PODS_PER_NODE * n_nodes, n_nodes)
    waiting = ({"apiVersion": "v1", "kind": "Pod"} | msgspec.to_builtins(pod) for pod in pending(N_PENDING))
    synthetic.write_list(path, chain(synthetic.namespaces(), synthetic.nodes(n_nodes), pods, waiting))


def _answers(path: Path, profile: str) -> list[Row]:
    """Return the CPU time of loading and of each answer, and the peak memory per pod after the explanation of a pod."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # Imports what the answers need.
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.json"
        _write(small, 3)
        for answer in _questions(kschedctl.load(small, admission=False)).values():
            answer(0)
    before = peak_megabytes()
    with profiled(30 if profile == "load" else 0):
        cluster, milliseconds = timed(kschedctl.load, path, admission=False)
    size = path.stat().st_size / 1e6
    rows = [Row("load", milliseconds, "ms", f"{len(cluster.pods):,} pods, {size:,.0f} MB")]
    peak = 0.0
    for what, answer in _questions(cluster).items():
        gc.collect()
        with profiled(30 if profile == what else 0):
            first = timed(answer, 0)[1]
        n_later = N_LATER if first < 1_000 else 1
        later = [timed(answer, i + 1)[1] for i in range(n_later)]
        rows += [Row(f"first {what}", first, "ms"), Row(f"later {what}", statistics.median(later), "ms")]
        peak = peak or peak_megabytes() - before
    return [*rows, Row("memory per pod", peak * 1e3 / len(cluster.pods), "kB", f"{peak:,.0f} MB")]


def _questions(cluster: kschedctl.SchedulingCluster) -> dict[str, Callable[[int], object]]:
    """Return functions that answer a question, by name; with another number, the pod or node is another one."""

    def pod(kind: str, number: int, **requested: str) -> Pod:
        return with_other_request(synthetic.pod_to_place(kind), number, **requested)

    return {
        "explain": lambda i: cluster.explain(pod("plain", i)),
        "explain, spread": lambda i: cluster.explain(pod("spread", i)),
        "explain, anti": lambda i: cluster.explain(pod("anti", i)),
        "preempt": lambda i: cluster.preempt(pod("preempt", i, cpu=PREEMPTING_CPU)),
        "pending": lambda i: cluster.pending(),
        "drain": lambda i: cluster.drain(
            f"node-{i % len(cluster.nodes)}", ignore_daemonsets=True, force=True, delete_emptydir_data=True
        ),
    }


if __name__ == "__main__":
    main()
