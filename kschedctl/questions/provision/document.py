"""The document of ``provision``: the new nodes by pool, the pods on them, and the pods that stay pending."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kschedctl.common.wording import counted, listed, price_text
from kschedctl.questions.document import GAP, INDENT, Document, Heading, Paragraph, Question, Tone, and_more, table
from kschedctl.questions.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.provision.answer import LaunchedNodeData, Provisioning

#: The rows of a table, and the names in a row, without ``-o wide``.
_ROWS: Final = 12
_NAMES: Final = 3


def document(answer: Provisioning, view: View) -> Document:
    """Lay out an answer."""
    tone = Tone.GOOD if not answer.waiting else Tone.MIXED if answer.nodes or answer.fitting else Tone.BAD
    yield from first_line(answer, answer.summary, tone, ("Provisioning",))
    yield from header(answer, view.now)
    if answer.nodes:
        yield from _nodes(answer, view)
    if answer.elsewhere:
        yield from _elsewhere(answer, view)
    if answer.evicted:
        yield Heading("Preemption")
        yield from _rows(("pod", "evicted for"), [(each.pod, each.by) for each in answer.evicted], "pods", view)
    if answer.waiting:
        yield from _waiting(answer, view)
    yield GAP
    price = f"; {price_text(answer.price)} per hour" if answer.price is not None else ""
    yield Paragraph(f"instance types: those of {answer.source}; {counted(answer.rounds, 'round')}{price}", Tone.FAINT)
    yield from cautions(answer)
    more = len(answer.nodes) > _ROWS or len(answer.waiting) > _ROWS
    questions = [Question("All of them", "provision", "", {"output": "wide"})] if more and not view.wide else []
    if answer.waiting:
        questions.append(Question("One pod in detail", "explain", answer.waiting[0].pod, {}))
    yield from next_questions(questions)


def _nodes(answer: Provisioning, view: View) -> Document:
    yield Heading("New nodes")
    priced = any(each.price is not None for each in answer.nodes)
    rows = [
        (
            each.node,
            each.pool,
            _types(each, view),
            " ".join((listed(each.capacity_types, "or"), *_zones(each))),
            *(("" if each.price is None else price_text(each.price),) if priced else ()),
            _pods(each.planned, view),
        )
        for each in answer.nodes
    ]
    headings = ("node", "NodePool", "instance type", "as", *(("per hour",) if priced else ()), "for")
    yield from _rows(headings, rows, "nodes", view)


def _zones(one: LaunchedNodeData) -> list[str]:
    return [f"in zone {listed(one.zones, 'or')}"] if one.zones else []


def _types(one: LaunchedNodeData, view: View) -> str:
    return listed(one.instance_types, "or", most=len(one.instance_types) if view.wide else 2)


def _pods(pods: tuple[str, ...], view: View) -> str:
    return listed(pods, most=len(pods) if view.wide else _NAMES)


def _elsewhere(answer: Provisioning, view: View) -> Document:
    yield Heading("kube-scheduler decides otherwise")
    rows = [(each.pod, each.planned, each.node or "stays pending") for each in answer.elsewhere]
    yield from _rows(("pod", "planned for", "scheduled to"), rows, "pods", view)
    yield Paragraph(
        "Karpenter fills its NodeClaims one by one; kube-scheduler chooses the node with the highest score.",
        Tone.FAINT,
        INDENT,
    )


def _waiting(answer: Provisioning, view: View) -> Document:
    yield Heading("Pods that stay pending")
    first: dict[str, str] = {}
    for each in answer.waiting:
        first.setdefault(each.why, each.pod)
    counts = Counter(each.why for each in answer.waiting)
    rows = [
        (str(n), first[why] if n == 1 else f"{first[why]} and {n - 1} more", why or "Karpenter does not look at them")
        for why, n in counts.most_common()
    ]
    yield from _rows(("pods", "pod", "answer of Karpenter"), rows, "reasons", view, numeric=(0,))


def _rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], what: str, view: View, *, numeric: Sequence[int] = ()
) -> Document:
    shown = rows if view.wide else rows[:_ROWS]
    yield table(headings, shown, numeric=numeric)
    if len(rows) > len(shown):
        yield from and_more(len(rows) - len(shown), f" {what}: -o wide")
