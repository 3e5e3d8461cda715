"""The document of ``verify``: the number of differences, then each difference with its likely causes."""

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.document import (
    GAP,
    INDENT,
    Document,
    Heading,
    Paragraph,
    Question,
    Tone,
    Verbatim,
    and_more,
    table,
)
from kschedctl.questions.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.verify.answer import Choice, ComparedPodData, Match, Standing, Verification
from kschedctl.scheduler.cycle.decision import MIN_FEASIBLE_NODES_TO_FIND

#: The headings of pods with one message, and whether it is the stored one.
_HEADINGS: Final = {
    Match.EQUAL: ("Equal messages", True),
    Match.NOMINATED: ("Nominated: victims are ending, and the message is that of before", True),
    Match.NOT_TRIED: ("Not tried yet by kube-scheduler; message of kschedctl", False),
}
#: The headings of pods with two messages.
_TWO_MESSAGES: Final = {Match.AGED: "aged message, no difference", Match.DIFFERENT: "different messages"}
_STANDINGS: Final = {
    Standing.DIFFERENT: "Pods that would not fit on their nodes, and no later change explains it",
    Standing.CHANGED: "Pods that would not fit on their nodes any more, which a later change may explain",
    Standing.CORDONED: "Pods on cordoned nodes, which are allowed to stay: no difference",
    Standing.WHAT_IF: "Pods that would not fit on their nodes with the what-ifs: no difference",
}
#: The results as kinds of a chart, from agreement to what is not compared.
_RESULTS: Final = (
    Kind("equal", Tone.GOOD),
    Kind("explained by nominations, cordons or what-ifs"),
    Kind("a later change may explain it", Tone.MIXED),
    Kind("different", Tone.BAD),
    Kind("not tried yet by kube-scheduler"),
    Kind("not compared", Tone.FAINT),
)
_CHOICES: Final = {
    Choice.SAMPLED: "Pods on a best node of a sample (percentageOfNodesToScore): no difference",
    Choice.UNEXPLAINED: "Pods on nodes that no start of the search leads to, which a later change may explain",
}
_UNEXPLAINED: Final = (
    "pods that ran then have ended, or nodes have changed since",
    "kube-scheduler filters nodes in parallel, so that its samples have other nodes at their ends",
)
#: The number of pods per reason without ``-o wide``.
_FEW: Final = 5


def document(found: Verification, view: View) -> Document:
    """Lay out a comparison."""
    yield from first_line(
        found, found.summary, Tone.GOOD if found.equal else Tone.BAD, ("Comparison with kube-scheduler",)
    )
    yield from header(found, view.now)
    if view.drawn:
        yield _agreement(found)
    for outcome, heading in _TWO_MESSAGES.items():
        for group in found.pending_groups:
            if group.outcome is outcome:
                yield Heading(f"{_pod_names(group.pods, wide=view.wide)}: {heading}")
                yield Verbatim(f"kube-scheduler: {group.theirs}")
                yield Verbatim(f"kschedctl:      {group.ours}")
                yield from _causes_section(group.causes)
    for outcome, (heading, stored) in _HEADINGS.items():
        yield from _messages_section(found, outcome, heading, stored=stored, wide=view.wide)
    for standing, heading in _STANDINGS.items():
        yield from _infeasible_section(found, standing, heading, wide=view.wide)
    for choice, heading in _CHOICES.items():
        chosen = [each for each in found.choices or () if each.choice is choice]
        if chosen:
            yield Heading(heading)
            if choice is Choice.UNEXPLAINED:
                yield from _causes_section(_UNEXPLAINED)
            shown = chosen if view.wide else chosen[:_FEW]
            rows = [
                (each.key, each.node, f"{each.starts} of {each.of_starts}", listed(each.best) or "none")
                for each in shown
            ]
            yield table(("pod", "node", "starts", "best of all nodes"), rows, identifiers=(0, 1))
            yield from and_more(len(chosen) - len(shown))
    if found.recorded is not None:
        yield GAP
        recorded = found.recorded
        told = f"{recorded.path}: the case of {recorded.pod.key}, anonymised, {counted(recorded.objects, 'object')}"
        yield Paragraph(told, Tone.STRONG)
    others = found.pending.other_scheduler + found.bound.other_scheduler
    left_out = [
        f"{counted(number, pods)} {which}"
        for number, pods, which in (
            (others, "pod", "of other schedulers"),
            (found.bound.static, "static pod", "of kubelets"),
            (found.bound.lost, "pod", "on nodes that the snapshot does not have"),
        )
        if number
    ]
    if left_out:
        yield from (GAP, Paragraph(f"not compared: {', '.join(left_out)}", Tone.FAINT))
    yield from cautions(found)
    if found.recorded is None:
        yield from next_questions(list(_next(found)))


