"""The parts that surround every answer: its subject and provenance before it, cautions and next questions after it."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from datetime import UTC, datetime
from typing import Final, Self, TypeVar

import msgspec
from msgspec.structs import replace

from kschedctl.common.wording import counted, listed
from kschedctl.objects.kinds import PERMISSIONS_PAGE
from kschedctl.questions.answer import Envelope, MissingData, readable
from kschedctl.questions.answer_parts import CureData, DiagnosisData, GroupLossData, PodGroupData
from kschedctl.questions.document import (
    GAP,
    INDENT,
    Document,
    Heading,
    Paragraph,
    Provenance,
    Question,
    Questions,
    Tone,
    Verbatim,
    table,
)
from kschedctl.questions.explain.answer import PodData
from kschedctl.questions.nodes.answer import NodeDescription, NodesOverview
from kschedctl.scheduler.cycle.outcome import GroupOutcome

A = TypeVar("A")
#: The name of a cluster that was not read from files.
LIVE: Final = "running cluster"
#: A note that pods were decided independently.
EACH_ALONE: Final = "each decided independently, against the unchanged snapshot"
#: The number of warnings that are printed; the others are counted.
_MOST_WARNINGS: Final = 10
#: The end of the sentence that a kind could not be listed.
_CANNOT: Final = " cannot be listed by this user"
#: The most cells in the maps of several answers, with which a page stays below about 5 MB.
_MOST_CELLS: Final = 10_000


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an answer that is shown; commands with options of their own derive from it."""

    #: The time for which the snapshot's age is computed.
    now: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))
    #: True to show all items one by one instead of in groups.
    wide: bool = False
    #: True if the objects were named on the command line: a list of answers is then laid out answer by answer.
    named: bool = False
    #: True for formats that draw charts: the document then contains them.
    drawn: bool = False
    #: The nodes of the cluster, for charts of nodes; ``None`` if they are unknown or not needed.
    overview: NodesOverview | None = None
    #: Describes a node of the cluster by its name, for charts of the node; ``None`` if nodes are unknown.
    describe: Callable[[str], NodeDescription] | None = None

    def among(self, answers: int) -> Self:
        """Return the view of one of several answers: without charts of nodes if they would be too large together."""
        if self.overview is not None and answers > 1 and answers * len(self.overview.nodes) > _MOST_CELLS:
            return replace(self, overview=None, describe=None)
        return self


def first_line(answer: Envelope, text: str, tone: Tone = Tone.PLAIN, heading: tuple[str, ...] = ()) -> Document:
    """Lay out the first line of an answer.

    If kinds that decide could not be listed, it says that the answer is not known, and what it would be without them.

    Args:
        heading: The short heading of a page: the subject, and its state if the first line says no more about it.
    """
    names = [each.needed_for.partition(_CANNOT)[0] for each in answer.unlisted]
    if names:
        text = f"Not known: {listed(names, most=3)}{_CANNOT}. As far as is known: {text}"
        heading = (*heading[:1], *(("Not known",) if heading[1:] else ()))
    yield Paragraph(text, Tone.CAUTION if names else tone, heading=heading)


def header(answer: Envelope, now: datetime, pod: PodData | None = None) -> Document:
    """Lay out the subject and the provenance of an answer.

    Args:
        now: The time for which the snapshot's age is computed.
        pod: The pod to schedule, if the answer is about one.
    """
    yield provenance(answer, now, pod)


def provenance(answer: Envelope, now: datetime, pod: PodData | None = None) -> Provenance:
    """Return the subject and the provenance of an answer; the parameters are those of `header`."""
    about: tuple[str, ...] = ()
    if pod is not None:
        amounts = [f"{readable(name, amount)} {name}" for name, amount in pod.requests.items()]
        about = (
            f"wants {', '.join(amounts)}" if amounts else "requests nothing",
            f"priority {pod.priority}" + (f" ({pod.priority_class_name})" if pod.priority_class_name else ""),
            f"profile {pod.scheduler_name}",
        )
    snapshot = answer.snapshot
    written, aged = ("", "") if snapshot.written_at is None else time_and_age(snapshot.written_at, now)
    return Provenance(
        about, tuple(rules_and_size(answer)), snapshot.changes, ", ".join(snapshot.paths) or LIVE, written, aged
    )


