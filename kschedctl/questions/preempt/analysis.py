"""The analysis behind ``preempt``: the pods that would be evicted for each of some pods."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods, queue_order
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.rules.other_schedulers import rival_scheduler, two_schedulers
from kschedctl.diagnosis.rules.unstarted import binding
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.meta import OwnerReference
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.answer import same_envelope
from kschedctl.questions.explain.analysis import DecidedPod, decide_together
from kschedctl.questions.explain.answer import Explanation, NodeData, ReasonData, StatusData
from kschedctl.questions.explain.node_results import reasons_data
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pod_groups import with_new_members
from kschedctl.questions.preempt.answer import (
    BudgetData,
    Cause,
    LostAtData,
    NextData,
    NotHelpfulData,
    OwnerData,
    PreemptCandidateData,
    Preemption,
    PreemptorFate,
    PreemptorFateData,
    PreemptVerdictData,
    ReplacementData,
    Result,
    TakerData,
    Threat,
    TiedVictimsData,
    VictimData,
    VictimFateData,
)
from kschedctl.questions.preempt.request import PreemptRequest
from kschedctl.questions.preempt_words import in_vain_words, one_of_words, terminating_words
from kschedctl.questions.provenance import PodSubject, Provenance, envelope, provenance
from kschedctl.questions.run_results import advice_cure, pod_cures
from kschedctl.scheduler.cycle.decision import Decision, pick_random_node
from kschedctl.scheduler.cycle.outcome import Outcome as CycleOutcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.extender import EXTENDER_NAME
from kschedctl.scheduler.framework.status import Code, Reason
from kschedctl.scheduler.preemption.budgets import Budget
from kschedctl.scheduler.preemption.result import (
    NEVER,
    NO_VICTIMS,
    TERMINATING,
    Candidate,
    NoLowerPriority,
    PreemptionResult,
    Victim,
)
from kschedctl.scheduler.preemption.select_candidate import calculate_num_candidates
from kschedctl.scheduler.preemption.tied_victims import PossibleVictims, possible_victims
from kschedctl.sources.snapshot.pod_choice import find_pod
from kschedctl.trials.completeness import missing_for_any, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.aftermath import Aftermath, VictimFate, aftermath
from kschedctl.trials.simulate.world import grace_seconds

# The answer of ``preempt``, from a decision.

_PREFIX: Final = "preemption: "
#: The number of best candidates whose possible victims are determined.
_MOST_TIED: Final = 3
_INELIGIBLE: Final = ((NEVER,), (TERMINATING,))


def preemption_answer(
    decision: Decision, base: Explanation, request: PreemptRequest, after: Callable[[Candidate], Aftermath]
) -> Preemption:
    """Return the result of preemption as data.

    Args:
        base: The same decision explained.
        after: A function that computes the aftermath of taking a candidate.
    """
    everything = decision.preemption
    found = everything
    if found is not None and request.min_candidate_nodes is not None:
        found = found.shortlist(request.min_candidate_nodes, request.offset)
    candidates = found.candidates if found is not None else ()
    moment = decision.cluster.taken_at
    chosen = tuple(sorted((c for c in candidates if not c.lost_at), key=lambda c: c.node))
    picked = pick_random_node(tuple(c.node for c in chosen), request.seed)
    taken = next((c for c in chosen if c.node == picked), chosen[0]) if chosen else None
    examined = {c.node for c in (*chosen[:_MOST_TIED], taken) if c is not None}
    data = tuple(_candidate(decision, one, moment, ties=one.node in examined) for one in candidates)
    tied = next((one.tied_victims for one in data if taken is not None and one.name == taken.node), None)
    following = _next(decision, found, after(taken)) if found is not None and taken is not None else None
    verdict = _verdict(decision, base, _Chosen(chosen, picked, following, tied), found)
    said = found.status.reasons if found is not None and decision.outcome is not CycleOutcome.GATED else ()
    n_tried = len(everything.run.looked_at) if everything is not None and everything.run is not None else 0
    n_looked_at = len(found.run.looked_at) if found is not None and found.run is not None else 0
    enough = calculate_num_candidates(decision.framework, n_tried)
    shared = same_envelope(base)
    shared["warnings"] = (*base.quota_refusals, *base.warnings)
    return Preemption(
        **shared,
        pod=base.pod,
        group=base.group,
        verdict=verdict,
        status=StatusData(str(found.status.code), "DefaultPreemption", found.status.reasons) if found else None,
        candidates=data,
        not_helpful=tuple(_not_helpful(decision, base, found)) if found is not None else (),
        not_looked_at=n_tried - n_looked_at,
        candidates_enough=enough if request.min_candidate_nodes is None and len(candidates) > enough else None,
        next=following,
        preemption_message=", ".join(f"{_PREFIX}{reason}" for reason in said),
        message=base.message,
        diagnoses=base.diagnoses,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The best candidates."""

    #: The best candidates, by name.
    candidates: tuple[Candidate, ...]
    #: The node that is picked among them; ``None`` if kube-scheduler picks it at random.
    picked: str | None
    #: The next steps on the picked or the first node.
    following: NextData | None
    #: The possible sets of victims on that node; ``None`` if the victims are certain.
    tied: TiedVictimsData | None


