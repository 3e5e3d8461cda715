"""The sections with the full details of one node: resources, comparisons of filters, and the computation of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kschedctl.common.wording import counted
from kschedctl.questions.answers.amounts import readable
from kschedctl.questions.answers.explain import ReasonData
from kschedctl.questions.answers.node_groups import wording
from kschedctl.questions.answers.node_story import (
    FilterCheckData,
    NodeStoryData,
    PluginStoryData,
    PodUsageData,
    StepData,
)
from kschedctl.questions.presentation.document import GAP, INDENT, Document, Paragraph, table
from kschedctl.questions.presentation.tone import Tone


def compared(said: Sequence[ReasonData], checks: Iterable[FilterCheckData]) -> list[str]:
    """Return the results of a filter for a node, one per line: its reasons, then its further comparisons.

    Parameters
    ----------
    said : sequence of ReasonData
        The reasons of the filter; empty if the pod passes.
    checks : iterable of FilterCheckData
        The comparisons of the filter.
    """
    lines = wording(said).split("\n") if said else []
    to_skip = len(said)
    for check in checks:
        # A failed comparison is already part of the reason.
        if not check.holds and to_skip:
            to_skip -= 1
            continue
        lines.append(f"{'' if check.holds else 'also fails: '}{check.wanted}: {check.found}")
    return lines or [""]


def room_section(story: NodeStoryData) -> Document:
    """Lay out the resources of the node, and the pods that request most of them."""
    rows = [
        (one.resource, *(readable(one.resource, n) for n in (one.allocatable, one.requested, one.wanted, one.left)))
        for one in story.room
    ]
    yield GAP
    yield table(("resource", "allocatable", "requested", "this pod", "left"), rows, numeric=range(1, 5))
    if not story.pods:
        return
    names = list(story.pods[0].requests)
    yield GAP
    headings = ("largest requests", "priority", *names)
    yield table(headings, [_usage(pod) for pod in story.pods], numeric=range(1, len(headings)), identifiers=(0,))
    if story.more_pods:
        yield Paragraph(f"and {counted(story.more_pods, 'more pod')}", Tone.FAINT, INDENT)


def _usage(pod: PodUsageData) -> tuple[str, ...]:
    return pod.pod, str(pod.priority), *(readable(name, amount) for name, amount in pod.requests.items())


def arithmetic_section(stories: Sequence[PluginStoryData]) -> Document:
    """Lay out the computation of the score: the formula and steps of each plugin, then the sum."""
    yield GAP
    yield Paragraph("Computation of the score", Tone.STRONG, INDENT)
    for story in stories:
        rules = [story.score.formula] if story.score is not None else []
        if story.normalizing is not None:
            rules.append(f"normalised: {story.normalizing.formula}")
        yield Paragraph(": ".join((story.plugin, *("; ".join(rules),) * bool(rules))), indent=INDENT)
        if story.score is None:
            yield _line("score", str(story.raw), str(story.raw), "as the plugin returned it")
        for arithmetic in (story.score, story.normalizing):
            for step in arithmetic.steps if arithmetic is not None else ():
                yield _line(step.name, step.expression, _number(step), step.note)
        yield _line("weighted", f"{story.normalized} * {story.weight}", str(story.weighted))
    total = sum(story.weighted for story in stories)
    sums = " + ".join(str(story.weighted) for story in stories)
    yield Paragraph(f"total = {sums} = {total}", Tone.STRONG, INDENT)
    text = "// divides integers and rounds toward zero; round rounds halves away from zero; log is natural"
    yield Paragraph(text, Tone.FAINT, INDENT)


def _line(name: str, expression: str, value: str, note: str = "") -> Paragraph:
    """Return a step as one line."""
    equals = f"{name} = {expression}" if expression == value else f"{name} = {expression} = {value}"
    return Paragraph(f"{equals} ({note})" if note else equals, indent=2 * INDENT)


def _number(step: StepData) -> str:
    return str(step.value) if isinstance(step.value, int) else f"{step.value:.4f}".rstrip("0").rstrip(".")
