"""The document of ``optimum``: both placements, their differences, and adjustments that reach the best one."""

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import counted, duration, listed
from kschedctl.questions.charts import Kind, zone_bars
from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Question, Tone, and_more, table
from kschedctl.questions.frame import View, cautions, first_line, header, next_questions
from kschedctl.questions.node_map import NodeChange, by_node, changes_map, pods_line, pods_map
from kschedctl.questions.nodes.answer import NodesOverview
from kschedctl.questions.optimum.answer import Emptied, GoalData, Optimum, OptimumWorkloadData, Purchased

# Charts of a best placement: the goals on both sides, the nodes with other pods, and the pods per zone.

_ONLY_BEST: Final = Kind("pods in the best placement only", Tone.GOOD)
_ONLY_SCHEDULER: Final = Kind("pods with the scheduler only", Tone.BAD)
_OTHER: Final = Kind("other pods than with the scheduler", Tone.MIXED)
_SAME: Final = Kind("the same pods in both placements")
_EMPTIED: Final = Kind("emptied")
_CORDONED: Final = Kind("empty, to be cordoned")
_GIVEN_UP: Final = Kind("no simulated drain empties it", Tone.CAUTION)
_BOUGHT: Final = Kind("bought")


def optimum_charts(answer: Optimum, overview: NodesOverview | None) -> Document:
    """Lay out the nodes and zones of both placements; nothing without ``overview``."""
    if overview is None or not answer.placements:
        return
    ours = by_node((each.node, each.pod) for each in answer.placements)
    theirs = by_node((each.multi_step_node, each.pod) for each in answer.placements)
    evicted = by_node((each.node, each.pod) for each in answer.evicted)
    changes = {}
    for name in dict.fromkeys((*ours, *theirs, *evicted)):
        best, scheduler = ours.get(name, []), theirs.get(name, [])
        same = set(best) == set(scheduler)
        kind = _SAME if same else _ONLY_BEST if not scheduler else _ONLY_SCHEDULER if not best else _OTHER
        lines = (
            *(f"best placement: {line}" for line in pods_line("arrive", best)),
            *(f"scheduler: {line}" for line in pods_line("arrive", scheduler)),
            *pods_line("leave", evicted.get(name, [])),
        )
        changes[name] = NodeChange(kind, lines)
    yield changes_map(overview, changes)
    first, second = ((each.multi_step_node for each in answer.placements), (each.node for each in answer.placements))
    yield zone_bars("Placed pods by zone", ("with the scheduler", "in the best placement"), first, second, overview)


def purchase_charts(answer: Purchased, overview: NodesOverview | None) -> Document:
    """Lay out the nodes with the bought ones; nothing without ``overview``."""
    if overview is not None and (answer.placements or answer.nodes):
        bought = {each.node: NodeChange(_BOUGHT, (each.kind,)) for each in answer.nodes}
        yield pods_map(overview, ((each.node, each.pod) for each in answer.placements), (), bought)


def emptied_charts(answer: Emptied, overview: NodesOverview | None) -> Document:
    """Lay out the nodes that can be emptied, and those that their pods move to; nothing without ``overview``."""
    if overview is None or not answer.nodes:
        return
    states = {each.node: NodeChange(_EMPTIED) for each in answer.nodes}
    states |= {name: NodeChange(_CORDONED) for name in answer.cordoned}
    why = answer.obstacles
    states |= {name: NodeChange(_GIVEN_UP, (why[name],) if name in why else ()) for name in answer.given_up}
    leave = ((each.node, pod) for each in answer.nodes for pod in each.evicted)
    yield pods_map(overview, ((node, pod) for pod, node in answer.placements.items()), leave, states)


#: The number of nodes and names per row, and of rows per table, without ``-o wide``.
_FEW: Final = 3
_ROWS: Final = 12
#: The gap, in percent, above which only the bound is printed.
_FAR: Final = 100


