"""The command that runs while leading: a process group, with a guard process that kills the group in time."""

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
#: Python in isolated mode: environment variables and site packages have no effect.
_PYTHON: Final = (sys.executable, "-I", "-S", str(_GUARD))
#: The offset of exit codes for signals: 128 plus the signal's number, as in shells.
_OF_SIGNALS: Final = 128


def _stdin() -> int | None:
    """Return the standard input of the command: a background process group must not read from a terminal."""
    return subprocess.DEVNULL if sys.stdin is not None and sys.stdin.isatty() else None


class Child:
    """A running command.

    Parameters
    ----------
    command : sequence of str
        The command and its arguments.
    clock : RealClock
        The clock of all times.
    until : float
        The time when the guard kills the command, unless the time is put off.

    Raises
    ------
    InputError
        If no process can be started.
    """

    def __init__(self, command: Sequence[str], clock: RealClock, until: float) -> None:
        self._clock = clock
        go, self._go = os.pipe()
        try:
            # A group of its own: child processes of the command end with it, and we forward signals of the terminal.
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
            raise InputError(f"a process cannot be started: {error.strerror or error}") from None
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
            raise InputError("the guard process of the command cannot be started")

    def put_off(self, until: float) -> None:
        """Change the time at which the guard kills the command."""
        self._tell(f"until {self._clock.of_machine(until)!r}")

    def signal(self, number: int) -> None:
        """Send a signal to the command and the processes that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.group, number)

    def wait(self) -> None:
        """Wait until the command has ended. Processes that it has started may still run."""
        # The command stays a zombie, so that its group number is not reused before ``finish``.
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)

    @property
    def killed_by_guard(self) -> bool:
        """True if the guard killed the command; valid after ``finish``."""
        return self._guard.returncode == 1

    @property
    def guarded(self) -> bool:
        """True if the guard is running."""
        return self._guard.poll() is None

    def finish(self) -> int:
        """Kill the remaining processes of the group and return the exit code; call this once the command has ended.

        Returns
        -------
        int
            The exit code as in shells: 128 plus the signal's number for a command that a signal ended.
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
