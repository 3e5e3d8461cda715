"""The document of ``consolidate``: the decisions about nodes, and the room in the budgets of NodePools."""

from typing import Final

from kschedctl.common.wording import counted, listed, price_text
from kschedctl.questions.consolidate.answer import Consolidated, NodeDecisionData
from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Tone, and_more, table
from kschedctl.questions.frame import View, cautions, first_line, header

#: The rows of a table without ``-o wide``.
_ROWS: Final = 20
_LIMITS: Final = (
    "Empty nodes go first; each of the others is looked at alone. Several nodes at once, drift, expiry and repair are "
    "not looked at. Instance types: those of "
)


def document(answer: Consolidated, view: View) -> Document:
    """Lay out an answer."""
    tone = Tone.GOOD if answer.yes else Tone.BAD if all(each.is_kept for each in answer.nodes) else Tone.MIXED
    yield from first_line(answer, answer.summary, tone, ("Consolidation",))
    yield from header(answer, view.now)
    if answer.nodes:
        yield GAP
        alike: dict[tuple[str, str, str], list[str]] = {}
        for i, each in enumerate(answer.nodes):
            # Kept nodes with one reason are one row.
            own = "" if each.is_kept and not view.wide else str(i)
            alike.setdefault((each.pool, each.decision, _told(each) + own), []).append(each.node)
        told = {node.node: _told(node) for node in answer.nodes}
        rows = [(_several(names), pool, decision, told[names[0]]) for (pool, decision, _), names in alike.items()]
        shown = rows if view.wide else rows[:_ROWS]
        yield table(("node", "NodePool", "decision", "why"), shown)
        if len(rows) > len(shown):
            yield from and_more(len(rows) - len(shown), " rows: -o wide")
    if answer.budgets:
        yield Heading("Room in disruption budgets")
        budgets = [
            (each.pool, str(each.nodes), _number(each.empty), _number(each.underutilized)) for each in answer.budgets
        ]
        yield table(("NodePool", "nodes", "empty", "then others"), budgets, numeric=(1,))
    yield GAP
    yield Paragraph(_LIMITS + answer.source, Tone.FAINT)
    yield from cautions(answer)


def _several(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _number(n: int | None) -> str:
    return "any number" if n is None else str(n)


def _told(one: NodeDecisionData) -> str:
    parts = []
    if one.decision == "replace":
        as_what = f" as {listed(one.capacity_types, 'or')}" if one.capacity_types else ""
        parts.append(f"by {listed(one.instance_types, 'or', most=2)}{as_what}")
        if one.price is not None and one.new_price is not None:
            parts.append(f"{price_text(one.new_price)} instead of {price_text(one.price)} per hour")
    elif one.decision == "delete":
        parts.append("it is empty" if one.empty else "its pods fit elsewhere")
    if one.moves:
        to = sorted(set(one.moves.values()))
        parts.append(f"{counted(len(one.moves), 'pod')} to {listed(to, most=2)}")
    if one.lost:
        parts.append(
            f"{listed(one.lost, most=2)} {'is' if len(one.lost) == 1 else 'are'} lost: no controller replaces it"
        )
    if one.tied:
        stays = "stays" if len(one.tied) == 1 else "stay"
        parts.append(f"{listed(one.tied, most=2)} then {stays} pending: its volume is on this node")
    parts += [one.reason] if one.reason else []
    parts += [f"Karpenter's own Event: {one.event}"] if one.event else []
    return "; ".join(parts)
