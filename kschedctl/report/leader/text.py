"""Who leads, as text: the scheduler's election first, then all of them, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

from kschedctl.report.document import GAP, Document, Paragraph, Tone, table
from kschedctl.report.frame import AnswerView, cautions, header, next_questions
from kschedctl.report.leader.data import ElectionData, LeaderOverview, ProblemData
from kschedctl.report.preempt.words import duration


def overview_document(answer: LeaderOverview, view: AnswerView) -> Document:
    """Lay out all elections."""
    yield Paragraph(answer.summary, Tone.GOOD if answer.fine and answer.complete else Tone.BAD)
    yield from header(answer, view.now)
    if answer.elections:
        yield GAP
        wide = ("holder", "since") if view.every else ()
        headings = ("election", "leader", *wide, "renewed", "lease", "took over", "another leads, if it dies")
        rows = [_row(one, every=view.every) for one in answer.elections]
        tones = [Tone.BAD if one.expired or not one.holder else Tone.PLAIN for one in answer.elections]
        yield table(headings, rows, tones=tones, identifiers=(0,))
        yield Paragraph(
            f"As of the snapshot; standbys are taken to try every {answer.retry_period:g} s, up to 1.2 times later.",
            Tone.FAINT,
        )
    for one in answer.elections:
        if one.candidates:
            yield GAP
            yield Paragraph(f"Candidates for {one.name}{_coordinated(one)}")
            yield table(
                ("candidate", "binary", "emulates", "strategy", "there", "would be elected"),
                [
                    (each.name, each.binary_version, each.emulation_version, each.strategy, _ago(each.renewed_ago), yes)
                    for each in one.candidates
                    for yes in ("yes" if each.preferred else "-",)
                ],
                identifiers=(0,),
            )
    yield from _problems(answer.problems)
    yield from cautions(answer)
    yield from next_questions(view.questions)


def _row(one: ElectionData, *, every: bool) -> tuple[str, ...]:
    name = one.name if one.kind == "Lease" else f"{one.name} ({one.kind})"
    who = one.pod or one.node or one.holder or "nobody"
    leader = f"{who} on {one.node}" if one.pod and one.node else who
    wide = (one.holder or "-", _ago(one.acquired_ago)) if every else ()
    return (
        name,
        leader,
        *wide,
        _ago(one.renewed_ago) + (", ended" if one.expired and one.holder else ""),
        f"{one.lease_duration_seconds} s",
        "never" if not one.transitions else f"{one.transitions} times" if one.transitions > 1 else "once",
        _take_over(one),
    )


def _take_over(one: ElectionData) -> str:
    if one.earliest is None or one.latest is None:
        return "-"
    if not one.earliest:
        return f"at once, to {ceil(one.latest)} s"
    return f"after {floor(one.earliest)} to {ceil(one.latest)} s"


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{duration(max(round(seconds), 0))} ago"


def _coordinated(one: ElectionData) -> str:
    parts = [f"strategy {one.strategy}"] if one.strategy else []
    parts += [f"the holder shall make room for {one.preferred_holder}"] if one.preferred_holder else []
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
