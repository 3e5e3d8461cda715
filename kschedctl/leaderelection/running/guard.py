"""Two small programs beside the command that runs while leading; they know nothing of elections, nor of this package.

``guard.py wait FD COMMAND...`` becomes the command once a line comes on FD, and ends where none does. So nothing of the
command runs that is not guarded.

``guard.py watch GROUP CLOCK`` kills a group of processes at a moment that its standard input puts off again and again,
as ``until SECONDS`` by that clock, and at once where the input ends without ``done``: so the command dies in time also
where the program that started it is killed, stopped or hangs.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

#: Sleep of the machine is noticed within so many seconds after it.
_TICK = 0.25
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def wait(fd: int, command: list[str]) -> int:
    """Become the command, once somebody says so."""
    if not os.read(fd, 1):
        return 0
    os.close(fd)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"error: {command[0]}: {error.strerror}\n")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE


def watch(group: int, clock: int) -> int:
    """Kill a group unless somebody goes on putting it off."""
    # What ends the others by the terminal must not end it: it ends when its input does.
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
