"""CPU time of short commands, compared with Python's own startup: python -m benchmarks.startup"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

N_RUNS = 7
EXPLAIN = ["explain", "shop/web-7", "--snapshot", "fixtures/shop/cluster"]
RUN = ["-c", "from kschedctl.cli.main import run; run()"]
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "kschedctl --version": [*RUN, "--version"],
    "kschedctl --help": [*RUN, "--help"],
    "kschedctl explain": [*RUN, *EXPLAIN],
}


def main() -> None:
    for name, arguments in COMMANDS.items():
        milliseconds = statistics.median(_cpu_milliseconds([sys.executable, *arguments]) for _ in range(N_RUNS))
        print(f"{name:20} {milliseconds:5.0f} ms CPU, median of {N_RUNS}")


def _cpu_milliseconds(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{' '.join(command)} failed")
    return (usage.ru_utime + usage.ru_stime) * 1e3


if __name__ == "__main__":
    main()
