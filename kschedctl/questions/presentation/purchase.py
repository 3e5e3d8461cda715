"""The document of a purchase: the nodes to buy, and the pods on them."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import listed
from kschedctl.questions.answers.optimum import Purchased
from kschedctl.questions.presentation.document import GAP, Document, Heading, Paragraph, Question, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.optimum_charts import purchase_charts
from kschedctl.questions.presentation.tone import Tone

_FEW: Final = 3
_ROWS: Final = 12


def purchase_document(answer: Purchased, view: View) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    view : View
        The part of the answer that is shown.
    """
    yield from first_line(answer, answer.summary, Tone.GOOD if not answer.waiting else Tone.MIXED)
    yield from header(answer, view.now)
    yield from purchase_charts(answer, view.overview)
    if answer.kinds:
        yield Heading("Nodes to buy")
        rows = [(each.kind, str(each.nodes), each.price, each.cost) for each in answer.kinds]
        yield table(("kind", "nodes", "price", "cost"), rows, numeric=(1, 2, 3))
        if answer.proven:
            yield Paragraph("proven: no cheaper purchase places as many pods", Tone.FAINT, 2)
        elif answer.least_cost is not None:
            yield Paragraph(f"not proven: the least cost is at least {answer.least_cost}", Tone.FAINT, 2)
        else:
            yield Paragraph("not proven: a cheaper purchase may exist", Tone.FAINT, 2)
        yield Heading("Pods on the new nodes")
        shown = answer.nodes if view.wide else answer.nodes[:_ROWS]
        most = None if view.wide else _FEW
        places = [
            (node.node, str(len(node.pods)), listed(node.pods, most=len(node.pods) if most is None else most))
            for node in shown
        ]
        yield table(("node", "pods", "names"), places, numeric=(1,), identifiers=(0,))
        if len(shown) < len(answer.nodes):
            yield Paragraph(f"and {len(answer.nodes) - len(shown)} more: -o wide", Tone.FAINT, 2)
    elsewhere = [p for p in answer.placements if p.node not in {node.node for node in answer.nodes}]
    if elsewhere and (answer.kinds or view.wide):
        yield Heading("Pods on existing nodes")
        few = elsewhere if view.wide else elsewhere[:_ROWS]
        yield table(("pod", "node"), [(each.pod, each.node) for each in few], identifiers=(0, 1))
        if len(few) < len(elsewhere):
            yield Paragraph(f"and {len(elsewhere) - len(few)} more: -o wide", Tone.FAINT, 2)
    if answer.waiting:
        yield GAP
        which = listed(answer.waiting, most=len(answer.waiting) if view.wide else _FEW)
        yield Paragraph(f"No node of the catalog helps: {which}", Tone.BAD)
    yield from cautions(answer)
    if view.wide:
        return
    if answer.placements or answer.nodes:
        every = [Question("All pods, in order", "optimum", options={"output": "wide"})]
        nodes = [Question("Manifests of the nodes", "optimum", options={"output": "jsonpath={.objects}"})]
        yield from next_questions((every if answer.placements else []) + (nodes if answer.nodes else []))
