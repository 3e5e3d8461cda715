"""``pending``: the pending pods by cause, and the few changes that would place most of them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods, scheduler_message
from kschedctl.common.wording import counted, duration, listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnose import diagnose, diagnose_cluster
from kschedctl.diagnosis.diagnosis import ClusterDiagnosis, Diagnosis
from kschedctl.diagnosis.evidence.node_autoscalers import name_of
from kschedctl.diagnosis.pending_groups import PendingGroup, group_pending_pods, oldest
from kschedctl.diagnosis.why.proof import pending_words
from kschedctl.diagnosis.why.search import FEW_NODES, suggest
from kschedctl.diagnosis.why.unblocking_changes import Unblocking, UnblockingResult, unblock
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import Selector, matches, parse_label_query
from kschedctl.questions.explain.analysis import cause, suggestion_data
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pending.answer import AdviceData, GroupData, Pending, UnblockingData
from kschedctl.questions.pending.request import PendingRequest
from kschedctl.questions.pod_groups import cause_in_group, pod_group_data
from kschedctl.questions.provenance import Provenance, diagnosis_data, envelope, provenance
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.trials.completeness import Part, not_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.simulated_cluster import ending_pods
from kschedctl.trials.whatif.targets import require_namespace

#: Groups that no change for all helps get suggestions for their first pod, 2 each: the 3 largest, or the 10 largest on
#: a small cluster.
_MOST_ALONE: Final = 3
_MOST_ALONE_SMALL: Final = 10
_PER_GROUP: Final = 2
#: The number of pods that have not started and are named.
_MOST_STARTING: Final = 3
#: The result of a group whose pods may fit, if kinds that could not be listed allow it.
_NOT_KNOWN: Final = "notKnown"


@dataclass(frozen=True, slots=True)
class ExplainedGroup:
    """A group of pending pods with the causes for which its first pod is pending."""

    group: PendingGroup
    #: The decision for its first pod; if no profile is responsible, that of the profile that would be.
    decision: Decision
    #: The causes.
    diagnoses: tuple[Diagnosis, ...]
    #: The sentence that a kind could not be listed without which the outcome is not known; empty if there is none.
    unlisted: str = ""


def pending(cluster: LoadedCluster, request: PendingRequest, handle: AnalysisHandle) -> Pending:
    """Report the pending pods by cause, and the few changes that would place most of them.

    Each change was proven in a simulation of the whole queue. Workloads that lack pods and pods that do not start are
    groups of their own.

    Raises InputError if the cluster has no such namespace.
    """
    query = parse_label_query(request.selector) if request.selector else ()
    require_namespace(cluster.cluster, request.namespace)
    if cluster.cluster.is_forbidden(Node):
        return _without_nodes(cluster, request.namespace, query)
    scheduler = cluster.with_edited_pending()
    pods = list(_pods_asked_about(scheduler.cluster, request.namespace, query))
    with handle.busy("looking for changes"):
        groups = group_pending_pods(scheduler, pods)
        found = unblock(scheduler, groups, request.changes) if request.changes and groups else None
        explained = [explain_group(scheduler, group) for group in groups]
        lacks = [cluster.missing(one.group.pods[0], one.decision) for one in explained]
        explained = [
            replace(one, unlisted=next((lack.needed_for for lack in each if lack.permission and lack.decides), ""))
            for one, each in zip(explained, lacks, strict=True)
        ]
        alone = tuple(_alone(explained, found)) if found is not None else ()
    problems = _problems_asked_about(scheduler, request.namespace, query)
    missing = dict.fromkeys(
        (
            *(lack for each in lacks for lack in each),
            *not_listed(cluster.cluster, Part.PROBLEMS, namespace=request.namespace),
        )
    )
    now = cluster.cluster.taken_at
    rests_on = provenance(cluster, missing, many=True)
    nothing = _none_selected(scheduler.cluster, request, query) if query else ""
    answer = pending_answer(
        cluster.cluster, explained, found, rests_on, now, problems=problems, alone=alone, nothing=nothing
    )
    told = {pod for each in problems for pod in each.pods}
    starting = tuple(key for key in _starting(scheduler.cluster, request.namespace, query) if key not in told)
    if not starting:
        return answer
    has = "1 pod has a node and has" if len(starting) == 1 else f"{len(starting)} pods have a node and have"
    summary = f"{answer.summary} {has} not started: {listed(starting, most=_MOST_STARTING)}."
    return msgspec.structs.replace(answer, summary=summary, starting=starting)


def _starting(cluster: Cluster, namespace: str, query: Selector) -> Iterator[str]:
    """Yield the pods that have a node, and whose kubelet has not started all containers."""
    for index in cluster.pods.starting.tolist():
        metadata = cluster.pods.records[index].metadata
        if namespace in ("", metadata.namespace) and matches(query, metadata.labels):
            yield cluster.pods.key(index)


def _none_selected(cluster: Cluster, request: PendingRequest, query: Selector) -> str:
    """Return the sentence that a selector matches no pending pod, with the number of pods that it does match."""
    records = (record.metadata for record in cluster.pods.records)
    n_pods = sum(request.namespace in ("", each.namespace) and matches(query, each.labels) for each in records)
    where = f" in namespace {request.namespace}" if request.namespace else ""
    if not n_pods:
        return f"No pod{where} matches {request.selector}."
    return f"None of the {counted(n_pods, 'pod')}{where} that match {request.selector} is pending."


def explain_group(scheduler: Scheduler, group: PendingGroup) -> ExplainedGroup:
    """Return a group with the causes for which its first pod is pending."""
    decision = group.decision or scheduler.decide_for_other_scheduler(group.pods[0])
    return ExplainedGroup(group, decision, diagnose(decision))


def _pods_asked_about(cluster: Cluster, namespace: str, query: Selector) -> Iterator[Pod]:
    for pod in map(cluster.pods.pod, pending_pods(cluster)):
        if namespace in ("", pod.namespace) and matches(query, pod.metadata.labels):
            yield pod


def _problems_asked_about(scheduler: Scheduler, namespace: str, query: Selector) -> list[ClusterDiagnosis]:
    """Return the problems of the cluster; none for a selection by labels."""
    if query:
        return []
    return [
        each
        for each in diagnose_cluster(scheduler)
        if namespace in ("", each.namespace, *(key.partition("/")[0] for key in each.pods))
    ]


def _without_nodes(cluster: LoadedCluster, namespace: str, query: Selector) -> Pending:
    """Report the pending pods of a cluster whose nodes could not be listed, with kube-scheduler's own messages."""
    loaded = cluster.cluster
    together: dict[tuple[tuple[str, str, str], str], list[Pod]] = {}
    for pod in _pods_asked_about(loaded, namespace, query):
        together.setdefault((workload_of(loaded, pod.metadata), scheduler_message(pod)), []).append(pod)
    now = loaded.taken_at
    problems = _problems_asked_about(cluster.scheduler, namespace, query)
    groups = []
    for (workload, message), pods in together.items():
        since = min((at for pod in pods if (at := pod.metadata.creation_timestamp) is not None), default=None)
        gates = pods[0].spec.scheduling_gates
        why = f"kube-scheduler itself says: {message}" if message else "kube-scheduler has not said anything about it"
        group = GroupData(
            *workload,
            pods=tuple(pod.key for pod in pods),
            since=since,
            waiting_seconds=_seconds(now, since),
            result=_NOT_KNOWN,
            why=f"it has the scheduling gate {listed([gate.name for gate in gates])}" if gates else why,
            fitting=None,
            preempts=False,
            message=message,
            priority=pods[0].spec.priority or 0,
        )
        groups.append(group)
    n_pods = sum(len(group.pods) for group in groups)
    told = f"{counted(n_pods, 'pod')} {'is' if n_pods == 1 else 'are'} pending." if groups else "No pod is pending."
    missing = dict.fromkeys(not_listed(loaded, Part.CAPACITY, Part.PROBLEMS, namespace=namespace))
    return Pending(
        **envelope(loaded, provenance(cluster, missing, many=True)),
        summary=f"{told} {_problems(problems)}" if problems else told,
        groups=(*groups, *(_problem(each, now) for each in problems)),
        fit=None,
        changes=(),
        together=(),
        advice=tuple(sorted(_advice((), problems), key=lambda one: one.risk)),
    )


