"""Two small programs beside the command that runs while leading. They import nothing from this package.

``guard.py wait FD COMMAND...`` executes the command once a line arrives on FD, and exits if FD is closed without one.
The command therefore never runs unguarded.

``guard.py watch GROUP CLOCK`` kills a process group at a set time, by the clock with that number. Lines
``until SECONDS`` on standard input set the time and put it off. The guard kills the group at once if the input ends
without ``done``. The command therefore dies in time even if the program that started it is killed, is stopped or hangs.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

#: The longest wait, in seconds: after a suspend of the machine the guard notices the time within this period.
_TICK = 0.25
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def wait(fd: int, command: list[str]) -> int:
    """Execute the command once a line arrives on ``fd``."""
    if not os.read(fd, 1):
        return 0
    os.close(fd)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"error: {command[0]}: {error.strerror}\n")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE


def watch(group: int, clock: int) -> int:
    """Kill the process group at the time that standard input sets; return 1 if it was killed and 0 if not."""
    # Signals of the terminal that end the other processes must not end the guard: it ends with its input.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    until, pending = None, b""
    os.write(1, b"ready\n")
    while True:
        left = _TICK if until is None else min(until - time.clock_gettime(clock), _TICK)
        if left <= 0:
            break
        if not select.select([0], [], [], left)[0]:
            continue
        read = os.read(0, 4096)
        if not read:
            break
        *lines, pending = (pending + read).split(b"\n")
        for line in lines:
            if line == b"done":
                return 0
            until = float(line.removeprefix(b"until "))
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


if __name__ == "__main__":
    if sys.argv[1] == "wait":
        sys.exit(wait(int(sys.argv[2]), sys.argv[3:]))
    sys.exit(watch(int(sys.argv[2]), int(sys.argv[3])))
