"""The document of ``capacity``: the number of further copies, the nodes that take them, and what stops the next one."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answers.base import merged_envelope
from kschedctl.questions.answers.capacity import CapacityList, GangCopiesData, PodCapacity
from kschedctl.questions.answers.node_groups import group_nodes
from kschedctl.questions.answers.pod_group import PodGroupData
from kschedctl.questions.presentation.capacity_charts import capacity_map, copies_bars, workloads_bars
from kschedctl.questions.presentation.document import GAP, Document, Heading, Paragraph, Question, Verbatim, table
from kschedctl.questions.presentation.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.presentation.tone import Tone
from kschedctl.scheduler.cycle.outcome import GroupOutcome

#: The number of nodes in the table without ``-o wide``.
_FEW: Final = 8
_OUTSIDE: Final = "TopologyPlacementGenerator"


def document(answer: PodCapacity, view: View) -> Document:
    """Lay out an answer for one pod.

    Parameters
    ----------
    view : View
        The part of the answer that is shown.
    """
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.copies else Tone.BAD)
    yield from header(answer, view.now, answer.pod)
    if view.drawn:
        yield from _charts_section(answer, view)
    yield from _rooms(answer, every=view.wide)
    if answer.gang is not None:
        yield from _gang_section(answer.gang)
    groups = group_nodes(answer.refusals)
    if groups:
        yield Heading("Nodes that reject the next copy")
        rows = []
        for group in groups:
            lines = [*group.why.split("\n"), *([group.closest] if group.closest else [])]
            rows.append((str(len(group.nodes)), group.plugin, lines))
        yield table(("nodes", "plugin", "reason"), rows, numeric=(0,))
    if answer.message:
        yield Heading("Message of kube-scheduler for the next copy")
        yield Verbatim(answer.message)
    if answer.gate:
        yield Heading("Why kube-scheduler does not try it")
        yield Verbatim(answer.gate)
    yield from cautions(answer)
    yield from next_questions(
        () if view.wide else (Question("All nodes", "capacity", answer.copied, {"output": "wide"}),)
    )


def _charts_section(answer: PodCapacity, view: View) -> Document:
    if view.overview is not None and (answer.nodes or answer.refusals):
        yield GAP
        yield capacity_map(answer, view.overview)
    if answer.nodes:
        yield GAP
        yield copies_bars(answer)


def _rooms(answer: PodCapacity, *, every: bool) -> Document:
    if not answer.nodes:
        return
    what = "copies" if answer.gang is None else "pods"
    zoned = any(room.zone for room in answer.zones)
    if zoned:
        yield Heading("Zones")
        rows = [(room.zone or "none", str(room.nodes), str(room.copies)) for room in answer.zones]
        yield table(("zone", "nodes", what), rows, numeric=(1, 2))
    shown = answer.nodes if every else answer.nodes[:_FEW]
    yield Heading("Nodes")
    columns = [(room.node, *((room.zone,) if zoned else ()), str(room.copies)) for room in shown]
    headings = ("node", *(("zone",) if zoned else ()), what)
    yield table(headings, columns, numeric=(len(headings) - 1,), identifiers=(0,))
    if len(shown) < len(answer.nodes):
        yield Paragraph(f"and {len(answer.nodes) - len(shown)} more nodes: -o wide", Tone.FAINT, 2)


def _gang_section(gang: GangCopiesData) -> Document:
    """Lay out the domains of the topology constraint, and the part of the next copy that finds nodes."""
    following = gang.next
    if following is None:
        return
    if following.placements:
        copies = {domain.name: domain.copies for domain in gang.domains}
        rows = [
            (each.name, str(copies.get(each.name, 0)), f"{each.members} of {gang.pods}", each.stops or "-")
            for each in following.placements
        ]
        yield Heading("Topology domains")
        headings = (following.topology_key, f"{gang.kind}s", "pods of the next", "what stops the next pod")
        yield table(headings, rows, numeric=(1,), identifiers=(0,))
    if following.fitting < gang.pods:
        yield GAP
        yield Paragraph(_next_copy(gang, following))


def _next_copy(gang: GangCopiesData, following: PodGroupData) -> str:
    found = f"A further {gang.kind} finds nodes for {following.fitting} of its {counted(gang.pods, 'pod')}"
    needed = "" if gang.min_count is None else f"; minCount is {gang.min_count}"
    starts = ", and starts with them" if following.outcome is GroupOutcome.SCHEDULED else ""
    return f"{found}{starts}{needed}."


def list_document(found: CapacityList, view: View) -> Document:
    """Lay out several answers, one row each; a single answer in full."""
    answers = found.items
    if len(answers) == 1:
        yield from document(answers[0], view)
        return
    basis = merged_envelope(answers)
    workloads = counted(len(answers), "workload")
    text = f"{workloads}, each counted independently, without the copies of the others"
    yield from first_line(basis, text, Tone.FAINT)
    yield from header(basis, view.now)
    yield GAP
    if view.drawn:
        yield workloads_bars(found)
        yield GAP
    rows = []
    for answer in answers:
        refusals = answer.refusals
        if answer.gang is not None:
            # A node outside the domain of the attempt says nothing about what the gang lacks.
            refusals = tuple(node for node in refusals if node.plugin != _OUTSIDE) or refusals
        groups = group_nodes(refusals)
        why = groups[0].why.split("\n")[0] if groups else answer.message or answer.gate or "-"
        least = "at least " if answer.bounded else ""
        rows.append((answer.name, f"{least}{answer.copies}", str(len(answer.nodes)), why))
    tones = [Tone.PLAIN if answer.copies else Tone.BAD for answer in answers]
    yield table(("workload", "copies", "nodes", "rejection of the next copy"), rows, numeric=(1, 2), tones=tones)
    yield from cautions(basis)
    yield from next_questions([Question("One in detail", "capacity", answers[0].copied)])
