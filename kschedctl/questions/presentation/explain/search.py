"""The section about the search for feasible nodes: the nodes by start, or a note that all nodes are scored."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answers.search import SearchData
from kschedctl.questions.presentation.document import GAP, INDENT, Document, Paragraph, table
from kschedctl.questions.presentation.tone import Tone
from kschedctl.scheduler.cycle.decision import SearchScope

#: The number of nodes in the table, unless all are requested.
_SHORT: Final = 10


def search_section(search: SearchData, *, every_node: bool) -> Document:
    """Lay out the nodes that the starts of the search lead to; without them, the difference to kube-scheduler.

    Parameters
    ----------
    every_node : bool
        True to show all nodes instead of the first 10.
    """
    if search.scope is not SearchScope.SAMPLE:
        return
    stops = f"kube-scheduler stops at {counted(search.nodes_to_find, 'feasible node')} (percentageOfNodesToScore)"
    if not search.followed:
        yield Paragraph(f"all nodes are scored; {stops}", Tone.FAINT, INDENT)
        return
    shown = search.nodes if every_node else search.nodes[:_SHORT]
    rows = [(node.name, str(node.starts), f"{node.chance:.1%}") for node in shown]
    yield GAP
    yield table(("node", "starts", "chance"), rows, numeric=(1, 2), identifiers=(0,))
    if len(shown) < len(search.nodes):
        yield Paragraph(f"and {len(search.nodes) - len(shown)} more: -o wide", Tone.FAINT, INDENT)
    text = (
        "chance if all starts are equally likely, nodes are searched one after another, and the scheduler started "
        "after the last node was added; the scores above are those over all feasible nodes"
    )
    yield Paragraph(text, Tone.FAINT, INDENT)