def each_alone(whom: str = "", indent: int = 0) -> Document:
    """Lay out a note that pods were decided independently; ``whom`` is the subject, empty below a table."""
    yield Paragraph(f"{whom}, {EACH_ALONE}" if whom else EACH_ALONE, Tone.FAINT, indent)


def basis(answer: Envelope, view: View) -> Iterator[str]:
    """Yield the rules and the snapshot that an answer is based on, as short texts; a page has no age, as it is kept."""
    found = provenance(answer, view.now)
    yield from replace(found, state="").phrases
    if found.state:
        yield f"state of {found.state}" if view.drawn else f"state of {found.state}, {found.age}"


def rules_and_size(answer: Envelope) -> Iterator[str]:
    """Yield the rules and the size of the snapshot that an answer is based on, as short texts."""
    rules, snapshot = answer.rules, answer.snapshot
    yield f"rules of Kubernetes {rules.kubernetes_version} ({rules.why})"
    yield f"snapshot of {counted(snapshot.nodes, 'node')}, {counted(snapshot.pods, 'pod')}"


def time_and_age(then: datetime, now: datetime) -> tuple[str, str]:
    """Return a time with its zone, and its age, such as ``2026-05-04 10:00:00 UTC`` and ``3 min ago``."""
    return time_in_words(then), age(then, now)


def time_in_words(moment: datetime) -> str:
    """Return a time with its zone.

    >>> time_in_words(datetime(2026, 5, 4, 10, tzinfo=UTC))
    '2026-05-04 10:00:00 UTC'
    """
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def age(then: datetime, now: datetime) -> str:
    """Return the age of a time in words.

    >>> from datetime import timedelta
    >>> moment = datetime(2026, 5, 4)
    >>> age(moment, moment + timedelta(minutes=3)), age(moment, moment + timedelta(hours=50))
    ('3 min ago', '2 days ago')
    """
    seconds = max(int((now - then).total_seconds()), 0)
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60} min ago"
    if seconds < 48 * 3600:
        return f"{seconds // 3600} h ago"
    return f"{seconds // 86400} days ago"


def cautions(answer: Envelope) -> Document:
    """Lay out warnings, missing objects and features that are not modelled."""
    lines = [f"warning: {text}" for text in answer.warnings[:_MOST_WARNINGS]]
    if len(answer.warnings) > _MOST_WARNINGS:
        lines.append(f"and {len(answer.warnings) - _MOST_WARNINGS} more warnings: -o json prints all")
    unlisted = [m for m in answer.missing if m.permission]
    for start, some in (("not known", answer.unlisted), ("incomplete", [m for m in unlisted if not m.decides])):
        by_effect: dict[str, list[str]] = {}
        for lack in some:
            by_effect.setdefault(lack.effect, []).append(lack.needed_for.partition(_CANNOT)[0])
        lines += [f"{start}: {listed(names)}{_CANNOT}: {effect}" for effect, names in by_effect.items()]
    if unlisted:
        commands = [f"kubectl auth can-i {m.permission}" for m in unlisted]
        lines.append(f"permission is required: {'; '.join(commands[:3])}; {PERMISSIONS_PAGE}")
    alike: dict[tuple[str, str], list[MissingData]] = {}
    for each in answer.missing:
        if each not in unlisted:
            alike.setdefault((each.kind, each.effect), []).append(each)
    others = tuple(
        MissingData(kind, group[0].needed_for + (f" (and {len(group) - 1} more)" if len(group) > 1 else ""), effect)
        for (kind, effect), group in alike.items()
    )
    lines += [f"not in the snapshot: {m.needed_for}: {m.effect}" for m in others]
    lines += [f"not modelled: {n.feature}; {n.effect}" for n in answer.not_modelled]
    if lines:
        yield GAP
    for line in lines:
        yield Paragraph(line, Tone.CAUTION)


def one_by_one(
    answers: Iterable[A], view: View, document: Callable[[A, View], Document], shown: Provenance | None = None
) -> Document:
    """Lay out answers in full, one after the other; rules and snapshot only where they are not as before.

    Args:
        shown: The basis that was shown before the first answer.
    """
    if isinstance(answers, Sized):
        view = view.among(len(answers))
    for i, answer in enumerate(answers):
        if i:
            yield from (GAP, GAP)
        untitled = view.drawn and (i > 0 or shown is not None)
        for block in document(answer, view):
            if isinstance(block, Provenance):
                yield block.after(shown)
                shown = block
            elif untitled and isinstance(block, Paragraph):
                yield Heading(heading_words(block) or block.text)
                if block.heading:
                    yield block
                untitled = False
            else:
                yield block


