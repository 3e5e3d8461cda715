"""The part of an answer that is about a pod group: its members, the domains that were tried, and the victims."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.pod_group import PodGroupData
from kschedctl.questions.presentation.document import GAP, Document, Heading, Paragraph, table
from kschedctl.questions.presentation.tone import Tone
from kschedctl.scheduler.cycle.outcome import GroupOutcome

_WAITS: Final = "waits for its group"
_WHY_THESE: Final = (
    "kube-scheduler tries the group without any pod of lower priority, then puts back pods as long as the group still "
    "fits, the most important first. These are left over."
)


def pod_group_section(group: PodGroupData, *, every_member: bool) -> Document:
    """Lay out the decision for a group.

    Parameters
    ----------
    every_member : bool
        True to list the members one by one.
    """
    yield GAP
    yield Paragraph(_facts(group))
    if group.placements:
        yield from _placements_section(group)
    if every_member:
        yield from _members_section(group)
    if group.victims:
        yield from _victims_section(group)


def whose_nodes(group: PodGroupData) -> Document:
    """Lay out the line above the table of nodes: they are those of the first member that finds none."""
    failing = next((member for member in group.members if not member.node), None)
    if failing is not None and group.outcome is not GroupOutcome.SCHEDULED:
        yield GAP
        before = sum(1 for member in group.members if member.node)
        beside = f", with {counted(before, 'member')} before it in place" if before else ""
        yield Paragraph(f"The nodes as {failing.pod} finds them{beside}:", Tone.FAINT)


def _facts(group: PodGroupData) -> str:
    facts = [f"priority {group.priority}"]
    if group.min_count is not None:
        facts.insert(0, f"minCount {group.min_count}")
    if group.scheduled:
        facts.append(f"{counted(group.scheduled, 'member')} on nodes already")
    if group.topology_key:
        facts.append(f"all in one {group.topology_key}")
    if group.evicted_as_a_whole:
        facts.append("evicted by preemption only as a whole")
    title = f"{group.title[0].upper()}{group.title[1:]}"
    return f"{title}: {', '.join(facts)}."


def _placements_section(group: PodGroupData) -> Document:
    rows = [
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
    header = (group.topology_key, "nodes", "members", "", "what stops the next")
    yield table(header, rows, numeric=(1,), tones=tones)


def _members_section(group: PodGroupData) -> Document:
    yield GAP
    rows = [
        (member.pod, member.node or "none", "" if member.bound else _WAITS if member.node else member.message)
        for member in group.members
    ]
    yield table(("member", "node", "message"), rows)


def _victims_section(group: PodGroupData) -> Document:
    yield Heading("Evicted for the group")
    in_groups = any(unit.group for unit in group.victims)
    rows = [
        (
            f"pod group {unit.group}" if unit.group else unit.pods[0],
            str(unit.priority),
            *((listed(list(unit.pods) if unit.group else ["-"]),) if in_groups else ()),
        )
        for unit in group.victims
    ]
    yield table(("victim", "priority", *(("pods",) if in_groups else ())), rows, numeric=(1,))
    yield Paragraph(_WHY_THESE, Tone.FAINT)
