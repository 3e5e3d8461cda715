"""The timeline of a simulated election: events, and the terms of the leaders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class ElectionEvent(StrEnum):
    """The type of an event."""

    STARTED = "started"
    LEADS = "leads"
    STOPPED = "stopped leading"
    LOST = "lost the lease"
    ENDED = "ended"
    CRASHED = "crashed"
    TERMINATED = "got SIGTERM"
    PARTITIONED = "cut off"
    HEALED = "reachable again"
    SLOWED = "requests are slow"
    QUICKENED = "requests are quick again"
    UPGRADED = "upgrade begins"


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the simulation.

    Attributes
    ----------
    at : float
        The true time since the beginning, in seconds.
    who : str
        The identity of the candidate; empty for all candidates.
    what : ElectionEvent
        The type of the event.
    detail : str
        Details of the event, in words.
    """

    at: float
    who: str
    what: ElectionEvent
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LeaderTerm:
    """A period in which a candidate led.

    Attributes
    ----------
    who : str
        The identity of the candidate.
    start, end : float
        The true times since the beginning of the simulation, in seconds.
    """

    who: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Write:
    """A successful write of the record.

    Attributes
    ----------
    who : str
        The identity of the candidate.
    at : float
        The true time when the record changed, in seconds.
    known_at : float
        The true time when the candidate received the response, in seconds.
    """

    who: str
    at: float
    known_at: float


@dataclass
class Timeline:
    """The events of a simulation in chronological order, and the terms of the leaders.

    Attributes
    ----------
    duration : float
        The simulated time, in seconds.
    writes : list of Write
        The successful writes of the record.
    """

    duration: float = 0.0
    events: list[Event] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    _open: dict[str, float] = field(default_factory=dict)
    _closed: list[LeaderTerm] = field(default_factory=list)

    def note(self, at: float, who: str, what: ElectionEvent, detail: str = "") -> None:
        """Add an event."""
        self.events.append(Event(at, who, what, detail))

    def begin(self, at: float, who: str) -> None:
        """Record that a candidate begins to lead."""
        self._open[who] = at
        self.note(at, who, ElectionEvent.LEADS)

    def end(self, at: float, who: str) -> None:
        """Record that a candidate stops leading, if it leads."""
        start = self._open.pop(who, None)
        if start is not None:
            self._closed.append(LeaderTerm(who, start, at))
            self.note(at, who, ElectionEvent.STOPPED)

    def leading(self) -> list[str]:
        """Return the identities of the current leaders."""
        return list(self._open)

    def terms(self) -> list[LeaderTerm]:
        """Return all terms, sorted by their beginning; current terms end with the simulation."""
        running = [LeaderTerm(who, start, self.duration) for who, start in self._open.items()]
        return sorted([*self._closed, *running], key=lambda term: (term.start, term.who))

    def overlaps(self) -> Iterator[tuple[LeaderTerm, LeaderTerm]]:
        """Yield the pairs of overlapping terms, each in the order of their beginnings."""
        terms = self.terms()
        for i, first in enumerate(terms):
            for second in terms[i + 1 :]:
                # A term that ends exactly when another begins does not overlap with it; later terms begin later.
                if second.start >= first.end:
                    break
                yield first, second

    def gaps(self) -> Iterator[tuple[float, float]]:
        """Yield the beginning and end of each period without a leader."""
        led_until = 0.0
        for term in self.terms():
            if term.start > led_until:
                yield led_until, term.start
            led_until = max(led_until, term.end)
        if led_until < self.duration:
            yield led_until, self.duration
