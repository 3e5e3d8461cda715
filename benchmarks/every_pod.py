"""CPU time of answers about every pod of a cluster: python -m benchmarks.every_pod

``diff`` decides twice for each pod that runs, each time over the cluster without that pod, and compares.
"""

import argparse
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import kschedctl
from benchmarks import synthetic
from benchmarks.rows import Row, report, timed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.every_pod", description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=3_000)
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of each answer on a fresh cluster."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.json"
        objects = (synthetic.namespaces(), synthetic.nodes(args.nodes), synthetic.pods(args.pods, args.nodes))
        synthetic.write_list(path, chain.from_iterable(objects))
        cluster = kschedctl.load(path)
        cordoned = kschedctl.load(path, edits=[kschedctl.Cordon("node-0")])
    size = f"{args.pods:,} pods, {args.nodes:,} nodes"
    names = [pod.key for pod in cluster.pods]
    found, milliseconds = timed(cluster.diff, cordoned, names)
    yield Row(f"diff of {size}, one cordoned", milliseconds, "ms", f"{len(found.changed):,} pods change")
    _, milliseconds = timed(cluster.verify)
    yield Row(f"verify of {size}", milliseconds, "ms")


if __name__ == "__main__":
    main()
