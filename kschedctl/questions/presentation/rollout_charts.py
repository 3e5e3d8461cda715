"""Charts of a rollout: its pods over time, the available pods after each step, and the nodes of the new pods."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answers.nodes import NodesOverview
from kschedctl.questions.answers.rollout import RolledOut
from kschedctl.questions.presentation.changes_map import pods_map
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Lane, Segment, Span, Timeline
from kschedctl.questions.presentation.document import Document
from kschedctl.questions.presentation.tone import Tone
from kschedctl.trials.simulate.rolling_workloads import RolloutStep

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
    drawn = _pods(answer)
    if drawn.is_short:
        yield drawn
    yield _available(answer)
    if overview is not None and answer.placements:
        yield pods_map(overview, ((each.node, each.pod) for each in answer.placements), ())
    if not drawn.is_short:
        yield drawn


def _pods(answer: RolledOut) -> Timeline:
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


def _available(answer: RolledOut) -> Bars:
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
    return Bars(
        title="Available pods after each step",
        measure="pods",
        headings=("step", "time", "available"),
        kinds=_AVAILABLE,
        rows=tuple(rows),
        note=f"the mark: the strategy keeps {counted(answer.available_promised, 'pod')} available{others}",
        numbers=False,
    )
