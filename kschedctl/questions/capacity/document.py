"""The document of ``capacity``: the number of further copies, the nodes that take them, and what stops the next one."""

from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answer import merged_envelope
from kschedctl.questions.capacity.answer import CapacityList, GangCopiesData, MoreCopiesData, PodCapacity
from kschedctl.questions.charts import Bar, Bars, Colouring, Kind, NodeMap, Segment
from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Question, Tone, Verbatim, and_more, table
from kschedctl.questions.frame import View, cautions, first_line, header, heading, next_questions, numbered_changes
from kschedctl.questions.node_groups import group_nodes
from kschedctl.questions.node_map import NodeResult, rejection_lines, results_map
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.scheduler.cycle.outcome import GroupOutcome

# The charts of capacity: the copies by node, and what rejects the next one.

#: The most nodes, and the most workloads, with a bar.
_MOST_BARS: Final = 60
#: The number of colours for nodes with copies.
_STEPS: Final = 5
_NO_COPY: Final = "none"
_ACCEPTS: Final = "accepts the next copy"


def capacity_map(answer: PodCapacity, overview: NodesOverview) -> NodeMap:
    """Return a map of the nodes by the number of copies, and by the plugin that rejects the next one."""
    copies = {room.node: room.copies for room in answer.nodes}
    refusals = {node.name: node for node in answer.refusals if not node.fits}
    most = max(copies.values(), default=0)
    results = {}
    for node in overview.nodes:
        refusal = refusals.get(node.name)
        number = copies.get(node.name, 0)
        lines = (_counted(number, answer), *(rejection_lines(refusal) if refusal is not None else ()))
        plugin = refusal.plugin or "PreFilter" if refusal is not None else _ACCEPTS
        results[node.name] = NodeResult((_step(number, most), plugin), lines)
    plugins = sorted({result.kinds[1] for result in results.values()} - {_ACCEPTS})
    colourings = (
        Colouring(_unit(answer), _steps(most), scale=True),
        Colouring("rejection of the next copy", (Kind(_ACCEPTS, Tone.GOOD), *map(Kind, plugins))),
    )
    return results_map(overview.nodes, results, colourings, answer.pod.requests)


def _unit(answer: PodCapacity) -> str:
    return "copies" if answer.gang is None else "pods"


def _counted(number: int, answer: PodCapacity) -> str:
    return "1 copy" if number == 1 and answer.gang is None else f"{number} {_unit(answer)}" if number != 1 else "1 pod"


def _steps(most: int) -> tuple[Kind, ...]:
    """Return the steps of a scale from no copy to the largest number on a node."""
    return tuple(Kind(name) for name in dict.fromkeys(_step(number, most) for number in range(most + 1)))


