"""``drain``: nodes drained as by ``kubectl drain``, and the places of their pods afterwards."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.node_health import is_unhealthy
from kschedctl.objects.resources import RequestRules
from kschedctl.questions.answer_parts import CureData, DiagnosisData
from kschedctl.questions.drain.answer import (
    MISTYPED,
    BlockedPodData,
    Drained,
    DrainedNodeData,
    EndingPodData,
    HeldUpData,
    MovedPodData,
    PlacedFirstData,
    RefusalData,
)
from kschedctl.questions.drain.cures import (
    MOST_CURES,
    drain_cures,
    evictions_in_words,
    lost_pods,
    node_causes,
    refusal_cause,
)
from kschedctl.questions.drain.protection import protecting_cures, unprotected_causes
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.drain.run import DrainRun, run_drain
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import envelope, missing_for_attempts, provenance
from kschedctl.questions.run_results import (
    group_loss_data,
    losses_in_words,
    preemption_evictions,
    slowest_to_stop,
    utilisation,
)
from kschedctl.questions.simulate.analysis import pending_by_message
from kschedctl.questions.simulate.answer import EvictionData, WaitingData
from kschedctl.trials.completeness import Part, not_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.aftermath import group_losses
from kschedctl.trials.simulate.choice import TieBreak
from kschedctl.trials.simulate.drain import DrainedNode
from kschedctl.trials.simulate.simulated_cluster import IN_PLACE_OF
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent
from kschedctl.trials.simulate.world import is_recreated


def drain(cluster: LoadedCluster, request: DrainRequest, handle: AnalysisHandle) -> Drained:
    """Drain nodes; if the run is cancelled, the answer covers the part that was done.

    Raises InputError if the cluster has no such nodes.
    """
    run = run_drain(cluster, request, handle)
    with handle.busy("trying cures"):
        cures = (*protecting_cures(cluster, request, run), *drain_cures(cluster, request, run))[:MOST_CURES]
    return drain_answer(cluster, request, run, cures)


def drain_answer(
    cluster: LoadedCluster, request: DrainRequest, run: DrainRun, cures: tuple[CureData, ...] = ()
) -> Drained:
    """Return the answer of a run."""
    simulation, happened = run.simulation, run.simulation.timeline[run.since :]
    placed_first = tuple(_placed_first(simulation.timeline[: run.since]))
    moves = _moves(happened)
    evicted = preemption_evictions(happened)
    first = {each.pod for each in placed_first}
    nodes = tuple(_node(run, each, moves, first) for each in run.drained)
    waiting = tuple(_waiting(run.before, pending_by_message(simulation, run.attempts)))
    not_tried = tuple(run.nodes[len(run.drained) :])
    groups = group_loss_data(group_losses(run.before, simulation.cluster, happened, simulation.scheduler.release))
    unprotected = () if request.flags.disable_eviction else tuple(unprotected_causes(run))
    further = (*(each.cause for each in unprotected if each.rule == MISTYPED), *losses_in_words(groups))
    gone = () if request.flags.rolling else frozenset(run.nodes)
    rules = RequestRules.of(simulation.scheduler.release)
    not_modelled = dict.fromkeys(note for attempt in run.attempts for note in attempt.search.not_modelled)
    missing = (*not_listed(cluster.cluster, Part.EVICTION), *missing_for_attempts(cluster, run.attempts, is_new=False))
    return Drained(
        **envelope(run.before, provenance(cluster, missing, many=True), not_modelled),
        summary=_drain_summary(run, nodes, waiting, evicted, placed_first, further),
        interrupted=not run.finished,
        rolling=request.flags.rolling,
        chance=TieBreak(request.seed).words,
        seconds=round((simulation.now() - run.began).total_seconds(), 3),
        placed_first=placed_first,
        left_pending=int((run.before.pods.node_row == PENDING).sum()),
        nodes=nodes,
        not_tried=not_tried,
        waiting=waiting,
        evicted=evicted,
        timeline=tuple(happened),
        slowest=slowest_to_stop(happened),
        suggestions=cures,
        groups=groups,
        unprotected=unprotected,
        utilisation=tuple(utilisation(run.before, simulation.cluster, rules, drained=gone)),
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


def _placed_first(timeline: Sequence[TimelineEntry]) -> Iterator[PlacedFirstData]:
    """Yield the pods that were placed before the drain, each with the pods that it evicts."""
    victims: dict[str, list[str]] = defaultdict(list)
    origins: dict[str, str] = {}
    for entry in timeline:
        if entry.event is TimelineEvent.PREEMPTED:
            victims[entry.why.removeprefix("by ")].append(entry.pod)
        elif entry.event is TimelineEvent.CREATED and entry.why.startswith(IN_PLACE_OF):
            origins[entry.pod] = entry.why.removeprefix(IN_PLACE_OF)
        elif entry.event is TimelineEvent.SCHEDULED:
            yield PlacedFirstData(entry.pod, entry.node, tuple(victims[entry.pod]), origins.get(entry.pod, ""))


def _node(
    run: DrainRun, each: DrainedNode, moves: dict[tuple[str, str], tuple[str, str]], first: Collection[str]
) -> DrainedNodeData:
    return DrainedNodeData(
        each.node,
        each.drained,
        round(each.seconds, 3),
        tuple(RefusalData(message, tuple(pods)) for message, pods in each.refusals.items()),
        tuple(BlockedPodData(pod, message) for pod, message in each.blocked.items()),
        tuple(HeldUpData(budget, seconds) for budget, seconds in each.waited.items()),
        tuple(
            MovedPodData(
                pod.key, *moves.get((pod.key, each.node), ("", "")), pod.key in first, lost=not is_recreated(pod)
            )
            for pod in each.evicted
        ),
        tuple(each.passed_over),
        tuple(_causes(run, each)),
        tuple(
            EndingPodData(pod.key, until, pod.key in each.stuck)
            for pod in each.ending
            if (until := pod.metadata.deletion_timestamp) is not None
        ),
    )


def _causes(run: DrainRun, each: DrainedNode) -> Iterator[DiagnosisData]:
    for message, pods in each.refusals.items():
        yield DiagnosisData("drain-option", refusal_cause(message, pods), (), ())
    for one in node_causes(run, each) if each.blocked else ():
        yield DiagnosisData(one.rule, one.cause, (), ())
    if each.stuck:
        names, verb = listed(each.stuck, most=3), "is" if len(each.stuck) == 1 else "are"
        cause = f"{names} {verb} being deleted, but the kubelet of {each.node} is unreachable and does not confirm it"
        ends = (pod.metadata.deletion_timestamp for pod in each.ending if pod.key in each.stuck)
        until = min((end for end in ends if end is not None), default=None)
        if until is not None and not is_unhealthy(run.before.nodes.objects[run.before.nodes.row[each.node]]):
            cause = f"{names} should have been gone at {until:%Y-%m-%d %H:%M} UTC, and a finalizer or the kubelet of "
            cause += f"{each.node} keeps {'it' if len(each.stuck) == 1 else 'them'}"
        yield DiagnosisData("pod-deletion-is-stuck", f"{cause}, so the drain waits without end", (), ())


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


def _drain_summary(
    run: DrainRun,
    nodes: Sequence[DrainedNodeData],
    waiting: Sequence[WaitingData],
    evicted: Sequence[EvictionData],
    placed_first: Sequence[PlacedFirstData],
    further: Sequence[str],
) -> str:
    """Return the result in one sentence; ``further`` are its last clauses about what is lost."""
    can = [node for node in nodes if node.drained]
    cannot = [node for node in nodes if not node.drained]
    n_not_tried = len(run.nodes) - len(run.drained)
    parts = []
    if can:
        whom = can[0].node if len(can) == 1 else counted(len(can), "node")
        evictions = evictions_in_words([each for each in run.drained if each.drained])
        parts.append(f"{whom} can be drained: {evictions}")
    verb = "cannot" if can else "cannot be drained"
    parts += [f"{node.node} {verb}: {_first_causes(node)}" for node in cannot[:3]]
    ending = [pod for node in nodes for pod in node.waits_for if not pod.stuck]
    if ending:
        last = max(pod.until for pod in ending)
        until = f" until {last:%H:%M:%S} UTC" if last > run.began else ""
        are = "is" if len(ending) == 1 else "are"
        parts.append(f"waits for {listed([pod.pod for pod in ending], most=3)}, which {are} being deleted{until}")
    lost = lost_pods([each for each in run.drained if not each.drained])
    if lost:
        parts.append(f"{counted(len(lost), 'pod')} {'is' if len(lost) == 1 else 'are'} evicted and lost for good")
    if len(cannot) > 3:
        parts.append(f"{len(cannot) - 3} more cannot")
    if n_not_tried:
        parts.append(f"{counted(n_not_tried, 'more node')} {'is' if n_not_tried == 1 else 'are'} not tried")
    preempted = [each.pod for each in evicted if each.lost]
    if preempted:
        verb = "is" if len(preempted) == 1 else "are"
        parts.append(f"{listed(preempted, most=3)} {verb} preempted on other nodes and lost for good")
    n_waiting = sum(len(group.pods) for group in waiting)
    if n_waiting:
        cause = next((group.cause for group in waiting if group.cause), "")
        told = f": {cause}" if cause else ""
        parts.append(f"{counted(n_waiting, 'pod')} {'stays' if n_waiting == 1 else 'stay'} pending{told}")
    parts += further
    n_pending = sum(not each.in_place_of for each in placed_first)
    if n_pending:
        victims = [victim for each in placed_first for victim in each.evicts]
        evicting = f", evicting {listed(victims, most=3)}" if victims else ""
        are = "is" if n_pending == 1 else "are"
        parts.append(f"{counted(n_pending, 'pending pod')} {are} placed first{evicting}")
    text = "; ".join(parts) or "no node is drained"
    return text if run.finished else f"interrupted: {text} so far"


def _first_causes(node: DrainedNodeData) -> str:
    """Return the first causes for which a node is not drained."""
    if not node.causes:
        return f"{node.blocked[0].pod} cannot be evicted"
    others = len(node.causes) - 2
    more = (f"and {counted(others, 'more cause')}",) if others > 0 else ()
    return "; ".join((*(each.cause for each in node.causes[:2]), *more))
