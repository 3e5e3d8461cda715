"""The document of ``explain`` for many pods: counts by outcome, and one row per cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.base import Envelope, merged_envelope
from kschedctl.questions.answers.explain import Explanation, ExplanationSummary, OutcomeGroupData
from kschedctl.questions.answers.stream import AnswerStream
from kschedctl.questions.answers.workload import running_in_words
from kschedctl.questions.presentation.document import GAP, Document, Provenance, Question, table
from kschedctl.questions.presentation.frame import (
    EACH_ALONE,
    View,
    cautions,
    each_alone,
    first_line,
    header,
    next_questions,
    one_by_one,
    provenance,
)
from kschedctl.questions.presentation.tone import Tone
from kschedctl.scheduler.cycle.outcome import Outcome

_MOST_NAMED: Final = 3
_WORDS: Final = {
    Outcome.ERROR: "error",
    Outcome.UNSCHEDULABLE: "fits nowhere",
    Outcome.GATED: "not tried",
    Outcome.SCHEDULED: "fits",
}
_REFUSED: Final = "refused"
_IN_PART: Final = "in part"
#: The outcomes with the words for one and for several pods, the worst first.
_VERDICTS: Final[dict[str, tuple[str, str]]] = {
    _REFUSED: ("is refused by a quota", "are refused by a quota"),
    Outcome.ERROR: ("fails", "fail"),
    Outcome.UNSCHEDULABLE: ("fits nowhere", "fit nowhere"),
    Outcome.OTHER_SCHEDULER: ("has another scheduler", "have another scheduler"),
    Outcome.GATED: ("is not tried", "are not tried"),
    _IN_PART: ("fits without all of its replicas", "fit without all of their replicas"),
    Outcome.SCHEDULED: ("fits", "fit"),
}
#: Up to 9 answers are all decided before the first one is printed, as the first line counts them.
_FEW: Final = 9


def stream_document(
    stream: AnswerStream[Explanation], view: View, document: Callable[[Explanation, View], Document]
) -> Document:
    """Lay out the answers of a stream in full, with a summary of up to 9 pods in the first line."""
    if stream.total < 2:
        yield from one_by_one(stream, view, document)
        return
    view = view.among(stream.total)
    answers: Iterable[Explanation] = stream
    shown: Provenance | None = None
    if stream.total <= _FEW:
        answers = tuple(stream)
        if len(answers) == 1:
            yield from one_by_one(answers, view, document)
            return
        if len(answers) == stream.total:
            number = Counter(map(_verdict, answers))
            yield from _first_line(merged_envelope(answers), number, f"; {EACH_ALONE}", _beside_running(answers))
            shown = provenance(answers[0], view.now)
            yield shown
    if shown is None:
        yield from each_alone(counted(stream.total, "pod"))
    yield GAP
    yield from one_by_one(answers, view, document, shown)


def _beside_running(answers: Sequence[Explanation]) -> str:
    """Return the number of pods that run, and the subject of the others, for pods of one workload; else empty."""
    workloads = {replace(answer.workload, pods=()) if answer.workload is not None else None for answer in answers}
    workload = workloads.pop() if len(workloads) == 1 else None
    return f"{running_in_words(workload)}; the other " if workload is not None and workload.running else ""


def _verdict(answer: Explanation) -> str:
    """Return the outcome of a pod, or the reason why not all of its workload's pods share it."""
    if not answer.admitted:
        return _REFUSED
    return _IN_PART if answer.schedulable and not answer.yes else answer.verdict.result


def _first_line(basis: Envelope, number: Counter[str], note: str = "", start: str = "") -> Document:
    """Lay out the number of pods by outcome, after the words about other pods."""
    counts = [(number[outcome], *words) for outcome, words in _VERDICTS.items() if number[outcome]]
    verdicts = ", ".join(f"{n} {one if n == 1 else several}" for n, one, several in counts)
    fine = number[Outcome.SCHEDULED] == number.total()
    text = f"{start}{counted(number.total(), 'pod')}: {verdicts}{note}."
    yield from first_line(basis, text, Tone.GOOD if fine else Tone.BAD)


def _number(fates: Iterable[OutcomeGroupData], outcome: Outcome) -> int:
    return sum(len(fate.pods) for fate in fates if fate.outcome is outcome)


def document(answer: ExplanationSummary, view: View) -> Document:
    """Lay out a summary of many pods."""
    fates = answer.fates
    yield from _first_line(answer, Counter({outcome: _number(fates, outcome) for outcome in Outcome}))
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
