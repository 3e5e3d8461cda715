"""The document of ``optimum``: both placements, their differences, and adjustments that reach the best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.optimum import GoalData, Optimum, OptimumPlacementData, OptimumWorkloadData
from kschedctl.questions.presentation.document import GAP, Document, Heading, Paragraph, Question, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.optimum_charts import optimum_charts
from kschedctl.questions.presentation.tone import Tone

#: The number of nodes and names per row, and of rows per table, without ``-o wide``.
_FEW: Final = 3
_ROWS: Final = 12
#: The gap, in percent, above which only the bound is printed.
_FAR: Final = 100


def document(answer: Optimum, view: View) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    view : View
        The part of the answer that is shown.
    """
    tone = Tone.GOOD if not answer.waiting else Tone.MIXED if answer.placed else Tone.BAD
    yield from first_line(answer, answer.summary, tone)
    yield from header(answer, view.now)
    if not answer.multi_step_finished:
        yield Paragraph("The simulated scheduler does not finish: pods keep evicting each other.", Tone.CAUTION)
    if answer.ended:
        yield Paragraph(
            f"{counted(len(answer.ended), 'pod')} being deleted {'is' if len(answer.ended) == 1 else 'are'} taken as "
            f"gone at once (in simulate, a pod leaves at its deletion time): "
            f"{listed(answer.ended, most=len(answer.ended) if view.wide else _FEW)}",
            Tone.FAINT,
        )
    if answer.refused:
        yield Paragraph(f"{counted(answer.refused, 'earlier solution')} rejected by the filters", Tone.FAINT)
    if view.drawn:
        yield from optimum_charts(answer, view.overview)
    yield from _goals(answer.goals, every=view.wide)
    yield from _workloads(answer.workloads, every=view.wide)
    yield from _evicted(answer)
    yield from _differing(answer.placements, every=view.wide)
    yield from _waiting(answer, every=view.wide)
    yield from _ways(answer, every=view.wide)
    yield from cautions(answer)
    if not view.wide:
        yield from next_questions(_questions(answer))


def _questions(answer: Optimum) -> Iterator[Question]:
    if answer.pods:
        yield Question("Simulation of the scheduler", "simulate")
    if answer.placements:
        yield Question("All pods, in order", "optimum", options={"output": "wide"})


def _goals(goals: Sequence[GoalData], *, every: bool) -> Document:
    shown = [goal for goal in goals if every or goal.multi_step or goal.optimum or not goal.proven]
    if not shown:
        return
    yield Heading("Goals, most important first")
    rows = [(goal.goal, str(goal.multi_step), str(goal.optimum), _how_good(goal)) for goal in shown]
    tones = [Tone.PLAIN if goal.proven else Tone.MIXED for goal in shown]
    yield table(("goal", "scheduler", "best", "status"), rows, numeric=(1, 2), tones=tones)


def _how_good(goal: GoalData) -> str:
    if goal.proven:
        return "proven optimal"
    if goal.bound is None or goal.gap_percent is None:
        return "not proven"
    side = "at most" if goal.maximize else "at least"
    if goal.gap_percent > _FAR or goal.optimum < 0:
        # A share of a difference says nothing.
        return f"not proven: {side} {goal.bound}"
    return f"within {goal.gap_percent:.1f} %: {side} {goal.bound}"


def _workloads(workloads: Sequence[OptimumWorkloadData], *, every: bool) -> Document:
    if not workloads:
        return
    yield Heading("Workloads")
    rows = [
        (
            f"{each.kind} {each.namespace}/{each.name}",
            str(each.pods),
            str(each.multi_step),
            str(each.optimum),
            _counts(each.nodes, every=every) or "-",
        )
        for each in workloads
    ]
    tones = [_tone(each) for each in workloads]
    yield table(("workload", "pods", "scheduler", "best", "nodes"), rows, numeric=(1, 2, 3), tones=tones)


def _tone(each: OptimumWorkloadData) -> Tone:
    if each.optimum > each.multi_step:
        return Tone.GOOD
    return Tone.PLAIN if each.optimum == each.pods else Tone.MIXED


def _counts(counts: dict[str, int], *, every: bool) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    texts = [name if count == 1 else f"{name} x{count}" for name, count in ordered]
    return listed(texts, most=len(texts) if every else _FEW) if texts else ""


def _evicted(answer: Optimum) -> Document:
    if not answer.evicted and not answer.multi_step_evicted:
        return
    yield Heading("Evicted pods")
    ours = {(each.pod, each.node) for each in answer.evicted}
    theirs = {(each.pod, each.node) for each in answer.multi_step_evicted}
    again = {placement.pod: placement.node for placement in answer.placements if placement.again}
    rows = [
        (
            pod,
            node,
            "yes" if (pod, node) in theirs else "no",
            "yes" if (pod, node) in ours else "no",
            again.get(pod, ""),
        )
        for pod, node in sorted(ours | theirs)
    ]
    yield table(("pod", "from", "scheduler", "best", "recreated on"), rows, identifiers=(0, 1, 4))
    theirs_pending, ours_pending = answer.multi_step_replacements_pending, answer.replacements_pending
    if theirs_pending or ours_pending:
        text = (
            f"new pods of evicted pods that stay pending, not counted above: {theirs_pending} with the scheduler, "
            f"{ours_pending} in the best placement"
        )
        yield Paragraph(text, Tone.CAUTION, indent=2)


def _differing(placements: Sequence[OptimumPlacementData], *, every: bool) -> Document:
    moved = [each for each in placements if every or (not each.again and each.node != each.multi_step_node)]
    if not moved:
        return
    yield GAP
    yield Paragraph(
        "Order in which every pod passes the filters" if every else "Pods with different nodes", Tone.STRONG
    )
    shown = moved if every else moved[:_ROWS]
    rows = [(each.pod, each.multi_step_node or "pending", each.node) for each in shown]
    yield table(("pod", "scheduler", "best"), rows, identifiers=(0, 1, 2))
    if len(shown) < len(moved):
        yield Paragraph(f"and {len(moved) - len(shown)} more: -o wide", Tone.FAINT, 2)


def _waiting(answer: Optimum, *, every: bool) -> Document:
    displaced = frozenset(answer.displaced)
    both = tuple(pod for pod in answer.waiting if pod not in displaced)
    for what, pods in (
        ("Pending in both placements", both),
        ("Placed by the scheduler, and pending in the best placement, which has other pods instead", answer.displaced),
        ("Held back by gates or by their group, not considered", answer.gated),
    ):
        if pods:
            yield GAP
            yield Paragraph(f"{what}: {listed(pods, most=len(pods) if every else _FEW)}")


def _ways(answer: Optimum, *, every: bool) -> Document:
    if answer.ways:
        yield Heading("Adjustments with which the scheduler places these pods (each simulated)")
        rows = [
            (
                str(way.lever),
                way.what,
                listed(way.workloads, most=len(way.workloads) if every else _FEW),
                str(way.evicted),
            )
            for way in answer.ways
        ]
        yield table(("kind", "adjustment", "workloads", "evicted"), rows, numeric=(3,))
    elif answer.stranded:
        yield GAP
        yield Paragraph(
            "No order, priority or smaller request that was tried makes the scheduler place these pods.", Tone.CAUTION
        )
