"""The section of ``--withstand``: the number of failures that the pod can withstand."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.explain import WithstandingData
from kschedctl.questions.presentation.document import GAP, INDENT, Document, Paragraph, table
from kschedctl.questions.presentation.tone import Tone

#: The number of nodes that are named in a set whose loss leaves no feasible node.
_MOST_NAMED: Final = 8


def withstanding_section(found: WithstandingData | None) -> Document:
    """Lay out the failures that the pod can withstand; ``None`` if it fits nowhere even without any."""
    yield GAP
    if found is None:
        yield Paragraph("The pod withstands no failure: it fits on no node even without one.", Tone.STRONG)
        return
    yield Paragraph(_nodes(found), Tone.STRONG)
    fatal = [zone.zone for zone in found.zones if not zone.left]
    if fatal:
        yield Paragraph(f"Zones: the loss of {listed(fatal, 'or')} leaves the pod without a node.", Tone.STRONG)
    elif found.zones:
        yield Paragraph(f"Zones: the pod withstands the loss of any one of {len(found.zones)}.", Tone.STRONG)
    if found.zones:
        rows = [
            (zone.zone, str(zone.nodes), str(zone.feasible), str(zone.left) if zone.left else "none")
            for zone in found.zones
        ]
        headings = ("lost zone", "nodes", "feasible", "feasible after")
        tones = [Tone.PLAIN if zone.left else Tone.BAD for zone in found.zones]
        yield table(headings, rows, numeric=(1, 2, 3), tones=tones)
    if found.across:
        can = f"{listed(found.across)} can reject a node after the loss of others"
        tried = f"so losses were simulated: {counted(found.tried, 'cluster')} evaluated"
        yield Paragraph(f"{can}, {tried}", Tone.FAINT, INDENT)
    text = "the pods of a lost node are lost, too; their replacements stay pending and take no capacity before this pod"
    yield Paragraph(text, Tone.FAINT, INDENT)


def _nodes(found: WithstandingData) -> str:
    """Return the result for node failures in words."""
    fits = counted(len(found.feasible), "node")
    if found.exact and found.stands and set(found.last) == set(found.feasible):
        return f"Nodes: the pod withstands the loss of any {found.stands} of {fits}."
    named = listed(found.last, most=_MOST_NAMED) if found.last else ""
    loss = f"the loss of {named} leaves the pod without a node" if named else ""
    if found.exact and not found.stands:
        return f"Nodes: the pod fits on {fits}; {loss}."
    if found.exact:
        return f"Nodes: the pod withstands the loss of any {found.stands}; {loss}."
    parts = [f"it withstands the loss of any {found.stands}"] if found.stands else []
    parts.append(
        f"{loss}, and the search for a smaller loss that does was not finished"
        if loss
        else "the search for a loss that leaves the pod without a node was not finished"
    )
    return f"Nodes: the pod fits on {fits}; {'; '.join(parts)}."