def _step(number: int, most: int) -> str:
    """Return the step of a number of copies: one of at most 5 ranges of equal size.

    >>> _step(0, 9), _step(3, 9), _step(9, 9), _step(3, 4)
    ('none', '3 to 4', '9', '3')
    """
    if not number:
        return _NO_COPY
    size = -(-most // _STEPS)
    first = (number - 1) // size * size + 1
    last = min(first + size - 1, most)
    return str(first) if first == last else f"{first} to {last}"


def copies_bars(answer: PodCapacity) -> Bars:
    """Return the number of copies by node, most copies first, coloured by zone."""
    longest = max(room.copies for room in answer.nodes)
    shown = answer.nodes[:_MOST_BARS]
    zones = tuple(dict.fromkeys(room.zone for room in shown))
    rows = []
    for room in shown:
        text = _counted(room.copies, answer)
        rows.append(Bar((room.node, text), (Segment(zones.index(room.zone), room.copies, text),), longest))
    left = len(answer.nodes) - len(shown)
    return Bars(
        title=f"{_unit(answer).capitalize()} by node",
        measure="copies",
        headings=("node", _unit(answer)),
        kinds=tuple(Kind(f"zone {zone}" if zone else "no zone") for zone in zones),
        rows=tuple(rows),
        note=f"and {counted(left, 'more node')}, each with at most {shown[-1].copies}" if left else "",
        numbers=False,
    )


def workloads_bars(found: CapacityList) -> Bars:
    """Return the number of further copies by workload."""
    shown = found.items[:_MOST_BARS]
    rows = []
    for answer in shown:
        text = f"{'at least ' if answer.bounded else ''}{_counted(answer.copies, answer)}"
        segments = (Segment(int(answer.bounded), answer.copies, text),) if answer.copies else ()
        rows.append(Bar((answer.name, text), segments, max((each.copies for each in shown), default=0) or 1))
    left = len(found.items) - len(shown)
    return Bars(
        title="Further copies by workload",
        measure="copies",
        headings=("workload", "copies"),
        kinds=(Kind("all copies that fit", Tone.GOOD), Kind("at least, counted up to the limit", Tone.GOOD, weak=True)),
        rows=tuple(rows),
        note=f"and {counted(left, 'more workload')}" if left else "",
        numbers=False,
    )


#: The number of nodes in the table without ``-o wide``.
_FEW: Final = 8
_OUTSIDE: Final = "TopologyPlacementGenerator"


def document(answer: PodCapacity, view: View) -> Document:
    """Lay out an answer for one pod.

    Args:
        view: The part of the answer that is shown.
    """
    heading_of_page = f"Capacity for {answer.name}", "Copies fit" if answer.copies else "No copy fits"
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.copies else Tone.BAD, heading_of_page)
    for cause in answer.diagnoses[:1]:
        yield Paragraph(f"what stops {'the next copy' if answer.copies else 'it'}: {cause.cause}", Tone.BAD)
    yield from header(answer, view.now, answer.pod)
    if answer.nodes:
        what = "copies" if answer.gang is None else "pods"
        zoned = any(room.zone for room in answer.zones)
        if zoned:
            yield Heading("Zones")
            sizes = [(room.zone or "none", str(room.nodes), str(room.copies)) for room in answer.zones]
            yield table(("zone", "nodes", what), sizes, numeric=(1, 2))
        shown = answer.nodes if view.wide else answer.nodes[:_FEW]
        yield Heading("Nodes")
        columns = [(room.node, *((room.zone,) if zoned else ()), str(room.copies)) for room in shown]
        headings = ("node", *(("zone",) if zoned else ()), what)
        yield table(headings, columns, numeric=(len(headings) - 1,), identifiers=(0,))
        yield from and_more(len(answer.nodes) - len(shown), " nodes: -o wide")
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
    if answer.suggestions:
        yield heading(untried=False)
        rows_of_changes = [(one.summary, _then(one, answer), one.commands) for one in answer.suggestions]
        yield from numbered_changes(rows_of_changes, every=view.wide)
    if view.drawn:
        if view.overview is not None and (answer.nodes or answer.refusals):
            yield from (GAP, capacity_map(answer, view.overview))
        if answer.nodes:
            yield from (GAP, copies_bars(answer))
    yield from cautions(answer)
    yield from next_questions(
        () if view.wide else (Question("All nodes", "capacity", answer.copied, {"output": "wide"}),)
    )


def _then(one: MoreCopiesData, answer: PodCapacity) -> str:
    """Return the number of copies with a suggestion, in words."""
    number = f"{'at least ' if one.bounded else ''}{counted(one.copies, 'more pod')}"
    return f"{number} {'fits' if one.copies == 1 else 'fit'} instead of {answer.copies}"


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
        found = f"A further {gang.kind} finds nodes for {following.fitting} of its {counted(gang.pods, 'pod')}"
        needed = "" if gang.min_count is None else f"; minCount is {gang.min_count}"
        starts = ", and starts with them" if following.outcome is GroupOutcome.SCHEDULED else ""
        yield from (GAP, Paragraph(f"{found}{starts}{needed}."))


def list_document(found: CapacityList, view: View) -> Document:
    """Lay out several answers, one row each; a single answer in full."""
    answers = found.items
    if len(answers) == 1:
        yield from document(answers[0], view)
        return
    basis = merged_envelope(answers)
    yield from first_line(basis, found.summary, Tone.FAINT, ("Capacity by workload",))
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
        why = answer.diagnoses[0].cause if answer.diagnoses else why
        least = "at least " if answer.bounded else ""
        rows.append((answer.name, f"{least}{answer.copies}", str(len(answer.nodes)), why))
    tones = [Tone.PLAIN if answer.copies else Tone.BAD for answer in answers]
    yield table(("workload", "copies", "nodes", "what stops the next copy"), rows, numeric=(1, 2), tones=tones)
    yield from cautions(basis)
    yield from next_questions([Question("One in detail", "capacity", answers[0].copied)])
