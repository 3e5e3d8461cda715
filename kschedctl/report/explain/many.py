"""Many pods at once, as a document: outcomes counted, and a line for those that fare alike for the same cause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kschedctl.api.wording import counted, listed
from kschedctl.report.document import GAP, Document, Paragraph, Tone, table
from kschedctl.report.envelope import Envelope
from kschedctl.report.frame import cautions, each_alone, header, next_questions
from kschedctl.scheduler.decision import Decision, Outcome

_NODES_SAY: Final = re.compile(r"[0-9]+/[0-9]+ nodes are available: (.*?)\.(?: |$)")
_MOST_NAMED: Final = 3
_ORDER: Final = (Outcome.ERROR, Outcome.UNSCHEDULABLE, Outcome.GATED, Outcome.SCHEDULED)


@dataclass(slots=True)
class Fate:
    """Pods that fare alike.

    Attributes
    ----------
    outcome : Outcome
        What comes of them.
    why : str
        The cause, in the scheduler's words; empty where they fit.
    pods : list of str
        The pods, as namespace/name.
    """

    outcome: Outcome
    why: str
    pods: list[str] = field(default_factory=list)


def cause(decision: Decision) -> str:
    """Why a pod is not scheduled, and whether evicting others would help; empty where it is."""
    match decision.outcome:
        case Outcome.ERROR:
            return decision.error
        case Outcome.GATED:
            return decision.pre_enqueue.message
        case Outcome.SCHEDULED:
            return ""
    said = _NODES_SAY.match(decision.message)
    why = said[1] if said else decision.message
    helped = decision.preemption is not None and bool(decision.preemption.nominated)
    return f"{why}; preemption would help" if helped else why


def together(decided: Iterable[tuple[str, Outcome, str]]) -> list[Fate]:
    """Pods that fare alike for the same cause together: those that fail first, then the largest groups."""
    fates: dict[tuple[Outcome, str], Fate] = {}
    for key, outcome, why in decided:
        fates.setdefault((outcome, why), Fate(outcome, why)).pods.append(key)
    return sorted(fates.values(), key=lambda fate: (_ORDER.index(fate.outcome), -len(fate.pods)))


def document(fates: Sequence[Fate], basis: Envelope, now: datetime, questions: Sequence[tuple[str, str]]) -> Document:
    """Many pods as a document.

    Parameters
    ----------
    fates : sequence of Fate
        The pods.
    basis : Envelope
        What the answers rest on.
    now : datetime
        The time that the snapshot's age is counted to.
    questions : sequence of (str, str)
        What can be asked next, with its command.
    """
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
    yield from header(basis, now)
    rows = [(str(len(f.pods)), listed(f.pods, most=_MOST_NAMED), _WORDS[f.outcome], f.why) for f in fates]
    yield GAP
    yield table(("pods", "which", "outcome", "why"), rows, numeric=(0,))
    yield from each_alone(indent=2)
    yield from cautions(basis)
    yield from next_questions(questions)


_WORDS: Final = {
    Outcome.ERROR: "error",
    Outcome.UNSCHEDULABLE: "fits nowhere",
    Outcome.GATED: "not tried",
    Outcome.SCHEDULED: "fits",
}
