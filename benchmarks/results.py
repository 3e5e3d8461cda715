"""Write benchmarks/RESULTS.md, all figures of one run: python -m benchmarks.results --base v0.1.0

Every benchmark runs in a process of its own. Most of them also run with the package of the last release, in turns, and
the median of the ratios counts: so the load of a shared machine does not. ``--quick`` runs the small ones and prints.
"""

import argparse
import importlib.metadata
import io
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.results_page import Environment, Result, Section, page
from benchmarks.rows import RATES, Row

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = Path(__file__).with_name("RESULTS.md")
LIBRARIES: Final = ("numpy", "msgspec", "typer")


class Benchmark(NamedTuple):
    """A benchmark.

    Attributes
    ----------
    turns : int
        The number of turns in which the last release is measured as well; 0 leaves the release out.
    quick : str or None
        The arguments with ``--quick``; None leaves the benchmark out.
    """

    module: str
    arguments: str = ""
    turns: int = 0
    quick: str | None = None


#: The benchmarks by the heading of their table.
SECTIONS: Final = {
    "Start-up, as multiples of `import typer`": [Benchmark("startup", "--runs 5", 3, "--runs 1")],
    "One decision that no cache knows": [
        Benchmark("cycle", "", 3, "--nodes 3 15 100"),
        Benchmark("devices", "", 3, "--nodes 50"),
        Benchmark("gang", "--repeat 2", 1, "--nodes 100 --pods 3000 --members 16 --racks 4"),
    ],
    "Many decisions": [
        Benchmark("many", "--bind 2000", 3, "--nodes 100 --pods 3000 --bind 200"),
        Benchmark("every_pod", "", 1, "--nodes 50 --pods 300 --alike 100 --daemon-nodes 50"),
        Benchmark("sweep", "--cases 150 --rounds 2"),
        Benchmark("optimum"),
    ],
    "Pending pods and suggestions": [
        Benchmark("pending", "", 3),
        Benchmark("suggestions", "--waiting 200", 1),
        Benchmark("provisioning", "", 3),
    ],
    "Beside the real scheduler": [
        Benchmark("real_scheduler", "--members 0", 0, "--nodes 100 --pods 3000 --bind 100 --members 0"),
        # A gang of 256 that preempts on 5,000 nodes takes the real scheduler many minutes.
        Benchmark(
            "real_scheduler",
            "--bind 0 --nodes 1000 --pods 10000 --gangs 1",
            0,
            "--bind 0 --nodes 100 --pods 1000 --members 16 --gangs 1",
        ),
    ],
    "Server and pages": [Benchmark("serve", "--seconds 20"), Benchmark("page")],
    "Scale": [Benchmark("scale", "", 0, "--nodes 5 500")],
    # The last one: for a while after files of gigabytes, the machine is slower.
    "Loading": [
        Benchmark("load", "", 3, "--pods 1000 --nodes 50"),
        Benchmark("load", "--pods 150000 --nodes 5000 --repeat 1", 1),
        Benchmark("load", "--pods 2000 --nodes 100 --yaml"),
        Benchmark("load", "--pods 1900 --nodes 100 --folder --yaml"),
        Benchmark("load", "--pods 1900 --nodes 100 --folder"),
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__)
    parser.add_argument("--base", default=_last_tag(), help="the release or commit to compare with (the last tag)")
    parser.add_argument("--judge", type=Path, help="the program for benchmarks.real_scheduler")
    parser.add_argument("--quick", action="store_true", help="run small benchmarks only, and write no file")
    parser.add_argument("--turns", type=int, default=3, help="the most turns in which both are measured (3)")
    args = parser.parse_args()
    if not args.base:
        parser.error("no release is tagged here: name the commit of the last one with --base")
    environment = _environment(args.base)
    with tempfile.TemporaryDirectory() as folder:
        base = _checked_out(args.base, Path(folder))
        sections: list[Section] = []
        for title, benchmarks in SECTIONS.items():
            measured = Section(title, *_measured(benchmarks, base, args))
            if measured.results or measured.problems:
                sections.append(measured)
            if not args.quick:
                # What was measured stays if a later benchmark is interrupted.
                PAGE.write_text(page(sections, environment))
    if args.quick:
        print(page(sections, environment))


def _measured(benchmarks: Sequence[Benchmark], base: Path, args: argparse.Namespace) -> tuple[list[Result], list[str]]:
    """Return the results of some benchmarks, and the reasons why others were not measured."""
    results: list[Result] = []
    problems: list[str] = []
    for benchmark in benchmarks:
        arguments = benchmark.quick if args.quick else benchmark.arguments
        if arguments is None:
            continue
        judge = ["--judge", str(args.judge)] if args.judge and benchmark.module == "real_scheduler" else []
        command = [sys.executable, "-m", f"benchmarks.{benchmark.module}", "--json", *arguments.split(), *judge]
        turns = min(benchmark.turns, 1 if args.quick else args.turns)
        try:
            results += _in_turns(command, turns, base)
        except subprocess.CalledProcessError as error:
            problems.append(f"`{' '.join(command[1:])}` in {error.cmd[0]}: {error.stderr.strip().splitlines()[-1]}")
    return results, problems


def _in_turns(command: Sequence[str], turns: int, base: Path) -> Iterator[Result]:
    """Run a benchmark, in turns with the base, and yield the medians of its rows."""
    runs: list[dict[str, Row]] = []
    ratios: dict[str, list[float]] = {}
    for turn in range(max(turns, 1)):
        print(f"{datetime.now(UTC):%H:%M:%S} {' '.join(command[1:])}, turn {turn + 1}", file=sys.stderr)
        now = _rows(command, ROOT)
        runs.append(now)
        for what, before in _before(command, base).items() if turns else ():
            if what in now:
                ratios.setdefault(what, []).append(_slowness(now[what], before))
    for what, row in runs[0].items():
        value = statistics.median(run[what].value for run in runs)
        yield Result(row._replace(value=value), statistics.median(ratios[what]) if what in ratios else None)


def _before(command: Sequence[str], base: Path) -> dict[str, Row]:
    """Return the rows of the release; none if it has no such benchmark."""
    try:
        return _rows(command, base)
    except subprocess.CalledProcessError as error:
        print(f"not measured in {base.name}: {error.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}


def _slowness(now: Row, before: Row) -> float:
    """Return the time now as a multiple of the time before."""
    return before.value / now.value if now.unit in RATES else now.value / before.value


def _rows(command: Sequence[str], folder: Path) -> dict[str, Row]:
    """Run a benchmark with the package that is in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise subprocess.CalledProcessError(ran.returncode, [folder.name], stderr=ran.stderr or "no message")
    return {row.what: row for row in (Row(*json.loads(line)) for line in ran.stdout.splitlines())}


def _checked_out(revision: str, folder: Path) -> Path:
    """Return a folder with the files of a commit, and with the benchmarks of today if they run there."""
    target = folder / revision.replace("/", "-")
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(target, filter="data")
    own, todays = target / "benchmarks", target / "todays-benchmarks"
    shutil.copytree(ROOT / "benchmarks", todays)
    own.rename(target / "own-benchmarks")
    todays.rename(own)
    try:
        _rows([sys.executable, "-m", "benchmarks.cycle", "--json", "--nodes", "3"], target)
    except subprocess.CalledProcessError:
        shutil.rmtree(own)
        (target / "own-benchmarks").rename(own)
    return target


def _last_tag() -> str:
    return _git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")


def _git(*arguments: str) -> str:
    """Return the output of git; empty if it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _environment(base: str) -> Environment:
    cpu = Path("/proc/cpuinfo")
    models = [line.partition(": ")[2] for line in cpu.read_text().splitlines() if line.startswith("model name")]
    return Environment(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=_git("describe", "--always", "--abbrev=8", "--dirty", "--exclude", "*"),
        base=base,
        processor=f"{os.cpu_count()} cores of {models[0] if models else platform.processor()}",
        versions=(
            f"Python {platform.python_version()}",
            *(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES),
        ),
    )


if __name__ == "__main__":
    main()
