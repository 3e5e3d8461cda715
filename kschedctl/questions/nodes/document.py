"""The document of ``nodes``: the free capacity of groups, the nodes, and the namespaces or workloads that use them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.wording import counted, listed
from kschedctl.objects.karpenter import NODE_POOL_LABEL
from kschedctl.objects.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, PODS
from kschedctl.objects.resources import amount_of as with_unit
from kschedctl.questions.answer import amount_of, readable
from kschedctl.questions.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.document import (
    GAP,
    Document,
    Heading,
    Lines,
    Paragraph,
    Phrases,
    Question,
    Table,
    Tone,
    and_more,
    table,
)
from kschedctl.questions.explain.answer import PodData
from kschedctl.questions.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.node_map import nodes_map
from kschedctl.questions.nodes.answer import (
    NodeAmountsData,
    NodeDescription,
    NodeEntryData,
    NodesOverview,
    ResourceTotalData,
)

if TYPE_CHECKING:
    from kschedctl.questions.scheduling_cluster import SchedulingCluster

# Bars of a node: what each workload requests of its resources, what is free, and what a pod asks for.

#: The number of workloads with a colour of their own; the others share one.
_MOST_OWNERS: Final = 8
_OTHERS: Final = "others"
_NOMINATED: Final = "nominated pods"
_ASKED: Final = "this pod"
_FREE: Final = "free"
#: The kinds after the workloads.
_KINDS: Final = (
    Kind(_OTHERS, Tone.FAINT),
    Kind(_NOMINATED, Tone.MIXED),
    Kind(_ASKED, Tone.CAUTION),
    Kind(_FREE, Tone.GOOD, weak=True),
)


@dataclass(frozen=True, slots=True)
class _User:
    """A workload on the node: its number of pods, and the amounts that they request, in the scheduler's units."""

    name: str
    pods: int
    amounts: dict[str, int]


def node_bars(description: NodeDescription, pod: PodData | None = None) -> Bars:
    """Return a bar per resource of a node, divided by the workloads that request it.

    Args:
        pod: A pod to schedule: its requests are drawn after those of the others, even if they exceed what is free.
            If the pod is on the node already, its requests are not counted as those of its workload.
    """
    asked: dict[str, int] = {}
    if pod is not None:
        asked = {**{name: amount_of(name, quantity) for name, quantity in pod.requests.items()}, PODS: 1}
    users = tuple(_users(description, pod, asked))
    own = pod is not None and any(pod.key in owner.pods for owner in description.owners)
    resources = [each for each in description.node.resources.values() if each.resource in asked or _is_shown(each)]
    largest = _largest(users, resources)
    kinds = (*(Kind(user.name) for user in largest), *_KINDS)
    position = {kind.name: i for i, kind in enumerate(kinds)}
    rows = []
    for each in resources:
        name, wanted = each.resource, asked.get(each.resource, 0)
        offered = amount_of(name, each.allocatable)
        taken = amount_of(name, each.requested) - (wanted if own else 0)
        parts = tuple(_bar_parts(each, taken, wanted, largest))
        segments = tuple(Segment(position[kind], size, text) for kind, size, text in parts)
        numbers = (offered, taken, *((wanted,) if asked else ()), max(offered - taken, 0))
        mark = offered if sum(segment.size for segment in segments) > offered else None
        rows.append(Bar((name, *(with_unit(name, number) for number in numbers)), segments, offered, mark))
    notes = ["the line marks the allocatable amount"] if any(row.mark is not None for row in rows) else []
    if asked and any(segment.kind == position[_NOMINATED] for row in rows for segment in row.segments):
        notes.append(f"what {_NOMINATED} request is kept from pods of lower priority")
    used = sorted({segment.kind for row in rows for segment in row.segments})
    return Bars(
        title=f"Resources of {description.node.name}",
        headings=("resource", "allocatable", "requested", *((_ASKED,) if asked else ()), _FREE),
        kinds=tuple(kinds[i] for i in used),
        # The kinds of the rows are positions among all kinds, those of the chart among the used ones.
        rows=tuple(
            Bar(
                row.cells,
                tuple(Segment(used.index(each.kind), each.size, each.text) for each in row.segments),
                row.total,
                row.mark,
            )
            for row in rows
        ),
        note="; ".join(notes),
    )


def _is_shown(amounts: NodeAmountsData) -> bool:
    """Report whether a resource has a bar although the pod does not ask for it."""
    offered = amounts.allocatable != "0" and (amounts.resource in (CPU, MEMORY, PODS) or "/" in amounts.resource)
    return offered or amounts.requested != "0"