def _alone(explained: Sequence[ExplainedGroup], found: UnblockingResult) -> Iterator[UnblockingData]:
    """Yield changes for groups that the changes for all do not help, each tried for the first pod of a group alone."""
    placed = {*found.anyway, *found.together}
    n_groups = 0
    for each in explained:
        group, decision = each.group, each.decision
        stuck = group.hopeful or decision.outcome is Outcome.OTHER_SCHEDULER
        most = _MOST_ALONE if len(decision.cluster.nodes) > FEW_NODES else _MOST_ALONE_SMALL
        if not stuck or n_groups == most or any(pod.key in placed for pod in group.pods):
            continue
        n_groups += 1
        for suggestion in suggest(decision, _PER_GROUP).proven:
            told = msgspec.structs.asdict(suggestion_data(suggestion))
            del told["then"]
            yield UnblockingData(
                **told,
                would_place=tuple(pod.key for pod in group.pods) if group.is_pod_group else (decision.pod.key,),
                group="/".join(group.workload[1:]) if group.is_pod_group else "",
            )


def pending_answer(
    cluster: Cluster,
    explained: Sequence[ExplainedGroup],
    found: UnblockingResult | None,
    rests_on: Provenance,
    now: datetime | None,
    *,
    problems: Sequence[ClusterDiagnosis] = (),
    alone: tuple[UnblockingData, ...] = (),
    nothing: str = "",
) -> Pending:
    """Return the answer.

    Args:
        explained: The pods by cause.
        found: The changes that would place pods; ``None`` if changes were not searched for.
        now: The time until which the pods have been pending; ``None`` if it is unknown.
        problems: The problems of workloads, nodes and components.
        alone: Changes for single groups.
        nothing: The summary if no pod is asked about; empty for that of all pods.
    """
    not_modelled: dict[NotModelled, None] = {}
    for each in explained:
        not_modelled |= dict.fromkeys(each.decision.not_modelled)
    groups = [each.group for each in explained]
    summary = nothing or "No pod is pending."
    if groups:
        told = _of_pending(cluster, groups, found, now)
        summary = f"{told} Besides, {_problems(problems)}" if problems else told
    elif problems:
        none = "Every pod has a node" if any(each.kind == Pod.__name__ for each in problems) else "No pod is pending"
        summary = f"{none}, but {_problems(problems)}"
    tried = {each.summary for each in alone} | {each.summary for each in (found.changes if found is not None else ())}
    return Pending(
        **envelope(cluster, rests_on, tuple(not_modelled)),
        summary=summary,
        groups=(*(_group_data(each, found, now) for each in explained), *(_problem(each, now) for each in problems)),
        fit=found.anyway if found is not None else None,
        changes=tuple(map(_change, found.changes)) if found is not None else (),
        together=found.together if found is not None else (),
        alone=alone,
        advice=tuple(sorted(_advice(explained, problems, tried), key=lambda one: one.risk)),
        autoscaler=name_of(cluster) if groups else "",
    )


