"""Waits for a lease, runs a command while it is held, and ends it before the lease can be another's."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread
from types import FrameType
from typing import Final

from kschedctl.clock import RealClock
from kschedctl.errors import InputError
from kschedctl.leaderelection.callbacks import Callbacks
from kschedctl.leaderelection.elector import LeaderElector
from kschedctl.leaderelection.lock import Lock
from kschedctl.leaderelection.running.child import Child
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.leaderelection.steps import Actor, Steps

#: Signals that are handed on to the command.
_HANDED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
#: Those of them that end whoever is waiting.
_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
#: How much sooner than it must the command is killed: until the kernel has done so.
_MARGIN: Final = 0.5
#: How much faster than ours the clock of another may run.
_DRIFT: Final = 0.01
_TICK: Final = 0.25
_OF_SIGNALS: Final = 128
_KILLED: Final = "the command is killed: its time is over"


@dataclass(frozen=True, slots=True)
class Started:
    """The lease is held."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """The lease is held for some time from ``at`` on."""

    at: float


@dataclass(frozen=True, slots=True)
class ElectionEnded:
    """The election is over: the lease could not be renewed, or it was asked to end."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """The command has ended by itself or by a signal."""


@dataclass(frozen=True, slots=True)
class Signal:
    """We got a signal."""

    number: int


Message = Started | Renewed | ElectionEnded | CommandEnded | Signal


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Attributes
    ----------
    code : int
        The exit code.
    lost : bool
        Whether the command was ended because the lease could not be kept.
    """

    code: int
    lost: bool = False


def held_for(settings: ElectionSettings) -> float:
    """How long after the beginning of a renewal a command may run, in seconds."""
    return settings.lease_duration_seconds * (1 - _DRIFT) - _MARGIN


def check_grace(settings: ElectionSettings, grace: float) -> None:
    """Refuse times with which a command could not be given its grace period.

    Raises
    ------
    InputError
        With the lease duration that it needs.
    """
    leads = settings.retry_period + settings.renew_deadline
    if leads + grace > held_for(settings):
        needed = int((leads + grace + _MARGIN) / (1 - _DRIFT)) + 1
        problem = (
            f"a leader that cannot renew gives up after {leads:g} s, and a grace period of {grace:g} s after that "
            f"would not be over when the lease of {settings.lease_duration_seconds} s can be another's"
        )
        raise InputError(problem, path="--grace-period", hint=f"give --lease-duration {needed}s, or shorter times")


class Runner:
    """One run of a command.

    Parameters
    ----------
    command : sequence of str
        The command and its arguments.
    settings : ElectionSettings
        The times.
    grace : float
        How long the command has after SIGTERM, in seconds.
    tell : callable
        Is given what people may want to know.

    Notes
    -----
    The candidate is in a thread of its own, which requests to the API server may hold up; the command is watched in the
    thread that calls `run`, which nothing holds up; and the guard is a process of its own, which kills the command also
    where this one is stopped or killed. All three go by one moment: that of the beginning of the last renewal, which
    nobody can have seen before.
    """

    def __init__(
        self, command: Sequence[str], settings: ElectionSettings, grace: float, tell: Callable[[str], None]
    ) -> None:
        check_grace(settings, grace)
        self._command = command
        # The lease is given up once the command has ended, which the candidate knows nothing of.
        self._settings = replace(settings, release_on_cancel=False, release_checks_holder=True)
        self._grace = grace
        self._tell = tell
        self._failed = ""
        self._renewed = 0.0
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self.clock = RealClock()

    def run(self, lock: Lock) -> Ending:
        """Wait, run the command, and give the lease up.

        Parameters
        ----------
        lock : Lock
            That of the lease, on this runner's clock.
        """
        callbacks = Callbacks(
            started_leading=lambda: self._messages.put(Started()),
            renewed=lambda at: self._messages.put(Renewed(at)),
            new_leader=lambda leader: self._say_leader(leader, lock),
            failed=self._say_failed,
        )
        elector = LeaderElector(lock, self._settings, self.clock, callbacks=callbacks)
        previous = {number: signal.signal(number, self._on_signal) for number in _HANDED_ON}
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
        # A request may hang that cannot be given up; the lease then ends by itself.
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
        """Wait for the lease; how it ended where that never came."""
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
        """Run the command for as long as the lease is held; how it ended."""
        child = Child(self._command, self.clock, self._kill_at)
        Thread(target=self._watch, args=(child,), daemon=True).start()
        kill_at = inf
        lost = False
        while True:
            message = self._next(kill_at if lost else self._kill_at - self._grace)
            match message:
                case CommandEnded():
                    code = child.finish()
                    if child.killed_by_guard:
                        self._tell(_KILLED)
                    return Ending(code, lost or child.killed_by_guard)
                case Signal(number):
                    child.signal(number)
                case Renewed(at) if not lost:
                    self._renewed = at
                    child.put_off(self._kill_at)
            now = self.clock.now()
            ended = isinstance(message, ElectionEnded) or not elector.is_leader or not child.guarded
            if not lost and (ended or now >= self._kill_at - self._grace):
                lost, kill_at = True, min(self._kill_at, now + self._grace)
                self._tell("the lease is lost: the command gets SIGTERM")
                child.put_off(kill_at)
                child.signal(signal.SIGTERM)
            if now >= kill_at:
                kill_at = inf
                self._tell(_KILLED)
                child.signal(signal.SIGKILL)

    @property
    def _kill_at(self) -> float:
        """When the command must be gone."""
        return self._renewed + held_for(self._settings)

    def _next(self, until: float) -> Message | None:
        """What comes next; nothing where that is not soon."""
        try:
            return self._messages.get(timeout=max(min(until - self.clock.now(), _TICK), 0.0))
        except Empty:
            return None

    def _watch(self, child: Child) -> None:
        child.wait()
        self._messages.put(CommandEnded())

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self._messages.put(Signal(number))

    def _say_leader(self, leader: str, lock: Lock) -> None:
        if leader == lock.identity:
            self._tell(f"{lock.describe()} is ours: {leader} leads")
        elif leader:
            self._tell(f"{lock.describe()} is held by {leader}")

    def _say_failed(self, text: str) -> None:
        # The same again and again helps nobody.
        if text != self._failed:
            self._failed = text
            self._tell(text)


def _ignoring(steps: Steps[bool]) -> Steps[None]:
    yield from steps
