"""The document of ``drain``: the answer, what blocks the drain, and the nodes that the pods move to."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.common.wording import counted, duration, listed
from kschedctl.questions.charts import Kind, utilisation_bars
from kschedctl.questions.document import Document, Heading, Paragraph, Question, Tone, and_more, table
from kschedctl.questions.drain.answer import AT_ONCE, MISTYPED, UNHEEDED, Drained, DrainedNodeData
from kschedctl.questions.frame import (
    View,
    cautions,
    cures_section,
    first_line,
    group_losses_section,
    header,
    next_questions,
)
from kschedctl.questions.node_map import NodeChange, pods_map
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.pod_timeline import pod_timeline
from kschedctl.questions.simulate.document import (
    UTILISATION,
    evictions,
    slowest_words,
    timeline,
    utilisation_section,
    waiting_pods,
)
from kschedctl.trials.simulate.timeline import TimelineEvent

_DRAINED: Final = Kind("drained")
_NOT_DRAINED: Final = Kind("not drained", Tone.CAUTION)
_NOT_TRIED: Final = Kind("not reached by the drain")
#: The state of a drain in the heading of a page.
_STATES: Final = {
    Tone.GOOD: "Possible",
    Tone.MIXED: "Possible in part",
    Tone.BAD: "Blocked",
    Tone.CAUTION: "Not finished",
}
#: The number of pods per node that are shown without ``-o wide``.
_FEW: Final = 12


def document(answer: Drained, view: View) -> Document:
    """Lay out an answer."""
    tone = _drain_tone(answer)
    nodes = [node.node for node in answer.nodes]
    subject = f"Drain of {nodes[0]}" if len(nodes) == 1 else f"Drain of {counted(len(nodes), 'node')}"
    yield from first_line(answer, answer.summary, tone, (subject, _STATES[tone]))
    yield from header(answer, view.now)
    took = duration(round(answer.seconds)) if answer.seconds >= 1 else "less than a second"
    how = "each node comes back before the next is drained; " if answer.rolling else ""
    if answer.left_pending:
        verb = "is" if answer.left_pending == 1 else "are"
        how += f"{counted(answer.left_pending, 'pending pod')} {verb} left pending; "
    took += f" of virtual time{slowest_words(answer.slowest)}"
    yield Paragraph(f"{how}{took}; among equal nodes {answer.chance}", Tone.FAINT)
    for each in answer.unprotected:
        if each.rule != MISTYPED:
            yield Paragraph(each.cause, Tone.CAUTION if each.rule in (AT_ONCE, UNHEEDED) else Tone.FAINT)
    rows = []
    for node in answer.nodes:
        for refusal in node.refusals:
            pods = listed(refusal.pods, most=len(refusal.pods) if view.wide else 3)
            rows.append((node.node, pods, refusal.message))
        rows += [(node.node, each.pod, each.message) for each in node.blocked]
    if rows:
        yield Heading("Blocking pods")
        yield table(("node", "pods", "reason"), rows, identifiers=(0,))
    yield from cures_section(answer.suggestions, every=view.wide)
    if view.drawn:
        yield from _charts(answer, view.overview)
    rows = [
        (node.node, held.budget, duration(round(held.seconds)))
        for node in answer.nodes
        for held in node.held_up
        if held.seconds
    ]
    if rows:
        yield Heading("Disruption budgets that delayed evictions")
        yield table(("node", "budget", "delay"), rows, identifiers=(0,))
    yield from _placed_first(answer, every=view.wide)
    yield from waiting_pods(answer.waiting, every=view.wide)
    first = {each.pod for each in answer.placed_first}
    evicted = [replace(each, pod=_first_named(each.pod, is_first=each.pod in first)) for each in answer.evicted]
    places = {each.pod: each.node for each in answer.timeline if each.event is TimelineEvent.SCHEDULED}
    yield from evictions(evicted, places, every=view.wide)
    yield from _moves(answer, every=view.wide)
    yield from group_losses_section(answer.groups)
    if view.wide and not view.drawn and any(node.moved for node in answer.nodes):
        yield from utilisation_section(answer.utilisation, _basis(answer))
    if view.wide and answer.timeline:
        yield from timeline(answer.timeline, answer.timeline[0].time, drawn=view.drawn)
    yield from cautions(answer)
    yield from next_questions(() if view.wide else _questions(answer))


def _charts(answer: Drained, overview: NodesOverview | None) -> Document:
    drawn = pod_timeline(answer.timeline, answer.timeline[0].time) if answer.timeline else None
    if drawn is not None and drawn.is_short:
        yield drawn
    if overview is not None:
        states = {node.node: NodeChange(*_state(node)) for node in answer.nodes}
        states |= {name: NodeChange(_NOT_TRIED) for name in answer.not_tried}
        moved = [pod for node in answer.nodes for pod in node.moved]
        arrive = ((pod.node, pod.made_again or pod.pod) for pod in moved)
        leave = [(node.node, pod.pod) for node in answer.nodes for pod in node.moved]
        yield pods_map(overview, arrive, (*leave, *((each.node, each.pod) for each in answer.evicted)), states)
    if answer.utilisation and any(node.moved for node in answer.nodes):
        yield utilisation_bars(answer.utilisation, UTILISATION, _basis(answer))
    if drawn is not None and not drawn.is_short:
        yield drawn


def _basis(answer: Drained) -> str:
    return "" if answer.rolling else "of the allocatable amount of the nodes that are not drained"


def _state(node: DrainedNodeData) -> tuple[Kind, tuple[str, ...]]:
    if node.drained:
        return _DRAINED, (f"drained in {duration(round(node.seconds))}",)
    why = (*(each.message for each in node.refusals), *(f"{each.pod}: {each.message}" for each in node.blocked))
    return _NOT_DRAINED, why


def _questions(answer: Drained) -> Iterator[Question]:
    if any(node.moved for node in answer.nodes):
        yield Question("Timeline", "drain", options={"output": "wide"})
    is_tried = any(node.moved or node.blocked for node in answer.nodes)
    if is_tried and answer.left_pending and not answer.placed_first:
        yield Question("Schedule the pending pods first", "drain", options={"place_pending_first": True})
    refusals = (refusal.message for node in answer.nodes for refusal in node.refusals)
    flags = sorted({message.partition("(use --")[2].partition(" ")[0] for message in refusals})
    if flags and "force" not in flags:
        yield Question(
            "Drain with the missing options", "drain", options={flag.replace("-", "_"): True for flag in flags}
        )


def _drain_tone(answer: Drained) -> Tone:
    if answer.interrupted:
        return Tone.CAUTION
    if all(node.drained for node in answer.nodes) and not answer.not_tried:
        unprotected = any(each.rule == MISTYPED for each in answer.unprotected)
        return Tone.MIXED if answer.waiting or answer.lost or unprotected else Tone.GOOD
    return Tone.MIXED if any(node.drained for node in answer.nodes) else Tone.BAD


def _placed_first(answer: Drained, *, every: bool) -> Document:
    placed = answer.placed_first if every else answer.placed_first[:_FEW]
    if not placed:
        return
    yield Heading("Pending pods placed first")
    rows = [
        (
            f"{each.pod} (in place of {each.in_place_of})" if each.in_place_of else each.pod,
            each.node,
            listed(each.evicts, most=3) if each.evicts else "-",
        )
        for each in placed
    ]
    yield table(("pod", "to", "evicts"), rows, identifiers=(1,))
    yield from and_more(len(answer.placed_first) - len(placed))


def _moves(answer: Drained, *, every: bool) -> Document:
    if not any(node.moved for node in answer.nodes):
        return
    yield Heading("Moved and lost pods" if answer.lost else "Moved pods")
    rows, left = [], 0
    for node in answer.nodes:
        shown = node.moved if every else node.moved[:_FEW]
        left += len(node.moved) - len(shown)
        rows += [
            (
                node.node,
                _first_named(pod.pod, is_first=pod.was_pending),
                ("lost for good: no controller recreates it" if pod.lost else pod.node or "no node: pending"),
            )
            for pod in shown
        ]
    yield table(("from", "pod", "to"), rows, identifiers=range(3))
    yield from and_more(left)
    n_staying = sum(len(node.staying) for node in answer.nodes)
    if n_staying:
        stay = f"{counted(n_staying, 'pod')} {'stays' if n_staying == 1 else 'stay'}"
        yield Paragraph(f"{stay}: DaemonSet-managed or mirror pods", Tone.FAINT, 2)


def _first_named(pod: str, *, is_first: bool) -> str:
    return f"{pod} (placed first)" if is_first else pod
