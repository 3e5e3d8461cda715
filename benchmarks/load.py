"""Loading speed of a snapshot, compared with plain typed decoding of the same bytes: python -m benchmarks.load

The file is the output of ``kubectl get nodes,pods -A -o json`` for a synthetic cluster, about 17 KB per pod. With
``--yaml`` it is the output of ``-o yaml``, and the comparison is with libyaml's event parser. The last row is loading
from the cache file that an earlier loading has written.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import msgspec

from benchmarks import synthetic
from kschedctl.api.pod import Pod
from kschedctl.snapshot.cached_load import load_cached
from kschedctl.snapshot.load import load_snapshot
from kschedctl.text.yaml import documents_by_events


class _Pods(msgspec.Struct):
    items: list[Pod]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many is shown")
    parser.add_argument("--compact", action="store_true", help="JSON without kubectl's indentation")
    parser.add_argument("--yaml", action="store_true", help="YAML in place of JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("snapshot.yaml" if args.yaml else "snapshot.json")
        if args.yaml:
            _write_yaml(path, args.nodes, args.pods)
        else:
            _write(path, args.nodes, args.pods, indent=None if args.compact else 4)
        megabytes = path.stat().st_size / 1e6
        print(f"{megabytes:.0f} MB, {args.nodes} nodes, {args.pods} pods, {megabytes * 1e3 / args.pods:.1f} KB a pod")
        bound = ("libyaml, events", _read_events) if args.yaml else ("msgspec, typed", _decode)
        # A process of its own writes the cache file: the peak memory of this one would count for all others.
        _best_of(1, _load_cached, path)
        for name, run in (bound, ("load_snapshot", _load), ("load_cached", _load_cached)):
            seconds, peak = _best_of(args.repeat, run, path)
            print(f"{name:16} {seconds:6.2f} s {megabytes / seconds:6.0f} MB/s  peak {peak:5.0f} MB above the imports")


def _write(path: Path, n_nodes: int, n_pods: int, indent: int | None) -> None:
    with path.open("w") as file:
        file.write('{\n"apiVersion": "v1",\n"items": [\n')
        for i, obj in enumerate(chain(synthetic.nodes(n_nodes), synthetic.pods(n_pods, n_nodes, full=True))):
            file.write(",\n" if i else "")
            file.write(json.dumps(obj, indent=indent))
        file.write('],\n"kind": "List"\n}\n')


def _write_yaml(path: Path, n_nodes: int, n_pods: int) -> None:
    import yaml

    class Dumper(yaml.CSafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    with path.open("w") as file:
        file.write("apiVersion: v1\nitems:\n")
        for obj in chain(synthetic.nodes(n_nodes), synthetic.pods(n_pods, n_nodes, full=True)):
            file.write(yaml.dump([obj], Dumper=Dumper))
        file.write("kind: List\n")


def _read_events(path: Path) -> None:
    """Convert all documents to JSON by libyaml's events."""
    for _ in documents_by_events(path.read_bytes(), str(path)):
        pass


def _decode(path: Path) -> None:
    """Decode all items as pods, which are almost the whole file."""
    msgspec.json.decode(path.read_bytes(), type=_Pods)


def _load(path: Path) -> None:
    load_snapshot([path])


def _load_cached(path: Path) -> None:
    load_cached([path])


def _best_of(n: int, run: Callable[[Path], None], path: Path) -> tuple[float, float]:
    """Return the shortest time in seconds and its peak memory in MB; each of the ``n`` runs has its own process."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        return min(pool.apply(_timed, (run, path)) for _ in range(n))


def _timed(run: Callable[[Path], None], path: Path) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    run(path)
    return time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3


if __name__ == "__main__":
    main()