def _verdict(
    decision: Decision, base: Explanation, chosen: _Chosen, found: PreemptionResult | None
) -> PreemptVerdictData:
    if base.verdict.result is CycleOutcome.ERROR or (found is not None and found.status.code is Code.ERROR):
        result = Result.ERROR
    elif base.verdict.result is CycleOutcome.GATED:
        result = Result.GATED
    elif decision.best:
        result = Result.FITS
    elif base.group is not None and not chosen.candidates:
        result = Result.PREEMPTS if base.group.victims else Result.NOT_HELPFUL
    elif found is None:
        result = Result.DISABLED
    elif chosen.candidates:
        result = Result.PREEMPTS
    else:
        result = Result.NOT_ELIGIBLE if found.status.reasons in _INELIGIBLE else Result.NOT_HELPFUL
    if result is Result.FITS:
        text = f"{base.verdict.summary} No eviction is needed."
        return PreemptVerdictData(result, text, base.verdict.nodes, base.verdict.picked, violates_budget=False)
    if base.group is not None and not chosen.candidates and result in (Result.PREEMPTS, Result.NOT_HELPFUL):
        text = base.verdict.summary if base.group.victims else f"{base.verdict.summary} Evicting pods does not help."
        return PreemptVerdictData(result, text, (), None, violates_budget=False)
    nodes = tuple(c.node for c in chosen.candidates)
    violates = bool(nodes) and chosen.candidates[0].n_violations > 0
    text = _preemption_summary(decision, base, result, found, chosen)
    return PreemptVerdictData(result, text, nodes, chosen.picked, violates)


def _preemption_summary(
    decision: Decision, base: Explanation, result: Result, found: PreemptionResult | None, chosen: _Chosen
) -> str:
    pod = base.pod
    name = f"{pod.namespace}/{pod.name}"
    if result is Result.GATED or (result is Result.ERROR and not found):
        return base.verdict.summary
    if result is Result.ERROR and found is not None:
        return f"kube-scheduler returns an error for {name}: {found.status.message}"
    start = name
    if pod.node_name:
        start = f"{name} {binding(decision.cluster, decision.pod, pod.node_name)}. If rescheduled, it"
    nowhere = f"{start} fits on none of {counted(base.snapshot.nodes, 'node')}"
    because = f"{nowhere}: {base.diagnoses[0].cause}" if base.diagnoses else nowhere
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
    return f"{start} would evict {_eviction_words(decision, chosen)}."


def _eviction_words(decision: Decision, chosen: _Chosen) -> str:
    """Return the number of victims, their node, the reason for which they are evicted in vain, and the budgets."""
    candidates, picked = chosen.candidates, chosen.picked
    where = picked or f"one of {listed([c.node for c in candidates])} (kube-scheduler picks at random)"
    if picked and len(candidates) > 1:
        others = listed([c.node for c in candidates if c.node != picked])
        where = f"{picked} (chosen by the seed; also possible: {others})"
    taken = next((c for c in candidates if c.node == picked), candidates[0])
    if chosen.tied is not None:
        where += f", {one_of_words(chosen.tied)}"
    in_vain = in_vain_words(chosen.following) if chosen.following is not None else ""
    if in_vain:
        where += f", in vain{'' if picked else f' (tried on {taken.node})'}: {in_vain}"
    elif (rival := rival_scheduler(decision)) is not None and rival.node == taken.node:
        where += f", but {rival.name} can take the place on the same node first"
    elif chosen.following is not None and (picked or len(candidates) == 1):
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


