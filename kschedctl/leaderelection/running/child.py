"""The command that runs while leading: a group of processes, with a guard that kills it in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kschedctl.clock import RealClock
from kschedctl.errors import InputError

_GUARD: Final = Path(__file__).with_name("guard.py")
#: Python without anything that a user could put in its way.
_PYTHON: Final = (sys.executable, "-I", "-S", str(_GUARD))
#: What the exit code of something that a signal has ended is counted from, as shells do.
_OF_SIGNALS: Final = 128


def _stdin() -> int | None:
    """Standard input as the command gets it: who is in the background of a terminal must not read from it."""
    return subprocess.DEVNULL if sys.stdin is not None and sys.stdin.isatty() else None


class Child:
    """A command that is running.

    Parameters
    ----------
    command : sequence of str
        The command and its arguments.
    clock : RealClock
        What times are told by.
    until : float
        When it is killed unless that is put off.

    Raises
    ------
    InputError
        Where no process can be started.
    """

    def __init__(self, command: Sequence[str], clock: RealClock, until: float) -> None:
        self._clock = clock
        go, self._go = os.pipe()
        try:
            # A group of its own: its own processes end with it, and signals of the terminal come through us.
            self._process = subprocess.Popen(
                [*_PYTHON, "wait", str(go), *command], pass_fds=[go], process_group=0, stdin=_stdin()
            )
            self.group = self._process.pid
            self._guard = subprocess.Popen(
                [*_PYTHON, "watch", str(self.group), str(clock.id)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._go)
            raise InputError(f"no process can be started: {error.strerror or error}") from None
        finally:
            os.close(go)
        assert self._guard.stdout is not None
        ready = self._guard.stdout.readline()
        if ready:
            self.put_off(until)
            os.write(self._go, b"\n")
        os.close(self._go)
        if not ready:
            self._process.wait()
            raise InputError("what would guard the command cannot be started")

    def put_off(self, until: float) -> None:
        """Have the guard wait for another moment."""
        self._tell(f"until {self._clock.of_machine(until)!r}")

    def signal(self, number: int) -> None:
        """Send a signal to it and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.group, number)

    def wait(self) -> None:
        """Wait until the command has ended; what it has started may still run."""
        # It stays a zombie until then, so that nobody else gets the number of its group.
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)

    @property
    def killed_by_guard(self) -> bool:
        """Once it has finished: whether it was the guard that killed it."""
        return self._guard.returncode == 1

    @property
    def guarded(self) -> bool:
        """Whether the guard is there."""
        return self._guard.poll() is None

    def finish(self) -> int:
        """Once the command has ended: kill what it has left behind, and say with which code it ended.

        Returns
        -------
        int
            As shells have it, with 128 more than the signal that ended it.
        """
        self.signal(signal.SIGKILL)
        code = self._process.wait()
        self._tell("done")
        for stream in (self._guard.stdin, self._guard.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._guard.wait()
        return code if code >= 0 else _OF_SIGNALS - code

    def _tell(self, line: str) -> None:
        assert self._guard.stdin is not None
        with suppress(OSError, ValueError):
            self._guard.stdin.write(f"{line}\n".encode())
            self._guard.stdin.flush()
