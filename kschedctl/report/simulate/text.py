"""What came of many pods, as text: the answer, who waits and why, who was evicted, where the others are, and room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from kschedctl.api.amounts import format_amount
from kschedctl.api.wording import counted, listed
from kschedctl.report.document import GAP, Document, Paragraph, Tone, table
from kschedctl.report.frame import AnswerView, cautions, header, next_questions
from kschedctl.report.preempt.words import duration
from kschedctl.report.simulate.data import (
    EntryData,
    EvictionData,
    Simulated,
    UtilisationData,
    WaitingData,
    WorkloadPlacementData,
)

#: How many nodes and names are told of a row where not all are asked for.
_FEW: Final = 3


def document(answer: Simulated, view: AnswerView, began: datetime) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    view : AnswerView
        What of it is shown.
    began : datetime
        When it began, by the virtual clock.
    """
    waits = bool(answer.waiting)
    tone = Tone.CAUTION if not answer.finished else Tone.BAD if waits and not answer.placed else Tone.MIXED
    yield Paragraph(answer.summary, tone if waits or not answer.finished else Tone.GOOD)
    yield from header(answer, view.now)
    if answer.attempts:
        took = duration(round(answer.seconds)) if answer.seconds >= 1 else "less than a second"
        tried = counted(len(answer.attempts), "scheduling cycle")
        yield Paragraph(f"{tried}, {took} of the cluster's time; among equal nodes {answer.chance}", Tone.FAINT)
    yield from waiting_pods(answer.waiting, every=view.every)
    again = {placement.pod: placement.node for placement in answer.placements}
    yield from evictions(answer.evicted, again, every=view.every)
    yield from _workloads(answer, every=view.every)
    yield from _utilisation(answer, every=view.every)
    if view.every:
        yield from timeline(answer.timeline, began)
    yield from cautions(answer)
    yield from next_questions(view.questions)


def waiting_pods(groups: Sequence[WaitingData], *, every: bool) -> Document:
    """Who waits, and why."""
    if not groups:
        return
    yield GAP
    yield Paragraph("Waiting", Tone.STRONG)
    rows = [
        (
            str(len(group.pods)),
            listed(group.pods, most=len(group.pods) if every else _FEW),
            f"gated: {group.message}" if group.gated else group.message or "was not tried",
        )
        for group in groups
    ]
    yield table(("pods", "which", "why"), rows, numeric=(0,))


def evictions(evicted: Sequence[EvictionData], places: Mapping[str, str], *, every: bool) -> Document:
    """Who is evicted for whom.

    Parameters
    ----------
    places : mapping of str to str
        The nodes of pods that have one now, by ``namespace/name``.
    """
    if not evicted:
        return
    yield GAP
    yield Paragraph("Evicted", Tone.STRONG)
    shown = evicted if every else evicted[: 4 * _FEW]
    rows = [(each.pod, each.node, each.by, places.get(each.by, "")) for each in shown]
    yield table(("pod", "from", "for", "which is now on"), rows, identifiers=(1, 3))
    if len(shown) < len(evicted):
        yield Paragraph(f"and {len(evicted) - len(shown)} more: -o wide", Tone.FAINT, 2)


def _workloads(answer: Simulated, *, every: bool) -> Document:
    if not answer.workloads:
        return
    yield GAP
    yield Paragraph("Placements", Tone.STRONG)
    rows = [
        (
            f"{each.kind} {each.namespace}/{each.name}",
            f"{each.placed} of {each.pods}",
            _counts(each.zones, every=True) or "-",
            _counts(each.nodes, every=every) or "-",
        )
        for each in answer.workloads
    ]
    tones = [_tone(each) for each in answer.workloads]
    yield table(("workload", "placed", "zones", "nodes"), rows, tones=tones)


def _tone(each: WorkloadPlacementData) -> Tone:
    return Tone.PLAIN if each.placed == each.pods else Tone.MIXED if each.placed else Tone.BAD


def _counts(counts: dict[str, int], *, every: bool) -> str:
    """``node-1 x3, node-2``: the most first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    texts = [name if count == 1 else f"{name} x{count}" for name, count in ordered]
    return listed(texts, most=len(texts) if every else _FEW) if texts else ""


def _utilisation(answer: Simulated, *, every: bool) -> Document:
    changed = [each for each in answer.utilisation if every or (not each.zone or each.before != each.after)]
    if not answer.placed or not changed:
        return
    yield GAP
    yield Paragraph("Requested of what nodes offer", Tone.STRONG)
    rows = [
        (each.zone or "all nodes", each.resource, *_shares(each), format_amount(each.resource, each.allocatable))
        for each in changed
    ]
    yield table(("zone", "resource", "before", "after", "offered"), rows, numeric=(2, 3, 4))


def _shares(each: UtilisationData) -> tuple[str, str]:
    return f"{100 * each.before / each.allocatable:.1f} %", f"{100 * each.after / each.allocatable:.1f} %"


def timeline(entries: Sequence[EntryData], began: datetime) -> Document:
    """What happened when, from a moment on."""
    yield GAP
    yield Paragraph("What happened", Tone.STRONG)
    rows = [(_since(each.time - began), each.pod, str(each.event), each.node, each.why) for each in entries]
    yield table(("time", "pod", "event", "node", "why"), rows, numeric=(0,))


def _since(passed: timedelta) -> str:
    return f"{passed.total_seconds():.3f} s"