def heading_words(paragraph: Paragraph) -> str:
    """Return the short heading of a first line in words, ``Pod shop/web-1 \u00b7 Pending``; empty without one."""
    return " \u00b7 ".join(paragraph.heading)


def next_questions(questions: Iterable[Question]) -> Document:
    """Lay out the next questions, if there are any."""
    if every := tuple(questions):
        yield from (GAP, Questions(every))


# The table of changes with which a pod is scheduled, or a drain or rollout finishes.


def cures_section(cures: Sequence[CureData], *, every: bool) -> Document:
    """Lay out cures; nothing if there are none.

    Args:
        every: True to show the commands that make the changes.
    """
    if not cures:
        return
    yield heading(untried=any(one.untried for one in cures))
    rows = [(one.summary, untried_or(one.untried, one.then), one.commands) for one in cures]
    yield from numbered_changes(rows, every=every)


def heading(*, untried: bool) -> Heading:
    """Return the heading of suggestions; ``untried`` is true if some of them cannot be tried."""
    return Heading("Suggestions (each tried, unless it says otherwise)" if untried else "Suggestions (each tried)")


def untried_or(untried: str, then: str) -> str:
    """Return the result of a change, or the reason why it was not tried."""
    return f"not tried: {untried}" if untried else then


def numbered_changes(
    rows: Iterable[tuple[str, str, Sequence[str]]], *, every: bool, trials: Sequence[Question | None] = ()
) -> Document:
    """Lay out changes with their results, and optionally the commands that make them.

    Args:
        rows: The change, its result, and its commands.
        every: True to show the commands.
        trials: The question about the state after each change; empty if there is none.
    """
    numbered = [(str(number), *row) for number, row in enumerate(rows, 1)]
    shown = [(number, summary, then) for number, summary, then, _ in numbered]
    yield replace(table(("", "change", "then"), shown, numeric=(0,)), questions=tuple(trials))
    if every:
        yield from commands_of((f"{number}: ", summary, commands) for number, summary, _, commands in numbered)


def commands_of(changes: Iterable[tuple[str, str, Sequence[str]]]) -> Document:
    """Lay out the commands of changes so that they can be pasted into a shell: what each is for is a comment.

    Args:
        changes: The number of the change, the change in words, and its commands; those without one are left out.
    """
    lines = [
        line
        for number, told, commands in changes
        if commands
        for line in (f"# {number}{told}", *(each for each in commands if each != f"# {told}"))
    ]
    if lines:
        yield Paragraph("Commands", Tone.FAINT, INDENT)
        yield from (Verbatim(line, indent=INDENT) for line in lines)


# The sections about diagnoses, shared by all documents.


def diagnosis_section(diagnoses: Sequence[DiagnosisData], *, first_is_told: bool = True) -> Document:
    """Lay out the causes with their evidence.

    Args:
        first_is_told: True if the first line of the document already has the first cause.
    """
    told = first_is_told
    for each in diagnoses:
        if not told:
            yield Paragraph(f"cause: {each.cause}", Tone.BAD)
        elif each is not diagnoses[0]:
            yield Paragraph(f"also: {each.cause}", Tone.MIXED)
        told = True
        for fact in each.evidence:
            yield Paragraph(fact, Tone.FAINT, INDENT)


def checks_section(diagnoses: Sequence[DiagnosisData]) -> Document:
    """Lay out the commands that show what the snapshot does not contain."""
    commands = tuple(dict.fromkeys(command for each in diagnoses for command in each.checks))
    if commands:
        yield from (GAP, Paragraph("The snapshot does not contain more; look at", Tone.FAINT))
        for command in commands:
            yield Verbatim(command)


# The section about pod groups that lose members.