def _advice(
    explained: Sequence[ExplainedGroup], problems: Sequence[ClusterDiagnosis], tried: Collection[str] = ()
) -> Iterator[AdviceData]:
    """Yield the cures that cannot be tried, each once, without those of the same words that were tried."""
    every: list[tuple[str, Diagnosis]] = [(each.subject, each) for each in problems]
    for one in explained:
        kind, namespace, name = one.group.workload
        every += [(f"{kind} {namespace}/{name}", each) for each in one.diagnoses]
    seen = set(tried)
    for of, diagnosis in every:
        for advice in diagnosis.advice:
            if advice.summary not in seen:
                seen.add(advice.summary)
                commands = (advice.command,) if advice.command else ()
                yield AdviceData(advice.summary, of, advice.risk, advice.untried, commands)


def _seconds(now: datetime | None, since: datetime | None) -> int | None:
    return max(int((now - since).total_seconds()), 0) if now is not None and since is not None else None


def _problem(found: ClusterDiagnosis, now: datetime | None) -> GroupData:
    """Return a problem of a workload, a node or a component as a group."""
    result = "notCreated" if found.missing else "notStarted" if found.kind == Pod.__name__ else "notRunning"
    if found.rule == "waiting-resize":
        result = "notResized"
    return GroupData(
        kind=found.kind,
        namespace=found.namespace,
        name=found.name,
        pods=found.pods,
        since=found.since,
        waiting_seconds=_seconds(now, found.since),
        result=result,
        why=found.cause,
        fitting=None,
        preempts=False,
        message="",
        missing=found.missing,
        state=found.state,
        diagnoses=(diagnosis_data(found),),
    )


