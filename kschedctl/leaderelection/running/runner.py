"""A runner that waits for a lease, runs a command while holding it, and ends the command before the lease expires."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread
from types import FrameType
from typing import Final

from kschedctl.common.clock import RealClock
from kschedctl.common.errors import InputError
from kschedctl.leaderelection.callbacks import Callbacks
from kschedctl.leaderelection.elector import LeaderElector
from kschedctl.leaderelection.lock import Lock, same_identity_warning
from kschedctl.leaderelection.outage import Outage
from kschedctl.leaderelection.running.child import Child
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.steps import Actor, Steps

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
    """The outcome of a run.

    Attributes
    ----------
    code : int
        The exit code.
    lost : bool
        True if the command was ended because the lease was lost.
    """

    code: int
    lost: bool = False


def held_for(settings: ElectionSettings) -> float:
    """Return the time that a command may run after the beginning of a renewal, in seconds.

    The time is 99 % of the lease duration in whole seconds, minus 0.5 s.
    """
    return settings.lease_duration_seconds * (1 - _DRIFT) - _MARGIN


def check_grace(settings: ElectionSettings, grace: float) -> None:
    """Check that the command's grace period can end before another candidate can acquire the lease.

    Raises
    ------
    InputError
        If retry period, renew deadline and grace period together exceed ``held_for``; the hint gives the lease
        duration that is needed.
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

    Parameters
    ----------
    command : sequence of str
        The command and its arguments.
    settings : ElectionSettings
        The settings of the candidate.
    grace : float
        The time between SIGTERM and SIGKILL for the command, in seconds.
    tell : callable
        Called with progress messages for the user.

    Notes
    -----
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

        Parameters
        ----------
        lock : Lock
            The lock on the lease, which must use this runner's clock.
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