def _next(found: Verification) -> Iterator[Question]:
    if not found.equal:
        yield Question("A test case for a bug report", "verify", options={"record": "case.json"})
    if found.choices is None and found.snapshot.nodes > MIN_FEASIBLE_NODES_TO_FIND:
        yield Question("Nodes of the newest pods", "verify", options={"sampling": True})


def _agreement(found: Verification) -> Bars:
    """Return the results by kind, of pending and of bound pods."""
    pending, bound = found.pending, found.bound
    others = pending.other_scheduler, bound.other_scheduler + bound.static + bound.lost
    of_pending = (pending.equal, pending.nominated, pending.aged, pending.different, pending.not_tried, others[0])
    of_bound = (bound.feasible, bound.cordoned + bound.what_if, bound.changed, bound.different, 0, others[1])
    return Bars(
        title="Comparison with kube-scheduler",
        measure="pods",
        headings=("state", "pods"),
        kinds=_RESULTS,
        rows=tuple(
            Bar(
                (which, counted(sum(counts), "pod")),
                tuple(Segment(i, float(number), counted(number, "pod")) for i, number in enumerate(counts) if number),
                float(sum(counts)),
            )
            for which, counts in (("pending", of_pending), ("bound", of_bound))
        ),
    )


def _causes_section(causes: tuple[str, ...]) -> Document:
    for i, cause in enumerate(causes):
        yield Paragraph(f"{'likely because' if i == 0 else '            or'} {cause}", Tone.CAUTION, indent=INDENT)


def _messages_section(found: Verification, outcome: Match, heading: str, *, stored: bool, wide: bool) -> Document:
    """Lay out the messages of pods with one outcome, each message once with all its pods; stored or computed ones."""
    by_message: dict[str, list[ComparedPodData]] = {}
    for group in found.pending_groups:
        if group.outcome is outcome:
            by_message.setdefault(group.theirs if stored else group.ours, []).extend(group.pods)
    if not by_message:
        return
    yield Heading(heading)
    for message, pods in by_message.items():
        yield Paragraph(_pod_names(pods, wide=wide), indent=2)
        yield Verbatim(message, indent=4)


def _infeasible_section(found: Verification, standing: Standing, heading: str, *, wide: bool) -> Document:
    groups = [group for group in found.infeasible_groups if group.standing is standing]
    if not groups:
        return
    yield Heading(heading)
    for group in groups:
        plugin = f"{group.status.plugin}: " if group.status.plugin else ""
        yield Paragraph(f"{plugin}{', '.join(group.status.reasons)}", indent=2)
        if standing in (Standing.DIFFERENT, Standing.CHANGED):
            yield from _causes_section(group.causes)
        shown = group.pods if wide else group.pods[:_FEW]
        yield table(("pod", "node"), [(pod.key, pod.node) for pod in shown], identifiers=(0, 1))
        yield from and_more(len(group.pods) - len(shown))


def _pod_names(pods: Sequence[ComparedPodData], *, wide: bool) -> str:
    names = [pod.key for pod in pods]
    return listed(names, most=len(names)) if wide else listed(names)