def _cause_in_words(decision: Decision, diagnoses: Sequence[Diagnosis]) -> str:
    """Return the cause in our words, and whether preemption helps; in the scheduler's words where it has no rule."""
    if decision.outcome is Outcome.GATED:
        # The scheduler lists the gates of a pod; a rule may know why their controller has not removed them.
        told, gates = diagnoses[0].cause if diagnoses else "", decision.pod.spec.scheduling_gates
        if any(gate.name in told for gate in gates):
            return cause(decision)
        return "; ".join(filter(None, (cause(decision) if gates or not told else "", told)))
    if not diagnoses:
        return cause_in_group(decision, cause(decision))
    group = group_of(decision)
    helped = decision.preemption is not None and bool(decision.preemption.nominated)
    helped |= group is not None and bool(group.victims)
    why = cause_in_group(decision, diagnoses[0].cause)
    return f"{why}; preemption would help" if helped else why


def _group_data(explained: ExplainedGroup, found: UnblockingResult | None, now: datetime | None) -> GroupData:
    group, decision, diagnoses = explained.group, explained.decision, explained.diagnoses
    kind, namespace, name = group.workload
    why = _cause_in_words(decision, diagnoses)
    if group.fits and found is not None:
        # Each pod of the group fits if no other pod is pending. The cause is that of the first pod left over.
        later = next((found.later[pod.key] for pod in group.pods if pod.key in found.later), None)
        if later is not None:
            diagnoses = diagnose(later)
            # The number of members that fit precedes the cause in the answer.
            why = diagnoses[0].cause if diagnoses and group.is_pod_group else _cause_in_words(later, diagnoses)
    return GroupData(
        kind=kind,
        namespace=namespace,
        name=name,
        pods=tuple(pod.key for pod in group.pods),
        since=group.since,
        waiting_seconds=_seconds(now, group.since),
        result=_NOT_KNOWN if explained.unlisted and decision.schedulable else str(decision.outcome),
        why=explained.unlisted if explained.unlisted and decision.schedulable else why,
        fitting=sum(pod.key in found.anyway for pod in group.pods) if found is not None else None,
        fitting_once_ended=sum(pod.key in found.once_ended for pod in group.pods) if found is not None else 0,
        preempts=group.preempts,
        message=decision.event_message,
        priority=group.pods[0].spec.priority or 0,
        diagnoses=tuple(map(diagnosis_data, diagnoses)),
        group=pod_group_data(group.pod_group) if group.pod_group is not None else None,
    )


def _change(found: Unblocking) -> UnblockingData:
    return UnblockingData(
        summary=found.summary,
        kind=found.scope,
        evicts=found.evicts,
        violates=found.violates,
        changes=tuple(map(msgspec.to_builtins, found.changes)),
        workload_changes=tuple(map(msgspec.to_builtins, found.through)),
        commands=found.commands,
        consequences=tuple(pending_words(found.unplaced)),
        alternatives=(),
        untried="",
        would_place=found.placed,
    )


def _problems(problems: Sequence[ClusterDiagnosis]) -> str:
    """Return the first problem with its cause, and the number of others."""
    first, n_others = problems[0], len(problems) - 1
    told = f"{first.subject} {first.state}: {first.cause}."
    return f"{told} {counted(n_others, 'more problem')} {'is' if n_others == 1 else 'are'} below." if n_others else told


def _of_pending(
    cluster: Cluster, groups: Sequence[PendingGroup], found: UnblockingResult | None, now: datetime | None
) -> str:
    n_pods = sum(len(group.pods) for group in groups)
    waited = _seconds(now, oldest(groups))
    told = f"{counted(n_pods, 'pod')} {'is' if n_pods == 1 else 'are'} pending in {counted(len(groups), 'group')}"
    if waited is not None:
        told += f"; the oldest for {duration(waited)}"
    told += "."
    if found is None:
        return told
    if found.anyway:
        verb = "fits" if len(found.anyway) == 1 else "fit"
        gone = ""
        if found.once_ended:
            # Pods that are being deleted have to go first.
            n_ending, n_waiting = sum(1 for _ in ending_pods(cluster)), len(found.once_ended)
            which = f", {n_waiting} of them" if n_waiting < len(found.anyway) else ""
            gone = f"{which} once {counted(n_ending, 'pod')} being deleted {'is' if n_ending == 1 else 'are'} gone"
        told += f" {counted(len(found.anyway), 'pod')} {verb} without a change{gone}."
    if found.changes:
        words = ("One change", "Two changes", "Three changes")
        n_changes = len(found.changes)
        what = words[n_changes - 1] if n_changes <= len(words) else f"{n_changes} changes"
        more = " more" if found.anyway else ""
        told += f" {what} would place {len(found.together)}{more} of them."
    return told
