"""The command that runs while leading: a child of a guard process, which kills it and all its descendants in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Final

from kschedctl.common.clock import RealClock
from kschedctl.common.errors import InputError
from kschedctl.leaderelection.running import guard

_GUARD: Final = Path(guard.__file__)
#: Python in isolated mode: environment variables and site packages have no effect.
_PYTHON: Final = (sys.executable, "-I", "-S", str(_GUARD))
#: The exit code of a command that was killed, as in shells.
_KILLED: Final = 128 + signal.SIGKILL
_PAUSE: Final = 0.01


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

    Attributes
    ----------
    group : int
        The process group of the command.

    Raises
    ------
    InputError
        If no process can be started.
    """

    def __init__(self, command: Sequence[str], clock: RealClock, until: float) -> None:
        self._clock = clock
        # If the guard is killed, the processes of the command become our children, so that we find them.
        guard.become_subreaper()
        self._others = {pid for pid, parent, _ in guard.descendants(os.getpid()) if parent == os.getpid()}
        orders, self._orders = os.pipe()
        reports, reporting = os.pipe()
        self._reports = os.fdopen(reports, "rb")
        try:
            # A group of its own: signals of the terminal do not reach the guard and the command; we forward them.
            self._guard = subprocess.Popen(
                [*_PYTHON, str(orders), str(reporting), str(clock.id), *command],
                pass_fds=[orders, reporting],
                process_group=0,
                stdin=_stdin(),
            )
        except OSError as error:
            os.close(self._orders)
            self._reports.close()
            raise InputError(f"a process cannot be started: {error.strerror or error}") from None
        finally:
            os.close(orders)
            os.close(reporting)
        self.put_off(until)
        what, _, value = self._report()
        if what != "started":
            self._close()
            raise InputError(f"the command cannot be started: {value or 'its guard process has ended'}")
        self.group = int(value)

    def put_off(self, until: float) -> None:
        """Change the time at which the guard kills the command."""
        self._tell(f"until {self._clock.of_machine(until)!r}")

    def signal(self, number: int) -> None:
        """Send a signal to the process group of the command."""
        with suppress(ProcessLookupError):
            os.killpg(self.group, number)

    def kill(self) -> None:
        """Kill the command and all its descendants, without the help of the guard."""
        guard.kill_group(self.group)
        guard.kill_all([pid for pid, _, _ in guard.descendants(self._guard.pid)])
        # A guard that was stopped reports the end of the command.
        self._guard.send_signal(signal.SIGCONT)

    def wait(self) -> int | None:
        """Wait until the command has ended, and return its exit code; ``None`` if the guard ended before.

        The exit code is that of a shell: 128 plus the signal's number for a command that a signal ended. The command
        stays a zombie until `finish`, so that its group number is not reused.
        """
        what, _, value = self._report()
        return int(value) if what == "ended" else None

    @property
    def killed_by_guard(self) -> bool:
        """True if the guard killed the command as its time had passed; valid after ``finish``."""
        return self._guard.returncode == 1

    def finish(self, code: int | None) -> int:
        """End the guard, and return the exit code; call this once the command has ended.

        Parameters
        ----------
        code : int or None
            The result of `wait`. If the guard was killed, the kernel has killed the command, and its other processes
            are killed here.
        """
        if code is None:
            guard.kill_group(self.group)
            while guard.kill_all(self._orphans()):
                sleep(_PAUSE)
        self._tell("done")
        self._close()
        return _KILLED if code is None else code

    def _orphans(self) -> list[int]:
        """Return the command's processes after the end of the guard: our new children in other process groups."""
        ours, group = os.getpid(), os.getpgrp()
        tree = guard.descendants(ours)
        # Credential plugins are in our group.
        found = {pid for pid, parent, of in tree if parent == ours and of != group} - self._others
        for pid, parent, _ in tree:
            if parent in found:
                found.add(pid)
        return sorted(found)

    def _report(self) -> tuple[str, str, str]:
        return self._reports.readline().decode(errors="replace").strip().partition(" ")

    def _close(self) -> None:
        os.close(self._orders)
        self._reports.close()
        self._guard.wait()

    def _tell(self, line: str) -> None:
        with suppress(OSError):
            os.write(self._orders, f"{line}\n".encode())
