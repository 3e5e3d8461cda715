"""The analysis behind ``preempt``: the pods that would be evicted for each of some pods."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods, queue_order
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.rules.other_schedulers import rival_scheduler, two_schedulers
from kschedctl.diagnosis.rules.unstarted import binding
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.explain.analysis import DecidedPod, decide_together
from kschedctl.questions.explain.answer import NodeData, ReasonData, StatusData
from kschedctl.questions.explain.explanation import Explained
from kschedctl.questions.explain.node_results import reasons_data, some_nodes_data
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pod_groups import with_new_members
from kschedctl.questions.preempt.answer import (
    Cause,
    NextData,
    NotHelpfulData,
    Preemption,
    PreemptorFate,
    PreemptorFateData,
    PreemptVerdictData,
    ReplacementData,
    Result,
    TakerData,
    Threat,
    TiedVictimsData,
    VictimFateData,
)
from kschedctl.questions.preempt.candidates import candidates_data, owner_data, possible_victims_of
from kschedctl.questions.preempt.request import PreemptRequest
from kschedctl.questions.preempt_words import in_vain_words, one_of_words, terminating_words
from kschedctl.questions.provenance import PodSubject, Provenance, envelope, provenance
from kschedctl.questions.run_results import advice_cure, pod_cures
from kschedctl.scheduler.cycle.decision import Decision, pick_random_node
from kschedctl.scheduler.cycle.outcome import Outcome as CycleOutcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.extender import EXTENDER_NAME
from kschedctl.scheduler.framework.status import Code, Reason
from kschedctl.scheduler.preemption.result import (
    NEVER,
    NO_VICTIMS,
    TERMINATING,
    Candidate,
    NoLowerPriority,
    PreemptionResult,
)
from kschedctl.scheduler.preemption.select_candidate import calculate_num_candidates
from kschedctl.sources.snapshot.pod_choice import find_pod
from kschedctl.trials.completeness import missing_for_any, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.aftermath import Aftermath, VictimFate, aftermath

# The answer of ``preempt``, from a decision.

_PREFIX: Final = "preemption: "
#: The number of best candidates whose possible victims are determined.
_MOST_TIED: Final = 3
_INELIGIBLE: Final = ((NEVER,), (TERMINATING,))


def preemption_answer(base: Explained, request: PreemptRequest, after: Callable[[Candidate], Aftermath]) -> Preemption:
    """Return the result of preemption as data.

    Args:
        base: The decision for the pod.
        after: A function that computes the aftermath of taking a candidate.
    """
    decision = base.decision
    everything = decision.preemption
    found = everything
    if found is not None and request.min_candidate_nodes is not None:
        found = found.shortlist(request.min_candidate_nodes, request.offset)
    nodes = found.nominated if found is not None else ()
    picked = pick_random_node(nodes, request.seed)
    taken = found.candidate(picked or nodes[0]) if found is not None and nodes else None
    examined = {*nodes[:_MOST_TIED], *((taken.node,) if taken is not None else ())}
    data = candidates_data(decision, found, examined) if found is not None else ()
    tied = next((one.tied_victims for one in data if taken is not None and one.name == taken.node), None)
    following = _next(decision, found, after(taken)) if found is not None and taken is not None else None
    verdict = _verdict(base, _Chosen(nodes, picked, taken, following, tied), found)
    said = found.status.reasons if found is not None and decision.outcome is not CycleOutcome.GATED else ()
    n_tried = len(everything.run.looked_at) if everything is not None and everything.run is not None else 0
    n_looked_at = len(found.run.looked_at) if found is not None and found.run is not None else 0
    enough = calculate_num_candidates(decision.framework, n_tried)
    shared = base.envelope
    shared["warnings"] = (*base.admission.refusals(base.pod), *shared["warnings"])
    return Preemption(
        **shared,
        pod=base.pod,
        group=base.group,
        verdict=verdict,
        status=StatusData(str(found.status.code), "DefaultPreemption", found.status.reasons) if found else None,
        candidates=data,
        not_helpful=tuple(_not_helpful(decision, found)) if found is not None else (),
        not_looked_at=n_tried - n_looked_at,
        candidates_enough=enough if request.min_candidate_nodes is None and len(data) > enough else None,
        next=following,
        preemption_message=", ".join(f"{_PREFIX}{reason}" for reason in said),
        message=decision.event_message,
        diagnoses=base.diagnoses,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The best candidates."""

    #: The names of their nodes, sorted.
    nodes: tuple[str, ...]
    #: The node that is picked among them; ``None`` if kube-scheduler picks it at random.
    picked: str | None
    #: The candidate on the picked or the first node; ``None`` without candidates.
    taken: Candidate | None
    #: The next steps on that node.
    following: NextData | None
    #: The possible sets of victims on that node; ``None`` if the victims are certain.
    tied: TiedVictimsData | None


