"""A comparison with kube-scheduler as text: whether there are differences, then each with its likely cause."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kschedctl.api.wording import counted, listed
from kschedctl.report.document import GAP, Document, Paragraph, Tone, Verbatim, table
from kschedctl.report.frame import cautions, header
from kschedctl.report.verify.data import BoundCountsData, InfeasiblePodData, PendingPodData, VerificationData
from kschedctl.scheduler.verify import Match

_HEADINGS = {
    Match.EQUAL: "The same message",
    Match.NOT_TRIED: "Not tried yet by kube-scheduler; our answer",
}


def document(found: VerificationData, now: datetime, *, wide: bool) -> Document:
    """Print a comparison.

    Parameters
    ----------
    found : VerificationData
        The comparison.
    now : datetime
        The time that the snapshot's age is counted to.
    wide : bool
        Whether every pod is named.
    """
    yield Paragraph(found.summary, Tone.GOOD if found.equal else Tone.BAD)
    yield from header(found, now)
    for pod in found.pending_pods:
        if pod.outcome is Match.DIFFERENT:
            yield from _pending_section(pod)
    for outcome, heading in _HEADINGS.items():
        yield from _messages_section(found, outcome, heading, wide=wide)
    yield from _infeasible_section(found.infeasible_pods)
    left_out = list(_left_out(found, found.bound))
    if left_out:
        yield GAP
        yield Paragraph(f"not compared: {', '.join(left_out)}", Tone.FAINT)
    yield from cautions(found)


def _pending_section(pod: PendingPodData) -> Document:
    yield GAP
    yield Paragraph(f"{pod.namespace}/{pod.name}: another message", Tone.STRONG)
    yield Verbatim(f"kube-scheduler: {pod.theirs}")
    yield Verbatim(f"kschedctl:      {pod.ours}")
    yield from _causes_section(pod.causes)


def _causes_section(causes: tuple[str, ...]) -> Document:
    for i, cause in enumerate(causes):
        yield Paragraph(f"{'likely because' if i == 0 else '            or'} {cause}", Tone.CAUTION, indent=2)


def _messages_section(found: VerificationData, outcome: Match, heading: str, *, wide: bool) -> Document:
    """Print the messages of pods with one outcome, each once with the pods that have it."""
    by_message: dict[str, list[str]] = {}
    for pod in found.pending_pods:
        if pod.outcome is outcome:
            by_message.setdefault(pod.ours, []).append(f"{pod.namespace}/{pod.name}")
    if not by_message:
        return
    yield GAP
    yield Paragraph(heading, Tone.STRONG)
    for message, names in by_message.items():
        yield Paragraph(listed(names, most=len(names)) if wide else listed(names), indent=2)
        yield Verbatim(message, indent=4)


def _infeasible_section(pods: tuple[InfeasiblePodData, ...]) -> Document:
    if not pods:
        return
    yield GAP
    yield Paragraph("Would not fit on their nodes any more", Tone.STRONG)
    rows = [
        (
            f"{pod.namespace}/{pod.name}",
            pod.node,
            pod.status.plugin,
            (", ".join(pod.status.reasons), *(f"likely because {cause}" for cause in pod.causes)),
        )
        for pod in pods
    ]
    yield table(("pod", "node", "plugin", "why"), rows, identifiers=(0, 1))


def _left_out(found: VerificationData, bound: BoundCountsData) -> Iterator[str]:
    others = found.pending.other_scheduler + bound.other_scheduler
    if others:
        yield f"{counted(others, 'pod')} of other schedulers"
    if bound.static:
        yield f"{counted(bound.static, 'static pod')} of kubelets"
    if bound.lost:
        yield f"{counted(bound.lost, 'pod')} on nodes that the snapshot does not have"
