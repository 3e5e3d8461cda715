"""The document of ``simulate``: the answer, pending pods and why, evictions, placements, and resource utilisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kschedctl.answers.amounts import amount_of, readable
from kschedctl.answers.preempt_words import duration
from kschedctl.answers.simulate import (
    EvictionData,
    Simulated,
    SlowestPodData,
    UtilisationData,
    WaitingData,
    WorkloadPlacementData,
)
from kschedctl.api.wording import counted, listed
from kschedctl.presentation.cures import cures_section
from kschedctl.presentation.document import Document, Heading, Paragraph, Question, Tone, table
from kschedctl.presentation.frame import View, cautions, header, next_questions
from kschedctl.simulate.timeline import TimelineEntry

#: The number of nodes and names per row without ``-o wide``.
_FEW: Final = 3
#: The default of terminationGracePeriodSeconds.
_USUAL_GRACE: Final = 30
#: The number of orders of creation that the answer suggests to try.
_ORDERS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateView(View):
    """The part of an answer that is shown.

    Attributes
    ----------
    saved : str
        The snapshot that the final state was written to; empty if it was not written.
    """

    saved: str = ""


def document(answer: Simulated, view: View) -> Document:
    """Lay out an answer."""
    waits = bool(answer.waiting)
    tone = Tone.CAUTION if answer.interrupted else Tone.BAD if waits and not answer.placed else Tone.MIXED
    yield Paragraph(answer.summary, tone if waits or answer.interrupted else Tone.GOOD)
    yield from header(answer, view.now)
    if answer.attempts:
        took = duration(round(answer.seconds)) if answer.seconds >= 1 else "less than a second"
        tried = counted(len(answer.attempts), "scheduling cycle")
        took = f"{took} of virtual time{slowest_words(answer.slowest)}"
        yield Paragraph(f"{tried}, {took}; among equal nodes {answer.chance}", Tone.FAINT)
    if answer.ended:
        n_ended = len(answer.ended)
        verb = "leaves at its" if n_ended == 1 else "leave at their"
        names = listed(answer.ended, most=n_ended if view.wide else _FEW)
        told = f"{counted(n_ended, 'pod')} being deleted in the snapshot {verb} deletion time: {names}"
        yield Paragraph(told, Tone.FAINT)
    yield from _orders(answer, every=view.wide)
    yield from waiting_pods(answer.waiting, every=view.wide)
    yield from cures_section(answer.cures, every=view.wide)
    again = {placement.pod: placement.node for placement in answer.placements}
    yield from evictions(answer.evicted, again, every=view.wide)
    yield from _workloads(answer, every=view.wide)
    yield from _utilisation(answer, every=view.wide)
    if view.wide:
        yield from timeline(answer.timeline, answer.began)
    yield from cautions(answer)
    saved = view.saved if isinstance(view, SimulateView) else ""
    yield from next_questions(() if view.wide else _questions(answer, saved))


def _questions(answer: Simulated, saved: str) -> Iterator[Question]:
    if answer.attempts:
        yield Question("Timeline", "simulate", options={"output": "wide", "save": None, "force": None})
    if answer.placed and answer.orders is None and any(not group.gated for group in answer.waiting):
        options = {"seeds": str(_ORDERS), "save": None, "force": None}
        yield Question(f"{_ORDERS} other orders of creation", "simulate", options=options)
    if saved and answer.waiting:
        yield Question("A pending pod in detail", "explain", answer.waiting[0].pods[0], snapshot=saved)
    elif answer.attempts and not saved:
        yield Question("Save the final state", "simulate", options={"save": "after", "seeds": None})


def _orders(answer: Simulated, *, every: bool) -> Document:
    """Lay out the workloads of which different orders of creation place different pods."""
    orders = answer.orders
    if orders is None or not orders.varying:
        return
    yield Heading(f"Pods that only some of {orders.tried} orders of creation place")
    shown = orders.workloads if every else orders.workloads[: 4 * _FEW]
    rows = [
        (
            f"{each.kind} {each.namespace}/{each.name}",
            str(each.pods),
            str(each.fewest),
            str(each.most),
        )
        for each in shown
    ]
    yield table(("workload", "pods", "fewest placed", "most placed"), rows, numeric=(1, 2, 3))
    if len(shown) < len(orders.workloads):
        yield Paragraph(f"and {len(orders.workloads) - len(shown)} more: -o wide", Tone.FAINT, 2)


def waiting_pods(groups: Sequence[WaitingData], *, every: bool) -> Document:
    """Lay out the pending pods by reason."""
    if not groups:
        return
    yield Heading("Pending pods")
    rows = [
        (
            str(len(group.pods)),
            listed(group.pods, most=len(group.pods) if every else _FEW),
            _why(group),
        )
        for group in groups
    ]
    yield table(("pods", "names", "reason"), rows, numeric=(0,))


def _why(group: WaitingData) -> Sequence[str]:
    """Return the cause of a group, and the message of the scheduler, one line each."""
    if group.gated:
        return (f"gated: {group.message}",)
    return tuple(line for line in (group.cause, group.message) if line) or ("not tried",)


def slowest_words(slowest: SlowestPodData | None) -> str:
    """Return the pod that makes a simulation long, as a clause; empty unless a pod has more than the usual 30 s."""
    if slowest is None or slowest.grace_seconds <= _USUAL_GRACE:
        return ""
    return f" ({slowest.pod} takes up to {duration(slowest.grace_seconds)} to stop, the longest grace period)"


def evictions(evicted: Sequence[EvictionData], places: Mapping[str, str], *, every: bool) -> Document:
    """Lay out the evicted pods, and the pods that they are evicted for.

    Parameters
    ----------
    places : mapping of str to str
        The nodes of the pods that evict, by ``namespace/name``.
    """
    if not evicted:
        return
    yield Heading("Evicted pods")
    shown = evicted if every else evicted[: 4 * _FEW]
    rows = [
        (
            f"{each.pod} (lost for good: no controller)" if each.lost else each.pod,
            each.node,
            each.by,
            places.get(each.by, ""),
        )
        for each in shown
    ]
    yield table(("pod", "from", "preemptor", "preemptor's node"), rows, identifiers=range(4))
    if len(shown) < len(evicted):
        yield Paragraph(f"and {len(evicted) - len(shown)} more: -o wide", Tone.FAINT, 2)


def _workloads(answer: Simulated, *, every: bool) -> Document:
    if not answer.workloads:
        return
    yield Heading("Placements")
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
    """Format counts as ``node-1 x3, node-2``, highest count first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    texts = [name if count == 1 else f"{name} x{count}" for name, count in ordered]
    return listed(texts, most=len(texts) if every else _FEW) if texts else ""


def _utilisation(answer: Simulated, *, every: bool) -> Document:
    changed = [each for each in answer.utilisation if every or (not each.zone or each.before != each.after)]
    if not answer.placed or not changed:
        return
    yield Heading("Requested share of allocatable")
    rows = [
        (each.zone or "all nodes", each.resource, *_shares(each), readable(each.resource, each.allocatable))
        for each in changed
    ]
    yield table(("zone", "resource", "before", "after", "allocatable"), rows, numeric=(2, 3, 4))


def _shares(each: UtilisationData) -> tuple[str, str]:
    offered, before, after = (amount_of(each.resource, text) for text in (each.allocatable, each.before, each.after))
    return f"{100 * before / offered:.1f} %", f"{100 * after / offered:.1f} %"


def timeline(entries: Sequence[TimelineEntry], began: datetime) -> Document:
    """Lay out the events with the time since the start."""
    yield Heading("Timeline")
    rows = [(_since(each.time - began), each.pod, str(each.event), each.node, each.why) for each in entries]
    yield table(("time", "pod", "event", "node", "reason"), rows, numeric=(0,), identifiers=(1, 3))


def _since(passed: timedelta) -> str:
    return f"{passed.total_seconds():.3f} s"
