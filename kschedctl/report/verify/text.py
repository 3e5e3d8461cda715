"""A comparison with kube-scheduler as text: whether there are differences, then each with its likely cause."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from kschedctl.api.wording import counted, listed
from kschedctl.report.frame import print_cautions, print_header
from kschedctl.report.render import layout
from kschedctl.report.verify.data import BoundCountsData, InfeasiblePodData, PendingPodData, VerificationData
from kschedctl.scheduler.verify import Outcome

if TYPE_CHECKING:
    from rich.console import Console

_HEADINGS = {
    Outcome.EQUAL: "The same message",
    Outcome.NOT_TRIED: "Not tried yet by kube-scheduler; our answer",
}


def print_verification(console: Console, found: VerificationData, now: datetime, *, wide: bool) -> None:
    """Print a comparison.

    Parameters
    ----------
    console : Console
        Where to.
    found : VerificationData
        The comparison.
    now : datetime
        The time that the snapshot's age is counted to.
    wide : bool
        Whether every pod is named.
    """
    layout.paragraph(console, found.summary, "bold green" if found.equal else "bold red")
    print_header(console, None, found.rules, found.snapshot, now)
    for pod in found.pending_pods:
        if pod.outcome is Outcome.DIFFERENT:
            _print_pending(console, pod)
    for outcome, heading in _HEADINGS.items():
        _print_messages(console, found, outcome, heading, wide=wide)
    _print_infeasible(console, found.infeasible_pods)
    left_out = list(_left_out(found, found.bound))
    if left_out:
        console.print()
        layout.paragraph(console, f"not compared: {', '.join(left_out)}", "dim")
    print_cautions(console, found.warnings, (), ())


def _print_pending(console: Console, pod: PendingPodData) -> None:
    console.print()
    layout.paragraph(console, f"{pod.namespace}/{pod.name}: another message", "bold")
    layout.verbatim(console, f"kube-scheduler: {pod.theirs}")
    layout.verbatim(console, f"kschedctl:      {pod.ours}")
    _print_causes(console, pod.causes)


def _print_causes(console: Console, causes: tuple[str, ...]) -> None:
    for i, cause in enumerate(causes):
        layout.paragraph(console, f"{'likely because' if i == 0 else '            or'} {cause}", "yellow", indent=2)


def _print_messages(console: Console, found: VerificationData, outcome: Outcome, heading: str, *, wide: bool) -> None:
    """Print the messages of pods with one outcome, each once with the pods that have it."""
    by_message: dict[str, list[str]] = {}
    for pod in found.pending_pods:
        if pod.outcome is outcome:
            by_message.setdefault(pod.ours, []).append(f"{pod.namespace}/{pod.name}")
    if not by_message:
        return
    console.print()
    layout.paragraph(console, heading, "bold")
    for message, names in by_message.items():
        layout.paragraph(console, listed(names, most=len(names)) if wide else listed(names), indent=2)
        layout.verbatim(console, message, indent=4)


def _print_infeasible(console: Console, pods: tuple[InfeasiblePodData, ...]) -> None:
    if not pods:
        return
    console.print()
    layout.paragraph(console, "Would not fit on their nodes any more", "bold")
    rows = [
        (
            f"{pod.namespace}/{pod.name}",
            pod.node,
            pod.status.plugin,
            "\n".join([", ".join(pod.status.reasons), *(f"likely because {cause}" for cause in pod.causes)]),
        )
        for pod in pods
    ]
    layout.table(console, ("pod", "node", "plugin", "why"), rows)


def _left_out(found: VerificationData, bound: BoundCountsData) -> Iterator[str]:
    others = found.pending.other_scheduler + bound.other_scheduler
    if others:
        yield f"{counted(others, 'pod')} of other schedulers"
    if bound.static:
        yield f"{counted(bound.static, 'static pod')} of kubelets"
    if bound.lost:
        yield f"{counted(bound.lost, 'pod')} on nodes that the snapshot does not have"
