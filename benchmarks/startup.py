"""CPU time of short commands, as ratios to ``import typer``: python -m benchmarks.startup"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.rows import Row, report

UNIT: Final = "import typer"
_RUN: Final = ["-c", "import sys; sys.argv[0] = 'kschedctl'; from kschedctl.cli.start import run; run()"]
_SHOP: Final = ["--snapshot", "fixtures/shop/cluster"]
COMMANDS: Final = {
    UNIT: ["-c", "import typer"],
    "python -c pass": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import kschedctl": ["-c", "import kschedctl"],
    "kschedctl.load of the shop": ["-c", "import kschedctl; kschedctl.load('fixtures/shop/cluster')"],
    "kschedctl --version": [*_RUN, "--version"],
    "kschedctl --help": [*_RUN, "--help"],
    "kschedctl explain --help": [*_RUN, "explain", "--help"],
    "kschedctl explain, a pod that fits": [*_RUN, "explain", "shop/web-7", *_SHOP],
    "kschedctl explain, a pod that does not": [*_RUN, "explain", "shop/search-3", *_SHOP],
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="runs of each command, in turn (default: 9)")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the median of each command as a ratio to that of ``import typer``; notes have the milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        # An installed package has its bytecode; a checkout may have none.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        times: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for i in range(args.runs + 1):
            for name, arguments in COMMANDS.items():
                milliseconds = _cpu_milliseconds([sys.executable, *arguments], environment)
                # The first run compiles the modules.
                if i:
                    times[name].append(milliseconds)
    unit = statistics.median(times[UNIT])
    for name, own in times.items():
        median = statistics.median(own)
        yield Row(name, median / unit, "times", f"{median:.0f} ms, least {min(own):.0f} ms")


def _cpu_milliseconds(command: list[str], environment: dict[str, str]) -> float:
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=Path(__file__).parents[1]
    )
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{' '.join(command)} failed")
    return (usage.ru_utime + usage.ru_stime) * 1e3


if __name__ == "__main__":
    main()
