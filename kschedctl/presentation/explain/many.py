"""The document of ``explain`` for many pods: counts by outcome, and one row per cause."""

from __future__ import annotations

from typing import Final

from kschedctl.answers.explain import ExplanationSummary
from kschedctl.api.wording import counted, listed
from kschedctl.presentation.document import GAP, Document, Paragraph, Question, Tone, table
from kschedctl.presentation.frame import View, cautions, each_alone, header, next_questions
from kschedctl.scheduler.outcome import Outcome

_MOST_NAMED: Final = 3
_WORDS: Final = {
    Outcome.ERROR: "error",
    Outcome.UNSCHEDULABLE: "fits nowhere",
    Outcome.GATED: "not tried",
    Outcome.SCHEDULED: "fits",
}


def document(answer: ExplanationSummary, view: View) -> Document:
    """Lay out a summary of many pods."""
    fates = answer.fates
    number = {outcome: sum(len(f.pods) for f in fates if f.outcome is outcome) for outcome in Outcome}
    said = [
        (number[Outcome.ERROR], "fails", "fail"),
        (number[Outcome.UNSCHEDULABLE], "fits nowhere", "fit nowhere"),
        (number[Outcome.GATED], "is not tried", "are not tried"),
        (number[Outcome.SCHEDULED], "fits", "fit"),
    ]
    verdicts = ", ".join(f"{n} {one if n == 1 else several}" for n, one, several in said if n)
    fine = number[Outcome.SCHEDULED] == sum(number.values())
    yield Paragraph(f"{counted(sum(number.values()), 'pod')}: {verdicts}.", Tone.GOOD if fine else Tone.BAD)
    yield from header(answer, view.now)
    rows = [(str(len(f.pods)), listed(f.pods, most=_MOST_NAMED), _WORDS[f.outcome], f.why) for f in fates]
    yield GAP
    yield table(("pods", "names", "outcome", "reason"), rows, numeric=(0,))
    yield from each_alone(indent=2)
    yield from cautions(answer)
    yield from next_questions(
        [
            Question("One pod in detail", "explain", fates[0].pods[0]),
            Question("All pods in detail", "explain", options={"output": "wide"}),
        ]
    )
