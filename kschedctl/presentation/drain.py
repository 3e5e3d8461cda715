"""The document of ``drain``: the answer, what blocks the drain, and the nodes that the pods move to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.answers.drain import Drained, DrainedNodeData, MovedPodData
from kschedctl.answers.preempt_words import duration
from kschedctl.api.wording import counted, listed
from kschedctl.presentation.cures import cures_section
from kschedctl.presentation.document import Document, Heading, Paragraph, Question, Tone, table
from kschedctl.presentation.frame import View, cautions, header, next_questions
from kschedctl.presentation.simulate import evictions, timeline, waiting_pods

#: The number of pods per node that are shown without ``-o wide``.
_FEW: Final = 12


def document(answer: Drained, view: View) -> Document:
    """Lay out an answer."""
    yield Paragraph(answer.summary, _tone(answer))
    yield from header(answer, view.now)
    took = duration(round(answer.seconds)) if answer.seconds >= 1 else "less than a second"
    how = "each node comes back before the next is drained; " if answer.rolling else ""
    yield Paragraph(f"{how}{took} of virtual time; among equal nodes {answer.chance}", Tone.FAINT)
    yield from _in_the_way(answer, every=view.wide)
    yield from cures_section(answer.suggestions, every=view.wide)
    yield from _held_up(answer)
    yield from waiting_pods(answer.waiting, every=view.wide)
    yield from evictions(answer.evicted, {}, every=view.wide)
    yield from _moves(answer, every=view.wide)
    if view.wide and answer.timeline:
        yield from timeline(answer.timeline, answer.timeline[0].time)
    yield from cautions(answer)
    yield from next_questions(() if view.wide else _questions(answer))


def _questions(answer: Drained) -> Iterator[Question]:
    if any(node.moved for node in answer.nodes):
        yield Question("Timeline", "drain", options={"output": "wide"})
    refusals = (refusal.message for node in answer.nodes for refusal in node.refusals)
    flags = sorted({message.partition("(use --")[2].partition(" ")[0] for message in refusals})
    if flags and "force" not in flags:
        yield Question(
            "Drain with the missing options", "drain", options={flag.replace("-", "_"): True for flag in flags}
        )


def _tone(answer: Drained) -> Tone:
    if answer.interrupted:
        return Tone.CAUTION
    if all(node.drained for node in answer.nodes) and not answer.not_tried:
        return Tone.MIXED if answer.waiting else Tone.GOOD
    return Tone.MIXED if any(node.drained for node in answer.nodes) else Tone.BAD


def _in_the_way(answer: Drained, *, every: bool) -> Document:
    rows = []
    for node in answer.nodes:
        for refusal in node.refusals:
            pods = listed(refusal.pods, most=len(refusal.pods) if every else 3)
            rows.append((node.node, pods, refusal.message))
        rows += [(node.node, each.pod, each.message) for each in node.blocked]
    if rows:
        yield Heading("Blocking pods")
        yield table(("node", "pods", "reason"), rows, identifiers=(0,))


def _held_up(answer: Drained) -> Document:
    rows = [
        (node.node, held.budget, duration(round(held.seconds)))
        for node in answer.nodes
        for held in node.held_up
        if held.seconds
    ]
    if rows:
        yield Heading("Disruption budgets that delayed evictions")
        yield table(("node", "budget", "delay"), rows, identifiers=(0,))


def _moves(answer: Drained, *, every: bool) -> Document:
    if not any(node.moved for node in answer.nodes):
        return
    yield Heading("Moved pods")
    rows, left = [], 0
    for node in answer.nodes:
        shown = node.moved if every else node.moved[:_FEW]
        left += len(node.moved) - len(shown)
        rows += [(node.node, _named(pod), _goes_to(pod.made_again, pod.node)) for pod in shown]
    yield table(("from", "pod", "to"), rows, identifiers=range(3))
    if left:
        yield Paragraph(f"and {left} more: -o wide", Tone.FAINT, 2)
    staying = [node for node in answer.nodes if node.staying]
    if staying:
        yield Paragraph(f"{_staying(staying)} DaemonSet-managed or mirror pods", Tone.FAINT, 2)


def _named(pod: MovedPodData) -> str:
    return f"{pod.pod} (pending in the snapshot)" if pod.was_pending else pod.pod


def _goes_to(made_again: str, node: str) -> str:
    if not made_again:
        return "nowhere: no controller recreates it"
    return node or "no node: pending"


def _staying(nodes: list[DrainedNodeData]) -> str:
    total = sum(len(node.staying) for node in nodes)
    return f"{counted(total, 'pod')} {'stays' if total == 1 else 'stay'}:"