def _verdict(base: Explained, chosen: _Chosen, found: PreemptionResult | None) -> PreemptVerdictData:
    decision = base.decision
    if decision.outcome is CycleOutcome.ERROR or (found is not None and found.status.code is Code.ERROR):
        result = Result.ERROR
    elif decision.outcome is CycleOutcome.GATED:
        result = Result.GATED
    elif decision.best:
        result = Result.FITS
    elif base.group is not None and chosen.taken is None:
        result = Result.PREEMPTS if base.group.victims else Result.NOT_HELPFUL
    elif found is None:
        result = Result.DISABLED
    elif chosen.taken is not None:
        result = Result.PREEMPTS
    else:
        result = Result.NOT_ELIGIBLE if found.status.reasons in _INELIGIBLE else Result.NOT_HELPFUL
    if result is Result.FITS:
        text = f"{base.verdict.summary} No eviction is needed."
        return PreemptVerdictData(result, text, base.verdict.nodes, base.verdict.picked, violates_budget=False)
    if base.group is not None and chosen.taken is None and result in (Result.PREEMPTS, Result.NOT_HELPFUL):
        text = base.verdict.summary if base.group.victims else f"{base.verdict.summary} Evicting pods does not help."
        return PreemptVerdictData(result, text, (), None, violates_budget=False)
    violates = chosen.taken is not None and chosen.taken.n_violations > 0
    text = _preemption_summary(base, result, found, chosen)
    return PreemptVerdictData(result, text, chosen.nodes, chosen.picked, violates)


def _preemption_summary(base: Explained, result: Result, found: PreemptionResult | None, chosen: _Chosen) -> str:
    decision, pod = base.decision, base.pod
    name = f"{pod.namespace}/{pod.name}"
    if result is Result.GATED or (result is Result.ERROR and not found):
        return base.verdict.summary
    if result is Result.ERROR and found is not None:
        return f"kube-scheduler returns an error for {name}: {found.status.message}"
    start = name
    if pod.node_name:
        start = f"{name} {binding(decision.cluster, decision.pod, pod.node_name)}. If rescheduled, it"
    nowhere = f"{start} fits on none of {counted(len(decision.cluster.nodes), 'node')}"
    because = f"{nowhere}: {base.diagnosed[0].cause}" if base.diagnosed else nowhere
    match result:
        case Result.DISABLED:
            return f"{because}. Profile {pod.scheduler_name} has no DefaultPreemption: no pod is evicted."
        case Result.NOT_ELIGIBLE if found is not None and found.status.reasons == (TERMINATING,):
            return (
                f"{nowhere} and stays pending: a pod evicted for it is still terminating on {pod.nominated_node_name}."
            )
        case Result.NOT_ELIGIBLE:
            return f"{because}. It cannot preempt: its preemptionPolicy is Never."
        case Result.NOT_HELPFUL:
            return f"{because}. Evicting pods does not help."
    assert chosen.taken is not None
    return f"{start} would evict {_eviction_words(decision, chosen, chosen.taken)}."


def _eviction_words(decision: Decision, chosen: _Chosen, taken: Candidate) -> str:
    """Return the number of victims, their node, the reason for which they are evicted in vain, and the budgets."""
    nodes, picked = chosen.nodes, chosen.picked
    where = picked or f"one of {listed(nodes)} (kube-scheduler picks at random)"
    if picked and len(nodes) > 1:
        others = listed([node for node in nodes if node != picked])
        where = f"{picked} (chosen by the seed; also possible: {others})"
    if chosen.tied is not None:
        where += f", {one_of_words(chosen.tied)}"
    in_vain = in_vain_words(chosen.following) if chosen.following is not None else ""
    if in_vain:
        where += f", in vain{'' if picked else f' (tried on {taken.node})'}: {in_vain}"
    elif (rival := rival_scheduler(decision)) is not None and rival.node == taken.node:
        where += f", but {rival.name} can take the place on the same node first"
    elif chosen.following is not None and (picked or len(nodes) == 1):
        where += terminating_words(chosen.following.victims)
    if taken.n_violations:
        names = listed(sorted({budget.name for victim in taken.victims for budget in victim.violated}))
        count = f"{taken.n_violations} of them" if len(taken.victims) > 1 else "that"
        budgets = f"{count} violates a disruption budget ({names})"
    elif decision.cluster.is_forbidden(PodDisruptionBudget):
        budgets = "whether that violates a disruption budget is not known"
    else:
        budgets = (
            "the snapshot has no disruption budgets"
            if next(iter(decision.cluster.list(PodDisruptionBudget)), None) is None
            else "no disruption budget is violated"
        )
    sizes = {len(taken.victims), *(map(len, chosen.tied.sets) if chosen.tied is not None else ())}
    number = f"{min(sizes)} to {max(sizes)} pods" if len(sizes) > 1 else counted(len(taken.victims), "pod")
    return f"{number} from {where}; {budgets}"


