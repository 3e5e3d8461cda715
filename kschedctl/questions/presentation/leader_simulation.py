"""The document of ``leader simulate``: whether two can lead at once, the terms, and the guarantees of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor
from typing import Final, cast

from kschedctl.leaderelection.network import ElectionEvent
from kschedctl.questions.answers.leader import EventData, LeaderSimulation, TimesData
from kschedctl.questions.presentation.document import GAP, Document, Paragraph, Phrases, Question, table
from kschedctl.questions.presentation.frame import View, next_questions
from kschedctl.questions.presentation.lease_charts import counterexample_timeline, terms_timeline
from kschedctl.questions.presentation.tone import Tone

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
    yield Paragraph(answer.summary, Tone.GOOD if good else Tone.MIXED if answer.exclusive else Tone.BAD)
    yield Phrases(tuple(_about(answer)))
    if view.drawn:
        yield terms_timeline(answer)
        if answer.counterexample is not None:
            yield counterexample_timeline(answer.counterexample)
    yield GAP
    yield table(("seconds", "candidate", "event"), list(_events(answer, every=view.wide)), numeric=(0,))
    yield GAP
    yield table(("leader", "from", "to", "seconds"), list(_terms(answer)), numeric=(1, 2, 3))
    yield from _bounds(answer)
    if answer.counterexample is not None:
        found = answer.counterexample
        yield GAP
        yield Paragraph(
            f"Two candidates led at once with seed {found.seed}: {found.first.who} until {found.first.end:.2f} s and "
            f"{found.second.who} from {found.second.start:.2f} s on, for {found.seconds:.2f} s.",
            Tone.BAD,
        )
    if answer.suggested is not None and answer.suggested_for == "exclusive":
        yield GAP
        yield from _suggestion(answer.suggested, answer.suggested_for)
    shown_by = answer.counterexample
    if shown_by is not None and shown_by.seed != answer.seed:
        shown: dict[str, object] = {"crash": None, "partition": None, "slow_api": None, "upgrade": None}
        for flag, value in zip(shown_by.faults[::2], shown_by.faults[1::2], strict=True):
            name = flag.removeprefix("--").replace("-", "_")
            shown[name] = (*cast("tuple[str, ...]", shown[name] or ()), value)
        options = {**shown, "runs": 0, "seed": shown_by.seed, "duration": f"{answer.duration:g}s", "fail_over": None}
        yield from next_questions([Question("Simulation of this seed", "leader simulate", options=options)])


def _suggestion(times: TimesData, why: str) -> Document:
    yield Paragraph(f"With {_times(times)}: {_SUGGESTED[why]}.", Tone.GOOD)


def _about(answer: LeaderSimulation) -> Iterator[str]:
    yield f"{answer.candidates} candidates"
    yield _times(answer.times)
    if answer.clock_skew:
        yield f"clocks off by up to {answer.clock_skew:g} s, which has no effect"
    if answer.clock_drift:
        yield f"clocks {answer.clock_drift:.3%}".rstrip("%0").rstrip(".") + " % too fast or slow"
    yield f"seed {answer.seed}"


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


def _terms(answer: LeaderSimulation) -> Iterator[tuple[str, str, str, str]]:
    rows = [(term.start, term.end, term.who) for term in answer.terms]
    rows += [(start, end, "none") for start, end in answer.gaps]
    for start, end, who in sorted(rows):
        yield who, f"{start:.2f}", f"{end:.2f}", f"{end - start:.2f}"


def _bounds(answer: LeaderSimulation) -> Document:
    promised = answer.bounds
    yield GAP
    yield table(
        ("guarantees of these times", "seconds"),
        [
            ("from the last renewal of a dead leader to the next leader", _range(promised.earliest, promised.latest)),
            ("from the release of a lease to the next leader", f"0 to {ceil(promised.released)}"),
            ("a disconnected leader leads after its last renewal for up to", f"{promised.leads_on:.1f}"),
            ("no other candidate leads after that renewal for", f"{promised.holds:.1f}"),
        ],
        numeric=(1,),
    )


def _range(first: float, last: float) -> str:
    return f"{floor(first)} to {ceil(last)}"
