"""The document of ``rollout``: the answer, what blocks the rollout, its steps, and the nodes of the new pods."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Final

from kschedctl.common.wording import counted, duration, listed
from kschedctl.questions.charts import Bar, Bars, Kind, Lane, Segment, Span, Timeline
from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Question, Tone, Verbatim, and_more, table
from kschedctl.questions.frame import (
    View,
    cautions,
    cures_section,
    diagnosis_section,
    first_line,
    group_losses_section,
    header,
    next_questions,
)
from kschedctl.questions.node_map import pods_map
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.rollout.answer import RolledOut
from kschedctl.trials.simulate.rollout_steps import RolloutStep

# Charts of a rollout: its pods over time, the available pods after each step, and the nodes of the new pods.

#: The largest number of lanes and of steps that are drawn.
_MOST_LANES: Final = 100
_MOST_STEPS: Final = 100
_KINDS: Final = (
    Kind("old revision"),
    Kind("new revision", Tone.GOOD),
    Kind("pending", Tone.BAD),
    Kind("deleted", Tone.MIXED),
)
_OLD, _NEW, _PENDING, _DELETED = range(len(_KINDS))
_AVAILABLE: Final = (Kind("available", Tone.GOOD), Kind("available, fewer than the strategy allows", Tone.BAD))


def charts_section(answer: RolledOut, overview: NodesOverview | None) -> Document:
    """Lay out the charts; without ``overview``, nodes are not drawn."""
    if not answer.steps:
        return
    drawn = _pods_timeline(answer)
    if drawn.is_short:
        yield drawn
    shown = answer.steps[:_MOST_STEPS] if answer.finished else answer.steps[-_MOST_STEPS:]
    most = max(answer.available_before, answer.available_promised, *(step.available for step in answer.steps), 1)
    rows = (
        Bar(
            (f"{step.number}: {step}", f"{step.seconds:.0f} s", counted(step.available, "pod")),
            (Segment(int(step.available < answer.available_promised), step.available, counted(step.available, "pod")),),
            most,
            mark=answer.available_promised,
        )
        for step in shown
    )
    left = len(answer.steps) - len(shown)
    others = f"; left out: {counted(left, 'more step')}" if left else ""
    yield Bars(
        title="Available pods after each step",
        measure="pods",
        headings=("step", "time", "available"),
        kinds=_AVAILABLE,
        rows=tuple(rows),
        note=f"the mark: the strategy keeps {counted(answer.available_promised, 'pod')} available{others}",
        numbers=False,
    )
    if overview is not None and answer.placements:
        yield pods_map(overview, ((each.node, each.pod) for each in answer.placements), ())
    if not drawn.is_short:
        yield drawn


def _pods_timeline(answer: RolledOut) -> Timeline:
    end = float(ceil(max(answer.seconds, answer.steps[-1].seconds, 1.0) * 1.05))
    nodes = {each.pod: each.node for each in answer.placements}
    of_pod: dict[str, list[RolloutStep]] = {}
    for step in answer.steps:
        for pod in step.pods:
            of_pod.setdefault(pod, []).append(step)
    lanes = [Lane(pod, tuple(_spans(steps, nodes.get(pod, ""), end))) for pod, steps in of_pod.items()]
    # If the rollout is stuck, the last steps show why.
    shown = lanes[:_MOST_LANES] if answer.finished else lanes[-_MOST_LANES:]
    left = len(lanes) - len(shown)
    when = "later" if answer.finished else "earlier"
    return Timeline(
        title="Pods over time",
        subject="pod",
        kinds=_KINDS,
        lanes=tuple(shown),
        end=end,
        note=f"left out: {counted(left, 'pod')} of {when} steps" if left else "",
    )


def _spans(steps: Sequence[RolloutStep], node: str, end: float) -> list[Span]:
    """Return the states of a pod, from the steps that create or delete it."""
    spans: list[Span] = []
    for step, following in zip(steps, (*steps[1:], None), strict=True):
        if step.after < step.before:
            if not spans:
                spans.append(Span(0.0, step.seconds, _OLD, ""))
            spans.append(Span(step.seconds, step.seconds, _DELETED, f"in step {step.number}"))
        else:
            until = end if following is None else following.seconds
            placed = f", on {node}" if node else ""
            created = f"created in step {step.number}{placed}"
            spans.append(Span(step.seconds, until, _NEW if node else _PENDING, created))
    return spans


#: The number of steps, nodes and names that are shown without ``-o wide``.
_FEW_STEPS: Final = 8
_FEW_NODES: Final = 8
_FEW: Final = 3


def document(answer: RolledOut, view: View) -> Document:
    """Lay out an answer."""
    workload = answer.workload
    subject = f"Rollout of {workload.kind} {workload.namespace}/{workload.name}"
    heading, tone = ("Finishes", Tone.GOOD) if answer.finished else ("Hangs", Tone.BAD)
    yield from first_line(answer, answer.summary, tone, (subject, heading))
    yield from header(answer, view.now)
    took = duration(round(answer.seconds)) if answer.seconds >= 1 else "less than a second"
    ended = f"; {took} of virtual time" if answer.finished and answer.steps else ""
    available = f"{answer.available_before} available at first, {answer.available_least} at the lowest"
    yield Paragraph(f"{answer.strategy}; {available}{ended}", Tone.FAINT)
    yield from diagnosis_section(answer.diagnoses)
    if answer.held and answer.steps and not answer.diagnoses:
        yield from (GAP, Paragraph(answer.held, Tone.BAD))
    if answer.waiting and not answer.finished:
        yield Heading("Messages of kube-scheduler for pending pods")
        for group in answer.waiting:
            for side, pods in (("new", group.new), ("old", group.old)):
                if pods:
                    yield Paragraph(f"{side}: {listed(pods, most=len(pods) if view.wide else _FEW)}", indent=2)
            yield Verbatim(group.message or "not tried")
    yield from cures_section(answer.suggestions, every=view.wide)
    if view.drawn:
        yield from charts_section(answer, view.overview)
    yield from _steps(answer, every=view.wide)
    if answer.placements and answer.steps:
        yield Heading("New pods")
        counts = Counter(placement.node for placement in answer.placements)
        if view.wide:
            placed = [(placement.pod, placement.node) for placement in answer.placements]
            yield table(("pod", "node"), placed, identifiers=(0, 1))
        else:
            ordered = [(node, str(n)) for node, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
            yield table(("node", "pods"), ordered[:_FEW_NODES], numeric=(1,), identifiers=(0,))
            yield from and_more(len(ordered) - _FEW_NODES, " nodes: -o wide")
    yield from group_losses_section(answer.groups)
    yield from cautions(answer)
    if answer.steps and not view.wide:
        yield from next_questions([Question("All steps", "rollout", options={"output": "wide"})])


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
    yield from and_more(len(answer.steps) - len(shown), " steps: -o wide")
