"""The document of the nodes that can be emptied."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.optimum import Emptied
from kschedctl.questions.answers.preempt_words import duration
from kschedctl.questions.presentation.document import GAP, Document, Heading, Paragraph, Question, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.optimum_charts import emptied_charts
from kschedctl.questions.presentation.tone import Tone

_FEW: Final = 3
_ROWS: Final = 12
_STUCK: Final = "Nodes that some placement would empty, but no simulated drain emptied"


def emptied_document(answer: Emptied, view: View) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    view : View
        The part of the answer that is shown.
    """
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.nodes else Tone.PLAIN)
    yield from header(answer, view.now)
    if view.drawn:
        yield from emptied_charts(answer, view.overview)
    if answer.nodes:
        yield Heading("Nodes to drain, in this order, after cordoning all of them")
        rows = [
            (
                node.node,
                str(len(node.evicted)),
                listed(node.evicted, most=len(node.evicted) if view.wide else _FEW) if node.evicted else "-",
                ", ".join(f"{budget} {duration(round(seconds))}" for budget, seconds in node.waited.items()) or "-",
            )
            for node in answer.nodes
        ]
        yield table(("node", "pods", "evicted pods", "delayed by"), rows, numeric=(1,), identifiers=(0,))
        if answer.cordoned:
            closed = listed(answer.cordoned, most=len(answer.cordoned) if view.wide else _FEW)
            yield Paragraph(f"to keep these nodes empty, also cordon: {closed}", indent=2)
        yield Heading("Resulting placements")
        places = list(answer.placements.items())
        shown = places if view.wide else places[:_ROWS]
        yield table(("pod", "node"), shown, identifiers=(0, 1))
        if len(shown) < len(places):
            yield Paragraph(f"and {len(places) - len(shown)} more: -o wide", Tone.FAINT, 2)
    stuck: dict[str, tuple[str, ...]] = {}
    for name in answer.given_up:
        cause = answer.obstacles.get(name, "")
        stuck[cause] = (*stuck.get(cause, ()), name)
    for names, what in (
        *((names, f"{_STUCK}{f' ({cause})' if cause else ''}") for cause, names in stuck.items()),
        (answer.fixed, f"{counted(len(answer.fixed), 'node')} with pods that no controller recreates"),
    ):
        if names:
            yield GAP
            yield Paragraph(f"{what}: {listed(names, most=len(names) if view.wide else _FEW)}", Tone.MIXED)
    yield from cautions(answer)
    if answer.nodes and not view.wide:
        options = {
            "names": tuple(node.node for node in answer.nodes),
            "ignore_daemonsets": True,
            "delete_emptydir_data": True,
            "output": "wide",
        }
        yield from next_questions([Question("The drain, step by step", "drain", options=options)])
