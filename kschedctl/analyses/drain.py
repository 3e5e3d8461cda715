"""``drain``: nodes drained as by ``kubectl drain``, and the places of their pods afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from kschedctl.analyses.handle import INTERRUPTIONS, AnalysisHandle
from kschedctl.analyses.provenance import envelope, provenance
from kschedctl.analyses.simulate import pending_by_message, preemption_evictions
from kschedctl.answers.drain import (
    BlockedPodData,
    Drained,
    DrainedNodeData,
    HeldUpData,
    MovedPodData,
    RefusalData,
)
from kschedctl.answers.simulate import WaitingData
from kschedctl.api.label_query import parse_label_query
from kschedctl.api.selectors import matches
from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.choice import TieBreak
from kschedctl.simulate.drain import DrainedNode, DrainOptions, surge_nodes
from kschedctl.simulate.drain import drain as drain_nodes
from kschedctl.simulate.simulated_cluster import IN_PLACE_OF
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.timeline import TimelineEntry, TimelineEvent
from kschedctl.whatif.targets import find_nodes, find_zone


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRequest:
    """A question about draining nodes: all nodes that are named, match the selector or are in the zone.

    Attributes
    ----------
    nodes : tuple of str
        Names and patterns.
    selector, zone : str
        A label selector and a zone; empty for none.
    options : DrainOptions
        The flags of kubectl drain.
    surge : int
        The number of nodes to add before the drain, copies of the first node that is drained.
    seed : int or None
        The seed of the random choice between equally good nodes; ``None`` for the first by name.
    """

    nodes: tuple[str, ...] = ()
    selector: str = ""
    zone: str = ""
    options: DrainOptions = field(default_factory=DrainOptions)
    surge: int = 0
    seed: int | None = None

    def names(self, cluster: Cluster) -> list[str]:
        """Return the names of the nodes to drain, without duplicates, in the order in which they are given.

        Raises
        ------
        InputError
            If a name, a pattern, the selector or the zone matches no node, or none of them is given.
        """
        if not (self.nodes or self.selector or self.zone):
            raise InputError("no node is given")
        rows = [row for name in self.nodes for row in find_nodes(cluster, name)]
        if self.selector:
            selector = parse_label_query(self.selector)
            found = [i for i, node in enumerate(cluster.nodes.objects) if matches(selector, node.metadata.labels)]
            if not found:
                raise InputError(f'no node matches the selector "{self.selector}"', path="--selector")
            rows += found
        if self.zone:
            rows += find_zone(cluster, self.zone)
        return [cluster.nodes.names[row] for row in dict.fromkeys(rows)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRun:
    """A drain and its result.

    Attributes
    ----------
    simulation : Simulation
        The simulation in its last state.
    before : Cluster
        The cluster before the drain, after the pending pods were tried: the drain did not cause their outcome.
    began : datetime
        The time when the drain began, by the virtual clock.
    since : int
        The number of entries that the timeline had when the drain began.
    nodes : list of str
        The nodes to drain.
    drained : list of DrainedNode
        The result of each node that the drain reached.
    attempts : list of Attempt
        The scheduling cycles of the drain.
    finished : bool
        False if the run was cancelled.
    """

    simulation: Simulation
    before: Cluster
    began: datetime
    since: int
    nodes: list[str]
    drained: list[DrainedNode]
    attempts: list[Attempt]
    finished: bool


def run_drain(cluster: LoadedCluster, request: DrainRequest, handle: AnalysisHandle) -> DrainRun:
    """Try the pending pods, then drain the nodes of a request."""
    names = request.names(cluster.cluster)
    simulation = cluster.simulation(choose=TieBreak(request.seed).choose())
    for _ in handle.count(simulation, "pods"):
        pass
    before, began, since = simulation.cluster, simulation.now(), len(simulation.timeline)
    first = before.nodes.objects[before.nodes.row[names[0]]]
    drained: list[DrainedNode] = []
    attempts: list[Attempt] = []
    finished = True
    try:
        steps = drain_nodes(simulation, names, request.options, surge_nodes(first, request.surge))
        for step in handle.count(steps, "steps"):
            if isinstance(step, DrainedNode):
                drained.append(step)
            else:
                attempts.append(step)
    except INTERRUPTIONS:
        finished = False
    return DrainRun(
        simulation=simulation,
        before=before,
        began=began,
        since=since,
        nodes=names,
        drained=drained,
        attempts=attempts,
        finished=finished,
    )


def drain(cluster: LoadedCluster, request: DrainRequest, handle: AnalysisHandle) -> Drained:
    """Drain nodes; if the run is cancelled, the answer covers the part that was done.

    Raises
    ------
    InputError
        If the cluster has no such nodes.
    """
    return drain_answer(cluster, request, run_drain(cluster, request, handle))


def drain_answer(cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> Drained:
    """Return the answer of a run."""
    simulation, happened = run.simulation, run.simulation.timeline[run.since :]
    began = happened[0].time if happened else simulation.now()
    moves = _moves(happened)
    nodes = tuple(_node(each, moves) for each in run.drained)
    waiting = tuple(_waiting(run.before, pending_by_message(simulation, run.attempts)))
    not_tried = tuple(run.nodes[len(run.drained) :])
    not_modelled = dict.fromkeys(note for attempt in run.attempts for note in attempt.decision.not_modelled)
    return Drained(
        **envelope(run.before, provenance(cluster, many=True), not_modelled),
        summary=_summary(nodes, waiting, not_tried, finished=run.finished),
        finished=run.finished,
        rolling=request.options.rolling,
        chance=TieBreak(request.seed).words,
        seconds=round((simulation.now() - began).total_seconds(), 3),
        nodes=nodes,
        not_tried=not_tried,
        waiting=waiting,
        evicted=preemption_evictions(happened),
        timeline=tuple(happened),
    )


def _moves(timeline: Sequence[TimelineEntry]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return, by pod and the node that it is evicted from, its replacement and the node that the replacement gets."""
    open_moves: dict[str, tuple[str, str]] = {}
    awaited: dict[str, tuple[str, str]] = {}
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for entry in timeline:
        if entry.event is TimelineEvent.EVICTED:
            open_moves[entry.pod] = entry.pod, entry.node
        elif entry.event is TimelineEvent.CREATED and entry.why.startswith(IN_PLACE_OF):
            move = open_moves.pop(entry.why.removeprefix(IN_PLACE_OF), None)
            if move is not None:
                found[move] = entry.pod, ""
                awaited[entry.pod] = move
        elif entry.event is TimelineEvent.SCHEDULED and entry.pod in awaited:
            found[awaited.pop(entry.pod)] = entry.pod, entry.node
    return found