def _users(description: NodeDescription, pod: PodData | None, asked: dict[str, int]) -> Iterator[_User]:
    """Yield the workloads with pods on the node, without the pod itself."""
    for owner in description.owners:
        amounts = {name: amount_of(name, quantity) for name, quantity in owner.requests.items()}
        amounts[PODS] = len(owner.pods)
        if pod is not None and pod.key in owner.pods:
            amounts = {name: number - asked.get(name, 0) for name, number in amounts.items()}
        if amounts[PODS]:
            yield _User(owner.owner, amounts[PODS], amounts)


def _largest(users: Sequence[_User], resources: Sequence[NodeAmountsData]) -> tuple[_User, ...]:
    """Return the workloads that request the largest share of any resource but pods, largest first."""
    offered = {each.resource: amount_of(each.resource, each.allocatable) for each in resources}

    def share(user: _User) -> float:
        shares = (user.amounts.get(name, 0) / number for name, number in offered.items() if number and name != PODS)
        return max(shares, default=0.0)

    return tuple(sorted(users, key=lambda user: -share(user))[:_MOST_OWNERS])


def _bar_parts(
    each: NodeAmountsData, taken: int, wanted: int, largest: Sequence[_User]
) -> Iterator[tuple[str, int, str]]:
    """Yield the parts of the bar of a resource from left to right: kind, amount in the scheduler's units, and text."""
    name = each.resource
    rest = taken
    for user in largest:
        number = user.amounts.get(name, 0)
        if number:
            of_pods = "" if name == PODS else f" ({counted(user.pods, 'pod')})"
            yield user.name, number, f"{with_unit(name, number)}{of_pods}"
        rest -= number
    if rest > 0:
        yield _OTHERS, rest, with_unit(name, rest)
    nominated = amount_of(name, each.nominated)
    if nominated:
        yield _NOMINATED, nominated, with_unit(name, nominated)
    free = amount_of(name, each.allocatable) - taken - nominated - wanted
    if wanted:
        excess = f", {with_unit(name, min(-free, wanted))} too much" if free < 0 else ""
        yield _ASKED, wanted, f"{with_unit(name, wanted)}{excess}"
    if free > 0:
        yield _FREE, free, with_unit(name, free)


C = TypeVar("C")
A = TypeVar("A", NodeAmountsData, ResourceTotalData)
#: The number of nodes, and of namespaces or workloads, in a table without ``-o wide``.
_FEW_NODES: Final = 40
_FEW_USERS: Final = 5
#: The number of nodes up to which they have a table of their own beside the map, so that a page stays below 5 MB.
_MOST_DRAWN: Final = 2_000
_NO_VALUE: Final = "-"
#: The resources with a column of their own in the table of nodes; the others share one.
_COLUMNS: Final = (CPU, MEMORY, PODS)
#: The most other resources that have columns of their own.
_MOST_COLUMNS: Final = 2
#: The grouping of the default view.
_BY_TAINTS: Final = "taints"


def overview_document(answer: NodesOverview, view: View) -> Document:
    """Lay out several nodes."""
    by_default = answer.by == _BY_TAINTS
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.yes else Tone.BAD, ("Nodes",))
    yield from header(answer, view.now)
    yield GAP
    if view.drawn and answer.nodes:
        yield nodes_map(answer)
        yield GAP
    yield _groups_table(answer, every=view.wide)
    closed = sum(group.nodes - group.available for group in answer.groups)
    if closed:
        yield Paragraph(f"without the capacity of {counted(closed, 'node')}, cordoned or unhealthy", Tone.FAINT, 2)
    tainted = sum(node.available and any(map(_repels, node.taints)) for node in answer.nodes)
    if tainted and not by_default:
        yield Paragraph(f"with the capacity of {counted(tainted, 'tainted node')}: see --by taints", Tone.FAINT, 2)
    if view.drawn and len(answer.nodes) > _MOST_DRAWN:
        yield Paragraph("The nodes are listed in the table of the map.", Tone.FAINT)
    elif by_default or view.wide:
        yield from _nodes_section(answer.nodes, every=view.wide)
    users = [(each.namespace, each.pods, each.requests) for each in answer.namespaces]
    yield from _users_section("namespace", users, every=view.wide)
    yield from cautions(answer)
    questions = [] if view.wide else [Question("All columns", "nodes", options={"output": "wide"})]
    if by_default and any(node.zone for node in answer.nodes):
        questions.append(Question("By zone", "nodes", options={"by": "zone", "sort_by": None}))
    if answer.nodes:
        questions.insert(0, Question("One node", "nodes", answer.nodes[0].name, {"by": None, "sort_by": None}))
    yield from next_questions(questions)


