"""The document of ``consolidate``: the decision about each node, and the room in the budgets of NodePools."""

from typing import Final

from kschedctl.common.wording import counted, listed, price_text
from kschedctl.questions.consolidate.answer import Consolidated, NodeDecisionData
from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Question, Tone, and_more, table
from kschedctl.questions.frame import View, cautions, first_line, header, next_questions

#: The nodes that a table shows without ``-o wide``.
_ROWS: Final = 20
_LIMITS: Final = (
    "Each node is looked at alone: several nodes at once, drift, expiry and repair are not. Instance types: those of "
)


def document(answer: Consolidated, view: View) -> Document:
    """Lay out an answer."""
    tone = Tone.GOOD if answer.yes else Tone.BAD if all(each.is_kept for each in answer.nodes) else Tone.MIXED
    yield from first_line(answer, answer.summary, tone)
    yield from header(answer, view.now)
    if answer.nodes:
        yield GAP
        shown = answer.nodes if view.wide else answer.nodes[:_ROWS]
        rows = [(each.node, each.pool, each.decision, _told(each)) for each in shown]
        yield table(("node", "NodePool", "decision", "why"), rows)
        if len(answer.nodes) > len(shown):
            yield from and_more(len(answer.nodes) - len(shown), " nodes: -o wide")
    if answer.budgets:
        yield Heading("Nodes that may go now")
        budgets = [
            (each.pool, str(each.nodes), _number(each.empty), _number(each.underutilized)) for each in answer.budgets
        ]
        yield table(("NodePool", "nodes", "empty", "underutilized"), budgets, numeric=(1,))
    yield GAP
    yield Paragraph(_LIMITS + answer.source, Tone.FAINT)
    yield from cautions(answer)
    kept = next((each.node for each in answer.nodes if each.is_kept), "")
    drained = [Question("Drain it yourself", "drain", kept, {"ignore_daemonsets": True})] if kept else []
    yield from next_questions(drained)


def _number(n: int | None) -> str:
    return "any number" if n is None else str(n)


def _told(one: NodeDecisionData) -> str:
    parts = []
    if one.decision == "replace":
        parts.append(f"by {listed(one.instance_types, 'or', most=2)}")
        if one.price is not None and one.new_price is not None:
            parts.append(f"{price_text(one.new_price)} instead of {price_text(one.price)} per hour")
    elif one.decision == "delete":
        parts.append("it is empty" if one.empty else "its pods fit elsewhere")
    if one.moves:
        to = sorted(set(one.moves.values()))
        parts.append(f"{counted(len(one.moves), 'pod')} to {listed(to, most=2)}")
    parts += [one.reason] if one.reason else []
    parts += [f"Karpenter's own Event: {one.event}"] if one.event else []
    return "; ".join(parts)
