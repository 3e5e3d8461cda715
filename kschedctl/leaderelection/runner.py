"""A runner that waits for a lease, runs a command while holding it, and ends the command before the lease expires."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import sleep
from types import FrameType
from typing import Final

from kschedctl.common.clock import RealClock
from kschedctl.common.errors import InputError
from kschedctl.leaderelection import guard
from kschedctl.leaderelection.elector import Callbacks, LeaderElector, Outage
from kschedctl.leaderelection.locks import Lock, same_identity_warning
from kschedctl.leaderelection.settings import Actor, ElectionSettings, Steps

# The command that runs while leading: a child of a guard process, which kills it and all its descendants in time.

_GUARD: Final = Path(guard.__file__)
#: Python in isolated mode: environment variables and site packages have no effect.
_PYTHON: Final = (sys.executable, "-I", "-S", str(_GUARD))
#: The exit code of a command that was killed, as in shells.
_CHILD_KILLED: Final = 128 + signal.SIGKILL
_PAUSE: Final = 0.01


class Child:
    """A running command.

    Args:
        until: The time when the guard kills the command, unless the time is put off.

    Raises InputError if no process can be started.
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
                stdin=subprocess.DEVNULL if sys.stdin is not None and sys.stdin.isatty() else None,
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

        Args:
            code: The result of `wait`. If the guard was killed, the kernel has killed the command, and its other
                processes are killed here.
        """
        if code is None:
            guard.kill_group(self.group)
            while guard.kill_all(self._orphans()):
                sleep(_PAUSE)
        self._tell("done")
        self._close()
        return _CHILD_KILLED if code is None else code

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


#: Signals that are forwarded to the command, except those that this process was told to ignore, as by nohup.
_HANDED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
#: Signals that end the runner while it waits for the lease.
_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
#: The safety margin, in seconds: the command is killed this much earlier, for the time that the kernel needs.
_MARGIN: Final = 0.5
#: The assumed maximum lead of another candidate's clock rate over ours, as a fraction.
_DRIFT: Final = 0.01
_TICK: Final = 0.25
_OF_SIGNALS: Final = 128
_KILLED: Final = "the command is killed: its deadline has passed"
_GUARD_ENDED: Final = "the guard process of the command was killed: the command is killed with it"


@dataclass(frozen=True, slots=True)
class Started:
    """The message that the lease has been acquired."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """The message that a renewal succeeded; ``at`` is the time when the attempt began."""

    at: float


@dataclass(frozen=True, slots=True)
class ElectionEnded:
    """The message that the election is over: a renewal failed, or the candidate was cancelled."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """The message that the command has ended with an exit code; ``None`` if its guard was killed before."""

    code: int | None


@dataclass(frozen=True, slots=True)
class Signal:
    """The message that this process received a signal."""

    number: int


Message = Started | Renewed | ElectionEnded | CommandEnded | Signal


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome of a run."""

    #: The exit code.
    code: int
    #: True if the command was ended because the lease was lost.
    lost: bool = False


def held_for(settings: ElectionSettings) -> float:
    """Return the time that a command may run after the beginning of a renewal, in seconds.

    The time is 99 % of the lease duration in whole seconds, minus 0.5 s.
    """
    return settings.lease_duration_seconds * (1 - _DRIFT) - _MARGIN


def check_grace(settings: ElectionSettings, grace: float) -> None:
    """Check that the command's grace period can end before another candidate can acquire the lease.

    Raises InputError if retry period, renew deadline and grace period together exceed ``held_for``; the hint gives
        the lease duration that is needed.
    """
    leads = settings.retry_period + settings.renew_deadline
    if leads + grace > held_for(settings):
        needed = int((leads + grace + _MARGIN) / (1 - _DRIFT)) + 1
        problem = (
            f"a leader that cannot renew gives up after {leads:g} s, and a grace period of {grace:g} s after that "
            f"would end after another candidate can acquire the lease of {settings.lease_duration_seconds} s"
        )
        raise InputError(problem, path="--grace-period", hint=f"give --lease-duration {needed}s, or shorter times")


