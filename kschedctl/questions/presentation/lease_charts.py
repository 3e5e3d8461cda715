"""Charts of leader elections: the validity of each lease, and the terms of the leaders over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.findings import shortened
from kschedctl.leaderelection.network import ElectionEvent
from kschedctl.questions.answers.leader import CounterexampleData, Election, EventData, LeaderSimulation, TermData
from kschedctl.questions.answers.preempt_words import time_span
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Lane, Segment, Span, Timeline
from kschedctl.questions.presentation.tone import Tone

#: A lease that expired long ago is drawn for up to this number of lease durations.
_MOST_LEASES: Final = 3
#: The number of characters of a holder's identity.
_MOST_HOLDER: Final = 60
_VALIDITY: Final = (
    Kind("since the last renewal"),
    Kind("still valid", Tone.GOOD),
    Kind("expired"),
    Kind("expired before the snapshot", Tone.BAD),
)
_TERMS: Final = (
    Kind("candidate", Tone.FAINT),
    Kind("leads", Tone.GOOD),
    Kind("leads beside another leader", Tone.BAD),
    Kind("no leader", Tone.MIXED),
    *(Kind(str(event)) for event in ElectionEvent),
)
_CANDIDATE, _LEADS, _BESIDE, _NO_LEADER, *_ = range(len(_TERMS))
_EVENTS: Final = {kind.name: position for position, kind in enumerate(_TERMS)}
#: The events that the terms show, and the events with which a candidate ends.
_SHOWN_BY_TERMS: Final = frozenset({ElectionEvent.STARTED, ElectionEvent.LEADS, ElectionEvent.STOPPED})
_ENDS: Final = frozenset({ElectionEvent.CRASHED, ElectionEvent.LOST, ElectionEvent.ENDED})


def lease_bars(elections: Sequence[Election]) -> Bars | None:
    """Return the validity of leases, each from its last renewal on; ``None`` if no time of a renewal is known.

    Elections without such a time, and those with a renewal after the snapshot, are left out.
    """
    known = [(one, one.renewed_ago) for one in elections if one.renewed_ago is not None and one.renewed_ago >= 0]
    if not known:
        return None
    bars = [(one, ago, list(_validity(one, ago))) for one, ago in known]
    total = max(sum(segment.size for segment in segments) for *_, segments in bars)
    rows = (
        Bar(
            (one.name, shortened(one.holder, _MOST_HOLDER) or "none", time_span(one.lease_duration_seconds)),
            tuple(segments),
            total,
            mark=ago if ago <= _MOST_LEASES * one.lease_duration_seconds else None,
        )
        for one, ago, segments in bars
    )
    left = len(elections) - len(known)
    others = f"; left out: {left} without a time of renewal before the snapshot" if left else ""
    return Bars(
        title="Leases at the time of the snapshot",
        measure="time",
        headings=("election", "holder", "lease"),
        kinds=_VALIDITY,
        rows=tuple(rows),
        note="from the last renewal to the latest time at which another candidate leads, if the leader died with the "
        f"snapshot; the mark is the time of the snapshot{others}",
    )


def _validity(one: Election, ago: float) -> Iterator[Segment]:
    lease = float(one.lease_duration_seconds)
    if ago > lease:
        yield Segment(0, lease, time_span(lease))
        yield Segment(3, min(ago, _MOST_LEASES * lease) - lease, f"for {time_span(ago - lease)}")
        return
    yield Segment(0, ago, time_span(ago))
    yield Segment(1, lease - ago, time_span(lease - ago))
    if one.latest is not None and one.latest > lease - ago:
        takeover = one.latest - (lease - ago)
        yield Segment(2, takeover, f"up to {time_span(takeover)} until another candidate leads")


def terms_timeline(answer: LeaderSimulation) -> Timeline:
    """Return the terms of the leaders, the times without one, and the faults, with a lane per candidate."""
    everyone = dict.fromkeys((*(event.who for event in answer.events if event.who), *(t.who for t in answer.terms)))
    lanes = [Lane(who, tuple(_spans(who, answer))) for who in everyone]
    of_all = [event for event in answer.events if not event.who and event.what not in _SHOWN_BY_TERMS]
    if of_all:
        lanes.append(Lane("all candidates", tuple(map(_mark, of_all))))
    if answer.gaps:
        lanes.append(Lane("no leader", tuple(Span(start, end, _NO_LEADER, "") for start, end in answer.gaps)))
    return Timeline(
        title="Leaders over time",
        subject="candidate",
        kinds=_TERMS,
        lanes=tuple(lanes),
        end=answer.duration,
        note="a candidate that crashed or lost the lease starts again under another name",
    )


def counterexample_timeline(found: CounterexampleData) -> Timeline:
    """Return the terms of two leaders that overlap."""
    first, second = found.first, found.second
    ends = max(first.end, second.end)
    return Timeline(
        title=f"Two leaders at once, with seed {found.seed}",
        subject="candidate",
        kinds=_TERMS,
        lanes=tuple(
            Lane(term.who, (Span(term.start, term.end, _LEADS, ""), _overlap(term, other)))
            for term, other in ((first, second), (second, first))
        ),
        end=ends,
    )


def _spans(who: str, answer: LeaderSimulation) -> Iterator[Span]:
    """Yield the states of a candidate; later ones are drawn over earlier ones."""
    own = [event for event in answer.events if event.who == who]
    started = next((event.at for event in own if event.what == ElectionEvent.STARTED), 0.0)
    ended = next((event.at for event in own if event.what in _ENDS), answer.duration)
    yield Span(started, max(ended, started), _CANDIDATE, "")
    for term in answer.terms:
        if term.who == who:
            yield Span(term.start, term.end, _LEADS, "")
    for first, second in answer.overlaps:
        for term, other in ((first, second), (second, first)):
            if term.who == who:
                yield _overlap(term, other)
    yield from (_mark(event) for event in own if event.what not in _SHOWN_BY_TERMS)


def _overlap(term: TermData, other: TermData) -> Span:
    return Span(max(term.start, other.start), min(term.end, other.end), _BESIDE, other.who)


def _mark(event: EventData) -> Span:
    return Span(event.at, event.at, _EVENTS[event.what], event.detail)
