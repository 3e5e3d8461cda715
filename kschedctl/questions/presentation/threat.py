"""The document of ``preempt --victim``: the pending pods that would preempt a given pod."""

from __future__ import annotations

from kschedctl.common.wording import counted
from kschedctl.questions.answers.preempt import Threat
from kschedctl.questions.presentation.document import GAP, Document, Paragraph, Phrases, Question, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.tone import Tone


def threat_document(answer: Threat, view: View) -> Document:
    """Lay out the pending pods that would preempt a pod."""
    yield from first_line(answer, answer.summary, Tone.BAD if answer.takers else Tone.GOOD)
    of_class = f" ({answer.priority_class_name})" if answer.priority_class_name else ""
    yield Phrases((f"priority {answer.priority}{of_class}", f"{counted(answer.pending, 'pod')} pending"))
    yield from header(answer, view.now)
    if answer.takers:
        rows = [
            (
                taker.name,
                str(taker.priority),
                taker.priority_class_name or "-",
                "yes" if taker.certain else "no, by chance",
                "violated" if taker.violates_budget else "-",
            )
            for taker in answer.takers
        ]
        yield GAP
        headings = ("preemptor", "priority", "class", "certain", "disruption budget")
        yield table(headings, rows, numeric=(1,), identifiers=(0,))
        yield GAP
        yield Paragraph(_safe(answer))
    yield from cautions(answer)
    if answer.takers:
        yield from next_questions(
            [Question("Preemption in detail", "preempt", answer.takers[0].name, {"victim": None})]
        )


def _safe(answer: Threat) -> str:
    name = answer.safe_class
    which = f"PriorityClass {name} is the lowest one" if name else "no PriorityClass has that"
    return f"The pod would be safe from priority {answer.safe_priority} on: {which}."