def description_document(answer: NodeDescription, view: View) -> Document:
    """Lay out one node."""
    node = answer.node
    heading = f"Node {node.name}", (node.problem or node.status).capitalize()
    yield from first_line(answer, answer.summary, Tone.GOOD if node.available and answer.yes else Tone.BAD, heading)
    facts = {"zone": node.zone, "type": node.instance_type, "pool": node.pool, "kubelet": node.kubelet_version}
    if any(facts.values()):
        yield Phrases(tuple(f"{what} {value}" for what, value in facts.items() if value))
    yield from header(answer, view.now)
    yield GAP
    if view.drawn and node.resources:
        yield node_bars(answer)
        yield GAP
    shown = list(_shown_resources(node.resources.values(), every=view.wide))
    nominated = any(each.nominated != "0" for each in shown)
    rows = []
    for each in shown:
        amounts = [each.free, each.allocatable, each.requested, *([each.nominated] if nominated else [])]
        rows.append((each.resource, *(readable(each.resource, amount) for amount in amounts)))
    headings = ("resource", "free", "allocatable", "requested", *(("nominated pods request",) if nominated else ()))
    yield table(headings, rows, numeric=range(1, len(headings)))
    users = [(each.owner, len(each.pods), each.requests) for each in answer.owners]
    yield from _users_section("workload", users, every=True)
    if answer.nominated:
        yield Heading("Pending pods that are nominated to the node")
        yield _users_table("workload", [(each.owner, len(each.pods), each.requests) for each in answer.nominated])
    if node.taints:
        yield Heading("Taints")
        for taint in node.taints:
            yield Paragraph(taint, indent=2)
    if answer.resizes:
        yield Heading("Resizes that wait")
        for resize in answer.resizes:
            yield Paragraph(resize, indent=2)
    if answer.conditions:
        yield Heading("Conditions")
        conditions = [
            (each.type, each.status, f"{each.since:%Y-%m-%d %H:%M} UTC" if each.since else _NO_VALUE,
             each.reason or _NO_VALUE, each.message or _NO_VALUE)
            for each in answer.conditions
        ]  # fmt: skip
        yield table(("condition", "status", "since", "reason", "message"), conditions)
    if view.wide:
        if answer.labels:
            yield Heading("Labels")
            for key, value in sorted(answer.labels.items()):
                yield Paragraph(f"{key}={value}", indent=2)
        if answer.owners:
            yield Heading("Pods")
            yield table(("workload", "pods"), [(each.owner, each.pods) for each in answer.owners])
    yield from cautions(answer)
    yield from next_questions(_node_questions(answer, view))


def _node_questions(answer: NodeDescription, view: View) -> Iterator[Question]:
    name = answer.node.name
    yield Question("Drain it", "drain", name, {"ignore_daemonsets": True})
    if not view.wide:
        yield Question("Labels and pods", "nodes", name, {"output": "wide"})
    if NODE_POOL_LABEL in answer.labels:
        yield Question("Why Karpenter keeps it", "consolidate", name)


def _repels(taint: str) -> bool:
    """Report whether a taint keeps pods away that do not tolerate it."""
    return not taint.endswith(":PreferNoSchedule")


def _groups_table(answer: NodesOverview, *, every: bool) -> Table:
    """Return the table of groups, with one row per group and resource."""
    # Taints are long, so that they are the last column.
    last = answer.by == _BY_TAINTS
    rows: list[tuple[str | Lines, ...]] = []
    for group in answer.groups:
        nodes = f"{group.available} of {group.nodes}" if group.available < group.nodes else str(group.nodes)
        name = group.name or "none"
        amounts = list(_shown_resources(group.resources.values(), every=every))
        for i, total in enumerate(amounts):
            largest = f"{readable(total.resource, total.largest_free)} on {total.largest_free_node}"
            cells = (total.resource,), _free_lines(total), (largest if total.largest_free_node else _NO_VALUE,)
            rows.append(_placed(name if i == 0 else "", (nodes if i == 0 else "", *cells), last=last))
        if not amounts:
            rows.append(_placed(name, (nodes, _NO_VALUE, _NO_VALUE, _NO_VALUE), last=last))
    headings = _placed(answer.by, ("nodes", "resource", "free/allocatable", "largest free block"), last=last)
    return table(headings, rows, numeric=(0, 2) if last else (1, 3))


def _placed(name: str, cells: tuple[C, ...], *, last: bool) -> tuple[str | C, ...]:
    """Return the cells of a row with the name of its group, at the end if ``last``."""
    return (*cells, name) if last else (name, *cells)


def _shown_resources(resources: Iterable[A], *, every: bool) -> Iterator[A]:
    """Yield the resources that are shown: without ``every``, no local storage and no huge pages."""
    for each in resources:
        if every or not (each.resource == EPHEMERAL_STORAGE or each.resource.startswith(HUGEPAGES_PREFIX)):
            yield each


