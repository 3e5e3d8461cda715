"""What happened in a simulated election: events, and who led when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class What(StrEnum):
    """What happens to a candidate."""

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
    """Something that happened.

    Attributes
    ----------
    at : float
        When, in true seconds since the beginning.
    who : str
        To which candidate; empty for all.
    what : What
        What.
    detail : str
        More of it.
    """

    at: float
    who: str
    what: What
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """From when to when a candidate led.

    Attributes
    ----------
    who : str
        The candidate.
    start, end : float
        In true seconds.
    """

    who: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Write:
    """A change of the record that a candidate knows of.

    Attributes
    ----------
    who : str
        The candidate.
    at : float
        When the record changed, in true seconds.
    known_at : float
        When the answer came.
    """

    who: str
    at: float
    known_at: float


@dataclass
class Timeline:
    """Events in their order, and terms in that of their beginning.

    Attributes
    ----------
    duration : float
        How long it was looked at, in seconds.
    writes : list of Write
        The changes of the record.
    """

    duration: float = 0.0
    events: list[Event] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    _open: dict[str, float] = field(default_factory=dict)
    _closed: list[Term] = field(default_factory=list)

    def note(self, at: float, who: str, what: What, detail: str = "") -> None:
        """Take note of an event."""
        self.events.append(Event(at, who, what, detail))

    def begin(self, at: float, who: str) -> None:
        """A candidate begins to lead."""
        self._open[who] = at
        self.note(at, who, What.LEADS)

    def end(self, at: float, who: str) -> None:
        """A candidate does not lead any more, if it did."""
        start = self._open.pop(who, None)
        if start is not None:
            self._closed.append(Term(who, start, at))
            self.note(at, who, What.STOPPED)

    def leading(self) -> list[str]:
        """Who leads now."""
        return list(self._open)

    def terms(self) -> list[Term]:
        """Who led when."""
        running = [Term(who, start, self.duration) for who, start in self._open.items()]
        return sorted([*self._closed, *running], key=lambda term: (term.start, term.who))

    def overlaps(self) -> Iterator[tuple[Term, Term]]:
        """Terms of two that led at once, the one that began sooner first."""
        terms = self.terms()
        for i, first in enumerate(terms):
            for second in terms[i + 1 :]:
                # One that ends in the moment in which another begins does not lead beside it.
                if second.start < first.end:
                    yield first, second

    def gaps(self) -> Iterator[tuple[float, float]]:
        """From when to when nobody led."""
        led_until = 0.0
        for term in self.terms():
            if term.start > led_until:
                yield led_until, term.start
            led_until = max(led_until, term.end)
        if led_until < self.duration:
            yield led_until, self.duration
