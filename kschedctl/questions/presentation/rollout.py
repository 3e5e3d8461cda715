"""The document of ``rollout``: the answer, what blocks the rollout, its steps, and the nodes of the new pods."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.questions.answers.preempt_words import duration
from kschedctl.questions.answers.rollout import RolledOut
from kschedctl.questions.presentation.cures import cures_section
from kschedctl.questions.presentation.diagnosis import diagnosis_section
from kschedctl.questions.presentation.document import GAP, Document, Heading, Paragraph, Question, Verbatim, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.group_losses import group_losses_section
from kschedctl.questions.presentation.rollout_charts import charts_section
from kschedctl.questions.presentation.tone import Tone

#: The number of steps, nodes and names that are shown without ``-o wide``.
_FEW_STEPS: Final = 8
_FEW_NODES: Final = 8
_FEW: Final = 3


def document(answer: RolledOut, view: View) -> Document:
    """Lay out an answer."""
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.finished else Tone.BAD)
    yield from header(answer, view.now)
    took = duration(round(answer.seconds)) if answer.seconds >= 1 else "less than a second"
    ended = f"; {took} of virtual time" if answer.finished and answer.steps else ""
    yield Paragraph(f"{answer.strategy}; {_available(answer)}{ended}", Tone.FAINT)
    yield from diagnosis_section(answer.diagnoses)
    if view.drawn:
        yield from charts_section(answer, view.overview)
    yield from _why(answer, every=view.wide)
    yield from cures_section(answer.suggestions, every=view.wide)
    yield from _steps(answer, every=view.wide)
    yield from _placements(answer, every=view.wide)
    yield from group_losses_section(answer.groups)
    yield from cautions(answer)
    if answer.steps and not view.wide:
        yield from next_questions([Question("All steps", "rollout", options={"output": "wide"})])


def _available(answer: RolledOut) -> str:
    return f"{answer.available_before} available at first, {answer.available_least} at the lowest"


def _why(answer: RolledOut, *, every: bool) -> Document:
    if answer.held and answer.steps and not answer.diagnoses:
        yield GAP
        yield Paragraph(answer.held, Tone.BAD)
    if not answer.waiting or answer.finished:
        return
    yield Heading("Messages of kube-scheduler for pending pods")
    for group in answer.waiting:
        for side, pods in (("new", group.new), ("old", group.old)):
            if pods:
                yield Paragraph(f"{side}: {listed(pods, most=len(pods) if every else _FEW)}", indent=2)
        yield Verbatim(group.message or "not tried")


def _steps(answer: RolledOut, *, every: bool) -> Document:
    if not answer.steps:
        return
    # If the rollout is stuck, the last steps show why.
    few = answer.steps[:_FEW_STEPS] if answer.finished else answer.steps[-_FEW_STEPS:]
    shown = answer.steps if every else few
    yield Heading("Steps")
    rows = [
        (
            str(step.number),
            f"{step.seconds:.0f} s",
            str(step),
            str(step.available),
            listed([pod.partition("/")[2] for pod in step.pods], most=len(step.pods) if every else _FEW),
        )
        for step in shown
    ]
    yield table(("step", "time", "pods", "available", "names"), rows, numeric=(0, 1, 3))
    if len(shown) < len(answer.steps):
        yield Paragraph(f"and {len(answer.steps) - len(shown)} more steps: -o wide", Tone.FAINT, 2)


def _placements(answer: RolledOut, *, every: bool) -> Document:
    if not answer.placements or not answer.steps:
        return
    yield Heading("New pods")
    if every:
        rows = [(placement.pod, placement.node) for placement in answer.placements]
        yield table(("pod", "node"), rows, identifiers=(0, 1))
        return
    counts = Counter(placement.node for placement in answer.placements)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    yield table(
        ("node", "pods"),
        [(node, str(count)) for node, count in ordered[:_FEW_NODES]],
        numeric=(1,),
        identifiers=(0,),
    )
    if len(ordered) > _FEW_NODES:
        yield Paragraph(f"and {len(ordered) - _FEW_NODES} more nodes: -o wide", Tone.FAINT, 2)