class Runner:
    """A run of a command under a lease.

    Args:
        grace: The time between SIGTERM and SIGKILL for the command, in seconds.
        tell: Called with progress messages for the user.

    The candidate runs in a thread of its own, which requests to the API server may block. The thread that calls `run`
    watches the command and never blocks. The guard is a process of its own, which kills the command even if this
    process is stopped or killed. All three count from the beginning of the last renewal, because no other candidate can
    have seen that renewal earlier.
    """

    def __init__(
        self, command: Sequence[str], settings: ElectionSettings, grace: float, tell: Callable[[str], None]
    ) -> None:
        check_grace(settings, grace)
        self._command = command
        # The runner, not the candidate, releases the lease: only the runner knows when the command has ended.
        self._settings = replace(settings, release_on_cancel=False, release_checks_holder=True)
        self._grace = grace
        self._tell = tell
        self._said: set[str] = set()
        self._renewed = 0.0
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self.clock = RealClock()

    def run(self, lock: Lock) -> Ending:
        """Wait for the lease, run the command, and release the lease.

        Args:
            lock: The lock on the lease, which must use this runner's clock.
        """
        outage = Outage(self._tell)
        callbacks = Callbacks(
            started_leading=lambda: self._messages.put(Started()),
            renewed=lambda at: self._messages.put(Renewed(at)),
            new_leader=lambda leader: self._say_leader(leader, lock),
            failed=outage.failed,
            reached=lambda: outage.ended(f"{lock.describe()} is reachable again"),
            same_identity=lambda: self._say_once(same_identity_warning(lock)),
        )
        elector = LeaderElector(lock, self._settings, self.clock, callbacks=callbacks)
        handled = (number for number in _HANDED_ON if signal.getsignal(number) is not signal.SIG_IGN)
        previous = {number: signal.signal(number, self._on_signal) for number in handled}
        try:
            return self._run(elector)
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _run(self, elector: LeaderElector) -> Ending:
        actor, thread = self._in_thread(elector.run())
        ended = self._waited()
        if ended is None:
            ended = self._led(elector)
        self.clock.schedule(self.clock.now(), actor.cancel)
        # A hanging request cannot be aborted; the lease then expires by itself.
        thread.join(self._settings.request_timeout + 1)
        if not thread.is_alive() and elector.is_leader:
            _, releasing = self._in_thread(_ignoring(elector.release()))
            releasing.join(2 * self._settings.request_timeout + 1)
        return ended

    def _in_thread(self, steps: Steps[None]) -> tuple[Actor, Thread]:
        def play() -> None:
            try:
                self.clock.run()
            finally:
                self._messages.put(ElectionEnded())

        actor = Actor(self.clock, steps)
        thread = Thread(target=play, daemon=True)
        thread.start()
        return actor, thread

    def _waited(self) -> Ending | None:
        """Wait for the lease; return the outcome if a signal ended the wait, and ``None`` once the lease is held."""
        while True:
            message = self._messages.get()
            match message:
                case Started():
                    return None
                case Signal(number) if number in _ENDING:
                    return Ending(_OF_SIGNALS + number)
                case Renewed():
                    self._renewed = message.at

    def _led(self, elector: LeaderElector) -> Ending:
        """Run the command while the lease is held, and return the outcome."""
        child = Child(self._command, self.clock, self._kill_at)
        Thread(target=self._watch, args=(child,), daemon=True).start()
        kill_at = inf
        lost = False
        while True:
            message = self._next(kill_at if lost else self._kill_at - self._grace)
            match message:
                case CommandEnded(found):
                    code = child.finish(found)
                    if found is None:
                        self._tell(_GUARD_ENDED)
                    if child.killed_by_guard:
                        self._tell(_KILLED)
                    return Ending(code, lost or child.killed_by_guard)
                case Signal(number):
                    child.signal(number)
                case Renewed(at) if not lost:
                    self._renewed = at
                    child.put_off(self._kill_at)
            now = self.clock.now()
            ended = isinstance(message, ElectionEnded) or not elector.is_leader
            if not lost and (ended or now >= self._kill_at - self._grace):
                lost, kill_at = True, min(self._kill_at, now + self._grace)
                self._tell("the lease is lost: the command gets SIGTERM")
                child.put_off(kill_at)
                child.signal(signal.SIGTERM)
            if now >= kill_at:
                kill_at = inf
                self._tell(_KILLED)
                child.kill()

    @property
    def _kill_at(self) -> float:
        """The time when the command must be dead."""
        return self._renewed + held_for(self._settings)

    def _next(self, until: float) -> Message | None:
        """Return the next message, or ``None`` if none arrives before ``until`` or within 0.25 s."""
        try:
            return self._messages.get(timeout=max(min(until - self.clock.now(), _TICK), 0.0))
        except Empty:
            return None

    def _watch(self, child: Child) -> None:
        self._messages.put(CommandEnded(child.wait()))

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self._messages.put(Signal(number))

    def _say_leader(self, leader: str, lock: Lock) -> None:
        if leader == lock.identity:
            self._tell(f"{lock.describe()} is held by this candidate: {leader} leads")
        elif leader:
            self._tell(f"{lock.describe()} is held by {leader}")

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._tell(text)


def _ignoring(steps: Steps[bool]) -> Steps[None]:
    yield from steps