def _not_helpful(decision: Decision, found: PreemptionResult) -> Iterator[NotHelpfulData]:
    """Yield the inspected nodes that are no candidates, in the order of the snapshot."""
    statuses, rejected = decision.statuses, found.rejected
    if found.status.reasons in _INELIGIBLE or statuses is None:
        return
    hopeless = np.flatnonzero(statuses.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist()
    rows = sorted({*hopeless, *map(decision.cluster.nodes.row.__getitem__, rejected)})
    for row, node in zip(rows, some_nodes_data(decision, rows), strict=True):
        if node.name in rejected:
            yield _rejected(decision, found, row, node)
        else:
            yield NotHelpfulData(
                node.name, node.zone, node.fits, node.code, node.plugin, node.reasons, Cause.UNRESOLVABLE
            )


def _rejected(decision: Decision, found: PreemptionResult, row: int, node: NodeData) -> NotHelpfulData:
    """Return a node on which removing pods might have helped, but did not."""
    status = found.rejected[node.name]
    if status is NO_VICTIMS:
        why = NoLowerPriority(decision.pod.spec.priority or 0)
        reason = ReasonData.of("", Reason(NO_VICTIMS.reasons[0], why))
        return NotHelpfulData(node.name, node.zone, node.fits, str(status.code), "", (reason,), Cause.NO_LOWER_PRIORITY)
    said = found.run.statuses.reasons(row) if found.run is not None else ()
    cause = Cause.ERROR if status.code is Code.ERROR else Cause.STILL_DOES_NOT_FIT
    if status.plugin == EXTENDER_NAME:
        cause = Cause.DECLINED
    reasons = reasons_data(said, status)
    return NotHelpfulData(node.name, node.zone, node.fits, str(status.code), status.plugin, reasons, cause)


def _next(decision: Decision, found: PreemptionResult, after: Aftermath) -> NextData:
    pods = decision.cluster.pods
    losing = tuple(pods.key(index) for index in found.loses_nomination(after.node))
    returns = after.outcome.returns if after.outcome is not None else {}
    victims = tuple(_fate(decision, fate, returns) for fate in after.victims)
    outcome, fate = after.outcome, None
    if outcome is not None:
        pending = PreemptorFate.VICTIMS_RETURN if outcome.gives_up else PreemptorFate.STAYS_PENDING
        result = PreemptorFate.SCHEDULED if outcome.node else pending
        fate = PreemptorFateData(result, outcome.node, round(outcome.seconds, 3), outcome.evicted, outcome.message)
    return NextData(after.node, after.wait_seconds, victims, losing, fate)


def _fate(decision: Decision, fate: VictimFate, returns: Mapping[str, str]) -> VictimFateData:
    new = fate.replacement
    replacement = None
    if new is not None:
        evicting = new.preemption.nominated if new.preemption is not None else ()
        replacement = ReplacementData(new.best, new.message or new.error, evicting)
    key = decision.cluster.pods.key(fate.pod)
    scheduler = decision.cluster.pods.records[fate.pod].spec.scheduler_name
    return VictimFateData(
        key,
        owner_data(decision.cluster.pods.owner(fate.pod)),
        fate.bound_to_node,
        replacement,
        returns.get(key, ""),
        fate.wait_seconds,
        decision.cluster.pods.records[fate.pod].metadata.deletion_timestamp,
        other_scheduler="" if scheduler in decision.framework.handle.scheduler_names else scheduler,
    )


#: The number of cures for a pod for which preemption does not help.
_MOST_CURES: Final = 3


def in_queue_order(pods: list[PodSubject]) -> list[PodSubject]:
    """Return pods in the scheduler's queue order: the highest priority first, then the oldest."""
    return sorted(pods, key=lambda one: queue_order(one.pod))


def preempt(cluster: LoadedCluster, request: PreemptRequest, handle: AnalysisHandle) -> tuple[Preemption, ...]:
    """Report the pods that each pod would evict; pods of a workload with equal answers share one."""
    cluster, pods = with_new_members(cluster, request.pods)
    every = decide_together(cluster, handle.track(pods, "evaluating pods"), request.seed)
    return tuple(_answer(cluster, decided, request) for decided in every)


def _answer(cluster: LoadedCluster, decided: DecidedPod, request: PreemptRequest) -> Preemption:
    decision = decided.decision
    scheduler = cluster.scheduler.moved(decision.cluster)
    answer = preemption_answer(
        decided.explained(), request, lambda candidate: aftermath(scheduler, decision, candidate)
    )
    if answer.verdict.result in (Result.NOT_HELPFUL, Result.NOT_ELIGIBLE, Result.DISABLED):
        answer = structs.replace(answer, cures=tuple(pod_cures(decision, _MOST_CURES)))
    elif answer.verdict.result is Result.PREEMPTS:
        rival = (advice for each in two_schedulers(Situation(decision)) for advice in each.advice)
        answer = structs.replace(answer, cures=tuple(map(advice_cure, rival)))
    return decided.standing(answer)


# The threats to a pod: the pending pods that would evict it.


@dataclass(frozen=True, slots=True)
class Exposure:
    """The pending pods that would evict a pod, and the priority that would keep it safe."""

    #: The pending pods that would evict the pod, highest priority first.
    takers: tuple[TakerData, ...]
    #: The lowest priority with which none of them would evict the pod; ``None`` if there are none.
    safe_priority: int | None
    #: The lowest PriorityClass with at least this priority; empty if there is none.
    safe_class: str


def exposure(scheduler: Scheduler, victim: int) -> Exposure:
    """Find the pending pods that would evict a pod, each decided for in the unchanged snapshot.

    Args:
        victim: The index of the pod in ``Cluster.pods``.
    """
    pods = scheduler.cluster.pods
    takers = []
    for index in pending_pods(scheduler.cluster):
        pod = pods.pod(index)
        if pods.priority[index] <= pods.priority[victim] or not scheduler.knows(pod):
            continue
        decision = scheduler.decide(pod)
        # A pod with a gate is not tried, so it evicts nobody.
        if decision.preemption is None or decision.pre_enqueue.code is not Code.SUCCESS:
            continue
        nodes = decision.preemption.nominated
        node = pods.records[victim].node_name
        possible = possible_victims_of(decision, node) if node in nodes else None
        if possible is not None and victim in possible.possible:
            takers.append(_taker(decision, victim, node, certain=len(nodes) == 1 and victim in possible.certain))
    if not takers:
        return Exposure((), None, "")
    # A pod is evicted only for one of higher priority.
    safe = max(taker.priority for taker in takers)
    classes = [c for c in scheduler.cluster.list(PriorityClass) if c.value >= safe]
    return Exposure(tuple(takers), safe, min(classes, key=lambda c: c.value).name if classes else "")


def threat(cluster: LoadedCluster, pod: str) -> Threat:
    """Report the pending pods that would evict a pod of the cluster, given as ``namespace/name``.

    Raises ManifestError if there is no such pod.
    """
    namespace, _, name = pod.rpartition("/")
    require_listed(cluster.cluster, "Pod")
    cluster.require_nodes()
    stored = find_pod(cluster.pods, name, namespace or DEFAULT_NAMESPACE)
    key = stored.metadata.namespace, stored.metadata.name
    victim, scheduler = cluster.find(stored), cluster.scheduler
    if cluster.pod_edits:
        scheduler = scheduler.moved(cluster.cluster.with_pods(removed=[cluster.pods.index[key]], added=[victim]))
    found = exposure(scheduler, scheduler.cluster.pods.index[key])
    rests_on = provenance(cluster, missing_for_any(cluster.cluster, preempts=True), pod=stored, evicts=True)
    return threat_answer(found, victim, rests_on, cluster.cluster, node_name=cluster.node_name(victim))


def threat_answer(found: Exposure, victim: Pod, provenance: Provenance, cluster: Cluster, *, node_name: str) -> Threat:
    """Return the pods that would evict a pod as data.

    Args:
        found: The pods that would evict it.
        node_name: The node that the pod runs on; empty if it is pending.
    """
    takers = found.takers
    if not node_name:
        summary = f"{victim.key} is on no node: no pod would evict it."
    elif not takers:
        summary = f"{victim.key} is safe: no pending pod would evict it from {node_name}."
    else:
        whom = takers[0].name if len(takers) == 1 else f"{len(takers)} pending pods"
        may = "would" if any(taker.certain for taker in takers) else "may"
        summary = f"{victim.key} {may} be evicted from {node_name} by {whom}."
    return Threat(
        victim=victim.key,
        priority=victim.spec.priority or 0,
        priority_class_name=victim.spec.priority_class_name,
        node=node_name,
        summary=summary,
        takers=takers,
        safe_priority=found.safe_priority,
        safe_class=found.safe_class,
        pending=len(pending_pods(cluster)),
        **envelope(cluster, provenance),
    )


def _taker(decision: Decision, victim: int, node: str, *, certain: bool) -> TakerData:
    """Return a pending pod that would evict a pod of a node, given by its index."""
    assert decision.preemption is not None
    victims = decision.preemption.candidate(node).victims
    violates = any(other.violates and other.pod == victim for other in victims)
    pod = decision.pod
    return TakerData(pod.key, pod.spec.priority or 0, pod.spec.priority_class_name, node, certain, violates)