def document(answer: Optimum, view: View) -> Document:
    """Lay out an answer.

    Args:
        view: The part of the answer that is shown.
    """
    tone = Tone.GOOD if not answer.waiting else Tone.MIXED if answer.placed else Tone.BAD
    yield from first_line(answer, answer.summary, tone, ("Best placement",))
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
    yield from _stalled(answer)
    if view.drawn:
        yield from optimum_charts(answer, view.overview)
    yield from _goals(answer.goals, every=view.wide)
    yield from _workloads(answer.workloads, every=view.wide)
    yield from _evicted(answer)
    moved = [each for each in answer.placements if view.wide or (not each.again and each.node != each.multi_step_node)]
    if moved:
        order = "Order in which every pod passes the filters" if view.wide else "Pods with different nodes"
        yield from (GAP, Paragraph(order, Tone.STRONG))
        shown = moved if view.wide else moved[:_ROWS]
        placed = [(each.pod, each.multi_step_node or "pending", each.node) for each in shown]
        yield table(("pod", "scheduler", "best"), placed, identifiers=(0, 1, 2))
        yield from and_more(len(moved) - len(shown))
    yield from _waiting(answer, every=view.wide)
    if answer.ways:
        yield Heading("Adjustments with which the scheduler places these pods (each simulated)")
        rows = [
            (
                str(way.lever),
                way.what,
                listed(way.workloads, most=len(way.workloads) if view.wide else _FEW),
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
    yield from cautions(answer)
    if not view.wide:
        yield from next_questions(_questions(answer))


def _questions(answer: Optimum) -> Iterator[Question]:
    if answer.pods:
        yield Question("Simulation of the scheduler", "simulate")
    if answer.placements:
        yield Question("All pods, in order", "optimum", options={"output": "wide"})
    yield from _longer_search(answer)


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
    tones = [
        (Tone.GOOD if each.optimum > each.multi_step else Tone.PLAIN if each.optimum == each.pods else Tone.MIXED)
        for each in workloads
    ]
    yield table(("workload", "pods", "scheduler", "best", "nodes"), rows, numeric=(1, 2, 3), tones=tones)


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


def _waiting(answer: Optimum, *, every: bool) -> Document:
    displaced = frozenset(answer.displaced)
    both = tuple(pod for pod in answer.waiting if pod not in displaced)
    for what, pods in (
        ("Pending in both placements", both),
        ("Placed by the scheduler, and pending in the best placement, which has other pods instead", answer.displaced),
        ("Held back by gates or by their group, not considered", answer.gated),
    ):
        if pods:
            yield from (GAP, Paragraph(f"{what}: {listed(pods, most=len(pods) if every else _FEW)}"))


# The document of the nodes that can be emptied.

_STUCK: Final = "Nodes that some placement would empty, but no simulated drain emptied"


def emptied_document(answer: Emptied, view: View) -> Document:
    """Lay out an answer.

    Args:
        view: The part of the answer that is shown.
    """
    yield from first_line(answer, answer.summary, Tone.GOOD if answer.nodes else Tone.PLAIN, ("Fewest nodes",))
    yield from header(answer, view.now)
    yield from _stalled(answer)
    if view.drawn:
        yield from emptied_charts(answer, view.overview)
    if answer.nodes:
        yield Heading("Nodes to drain, in this order, after cordoning all of them")
        rows = [
            (
                node.node,
                str(len(node.evicted)),
                listed(node.evicted, most=len(node.evicted) if view.wide else _FEW) if node.evicted else "-",
                ", ".join(f"{budget} {duration(round(seconds))}" for budget, seconds in node.waited.items()) or "-",
            )
            for node in answer.nodes
        ]
        yield table(("node", "pods", "evicted pods", "delayed by"), rows, numeric=(1,), identifiers=(0,))
        if answer.cordoned:
            closed = listed(answer.cordoned, most=len(answer.cordoned) if view.wide else _FEW)
            yield Paragraph(f"to keep these nodes empty, also cordon: {closed}", indent=2)
        if answer.karpenter:
            yield Heading("What Karpenter does with them by itself")
            yield table(("node", "decision"), list(answer.karpenter.items()), identifiers=(0,))
        yield Heading("Resulting placements")
        places = list(answer.placements.items())
        shown = places if view.wide else places[:_ROWS]
        yield table(("pod", "node"), shown, identifiers=(0, 1))
        yield from and_more(len(places) - len(shown))
    stuck: dict[str, tuple[str, ...]] = {}
    for name in answer.given_up:
        cause = answer.obstacles.get(name, "")
        stuck[cause] = (*stuck.get(cause, ()), name)
    for names, what in (
        *((names, f"{_STUCK}{f' ({cause})' if cause else ''}") for cause, names in stuck.items()),
        (answer.fixed, f"{counted(len(answer.fixed), 'node')} with pods that no controller recreates"),
    ):
        if names:
            yield from (GAP, Paragraph(f"{what}: {listed(names, most=len(names) if view.wide else _FEW)}", Tone.MIXED))
    yield from cautions(answer)
    if answer.nodes and not view.wide:
        options = {
            "nodes": tuple(node.node for node in answer.nodes),
            "ignore_daemonsets": True,
            "delete_emptydir_data": True,
            "output": "wide",
        }
        yield from next_questions(
            [Question("The drain, step by step", "drain", options=options), *_longer_search(answer)]
        )
    elif not view.wide:
        yield from next_questions(_longer_search(answer))


# The document of a purchase: the nodes to buy, and the pods on them.


def purchase_document(answer: Purchased, view: View) -> Document:
    """Lay out an answer.

    Args:
        view: The part of the answer that is shown.
    """
    yield from first_line(answer, answer.summary, Tone.GOOD if not answer.waiting else Tone.MIXED, ("New nodes",))
    yield from header(answer, view.now)
    yield from _stalled(answer)
    yield from purchase_charts(answer, view.overview)
    if answer.kinds:
        yield Heading("Nodes to buy")
        rows = [(each.kind, str(each.nodes), each.price, each.cost) for each in answer.kinds]
        yield table(("kind", "nodes", "price", "cost"), rows, numeric=(1, 2, 3))
        if answer.proven:
            yield Paragraph("proven: no cheaper purchase places as many pods", Tone.FAINT, 2)
        elif answer.least_cost is not None:
            yield Paragraph(f"not proven: the least cost is at least {answer.least_cost}", Tone.FAINT, 2)
        else:
            yield Paragraph("not proven: a cheaper purchase may exist", Tone.FAINT, 2)
        yield Heading("Pods on the new nodes")
        shown = answer.nodes if view.wide else answer.nodes[:_ROWS]
        most = None if view.wide else _FEW
        places = [
            (node.node, str(len(node.pods)), listed(node.pods, most=len(node.pods) if most is None else most))
            for node in shown
        ]
        yield table(("node", "pods", "names"), places, numeric=(1,), identifiers=(0,))
        yield from and_more(len(answer.nodes) - len(shown))
    elsewhere = [p for p in answer.placements if p.node not in {node.node for node in answer.nodes}]
    if elsewhere and (answer.kinds or view.wide):
        yield Heading("Pods on existing nodes")
        few = elsewhere if view.wide else elsewhere[:_ROWS]
        yield table(("pod", "node"), [(each.pod, each.node) for each in few], identifiers=(0, 1))
        yield from and_more(len(elsewhere) - len(few))
    if answer.waiting:
        yield GAP
        which = listed(answer.waiting, most=len(answer.waiting) if view.wide else _FEW)
        yield Paragraph(f"No node of the catalog helps: {which}", Tone.BAD)
    yield from cautions(answer)
    if view.wide:
        return
    if answer.placements or answer.nodes:
        every = [Question("All pods, in order", "optimum", options={"output": "wide"})]
        nodes = [Question("Manifests of the nodes", "optimum", options={"output": "jsonpath={.objects}"})]
        yield from next_questions(
            [*(every if answer.placements else []), *(nodes if answer.nodes else []), *_longer_search(answer)]
        )


# The end of a search that proves nothing.


def _stalled(answer: Optimum | Purchased | Emptied) -> Document:
    if answer.stalled:
        yield Paragraph("The search ended when nothing better came, before a proof; --prove goes on.", Tone.FAINT)


def _longer_search(answer: Optimum | Purchased | Emptied) -> Iterator[Question]:
    if answer.stalled:
        yield Question("Longer search, to prove it", "optimum", options={"prove": True})
