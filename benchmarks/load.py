"""Loading speed of a snapshot, compared with plain typed decoding of the same bytes: python -m benchmarks.load

The file is the output of ``kubectl get nodes,pods -A -o json`` for a synthetic cluster, about 17 KB per pod. With
``--yaml`` it is the output of ``-o yaml``, and the comparison is with libyaml's event parser. With ``--folder`` each
object is a file of its own, without the fields that scheduling ignores. The cache is the file that an earlier loading
with ``--cache`` has written. A loading on several cores is measured in wall time, in a process that is allowed to start
others; its memory is that of all processes, with what they share counted once.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Final

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
    parser.add_argument("--folder", action="store_true", help="a file for each object, 1 to 3 KB long")
    parser.add_argument(
        "--events", type=int, default=0, help="Events at the end of the list, a quarter of them Warnings"
    )
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield speed and peak memory of the loading and of its lower bound; each run has its own process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("snapshot" if args.folder else "snapshot.yaml" if args.yaml else "snapshot.json")
        items = chain(
            synthetic.nodes(args.nodes),
            synthetic.pods(args.pods, args.nodes, full=not args.folder),
            synthetic.events(args.events, args.pods, args.nodes),
        )
        if args.folder:
            _write_folder(path, items, yaml=args.yaml)
        elif args.yaml:
            _write_yaml(path, items)
        else:
            synthetic.write_list(path, items, indent=not args.compact)
        megabytes = sum(each.stat().st_size for each in (path.iterdir() if args.folder else [path])) / 1e6
        form = "YAML" if args.yaml else "compact JSON" if args.compact else "JSON"
        form = f"files of {form}" if args.folder else form
        bound = ("events of libyaml", _read_events) if args.yaml else ("typed msgspec", _decode)
        ways = [("load", _load), *([] if args.folder else [bound])]
        if find_spec("kschedctl.sources.snapshot.cache"):
            # The first run writes the cache file.
            in_a_process(_measured, _load_cached, path)
            ways.insert(1, ("load from the cache", _load_cached))
        events = f" and {args.events:,} Events" if args.events else ""
        for name, called in ways:
            milliseconds, peak = min(in_a_process(_measured, called, path) for _ in range(args.repeat))
            what = f"{name}, {args.pods:,} pods{events} in {form}"
            note = f"{megabytes:,.0f} MB in {milliseconds / 1e3:.2f} s"
            yield Row(what, megabytes / milliseconds * 1e3, "MB/s", note)
            yield Row(f"{what}: peak memory", peak, "MB")
        if find_spec("kschedctl.common.processes"):
            # Releases before it do not use several cores.
            from kschedctl.common.processes import available_cores

            seconds = min(_wall_time(path) for _ in range(args.repeat))
            what = f"load on all cores, {args.pods:,} pods{events} in {form}"
            note = f"{megabytes:,.0f} MB in {seconds:.2f} s of wall time, {available_cores()} cores"
            yield Row(what, megabytes / seconds, "MB/s", note)
            if (memory := _peak_of_all(path)) is not None:
                yield Row(f"{what}: peak memory", memory, "MB", "of all processes")


#: The loading in a main process; it prints when the imports are over, and the wall time from then on.
_SCRIPT: Final = """
import sys, time
from kschedctl.sources.snapshot.load import load_snapshot
print(flush=True)
begin = time.perf_counter()
load_snapshot(sys.argv[1:])
print(time.perf_counter() - begin)
"""


def _wall_time(path: Path) -> float:
    """Return the wall time of a loading in a main process, in seconds, without that of the imports."""
    return float(subprocess.check_output([sys.executable, "-c", _SCRIPT, str(path)]))


def _peak_of_all(path: Path) -> float | None:
    """Return the largest memory of a loading on all cores above that of the imports, in MB; ``None`` if unknown.

    The proportional set size of the processes is read fifty times a second, which takes time that is not measured.
    """
    if not Path("/proc/self/smaps_rollup").exists():
        return None
    with subprocess.Popen([sys.executable, "-c", _SCRIPT, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        before = peak = _memory_of(process.pid)
        while process.poll() is None:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            peak = max(peak, _memory_of(process.pid, *map(int, children)))
            time.sleep(0.02)
    return peak - before


def _memory_of(*pids: int) -> float:
    """Return the memory of processes in MB, with what they share counted once; of those that have ended, it is none."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                total += int(line.split()[1]) if line.startswith("Pss:") else 0
    return total / 1e3


def _write_folder(path: Path, items: Iterator[synthetic.Object], *, yaml: bool) -> None:
    """Write a file for each object, as kubectl prints it."""
    path.mkdir()
    for number, item in enumerate(items):
        text = _yaml_of(item).encode() if yaml else msgspec.json.format(msgspec.json.encode(item), indent=4)
        (path / f"{number:06}.{'yaml' if yaml else 'json'}").write_bytes(text)


def _write_yaml(path: Path, items: Iterator[synthetic.Object]) -> None:
    with path.open("w") as file:
        file.write("apiVersion: v1\nitems:\n")
        for item in items:
            file.write(_yaml_of([item]))
        file.write("kind: List\n")


def _yaml_of(value: object) -> str:
    import yaml

    class Dumper(yaml.CSafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    return yaml.dump(value, Dumper=Dumper)


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