def group_losses_section(groups: Sequence[GroupLossData]) -> Document:
    """Lay out the groups that lose members, and what their evictions mean for the other members."""
    if not groups:
        return
    yield Heading("Pod groups that lose members")
    rows = [
        (
            f"{group.namespace}/{group.name}",
            "-" if group.min_count is None else str(group.min_count),
            str(group.before),
            str(len(group.evicted)),
            str(len(group.preempted)),
            str(group.fewest),
            str(group.after),
        )
        for group in groups
    ]
    tones = [Tone.BAD if group.is_short else Tone.CAUTION if group.was_short else Tone.PLAIN for group in groups]
    header = ("group", "minCount", "pods", "evicted", "preempted", "at the lowest", "at the end")
    yield table(header, rows, numeric=range(1, 7), tones=tones)
    if any(group.was_short for group in groups):
        text = "below minCount the pods that are left run on: minCount holds only when pods are scheduled"
        yield Paragraph(text, Tone.FAINT, 2)
    if any(group.disrupted_as_a_whole and group.evicted for group in groups):
        text = "disruptionMode all holds only for preemption: an eviction or deletion ends one pod"
        yield Paragraph(text, Tone.FAINT, 2)


# The part of an answer that is about a pod group: its members, the domains that were tried, and the victims.

_WAITS: Final = "waits for its group"
_WHY_THESE: Final = (
    "kube-scheduler tries the group without any pod of lower priority, then puts back pods as long as the group still "
    "fits, the most important first. These are left over."
)


def pod_group_section(group: PodGroupData, *, every_member: bool) -> Document:
    """Lay out the decision for a group.

    Args:
        every_member: True to list the members one by one.
    """
    yield from (GAP, Paragraph(_facts(group)))
    if group.placements:
        placements = [
            (
                each.name,
                str(each.nodes),
                f"{each.members} of {len(group.members)}",
                "chosen" if each.chosen else "fits" if each.fits else "no",
                each.stops,
            )
            for each in group.placements
        ]
        tones = [Tone.STRONG if each.chosen else Tone.PLAIN for each in group.placements]
        yield GAP
        headings = (group.topology_key, "nodes", "members", "", "what stops the next")
        yield table(headings, placements, numeric=(1,), tones=tones)
    if group.subgroups:
        below = [
            (
                "  " * (each.depth - 1) + each.name,
                f"{each.least} of {counted(each.groups, 'group')}"
                if each.groups
                else f"{each.least} of {each.members}",
                f"{each.fitting} of {each.members}",
                "fits" if each.fits else "no",
                each.message,
            )
            for each in group.subgroups
        ]
        yield GAP
        yield table(("group", "needs", "members", "", "message"), below)
    if every_member:
        rows = [
            (member.pod, member.node or "none", "" if member.bound else _WAITS if member.node else member.message)
            for member in group.members
        ]
        yield from (GAP, table(("member", "node", "message"), rows))
    if group.victims:
        yield from _victims_section(group)


def whose_nodes(group: PodGroupData) -> Document:
    """Lay out the line above the table of nodes: they are those of the first member that finds none."""
    failing = next((member for member in group.members if not member.node), None)
    if failing is not None and group.outcome is not GroupOutcome.SCHEDULED:
        yield GAP
        before = sum(1 for member in group.members if member.node)
        # A group of a tree that fails gives its nodes back.
        beside = f", with {counted(before, 'member')} before it in place" if before and not group.subgroups else ""
        yield Paragraph(f"The nodes as {failing.pod} finds them{beside}:", Tone.FAINT)


def _facts(group: PodGroupData) -> str:
    facts = [f"priority {group.priority}"]
    if group.min_count is not None:
        facts.insert(0, f"minCount {group.min_count}")
    if group.min_group_count is not None:
        facts.insert(0, f"minGroupCount {group.min_group_count}")
    if group.scheduled:
        facts.append(f"{counted(group.scheduled, 'member')} on nodes already")
    if group.topology_key:
        facts.append(f"all in one {group.topology_key}")
    if group.evicted_as_a_whole:
        facts.append("evicted by preemption only as a whole")
    title = f"{group.title[0].upper()}{group.title[1:]}"
    return f"{title}: {', '.join(facts)}."


def _victims_section(group: PodGroupData) -> Document:
    yield Heading("Evicted for the group")
    in_groups = any(unit.group for unit in group.victims)
    rows = [
        (unit.title, str(unit.priority), *((listed(list(unit.pods) if unit.group else ["-"]),) if in_groups else ()))
        for unit in group.victims
    ]
    yield table(("victim", "priority", *(("pods",) if in_groups else ())), rows, numeric=(1,))
    yield Paragraph(_WHY_THESE, Tone.FAINT)
