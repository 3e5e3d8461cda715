"""What to buy, as text."""

from __future__ import annotations

from typing import Final

from kschedctl.api.wording import listed
from kschedctl.report.document import GAP, Document, Paragraph, Tone, table
from kschedctl.report.frame import AnswerView, cautions, header, next_questions
from kschedctl.report.optimum.data import Purchased

_FEW: Final = 3
_ROWS: Final = 12


def purchase_document(answer: Purchased, view: AnswerView) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    view : AnswerView
        What of it is shown.
    """
    yield Paragraph(answer.summary, Tone.GOOD if not answer.waiting else Tone.MIXED)
    yield from header(answer, view.now)
    if answer.kinds:
        yield GAP
        yield Paragraph("To buy", Tone.STRONG)
        rows = [(each.kind, str(each.nodes), each.price, each.cost) for each in answer.kinds]
        yield table(("kind", "nodes", "price", "cost"), rows, numeric=(1, 2, 3))
        if answer.proven:
            yield Paragraph("proven: nothing cheaper places as many", Tone.FAINT, 2)
        elif answer.least_cost is not None:
            yield Paragraph(f"not proven: at the least it costs {answer.least_cost}", Tone.FAINT, 2)
        else:
            yield Paragraph("not proven: something cheaper may do", Tone.FAINT, 2)
        yield GAP
        yield Paragraph("Who goes there", Tone.STRONG)
        shown = answer.nodes if view.every else answer.nodes[:_ROWS]
        most = None if view.every else _FEW
        places = [
            (node.node, str(len(node.pods)), listed(node.pods, most=len(node.pods) if most is None else most))
            for node in shown
        ]
        yield table(("node", "pods", "which"), places, numeric=(1,), identifiers=(0,))
        if len(shown) < len(answer.nodes):
            yield Paragraph(f"and {len(answer.nodes) - len(shown)} more: -o wide", Tone.FAINT, 2)
    elsewhere = [p for p in answer.placements if p.node not in {node.node for node in answer.nodes}]
    if elsewhere and (answer.kinds or view.every):
        yield GAP
        yield Paragraph("On nodes that are there", Tone.STRONG)
        few = elsewhere if view.every else elsewhere[:_ROWS]
        yield table(("pod", "node"), [(each.pod, each.node) for each in few], identifiers=(1,))
        if len(few) < len(elsewhere):
            yield Paragraph(f"and {len(elsewhere) - len(few)} more: -o wide", Tone.FAINT, 2)
    if answer.waiting:
        yield GAP
        which = listed(answer.waiting, most=len(answer.waiting) if view.every else _FEW)
        yield Paragraph(f"No node of the catalog helps: {which}", Tone.BAD)
    yield from cautions(answer)
    yield from next_questions(view.questions)
