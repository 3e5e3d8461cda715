"""``drain``: nodes drained as by ``kubectl drain``, and the places of their pods afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kschedctl.analyses.drain_cures import drain_cures, node_causes, refusal_cause
from kschedctl.analyses.drain_run import DrainRequest, DrainRun, run_drain
from kschedctl.analyses.handle import AnalysisHandle
from kschedctl.analyses.provenance import envelope, provenance
from kschedctl.analyses.simulate import pending_by_message, preemption_evictions
from kschedctl.answers.cures import CureData
from kschedctl.answers.diagnosis import DiagnosisData
from kschedctl.answers.drain import (
    BlockedPodData,
    Drained,
    DrainedNodeData,
    HeldUpData,
    MovedPodData,
    RefusalData,
)
from kschedctl.answers.simulate import WaitingData
from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.simulate.choice import TieBreak
from kschedctl.simulate.drain import DrainedNode
from kschedctl.simulate.simulated_cluster import IN_PLACE_OF
from kschedctl.simulate.timeline import TimelineEntry, TimelineEvent


def drain(cluster: LoadedCluster, request: DrainRequest, handle: AnalysisHandle) -> Drained:
    """Drain nodes; if the run is cancelled, the answer covers the part that was done.

    Raises
    ------
    InputError
        If the cluster has no such nodes.
    """
    run = run_drain(cluster, request, handle)
    with handle.busy("trying cures"):
        cures = drain_cures(cluster, request, run)
    return drain_answer(cluster, request, run, cures)


def drain_answer(
    cluster: LoadedCluster, request: DrainRequest, run: DrainRun, cures: tuple[CureData, ...] = ()
) -> Drained:
    """Return the answer of a run."""
    simulation, happened = run.simulation, run.simulation.timeline[run.since :]
    began = happened[0].time if happened else simulation.now()
    moves = _moves(happened)
    nodes = tuple(_node(run, each, moves) for each in run.drained)
    waiting = tuple(_waiting(run.before, pending_by_message(simulation, run.attempts)))
    not_tried = tuple(run.nodes[len(run.drained) :])
    not_modelled = dict.fromkeys(note for attempt in run.attempts for note in attempt.decision.not_modelled)
    return Drained(
        **envelope(run.before, provenance(cluster, many=True), not_modelled),
        summary=_summary(nodes, waiting, not_tried, finished=run.finished),
        interrupted=not run.finished,
        rolling=request.options.rolling,
        chance=TieBreak(request.seed).words,
        seconds=round((simulation.now() - began).total_seconds(), 3),
        nodes=nodes,
        not_tried=not_tried,
        waiting=waiting,
        evicted=preemption_evictions(happened),
        timeline=tuple(happened),
        suggestions=cures,
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


def _node(run: DrainRun, each: DrainedNode, moves: dict[tuple[str, str], tuple[str, str]]) -> DrainedNodeData:
    first = set(run.pending_first)
    return DrainedNodeData(
        each.node,
        each.drained,
        round(each.seconds, 3),
        tuple(RefusalData(message, tuple(pods)) for message, pods in each.refusals.items()),
        tuple(BlockedPodData(pod, message) for pod, message in each.blocked.items()),
        tuple(HeldUpData(budget, seconds) for budget, seconds in each.waited.items()),
        tuple(
            MovedPodData(pod.key, *moves.get((pod.key, each.node), ("", "")), pod.key in first) for pod in each.evicted
        ),
        tuple(each.passed_over),
        tuple(_causes(run, each)),
    )


def _causes(run: DrainRun, each: DrainedNode) -> Iterator[DiagnosisData]:
    """Yield the causes for which a node is not drained."""
    for message, pods in each.refusals.items():
        yield DiagnosisData("drain-option", refusal_cause(message, pods), (), ())
    for one in node_causes(run, each) if each.blocked else ():
        yield DiagnosisData(one.rule, one.cause, (), ())


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
        cause = next((group.cause for group in waiting if group.cause), "")
        told = f": {cause}" if cause else ""
        parts.append(f"{counted(n_waiting, 'pod')} {'stays' if n_waiting == 1 else 'stay'} pending{told}")
    text = "; ".join(parts) or "no node is drained"
    return text if finished else f"interrupted: {text} so far"


def _why(node: DrainedNodeData) -> str:
    """Return the first causes for which a node is not drained."""
    if not node.causes:
        return f"{node.blocked[0].pod} cannot be evicted"
    others = len(node.causes) - 2
    more = (f"and {counted(others, 'more cause')}",) if others > 0 else ()
    return "; ".join((*(each.cause for each in node.causes[:2]), *more))
