"""The document of ``pending``: one screen for ten pending pods or for thousands."""

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, duration, listed
from kschedctl.diagnosis.evidence.node_autoscalers import KARPENTER
from kschedctl.questions.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.document import GAP, INDENT, Document, Paragraph, Question, Tone, table
from kschedctl.questions.frame import View, cautions, commands_of, first_line, header, next_questions
from kschedctl.questions.node_map import nodes_map
from kschedctl.questions.pending.answer import AdviceData, GroupData, Pending, UnblockingData

#: The number of groups that are shown without ``-o wide``.
_FEW: Final = 10
#: Pods younger than 10 seconds have not been tried yet.
_NEW: Final = 10
#: kube-scheduler looks at a pending pod again within this time, in seconds.
_LOOKS_AGAIN: Final = 360
#: The results of groups that are no pods without a node.
_PROBLEMS: Final = frozenset({"notCreated", "notStarted", "notRunning", "notResized"})
#: The most groups with a bar.
_MOST_BARS: Final = 100
#: The outcomes for the pods of a group.
_FATES: Final = (
    Kind("fits now", Tone.GOOD),
    Kind("fits once pods have ended", Tone.MIXED, weak=True),
    Kind("preemption would help", Tone.MIXED),
    Kind("fits nowhere", Tone.BAD),
    Kind("not tried", Tone.FAINT),
    Kind("not created, not started or not running", Tone.CAUTION),
    Kind("not known", Tone.CAUTION),
)


def document(answer: Pending, view: View) -> Document:
    """Lay out an answer."""
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.all_fit else Tone.BAD, ("Pending pods",))
    yield from header(answer, view.now)
    yield from _groups_table(answer, view)
    yield from _changes(answer, every=view.wide)
    if view.drawn:
        if answer.groups:
            longest = max((_n_pods(group) for group in answer.groups), default=1)
            shown = answer.groups[:_MOST_BARS]
            rows = []
            for group in shown:
                segments = tuple(Segment(kind, n, counted(n, "pod")) for kind, n in _fates(group) if n)
                rows.append(Bar((_which(group), counted(_n_pods(group), "pod")), segments, longest or 1))
            left = len(answer.groups) - len(shown)
            yield from (
                GAP,
                Bars(
                    title="Pods by group",
                    measure="pods",
                    headings=("workload", "pods"),
                    kinds=_FATES,
                    rows=tuple(rows),
                    note=f"and {counted(left, 'more group')}" if left else "",
                    numbers=False,
                ),
            )
        if view.overview is not None and view.overview.nodes:
            yield from (GAP, nodes_map(view.overview))
    yield from cautions(answer)
    yield from next_questions(_questions(answer, view))


def _questions(answer: Pending, view: View) -> Iterator[Question]:
    first = next((group for group in answer.groups if group.pods and group.result not in _PROBLEMS), None)
    if first is not None:
        yield Question("One pod in detail", "explain", first.pods[0])
    if answer.autoscaler == KARPENTER:
        yield Question("The nodes that Karpenter adds", "provision")
    if answer.groups and not view.wide:
        yield Question("All groups, with commands", "pending", options={"changes": None, "output": "wide"})


def _n_pods(group: GroupData) -> int:
    return group.missing or len(group.pods)


def _fates(group: GroupData) -> Iterator[tuple[int, int]]:
    """Yield the numbers of pods of a group by outcome, as positions in the legend."""
    number = _n_pods(group)
    if group.result in _PROBLEMS:
        yield 5, number
        return
    if group.result == "notKnown":
        yield 5, number
        return
    fit = (number if group.fitting is None else group.fitting) if group.result == "scheduled" else group.fitting or 0
    yield 0, fit - group.fitting_once_ended
    yield 1, group.fitting_once_ended
    yield 4 if group.result in ("gated", "notOurs") else 2 if group.preempts else 3, number - fit


def _groups_table(answer: Pending, view: View) -> Document:
    if not answer.groups:
        return
    if view.wide:
        shown = list(answer.groups)
    else:
        problems = [group for group in answer.groups if group.result in _PROBLEMS]
        shown = [*[group for group in answer.groups if group.result not in _PROBLEMS][:_FEW], *problems[:_FEW]]
    prioritized = any(group.priority for group in shown)
    rows: list[tuple[str | Sequence[str], ...]] = []
    for group in shown:
        since = duration(group.waiting_seconds) if group.waiting_seconds is not None else "unknown"
        number = str(group.missing or len(group.pods) or "")
        of_pods = (str(group.priority) if group.priority is not None else "",) if prioritized else ()
        rows.append(
            (
                number,
                since,
                *of_pods,
                _which(group),
                _lines(group, every=view.wide, what_if=bool(answer.snapshot.changes)),
            )
        )
    yield GAP
    headings = ("pods", "pending for", *(("priority",) if prioritized else ()), "workload", "reason")
    yield table(headings, rows, numeric=(0, 2) if prioritized else (0,))
    if len(shown) < len(answer.groups):
        rest = [group for group in answer.groups if group not in shown]
        n_pods = sum(len(group.pods) for group in rest)
        told = f"and {counted(n_pods, 'pod')} in {counted(len(rest), 'more group')}: -o wide"
        yield Paragraph(told, Tone.FAINT, INDENT)


