"""What draining nodes came to, as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.report.drain.data import (
    BlockedPodData,
    Drained,
    DrainedNodeData,
    HeldUpData,
    MovedPodData,
    RefusalData,
)
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.simulate.answer import entries, preempted, waiting_groups
from kschedctl.report.simulate.data import WaitingData
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.cluster_at_work import IN_PLACE_OF
from kschedctl.simulate.drain import DrainedNode
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.timeline import Happening, TimelineEntry


def drain_answer(
    before: Cluster,
    simulation: Simulation,
    drained: Sequence[DrainedNode],
    attempts: Sequence[Attempt],
    provenance: Provenance,
    *,
    chance: str,
    rolling: bool,
    not_tried: Sequence[str],
    since: int,
    finished: bool,
) -> Drained:
    """The answer.

    Parameters
    ----------
    before : Cluster
        The cluster before the drain.
    simulation : Simulation
        The simulation as it is in the end.
    drained : sequence of DrainedNode
        What became of each node.
    attempts : sequence of Attempt
        All scheduling cycles.
    provenance : Provenance
        What the answer rests on.
    chance : str
        How it was settled which of equal nodes a pod goes to.
    rolling : bool
        Whether each node came back before the next one was drained.
    not_tried : sequence of str
        The nodes that it did not come to.
    since : int
        Which entry of the timeline is the first of the drain.
    finished : bool
        Whether it came to its end.
    """
    happened = simulation.timeline[since:]
    began = happened[0].time if happened else simulation.now()
    moves = _moves(happened)
    nodes = tuple(_node(each, moves) for each in drained)
    waiting = tuple(_waiting(before, waiting_groups(simulation, attempts)))
    return Drained(
        **envelope(before, provenance, dict.fromkeys(note for a in attempts for note in a.decision.not_modelled)),
        summary=_summary(nodes, waiting, not_tried, finished=finished),
        finished=finished,
        rolling=rolling,
        chance=chance,
        seconds=round((simulation.now() - began).total_seconds(), 3),
        nodes=nodes,
        not_tried=tuple(not_tried),
        waiting=waiting,
        evicted=preempted(happened),
        timeline=entries(happened),
    )


def _moves(timeline: Sequence[TimelineEntry]) -> dict[tuple[str, str], tuple[str, str]]:
    """By pod and the node that it is evicted from: what is made in its place, and where that goes first."""
    open_moves: dict[str, tuple[str, str]] = {}
    awaited: dict[str, tuple[str, str]] = {}
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for entry in timeline:
        if entry.event is Happening.EVICTED:
            open_moves[entry.pod] = entry.pod, entry.node
        elif entry.event is Happening.CREATED and entry.why.startswith(IN_PLACE_OF):
            move = open_moves.pop(entry.why.removeprefix(IN_PLACE_OF), None)
            if move is not None:
                found[move] = entry.pod, ""
                awaited[entry.pod] = move
        elif entry.event is Happening.SCHEDULED and entry.pod in awaited:
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
    """The groups without the pods that waited before."""
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
        parts.append(f"the drain does not come to {counted(len(not_tried), 'node')} more")
    n_waiting = sum(len(group.pods) for group in waiting)
    if n_waiting:
        parts.append(f"{counted(n_waiting, 'pod')} {'finds' if n_waiting == 1 else 'find'} no node")
    text = "; ".join(parts) or "no node is drained"
    return text if finished else f"interrupted: {text} so far"


def _why(node: DrainedNodeData) -> str:
    if node.refusals:
        return node.refusals[0].message
    first = node.blocked[0]
    others = f", and {len(node.blocked) - 1} more" if len(node.blocked) > 1 else ""
    return f"{first.pod} may not be evicted{others}"
