"""The document of ``leader``: the scheduler's election first, then all elections and their problems."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor
from typing import Final

from kschedctl.common.findings import shortened
from kschedctl.leaderelection.overview import AHEAD
from kschedctl.questions.answers.leader import Election, ElectionState, LeaderOverview, ProblemData
from kschedctl.questions.answers.preempt_words import time_span
from kschedctl.questions.presentation.document import GAP, Document, Paragraph, Question, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.lease_charts import lease_bars
from kschedctl.questions.presentation.tone import Tone

#: Identities are shortened to 60 characters, and host names to 30.
_MOST_HOLDER, _MOST_HOST = 60, 30
#: The time of a takeover that a waiting candidate would have made before the snapshot.
_PAST: Final = "past"
_NARROW: Final = ("election", "leader", "renewed", "takeover in")
_WIDE: Final = ("election", "holder", "pod", "node", "since", "renewed", "lease", "changes", "takeover in")


def overview_document(answer: LeaderOverview, view: View) -> Document:
    """Lay out all elections."""
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.yes and answer.complete else Tone.BAD)
    yield from header(answer, view.now)
    if view.drawn:
        # The first line is about the scheduler alone, and a page is long: problems of all elections come next.
        yield from _problems(answer.problems)
        if (drawn := lease_bars(answer.elections)) is not None:
            yield GAP
            yield drawn
    if answer.elections:
        yield GAP
        headings = _WIDE if view.wide else _NARROW
        rows = [_wide_row(one) if view.wide else _row(one) for one in answer.elections]
        tones = [_tone(one) for one in answer.elections]
        yield table(headings, rows, tones=tones, identifiers=(0,))
        past = any(_take_over(one) == _PAST for one in answer.elections)
        yield Paragraph(
            f"Takeover: if the leader died with the snapshot and the others retry every {answer.retry_period:g} s"
            + (f"; {_PAST}: a waiting candidate would have taken over before." if past else "."),
            Tone.FAINT,
        )
    for one in answer.elections:
        if one.candidates:
            yield GAP
            yield Paragraph(f"Candidates for {one.name}{_coordinated(one)}")
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


def _tone(one: Election) -> Tone:
    if one.state is ElectionState.LATE:
        return Tone.CAUTION
    return Tone.BAD if one.expired or not one.holder else Tone.PLAIN


def _row(one: Election) -> tuple[str, ...]:
    return _name(one), _leader(one), _ago(one.renewed_ago), _take_over(one)


def _wide_row(one: Election) -> tuple[str, ...]:
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


def _coordinated(one: Election) -> str:
    parts = [f"strategy {one.strategy}"] if one.strategy else []
    parts += [f"preferred holder {one.preferred_holder}"] if one.preferred_holder else []
    return f" ({', '.join(parts)})" if parts else ""


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
