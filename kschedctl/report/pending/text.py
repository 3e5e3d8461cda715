"""The pods that wait, as text: one screen for ten of them or for thousands."""

from __future__ import annotations

from typing import Final

from kschedctl.api.wording import counted, listed
from kschedctl.report.document import GAP, INDENT, Document, Paragraph, Tone, Verbatim, table
from kschedctl.report.frame import AnswerView, cautions, header, next_questions
from kschedctl.report.pending.data import GroupData, Pending, UnblockingData
from kschedctl.report.preempt.words import duration

#: So many groups are on the first screen.
_FEW: Final = 10


def document(answer: Pending, view: AnswerView) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    view : AnswerView
        What of it is shown.
    """
    stuck = [group for group in answer.groups if group.result != "scheduled"]
    yield Paragraph(answer.summary, Tone.BAD if stuck else Tone.GOOD)
    yield from header(answer, view.now)
    yield from _groups(answer, view)
    yield from _changes(answer, every=view.every)
    yield from cautions(answer)
    yield from next_questions(view.questions)


def _groups(answer: Pending, view: AnswerView) -> Document:
    if not answer.groups:
        return
    shown = answer.groups if view.every else answer.groups[:_FEW]
    rows = []
    for group in shown:
        since = duration(group.waiting_seconds) if group.waiting_seconds is not None else "unknown"
        rows.append((str(len(group.pods)), since, _which(group), _why(group)))
    yield GAP
    yield table(("pods", "since", "which", "why"), rows, numeric=(0,))
    if len(shown) < len(answer.groups):
        rest = answer.groups[len(shown) :]
        n_pods = sum(len(group.pods) for group in rest)
        told = f"and {counted(n_pods, 'pod')} in {counted(len(rest), 'group')} more: -o wide"
        yield Paragraph(told, Tone.FAINT, INDENT)


def _which(group: GroupData) -> str:
    named = f"{group.namespace}/{group.name}"
    return named if group.kind == "Pod" else f"{group.kind} {named}"


def _why(group: GroupData) -> str:
    if group.result == "scheduled":
        return "fits as things are"
    return group.why


def _changes(answer: Pending, *, every: bool) -> Document:
    if answer.fit is None:
        return
    stuck = any(group.result == "unschedulable" and not group.preempts for group in answer.groups)
    if not answer.changes:
        if stuck:
            yield GAP
            yield Paragraph("No change of the kinds that are tried places any of the others.")
        return
    yield GAP
    rows = [(str(len(one.would_place)), f"{one.summary}{_costs(one)}") for one in answer.changes]
    heading = "change (each tried, after those above)" if len(rows) > 1 else "change (tried)"
    yield table(("would place", heading), rows, numeric=(0,))
    if every:
        yield Paragraph("How to make them", Tone.FAINT, INDENT)
        for one in answer.changes:
            for line in one.commands:
                yield Verbatim(line)


def _costs(one: UnblockingData) -> str:
    told = f"; evicts {listed(one.evicts)}" if one.evicts else ""
    return f"{told}; breaks disruption budget {listed(one.violates)}" if one.violates else told