def _candidate(decision: Decision, candidate: Candidate, taken: datetime | None, *, ties: bool) -> PreemptCandidateData:
    lost = None
    if candidate.lost_at:
        lost = LostAtData(candidate.criterion + 1, candidate.lost_at, candidate.has, candidate.against)
    tied = possible_victims_of(decision, candidate.node) if ties else None
    tied_data = None
    if tied is not None and tied.n_sets > 1:
        key = decision.cluster.pods.key
        sets = tuple(tuple(sorted(map(key, members))) for members in tied.sets)
        tied_data = TiedVictimsData(tied.n_sets, tied.complete, sets, tuple(sorted(map(key, tied.possible))))
    nodes = decision.cluster.nodes
    return PreemptCandidateData(
        candidate.node,
        nodes.zones[nodes.row[candidate.node]],
        tuple(
            _victim(decision, candidate, victim, taken, certain=tied is None or victim.pod in tied.certain)
            for victim in candidate.victims
        ),
        candidate.n_violations,
        lost,
        tied_data,
    )


def possible_victims_of(decision: Decision, node: str) -> PossibleVictims | None:
    """Return the sets of victims that the order of tied pods decides between; ``None`` for a node without victims."""
    preemption = decision.preemption
    if preemption is None or preemption.run is None:
        return None
    row = decision.cluster.nodes.row[node]
    return possible_victims(decision.framework, decision.state, decision.pod, preemption.run, row)


def _victim(
    decision: Decision, candidate: Candidate, victim: Victim, taken: datetime | None, *, certain: bool
) -> VictimData:
    pods = decision.cluster.pods
    record = pods.records[victim.pod]
    started = record.status.start_time
    return VictimData(
        name=f"{record.metadata.namespace}/{record.metadata.name}",
        priority=record.priority,
        priority_class_name=record.spec.priority_class_name,
        started_at=started,
        running_seconds=max(int((taken - started).total_seconds()), 0) if taken and started else None,
        terminating=record.metadata.deletion_timestamp is not None,
        owner=_owner(record.metadata.controller),
        grace_seconds=grace_seconds(record.spec),
        violates=victim.violates,
        budgets=tuple(_budget(budget, candidate, victim) for budget in victim.budgets),
        certain=certain,
    )


def _owner(owner: OwnerReference | None) -> OwnerData | None:
    return OwnerData(owner.kind, owner.name) if owner is not None else None


def _budget(budget: Budget, candidate: Candidate, victim: Victim) -> BudgetData:
    evicted = sum(budget in other.budgets for other in candidate.victims)
    below = max(evicted - budget.allowed, 0)
    return BudgetData(budget.name, budget.allowed, evicted, below, budget in victim.violated)


def _not_helpful(decision: Decision, base: Explanation, found: PreemptionResult) -> Iterator[NotHelpfulData]:
    """Yield the inspected nodes that are no candidates, in the order of the snapshot."""
    if found.status.reasons in _INELIGIBLE:
        return
    statuses, rejected = decision.statuses, found.rejected
    for row, node in enumerate(base.nodes):
        if node.name in rejected:
            yield _rejected(decision, found, row, node)
        elif statuses is not None and statuses.code[row] == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            yield NotHelpfulData(**structs.asdict(node), cause=Cause.UNRESOLVABLE)


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
        _owner(decision.cluster.pods.owner(fate.pod)),
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
        decision, decided.explanation(), request, lambda candidate: aftermath(scheduler, decision, candidate)
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
    pod, candidates = decision.pod, decision.preemption.candidates if decision.preemption is not None else ()
    violates = any(
        other.violates and other.pod == victim
        for candidate in candidates
        if candidate.node == node
        for other in candidate.victims
    )
    return TakerData(pod.key, pod.spec.priority or 0, pod.spec.priority_class_name, node, certain, violates)
