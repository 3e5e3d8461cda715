"""Loading speed of a snapshot, compared with plain typed decoding of the same bytes: python -m benchmarks.load

The file is the output of ``kubectl get nodes,pods -A -o json`` for a synthetic cluster, about 17 KB per pod. With
``--yaml`` it is the output of ``-o yaml``, and the comparison is with libyaml's event parser. The cache is the file
that an earlier loading with ``--cache`` has written. On several cores, a loading from YAML is measured in wall time, in
a process that is allowed to start others.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import msgspec

from benchmarks import synthetic
from benchmarks.rows import Row, in_a_process, peak_megabytes, report, timed
from kschedctl.common.text.yaml import documents_by_events
from kschedctl.objects.pod import Pod
from kschedctl.sources.snapshot.load import load_snapshot


class _Pods(msgspec.Struct):
    items: list[Pod]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many is shown")
    parser.add_argument("--compact", action="store_true", help="JSON without kubectl's indentation")
    parser.add_argument("--yaml", action="store_true", help="YAML in place of JSON")
    parser.add_argument(
        "--events", type=int, default=0, help="Events at the end of the list, a quarter of them Warnings"
    )
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield speed and peak memory of the loading and of its lower bound; each run has its own process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("snapshot.yaml" if args.yaml else "snapshot.json")
        items = chain(
            synthetic.nodes(args.nodes),
            synthetic.pods(args.pods, args.nodes, full=True),
            synthetic.events(args.events, args.pods, args.nodes),
        )
        if args.yaml:
            _write_yaml(path, items)
        else:
            synthetic.write_list(path, items, indent=not args.compact)
        megabytes = path.stat().st_size / 1e6
        form = "YAML" if args.yaml else "compact JSON" if args.compact else "JSON"
        bound = ("events of libyaml", _read_events) if args.yaml else ("typed msgspec", _decode)
        ways = [("load", _load), bound]
        if find_spec("kschedctl.sources.snapshot.cache"):
            # The first run writes the cache file.
            in_a_process(_measured, _load_cached, path)
            ways.insert(1, ("load from the cache", _load_cached))
        for name, called in ways:
            milliseconds, peak = min(in_a_process(_measured, called, path) for _ in range(args.repeat))
            events = f" and {args.events:,} Events" if args.events else ""
            what = f"{name}, {args.pods:,} pods{events} in {form}"
            note = f"{megabytes:,.0f} MB in {milliseconds / 1e3:.2f} s"
            yield Row(what, megabytes / milliseconds * 1e3, "MB/s", note)
            yield Row(f"{what}: peak memory", peak, "MB")
        if args.yaml:
            # Releases before it do not use several cores.
            from kschedctl.common.processes import available_cores

            seconds = min(_wall_time(path) for _ in range(args.repeat))
            note = f"{megabytes:,.0f} MB in {seconds:.2f} s of wall time, {available_cores()} cores"
            yield Row(f"load on all cores, {args.pods:,} pods in YAML", megabytes / seconds, "MB/s", note)


def _wall_time(path: Path) -> float:
    """Return the wall time of a loading in a main process, in seconds, without that of the imports."""
    script = """
import sys, time
from kschedctl.sources.snapshot.load import load_snapshot
begin = time.perf_counter()
load_snapshot(sys.argv[1:])
print(time.perf_counter() - begin)
"""
    return float(subprocess.check_output([sys.executable, "-c", script, str(path)]))


def _write_yaml(path: Path, items: Iterator[synthetic.Object]) -> None:
    import yaml

    class Dumper(yaml.CSafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    with path.open("w") as file:
        file.write("apiVersion: v1\nitems:\n")
        for item in items:
            file.write(yaml.dump([item], Dumper=Dumper))
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
    # Releases before 0.2 have no cache.
    from kschedctl.sources.snapshot.cache import load_cached

    load_cached([path])


def _measured(called: Callable[[Path], None], path: Path) -> tuple[float, float]:
    """Return the CPU time in milliseconds, and the peak memory above the imports in MB."""
    before = peak_megabytes()
    _, milliseconds = timed(called, path)
    return milliseconds, peak_megabytes() - before


if __name__ == "__main__":
    main()
