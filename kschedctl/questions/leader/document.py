"""The document of ``leader``: the scheduler's election first, then all elections and their problems."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor
from typing import Final

from kschedctl.common.findings import shortened
from kschedctl.common.wording import time_span
from kschedctl.leaderelection.election import Election, ElectionState
from kschedctl.leaderelection.network import ElectionEvent
from kschedctl.leaderelection.overview import AHEAD
from kschedctl.questions.charts import Bar, Bars, Kind, Lane, Segment, Span, Timeline
from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Phrases, Question, Tone, table
from kschedctl.questions.frame import View, cautions, first_line, header, next_questions, numbered_changes
from kschedctl.questions.leader.answer import EventData, LeaderOverview, LeaderSimulation, ProblemData, TimesData

# Charts of leader elections: the validity of each lease, and the terms of the leaders over time.

#: A lease that expired long ago is drawn for up to this number of lease durations.
_MOST_LEASES: Final = 3
#: The number of characters of a holder's identity.
_LEASE_CHARTS_MOST_HOLDER: Final = 60
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
            (
                one.name,
                shortened(one.holder, _LEASE_CHARTS_MOST_HOLDER) or "none",
                time_span(one.lease_duration_seconds),
            ),
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
                yield Span(max(term.start, other.start), min(term.end, other.end), _BESIDE, other.who)
    yield from (_mark(event) for event in own if event.what not in _SHOWN_BY_TERMS)


def _mark(event: EventData) -> Span:
    return Span(event.at, event.at, _EVENTS[event.what], event.detail)


#: Identities are shortened to 60 characters, and host names to 30.
_MOST_HOLDER, _MOST_HOST = 60, 30
#: The time of a takeover that a waiting candidate would have made before the snapshot.
_PAST: Final = "past"
_NARROW: Final = ("election", "leader", "renewed", "takeover in")
_WIDE: Final = ("election", "holder", "pod", "node", "since", "renewed", "lease", "changes", "takeover in")


def overview_document(answer: LeaderOverview, view: View) -> Document:
    """Lay out all elections."""
    tone = Tone.GOOD if answer.yes and answer.complete else Tone.BAD if answer.elections else Tone.PLAIN
    yield from first_line(answer, answer.summary, tone, ("Leader elections",))
    yield from header(answer, view.now)
    if view.drawn:
        # The first line is about the scheduler alone, and a page is long: problems of all elections come next.
        yield from _problems(answer.problems)
    if answer.suggestions:
        yield Heading("Suggestions")
        steps = [(one.summary, one.then or one.untried, one.commands) for one in answer.suggestions]
        yield from numbered_changes(steps, every=view.wide)
    if view.drawn and (drawn := lease_bars(answer.elections)) is not None:
        yield from (GAP, drawn)
    if answer.elections:
        yield GAP
        headings = _WIDE if view.wide else _NARROW
        rows = [_row(one, wide=view.wide) for one in answer.elections]
        tones = [
            Tone.CAUTION
            if one.state is ElectionState.LATE
            else Tone.BAD
            if one.expired or not one.holder
            else Tone.PLAIN
            for one in answer.elections
        ]
        yield table(headings, rows, tones=tones, identifiers=(0,))
        past = any(_take_over(one) == _PAST for one in answer.elections)
        yield Paragraph(
            f"Takeover: if the leader died with the snapshot and the others retry every {answer.retry_period:g} s"
            + (f"; {_PAST}: a waiting candidate would have taken over before." if past else "."),
            Tone.FAINT,
        )
    for one in answer.elections:
        if one.candidates:
            facts = {"strategy": one.strategy, "preferred holder": one.preferred_holder}
            told = ", ".join(f"{what} {value}" for what, value in facts.items() if value)
            yield from (GAP, Paragraph(f"Candidates for {one.name}{f' ({told})' if told else ''}"))
            yield table(
                ("candidate", "binary", "emulates", "strategy", "seen", "elected"),
                [
                    (each.name, each.binary_version, each.emulation_version, each.strategy, _ago(each.renewed_ago), yes)
                    for each in one.candidates
                    for yes in ("yes" if each.preferred else "-",)
                ],
                identifiers=(0,),
            )
    if not view.drawn:
        yield from _problems(answer.problems)
    yield from cautions(answer)
    if answer.elections and not view.wide:
        yield from next_questions(
            [
                Question("Holders, pods and times", "leader", options={"output": "wide"}),
                Question("Simulation of a network partition", "leader simulate", options={"partition": ("40s-70s",)}),
            ]
        )


def _row(one: Election, *, wide: bool) -> tuple[str, ...]:
    if not wide:
        return _name(one), _leader(one), _ago(one.renewed_ago), _take_over(one)
    return (
        _name(one),
        shortened(one.holder, _MOST_HOLDER) or "none",
        one.pod or "-",
        one.node or "-",
        _ago(one.acquired_ago),
        _ago(one.renewed_ago),
        time_span(one.lease_duration_seconds),
        str(one.transitions),
        _take_over(one),
    )


def _name(one: Election) -> str:
    return one.name if one.kind == "Lease" else f"{one.name} ({one.kind})"


def _leader(one: Election) -> str:
    """Return the leader in its shortest form: the pod, the node or the host."""
    if not one.holder:
        return "none"
    pod, host = one.pod.rpartition("/")[2], one.holder.partition("_")[0]
    who = pod if pod == host else one.node or shortened(host, _MOST_HOST)
    if one.gone:
        return "none (the holder is gone)"
    if one.state is ElectionState.LATE:
        return f"{who} (late)"
    return f"none (was {who})" if one.expired else who


def _take_over(one: Election) -> str:
    if one.earliest is None or one.latest is None:
        past = (ElectionState.OVERDUE, ElectionState.RELEASED, ElectionState.NEVER_HELD)
        return _PAST if one.state in past else "-"
    first, last = time_span(floor(one.earliest)), time_span(ceil(one.latest))
    if first == last:
        return last
    seconds = last == f"{ceil(one.latest)} s"
    return f"{first.removesuffix(' s') if seconds else first}-{last}"


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    # The larger unit is precise enough.
    span = " ".join(time_span(abs(seconds)).split()[:2])
    return f"in {span}" if seconds < -AHEAD else f"{span} ago" if seconds > 0 else "0 s ago"


def _problems(problems: Iterable[ProblemData]) -> Document:
    tones = {"error": Tone.BAD, "warning": Tone.CAUTION, "info": Tone.FAINT}
    first = True
    for one in problems:
        if first:
            yield GAP
        first = False
        about = f"{one.object}: " if one.object else ""
        field = f"{one.field}: " if one.field else ""
        yield Paragraph(f"{one.severity}: {about}{field}{one.problem}", tones[one.severity])
        if one.hint:
            yield Paragraph(one.hint, Tone.FAINT, 2)


# The document of ``leader simulate``: whether two can lead at once, the terms, and the guarantees of the settings.

#: The events that are shown only with ``-o wide``.
_MINOR: Final = frozenset({ElectionEvent.STARTED, ElectionEvent.STOPPED, ElectionEvent.ENDED})
_SUGGESTED: Final = {
    "failOver": "another candidate leads in time, and never two at once",
    "exclusive": "never two at once",
}


def simulation_document(answer: LeaderSimulation, view: View) -> Document:
    """Lay out a simulated election."""
    if answer.suggested is not None and answer.suggested_for == "failOver":
        yield from _suggestion(answer.suggested, answer.suggested_for)
    good = answer.exclusive and answer.bounds.exclusive
    tone = Tone.GOOD if good else Tone.MIXED if answer.exclusive else Tone.BAD
    yield Paragraph(answer.summary, tone, heading=("Simulated leader election",))
    facts = (
        f"{answer.candidates} candidates",
        _times(answer.times),
        f"clocks off by up to {answer.clock_skew:g} s, which has no effect" if answer.clock_skew else "",
        f"clocks {answer.clock_drift:.3%}".rstrip("%0").rstrip(".") + " % too fast or slow"
        if answer.clock_drift
        else "",
        f"seed {answer.seed}",
    )
    yield Phrases(tuple(filter(None, facts)))
    if view.drawn:
        yield terms_timeline(answer)
    yield from (GAP, table(("seconds", "candidate", "event"), list(_events(answer, every=view.wide)), numeric=(0,)))
    terms = [(term.start, term.end, term.who) for term in answer.terms]
    terms += [(start, end, "none") for start, end in answer.gaps]
    rows = [(who, f"{start:.2f}", f"{end:.2f}", f"{end - start:.2f}") for start, end, who in sorted(terms)]
    yield from (GAP, table(("leader", "from", "to", "seconds"), rows, numeric=(1, 2, 3)))
    yield from _bounds(answer)
    for first, second in answer.overlaps[:1]:
        yield GAP
        yield Paragraph(
            f"Two candidates led at once: {first.who} until {first.end:.2f} s and {second.who} from "
            f"{second.start:.2f} s on, for {min(first.end, second.end) - second.start:.2f} s.",
            Tone.BAD,
        )
    if answer.suggested is not None and answer.suggested_for == "exclusive":
        yield GAP
        yield from _suggestion(answer.suggested, answer.suggested_for)


def _suggestion(times: TimesData, why: str) -> Document:
    yield Paragraph(f"With {_times(times)}: {_SUGGESTED[why]}.", Tone.GOOD)


def _times(times: TimesData) -> str:
    lease, deadline = f"lease {times.lease_duration:g} s", f"deadline {times.renew_deadline:g} s"
    release = () if times.release_on_cancel else ("no release",)
    return ", ".join((lease, deadline, f"retry {times.retry_period:g} s", *release))


def _events(answer: LeaderSimulation, *, every: bool) -> Iterator[tuple[str, str, str]]:
    beside = {(second.start, second.who): first.who for first, second in answer.overlaps}
    shown: list[EventData] = [one for one in answer.events if every or one.what not in _MINOR]
    for one in shown:
        other = beside.get((one.at, one.who), "") if one.what == ElectionEvent.LEADS else ""
        told = f" beside {other}" if other else f": {one.detail}" if one.detail else ""
        yield f"{one.at:.2f}", one.who or "all", f"{one.what}{told}"


def _bounds(answer: LeaderSimulation) -> Document:
    promised = answer.bounds
    yield GAP
    yield table(
        ("guarantees of these times", "seconds"),
        [
            (
                "from the last renewal of a dead leader to the next leader",
                f"{floor(promised.earliest)} to {ceil(promised.latest)}",
            ),
            ("from the release of a lease to the next leader", f"0 to {ceil(promised.released)}"),
            ("a disconnected leader leads after its last renewal for up to", f"{promised.leads_on:.1f}"),
            ("no other candidate leads after that renewal for", f"{promised.holds:.1f}"),
        ],
        numeric=(1,),
    )
