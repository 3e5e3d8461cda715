"""``simulate``: a run of many pods through the scheduler's queue, one after another."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_group_trees import GroupForest, entity_key
from kschedctl.cluster.pod_groups import group_members, groups_with_members
from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.resources import RequestRules
from kschedctl.questions.answer_parts import CureData
from kschedctl.questions.handle import INTERRUPTIONS, AnalysisHandle
from kschedctl.questions.pod_groups import count_words
from kschedctl.questions.provenance import envelope, missing_for_attempts, provenance
from kschedctl.questions.run_results import (
    PendingCauses,
    distinct_cures,
    pod_cures,
    preemption_evictions,
    slowest_to_stop,
    utilisation,
)
from kschedctl.questions.simulate.answer import (
    EvictionData,
    GroupResult,
    PlacementData,
    Simulated,
    SimulatedAttemptData,
    SimulatedGroupAttemptData,
    SimulatedGroupData,
    WaitingData,
    WorkloadPlacementData,
)
from kschedctl.questions.simulate.request import SimulateRequest
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.attempts import Attempt, GroupAttempt
from kschedctl.trials.simulate.choice import TieBreak
from kschedctl.trials.simulate.simulated_cluster import ending_pods
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

# The outcome of a simulation by pod group.


def simulated_groups(
    simulation: Simulation, attempts: Sequence[Attempt], causes: PendingCauses
) -> tuple[SimulatedGroupData, ...]:
    """Return the outcome for the groups that were tried or have pending pods; empty if groups are not scheduled."""
    if simulation.scheduler.release.pod_groups is None:
        return ()
    tried: dict[str, dict[int, GroupAttempt]] = {}
    for attempt in attempts:
        if attempt.group is not None:
            tried.setdefault(attempt.group.entity, {})[id(attempt.group)] = attempt.group
    found = (
        _group_outcome(simulation, namespace, name, tried, causes)
        for namespace, name in sorted(groups_with_members(simulation.cluster))
    )
    return tuple(each for each in found if each.attempts or each.waiting)


def _group_outcome(
    simulation: Simulation,
    namespace: str,
    name: str,
    attempts: Mapping[str, Mapping[int, GroupAttempt]],
    causes: PendingCauses,
) -> SimulatedGroupData:
    cluster = simulation.cluster
    root = GroupForest.of(cluster, simulation.scheduler.release).root(namespace, name)
    entity = entity_key(root) if root is not None else f"podgroup/{namespace}/{name}"
    tried = list(attempts.get(entity, {}).values())
    pods = cluster.pods
    members = group_members(cluster, namespace, name)
    pending = [pods.pod(index) for index in members[pods.node_row[members] == PENDING].tolist()]
    waiting = [pod for pod in pending if simulation.scheduler.knows(pod)]
    group = cluster.get(PodGroup, name, namespace)
    message = cause = count = ""
    gated = False
    decision = tried[-1].decision if tried else None
    if waiting and decision is not None:
        told = decision.of_member(decision.members[0].pod)
        failed = next((causes.decision(pod.key) for pod in waiting if pod.key in causes.last), told)
        message = decision.status.message if decision.status.code is not Code.SUCCESS else (failed or told).message
        if decision.outcome is GroupOutcome.ERROR:
            cause = message
        else:
            count, cause = count_words(decision), causes.of_any(pod.key for pod in waiting)
    elif waiting:
        alone = simulation.scheduler.decide_as_scheduled(waiting[0])
        gated = alone.outcome is Outcome.GATED
        message = alone.pre_enqueue.message if gated else ""
        cause = next((each.cause for each in diagnose(alone)), "") if gated else ""
    n_placed = len(members) - len(pending)
    least = group.spec.min_count if group is not None else None
    if not waiting:
        result = GroupResult.PLACED
    elif n_placed >= (least or 1):
        result = GroupResult.PART
    else:
        result = GroupResult.GATED if gated else GroupResult.WAITING
    return SimulatedGroupData(
        namespace=namespace,
        name=name,
        tree=root.key if isinstance(root, CompositePodGroup) else "",
        min_count=least,
        pods=len(members),
        placed=n_placed,
        result=result,
        attempts=len(tried),
        message=message,
        cause=cause,
        count=count,
        waiting=tuple(pod.key for pod in waiting),
    )


def group_attempts(attempts: Iterable[Attempt]) -> Iterator[SimulatedGroupAttemptData]:
    """Yield the attempts at groups, each once."""
    last: GroupAttempt | None = None
    for attempt in attempts:
        group = attempt.group
        if group is None or group is last or group.decision is None:
            continue
        last, decision = group, group.decision
        fits = decision.status.code is Code.SUCCESS
        yield SimulatedGroupAttemptData(
            time=attempt.time,
            group=group.key,
            outcome=group.outcome,
            members=tuple(member.pod.key for member in decision.members),
            fitting=decision.n_fitting,
            placement=decision.chosen.name if fits and decision.chosen is not None else "",
            message="" if fits else decision.status.message,
            victims=group.victims,
        )


def gangs_in_words(groups: Iterable[SimulatedGroupData]) -> str:
    """Return the number of gangs by result, such as ``gangs: 3 placed whole, 1 waits``; empty without any.

    A group that does not exist counts as a gang that waits.
    """
    gangs = [group for group in groups if group.min_count is not None or group.result is GroupResult.GATED]
    whole = sum(group.result is GroupResult.PLACED for group in gangs)
    part = sum(group.result is GroupResult.PART for group in gangs)
    wait = len(gangs) - whole - part
    parts = [f"{whole} placed whole"] if whole else []
    parts += [f"{part} placed in part"] if part else []
    parts += [f"{wait} {'waits' if wait == 1 else 'wait'}"] if wait else []
    return f"gangs: {', '.join(parts)}" if parts else ""


#: Cures are searched for one pod of each of the 3 largest groups, 2 each.
_MOST_CURED: Final = 3
_MOST_CURES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRun:
    """A simulation and its result."""

    #: The simulation in its last state.
    simulation: Simulation
    #: All scheduling cycles.
    attempts: list[Attempt]
    #: False if the run was cancelled.
    finished: bool


def run_simulation(cluster: LoadedCluster, request: SimulateRequest, handle: AnalysisHandle) -> SimulationRun:
    """Run the pending pods and those of a request through the queue."""
    simulation = cluster.simulation(request.new_pods, choose=TieBreak(request.seed).choose())
    attempts: list[Attempt] = []
    try:
        attempts.extend(handle.count(simulation, "pods"))
    except INTERRUPTIONS:
        return SimulationRun(simulation=simulation, attempts=attempts, finished=False)
    return SimulationRun(simulation=simulation, attempts=attempts, finished=True)


def simulate(cluster: LoadedCluster, request: SimulateRequest, handle: AnalysisHandle) -> Simulated:
    """Simulate the queue; if the run is cancelled, the answer covers the part that was done."""
    return simulation_answer(cluster, request, run_simulation(cluster, request, handle))


def simulation_answer(
    cluster: LoadedCluster, request: SimulateRequest, run: SimulationRun, *, why: bool = True
) -> Simulated:
    """Return the answer of a run.

    Args:
        cluster: The cluster before the run.
        why: True to look for the causes of pending pods, and for changes that schedule them.
    """
    simulation, attempts, before = run.simulation, run.attempts, cluster.cluster
    placed = [entry for entry in simulation.timeline if entry.event is TimelineEvent.SCHEDULED]
    causes = PendingCauses(attempts if why else ())
    groups = simulated_groups(simulation, attempts, causes)
    waiting = _pending_by_message(simulation, attempts, causes, groups)
    evicted = preemption_evictions(simulation.timeline)
    n_waiting = sum(len(group.pods) for group in waiting)
    not_modelled = dict.fromkeys(note for attempt in attempts for note in attempt.search.not_modelled)
    missing = missing_for_attempts(cluster, attempts, is_new=None if request.new_pods else False)
    return Simulated(
        **envelope(before, provenance(cluster, missing, many=True), not_modelled),
        summary=_simulation_summary(len(placed), n_waiting, evicted, gangs_in_words(groups), finished=run.finished),
        interrupted=not run.finished,
        chance=TieBreak(request.seed).words,
        began=simulation.began,
        seconds=round((simulation.now() - simulation.began).total_seconds(), 3),
        pods=len(placed) + n_waiting,
        placed=len(placed),
        waiting=waiting,
        cures=tuple(distinct_cures(_cures(causes, waiting, {entry.pod for entry in placed}))) if why else (),
        ended=tuple(_ended(before, simulation.timeline)),
        evicted=evicted,
        workloads=tuple(_workloads(simulation, [(e.pod, e.node) for e in placed], waiting)),
        placements=tuple(PlacementData(entry.pod, entry.node) for entry in placed),
        utilisation=tuple(utilisation(before, simulation.cluster, RequestRules.of(simulation.scheduler.release))),
        attempts=tuple(map(_attempt, attempts)),
        timeline=tuple(simulation.timeline),
        groups=groups,
        group_attempts=tuple(group_attempts(attempts)),
        slowest=slowest_to_stop(simulation.timeline),
    )


def _cures(causes: PendingCauses, waiting: Sequence[WaitingData], placed: Collection[str]) -> Iterator[CureData]:
    """Yield cures for the first pod of each of the largest groups, in the state of its last scheduling cycle.

    No cure deletes a pod that was placed in the same run. Cures for a member of a pod group are tried for the group.
    """
    tried = (causes.decision(key) for group in waiting for key in group.pods[:1] if not group.gated)
    for decision in islice((each for each in tried if each is not None), _MOST_CURED):
        if not decision.schedulable and not decision.victims:
            yield from pod_cures(decision, _MOST_CURES, placed)


def _ended(before: Cluster, timeline: Iterable[TimelineEntry]) -> Iterator[str]:
    """Yield the pods of the snapshot whose deletion ended."""
    ending = {pod.key for pod in ending_pods(before)}
    for entry in timeline:
        if entry.event is TimelineEvent.DELETED and entry.pod in ending:
            ending.remove(entry.pod)
            yield entry.pod


def _simulation_summary(
    n_placed: int, n_waiting: int, evicted: Sequence[EvictionData], gangs: str, *, finished: bool
) -> str:
    total = n_placed + n_waiting
    text = f"{n_placed} of {counted(total, 'pod')} placed" if total else "no pod is pending"
    parts = [f"{n_waiting} pending"] if n_waiting else []
    n_lost = sum(each.lost for each in evicted)
    parts += [f"{len(evicted)} evicted{f' ({n_lost} lost for good)' if n_lost else ''}"] if evicted else []
    text = "; ".join(part for part in (text, ", ".join(parts), gangs) if part)
    return text if finished else f"interrupted: {text} so far"


def pending_by_message(simulation: Simulation, attempts: Sequence[Attempt]) -> Iterator[WaitingData]:
    """Yield the pending pods that the scheduler is responsible for, by its last message and the cause.

    The pods of a pod group are together, with the message and the cause of the group.
    """
    causes = PendingCauses(attempts)
    yield from _pending_by_message(simulation, attempts, causes, simulated_groups(simulation, attempts, causes))


def _pending_by_message(
    simulation: Simulation, attempts: Sequence[Attempt], causes: PendingCauses, of_groups: Sequence[SimulatedGroupData]
) -> tuple[WaitingData, ...]:
    tried: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        tried[attempt.pod].append(attempt)
    # An attempt that ends in waiting at Permit has no message; a later failure is in the timeline.
    failures = {entry.pod: entry.why for entry in simulation.timeline if entry.event is TimelineEvent.FAILED}
    groups: dict[tuple[str, bool, str, str], list[str]] = defaultdict(list)
    in_groups = {key for group in of_groups for key in group.waiting}
    for group in of_groups:
        if group.waiting:
            gated = group.result is GroupResult.GATED
            groups[group.message, gated, group.cause, group.tree or group.key] += group.waiting
    pods = simulation.cluster.pods
    for index in np.flatnonzero(pods.node_row == PENDING).tolist():
        pod = pods.pod(index)
        if not simulation.scheduler.knows(pod) or pod.key in in_groups:
            continue
        gate = simulation.scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod)
        said = (tried[pod.key][-1].message or failures.get(pod.key, "")) if tried[pod.key] else ""
        gated = gate.code is not Code.SUCCESS and not said
        groups[gate.message if gated else said, gated, "" if gated else causes.of(pod.key), ""].append(pod.key)
    return tuple(
        WaitingData(message, gated, sum(len(tried[key]) for key in keys), tuple(keys), cause, group)
        for (message, gated, cause, group), keys in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    )


def _workloads(
    simulation: Simulation, placed: Sequence[tuple[str, str]], waiting: Sequence[WaitingData]
) -> Iterator[WorkloadPlacementData]:
    nodes = simulation.cluster.nodes
    zones = dict(zip(nodes.names, nodes.zones, strict=True))
    of_workload: dict[tuple[str, str, str], Counter[str]] = {}
    totals: Counter[tuple[str, str, str]] = Counter()
    left = [key for group in waiting for key in group.pods]
    for key, node in (*placed, *((key, "") for key in left)):
        # The pod may have been deleted during the simulation.
        workload = workload_of(simulation.cluster, simulation.met[key])
        totals[workload] += 1
        counts = of_workload.setdefault(workload, Counter())
        if node:
            counts[node] += 1
    for workload, counts in sorted(of_workload.items(), key=lambda item: (item[0][1], item[0][2], item[0][0])):
        by_zone: Counter[str] = Counter()
        for node, count in counts.items():
            if zones.get(node):
                by_zone[zones[node]] += count
        kind, namespace, name = workload
        yield WorkloadPlacementData(
            kind,
            namespace,
            name,
            totals[workload],
            counts.total(),
            dict(sorted(counts.items())),
            dict(sorted(by_zone.items())),
        )


def _attempt(attempt: Attempt) -> SimulatedAttemptData:
    return SimulatedAttemptData(
        attempt.time,
        attempt.pod,
        attempt.number,
        attempt.node,
        attempt.waits,
        attempt.search.best,
        attempt.message,
        attempt.nominated,
        attempt.victims,
        attempt.group.key if attempt.group is not None else "",
    )