def _lines(group: GroupData, *, every: bool, what_if: bool) -> Sequence[str]:
    """Return the reason, and the evidence for problems of workloads, or for all groups."""
    told = f"{group.state}: {group.why}" if group.state else _cause_of_group(group, what_if=what_if)
    evidence = group.diagnoses[0].evidence if group.diagnoses else ()
    if every:
        return (told, *evidence)
    return (told, *evidence[:1]) if group.result in _PROBLEMS else (told,)


def _which(group: GroupData) -> str:
    if group.kind != "Pod":
        return group.label
    named = f"{group.namespace}/{group.name}"
    return named if len(group.pods) <= 1 else f"{named} and {len(group.pods) - 1} more"


def _cause_of_group(group: GroupData, *, what_if: bool) -> str:
    """Return the cause; for pods that fit, the reason why they are pending nevertheless."""
    n_pods, n_waiting = len(group.pods), group.fitting_once_ended
    if group.result != "scheduled" or (group.fitting is not None and not group.fitting):
        return group.why
    if n_waiting:
        told = f"{(group.fitting or 0) - n_waiting} of {n_pods} fit now, {n_waiting} more once pods have ended"
        return f"{told}, then {group.why}" if group.why else told
    if group.fitting is None or group.fitting == n_pods:
        fit, it = ("fits now", "it") if n_pods == 1 else ("fit now", "them")
        if group.why:
            return f"{fit}, but {group.why}"
        if what_if or group.waiting_seconds is None:
            return fit
        if group.waiting_seconds < _NEW:
            return f"{fit}: created {duration(group.waiting_seconds)} before the snapshot"
        if group.waiting_seconds > _LOOKS_AGAIN:
            return f"{fit}: kube-scheduler has not looked at {it} again"
        return f"{fit}: kube-scheduler has not looked at {it} again; it does so after an event, or within 5 minutes"
    return f"{group.fitting} of {n_pods} fit now, then {group.why}"


def _changes(answer: Pending, *, every: bool) -> Document:
    """Lay out the changes that help, those for single groups, and the cures that cannot be tried, in one table."""
    # A change that helps several groups is one row.
    alone: dict[str, list[UnblockingData]] = {}
    for one in answer.alone:
        alone.setdefault(f"{one.summary}{_costs(one)}", []).append(one)
    rows = [
        *((str(len(one.would_place)), f"{one.summary}{_costs(one)}") for one in answer.changes),
        *(
            (str(sum(len(one.would_place) for one in same)), f"{told}; tried for {_each_alone(same)}")
            for told, same in alone.items()
        ),
        *(("", f"{one.summary}; not tried: {one.untried}") for one in answer.advice),
    ]
    if not rows:
        # A gate is removed by the controller that set it, and preemption needs no change.
        if answer.fit is not None and any(
            len(group.pods) > (group.fitting or 0) and group.why and not group.preempts and group.result != "gated"
            for group in answer.groups
            if group.result not in _PROBLEMS
        ):
            yield GAP
            told = "None of the changes and pairs of changes that were tried schedules any of them"
            lowered = any("Insufficient" in group.message for group in answer.groups)
            yield Paragraph(f"{told}{'; requests were lowered by 20 % at most' if lowered else ''}.")
        return
    yield GAP
    if answer.changes or answer.alone:
        yield table(("would place", _heading(answer)), rows, numeric=(0,))
    else:
        yield table(("change (none was tried)",), [(told,) for _, told in rows])
    if every:
        cures: tuple[AdviceData | UnblockingData, ...] = (*answer.changes, *answer.alone, *answer.advice)
        # Groups of one cause may have the same cure.
        yield from commands_of(("", told, own) for told, own in {cure.summary: cure.commands for cure in cures}.items())


def _heading(answer: Pending) -> str:
    if answer.advice:
        return "change (each tried, unless it says otherwise)"
    if len(answer.changes) > 1:
        return "change (each tried, after those above)"
    return "change (each tried)" if len(answer.changes) + len(answer.alone) > 1 else "change (tried)"


def _each_alone(tried: Sequence[UnblockingData]) -> str:
    """Return the groups or pods that a change was tried for, in words."""
    names = [one.group or listed(one.would_place) for one in tried]
    return f"{names[0]} alone" if len(names) == 1 else f"{listed(names)}, each alone"


def _costs(one: UnblockingData) -> str:
    # A wait for preemption names its victims already.
    told = f"; evicts {listed(one.evicts)}" if any(each not in one.summary for each in one.evicts) else ""
    told += f"; violates disruption budget {listed(one.violates)}" if one.violates else ""
    return "; ".join((told, *one.consequences))