def _nodes_section(nodes: Sequence[NodeEntryData], *, every: bool) -> Document:
    shown = nodes if every else nodes[:_FEW_NODES]
    others = list(dict.fromkeys(o.resource for n in shown for o in _shown_resources(n.resources.values(), every=every)))
    others = [name for name in others if name not in _COLUMNS]
    # With many extended resources, their columns would take more width than a terminal has.
    own = (*_COLUMNS, *others) if len(others) <= _MOST_COLUMNS else _COLUMNS
    rest = [name for name in others if name not in own]
    headings = ["node", "status", *(("zone", "type", "pool", "kubelet") if every else ())]
    headings += list(own) + (["other resources"] if rest else []) + (["taints"] if every else [])
    rows = []
    for node in shown:
        wide = (node.zone, node.instance_type, node.pool, node.kubelet_version) if every else ()
        by_name = node.resources
        amounts = [_free_lines(by_name[name]) if name in by_name else (_NO_VALUE,) for name in own]
        if rest:
            lines = (f"{name} {line}" for name in rest if name in by_name for line in _free_lines(by_name[name]))
            amounts.append(tuple(lines) or (_NO_VALUE,))
        taints = [node.taints or (_NO_VALUE,)] if every else []
        # Taints are in the status if they keep pods away from a healthy node that is not cordoned.
        kept_away = node.available and any(map(_repels, node.taints))
        status = f"{node.status}, tainted" if kept_away else node.status
        cells = (node.name, node.problem or status, *(text or _NO_VALUE for text in wide))
        rows.append((*cells, *amounts, *taints))
    tones = [Tone.PLAIN if node.available else Tone.BAD if node.problem else Tone.MIXED for node in shown]
    yield GAP
    numeric = [headings.index(name) for name in own]
    yield table(headings, rows, tones=tones, identifiers=(0,), numeric=numeric)
    yield Paragraph("amounts: free/allocatable", Tone.FAINT, 2)
    yield from and_more(len(nodes) - len(shown), " nodes: -o wide")


def _free_lines(amounts: NodeAmountsData | ResourceTotalData) -> Lines:
    """Return the free amount, and the part of it that is requested by nominated pods."""
    name = amounts.resource
    lines = [f"{readable(name, amounts.free)}/{readable(name, amounts.allocatable)}"]
    if amounts.nominated != "0" and name != PODS:
        lines.append(f"{readable(name, amounts.nominated)} nominated")
    return tuple(lines)


def _users_section(heading: str, users: Sequence[tuple[str, int, Mapping[str, str]]], *, every: bool) -> Document:
    """Lay out the requests by namespace or workload."""
    if not users:
        return
    shown = users if every else users[:_FEW_USERS]
    yield from (GAP, _users_table(heading, shown))
    yield from and_more(len(users) - len(shown))


def _users_table(heading: str, users: Iterable[tuple[str, int, Mapping[str, str]]]) -> Table:
    rows = []
    for name, pods, requests in users:
        own = [readable(each, requests[each]) if each in requests else _NO_VALUE for each in (CPU, MEMORY)]
        others = [f"{readable(each, amount)} {each}" for each, amount in requests.items() if each not in _COLUMNS]
        rows.append((name, str(pods), *own, listed(others) or _NO_VALUE))
    if all(row[-1] == _NO_VALUE for row in rows):
        return table((heading, "pods", "cpu", "memory"), [row[:-1] for row in rows], numeric=(1, 2, 3))
    return table((heading, "pods", "cpu", "memory", "others"), rows, numeric=(1, 2, 3))


#: The number of pending pods that are named.
_MOST_PENDING_NAMED: Final = 5


def loaded_cluster_document(shown: "SchedulingCluster", view: View) -> Document:
    """Lay out the state of a loaded cluster for notebooks; nothing is simulated, so that it is shown at once."""
    cluster = shown.engine
    pending = [cluster.pods.key(index) for index in pending_pods(cluster.cluster)]
    if pending:
        verb = "is" if len(pending) == 1 else "are"
        of = f"{len(pending)} of {counted(len(cluster.pods), 'pod')} {verb} pending"
        yield Paragraph(f"{of}: {listed(pending, most=_MOST_PENDING_NAMED)}", Tone.MIXED)
    else:
        yield Paragraph("no pod is pending", Tone.GOOD)
    # Only notebooks show a cluster.
    from kschedctl.questions.handle import AnalysisHandle
    from kschedctl.questions.nodes.analysis import nodes_overview
    from kschedctl.questions.nodes.request import NodesRequest

    yield from overview_document(nodes_overview(cluster, NodesRequest(), AnalysisHandle()), view)