def _node(each: DrainedNode, moves: dict[tuple[str, str], tuple[str, str]]) -> DrainedNodeData:
    return DrainedNodeData(
        each.node,
        each.drained,
        round(each.seconds, 3),
        tuple(RefusalData(message, tuple(pods)) for message, pods in each.refusals.items()),
        tuple(BlockedPodData(pod, message) for pod, message in each.blocked.items()),
        tuple(HeldUpData(budget, seconds) for budget, seconds in each.waited.items()),
        tuple(MovedPodData(pod.key, *moves.get((pod.key, each.node), ("", ""))) for pod in each.evicted),
        tuple(each.passed_over),
    )


def _waiting(before: Cluster, groups: Iterator[WaitingData]) -> Iterator[WaitingData]:
    """Yield the groups without the pods that were pending before."""
    index = before.pods.index
    records = before.pods.records
    for group in groups:
        keys = [key.partition("/")[::2] for key in group.pods]
        old = {f"{ns}/{name}" for ns, name in keys if (ns, name) in index and not records[index[ns, name]].node_name}
        new = tuple(key for key in group.pods if key not in old)
        if new:
            yield replace(group, pods=new)


def _summary(
    nodes: Sequence[DrainedNodeData], waiting: Sequence[WaitingData], not_tried: Sequence[str], *, finished: bool
) -> str:
    can = [node for node in nodes if node.drained]
    cannot = [node for node in nodes if not node.drained]
    n_moved = sum(len(node.moved) for node in can)
    parts = []
    if can:
        whom = can[0].node if len(can) == 1 else counted(len(can), "node")
        moved = f"{counted(n_moved, 'pod')} {'moves' if n_moved == 1 else 'move'}" if n_moved else "no pod has to move"
        parts.append(f"{whom} can be drained: {moved}")
    verb = "cannot" if can else "cannot be drained"
    parts += [f"{node.node} {verb}: {_why(node)}" for node in cannot[:3]]
    if len(cannot) > 3:
        parts.append(f"{len(cannot) - 3} more cannot")
    if not_tried:
        parts.append(f"{counted(len(not_tried), 'more node')} {'is' if len(not_tried) == 1 else 'are'} not tried")
    n_waiting = sum(len(group.pods) for group in waiting)
    if n_waiting:
        parts.append(f"{counted(n_waiting, 'pod')} {'stays' if n_waiting == 1 else 'stay'} pending")
    text = "; ".join(parts) or "no node is drained"
    return text if finished else f"interrupted: {text} so far"


def _why(node: DrainedNodeData) -> str:
    if node.refusals:
        return node.refusals[0].message
    first = node.blocked[0]
    others = f", and {len(node.blocked) - 1} more" if len(node.blocked) > 1 else ""
    return f"{first.pod} cannot be evicted{others}"
