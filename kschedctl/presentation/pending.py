"""The document of ``pending``: one screen for ten pending pods or for thousands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.answers.pending import GroupData, Pending, UnblockingData
from kschedctl.answers.preempt_words import duration
from kschedctl.api.wording import counted, listed
from kschedctl.presentation.document import GAP, INDENT, Document, Paragraph, Question, Tone, Verbatim, table
from kschedctl.presentation.frame import View, cautions, header, next_questions

#: The number of groups that are shown without ``-o wide``.
_FEW: Final = 10


def document(answer: Pending, view: View) -> Document:
    """Lay out an answer."""
    yield Paragraph(answer.summary, Tone.GOOD if answer.all_fit else Tone.BAD)
    yield from header(answer, view.now)
    yield from _groups(answer, view)
    yield from _changes(answer, every=view.wide)
    yield from cautions(answer)
    yield from next_questions(_questions(answer, view))


def _questions(answer: Pending, view: View) -> Iterator[Question]:
    first = next((group for group in answer.groups if group.result != "notOurs"), None)
    if first is not None:
        yield Question("One pod in detail", "explain", first.pods[0])
    if answer.groups and not view.wide:
        yield Question("All groups, with commands", "pending", options={"changes": None, "output": "wide"})


def _groups(answer: Pending, view: View) -> Document:
    if not answer.groups:
        return
    shown = answer.groups if view.wide else answer.groups[:_FEW]
    rows = []
    for group in shown:
        since = duration(group.waiting_seconds) if group.waiting_seconds is not None else "unknown"
        rows.append((str(len(group.pods)), since, _which(group), _why(group)))
    yield GAP
    yield table(("pods", "pending for", "workload", "reason"), rows, numeric=(0,))
    if len(shown) < len(answer.groups):
        rest = answer.groups[len(shown) :]
        n_pods = sum(len(group.pods) for group in rest)
        told = f"and {counted(n_pods, 'pod')} in {counted(len(rest), 'more group')}: -o wide"
        yield Paragraph(told, Tone.FAINT, INDENT)


def _which(group: GroupData) -> str:
    named = f"{group.namespace}/{group.name}"
    if group.kind != "Pod":
        return f"{group.kind} {named}"
    return named if len(group.pods) == 1 else f"{named} and {len(group.pods) - 1} more"


def _why(group: GroupData) -> str:
    n_pods = len(group.pods)
    if group.result != "scheduled" or (group.n_fit is not None and not group.n_fit):
        return group.why
    if group.n_fit is None or group.n_fit == n_pods:
        return "fits now" if n_pods == 1 else "fit now"
    return f"{group.n_fit} of {n_pods} fit now, then {group.why}"


def _changes(answer: Pending, *, every: bool) -> Document:
    if answer.fit is None:
        return
    # A gate is removed by the controller that set it, and preemption needs no change.
    stuck = any(
        len(group.pods) > (group.n_fit or 0) and group.why and not group.preempts and group.result != "gated"
        for group in answer.groups
    )
    if not answer.changes:
        if stuck:
            yield GAP
            yield Paragraph("No change of the supported kinds schedules any of the rejected pods.")
        return
    yield GAP
    rows = [(str(len(one.would_place)), f"{one.summary}{_costs(one)}") for one in answer.changes]
    heading = "change (each tried, after those above)" if len(rows) > 1 else "change (tried)"
    yield table(("would place", heading), rows, numeric=(0,))
    if every:
        yield Paragraph("Commands", Tone.FAINT, INDENT)
        for one in answer.changes:
            for line in one.commands:
                yield Verbatim(line)


def _costs(one: UnblockingData) -> str:
    told = f"; evicts {listed(one.evicts)}" if one.evicts else ""
    return f"{told}; violates disruption budget {listed(one.violates)}" if one.violates else told
