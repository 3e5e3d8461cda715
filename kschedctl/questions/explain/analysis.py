"""The analysis behind ``explain``: decisions for pods, with suggestions and other details on request."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kschedctl.common.errors import InputError
from kschedctl.common.text.patterns import pattern
from kschedctl.common.wording import counted, listed, similar
from kschedctl.controllers.admission.changes import Admitted
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.objects.resources import RequestRules
from kschedctl.questions.answer import encode_part
from kschedctl.questions.answer_parts import ThenData
from kschedctl.questions.explain.answer import (
    FATES,
    DaemonSetExplanation,
    Explanation,
    ExplanationSummary,
    NodeData,
    OutcomeGroupData,
    SampledNodeData,
    SearchData,
    SuggestionData,
    WorkloadData,
)
from kschedctl.questions.explain.explanation import Explained, summary
from kschedctl.questions.explain.node_results import node_data
from kschedctl.questions.explain.request import FEW, ExplainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pod_groups import pod_group_data, with_new_members
from kschedctl.questions.provenance import PodSubject, Provenance, diagnosis_data, envelope, provenance
from kschedctl.scheduler.cycle.decision import MIN_FEASIBLE_NODES_TO_FIND, Decision
from kschedctl.scheduler.cycle.outcome import Outcome, SearchScope
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.sampling import nodes_to_find, sampled_choice, search_scope
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.remedy import delete_command
from kschedctl.scheduler.framework.risk import RemedyScope
from kschedctl.trials.completeness import Missing
from kschedctl.trials.loaded_cluster import LoadedCluster

if TYPE_CHECKING:
    from kschedctl.diagnosis.why.proof import Suggestion
    from kschedctl.questions.preempt.answer import Preemption

# The cause for which a pod is not scheduled, in the scheduler's words.

_NODES_SAY: Final = pattern(r"[0-9]+/[0-9]+ nodes are available: (.*?)\.(?: |$)")


def cause(decision: Decision) -> str:
    """Return the reason why a pod or its group is not scheduled, and whether preemption would help; else empty."""
    group = group_of(decision)
    if group is not None and decision.outcome is Outcome.UNSCHEDULABLE:
        data = pod_group_data(group)
        return f"{data.title}: {data.count}{'; preemption would help' if group.victims else ''}"
    match decision.outcome:
        case Outcome.ERROR:
            return decision.error
        case Outcome.GATED:
            return decision.pre_enqueue.message
        case Outcome.SCHEDULED:
            return ""
    said = _NODES_SAY.match(decision.message)
    why = said[1] if said else decision.message
    helped = decision.preemption is not None and bool(decision.preemption.nominated)
    return f"{why}; preemption would help" if helped else why


# Phrases for the workload that an answer is about.

T = TypeVar("T", Explanation, "Preemption")

#: The noun for the pods of a kind, if it is not "replica".
_NOUNS: Final = {"DaemonSet": "node", "Job": "pod", "CronJob": "pod"}


def standing_for(answer: T, workload: WorkloadData) -> T:
    """Return the answer for one pod as the answer for its workload.

    Args:
        answer: The answer for one of the workload's pods.
    """
    said = words(workload)
    if workload.held:
        said = f"{workload.kind} {workload.namespace}/{workload.name} {workload.held}; once created, one of them"
    elif answer.group is not None:
        # The pods of a group are scheduled together, and the summary has their number.
        said = said.partition(";")[0]
    elif workload.running:
        said = _beside_running(workload)
    elif not workload.all_placed:
        fit = "fits" if workload.placed == 1 else "fit"
        said = f"{said.partition(';')[0]}: {workload.placed} of them {fit}, {_one_after_another(workload)}; one of them"
    verdict = replace(answer.verdict, summary=f"{said}: {answer.verdict.summary}")
    return replace(answer, workload=workload, verdict=verdict)


def words(workload: WorkloadData) -> str:
    """Return the workload, its size, and the pods that the answer applies to, in words.

    >>> words(WorkloadData("Deployment", "shop", "web", 6, pods=("web-xxxxx",)))
    'Deployment shop/web, 6 replicas; one of them'
    >>> words(WorkloadData("StatefulSet", "shop", "db", 3, pods=("db-0", "db-1")))
    'StatefulSet shop/db, 3 replicas; db-0 and db-1 alike'
    >>> words(WorkloadData("Job", "shop", "nightly", 0, suspended=True))
    'Job shop/nightly is suspended (spec.suspend), so that no pod is created; one pod would be'
    >>> words(WorkloadData("DaemonSet", "ops", "agent", 9, pods=("agent-xxxxx",), nodes=("node-1",)))
    'DaemonSet ops/agent, 9 nodes; the pod on node-1'
    """
    text = f"{workload.kind} {workload.namespace}/{workload.name}"
    if workload.kind == "PodTemplate":
        return text
    if workload.suspended:
        return f"{text} is suspended (spec.suspend), so that no pod is created; one pod would be"
    text = f"{text}, {counted(workload.replicas, _NOUNS.get(workload.kind, 'replica'))}"
    if workload.replicas == 0:
        return f"{text}; one replica would be"
    if len(workload.pods) > 1:
        return f"{text}; {'on ' if workload.nodes else ''}{listed(workload.nodes or workload.pods)} alike"
    if workload.nodes:
        return f"{text}; the pod on {workload.nodes[0]}"
    # The name of a single ordinal identifies the pod.
    return text if workload.replicas == 1 or workload.kind == "StatefulSet" else f"{text}; one of them"


def running_in_words(workload: WorkloadData) -> str:
    """Return the workload and the number of its pods that run, in words.

    >>> running_in_words(WorkloadData("StatefulSet", "shop", "db", 3, running=1))
    'StatefulSet shop/db: 1 of 3 replicas run'
    >>> running_in_words(WorkloadData("Job", "shop", "import", 3, running=3))
    'Job shop/import: all 3 pods run'
    """
    noun = _NOUNS.get(workload.kind, "replica")
    run = f"{workload.running} of {counted(workload.replicas, noun)} run"
    if workload.runs:
        run = f"all {workload.replicas} {noun}s run" if workload.replicas > 1 else f"its {noun} runs"
    return f"{workload.kind} {workload.namespace}/{workload.name}: {run}"


def _beside_running(workload: WorkloadData) -> str:
    """Return the workload, the number of pods that run, and the number of others that fit, in words."""
    text = running_in_words(workload)
    if workload.runs:
        return f"{text}; one more"
    if workload.missing == 1:
        return f"{text}; the other"
    if workload.all_placed:
        return f"{text}; one of the other {workload.missing}"
    fit = "fits" if workload.placed == 1 else "fit"
    how = _one_after_another(workload)
    return f"{text}; {workload.placed} of the other {workload.missing} {fit}, {how}; one of them"


def _one_after_another(workload: WorkloadData) -> str:
    if not workload.refused:
        return "scheduled one after another"
    return f"and the API server refuses the next one ({workload.refused})"


# Decisions for the pods of workloads; pods that get the same answer share it.

CountPlaced = Callable[[LoadedCluster, Sequence[PodSubject]], tuple[int | None, str]]


class DecidedPod(msgspec.Struct):
    """The decision for a pod, and the pods of its workload that share the answer."""

    asked: PodSubject
    decision: Decision
    provenance: Provenance
    node_name: str
    seed: int | None
    admitted: Admitted
    #: The pods of the workload that share the answer, this one included.
    alike: list[PodSubject] = msgspec.field(default_factory=list)
    workload: WorkloadData | None = None
    #: For each of these pods of a DaemonSet, the verdict on the node that the pod is for.
    own_nodes: list[NodeData] = msgspec.field(default_factory=list)

    def explained(self, decision: Decision | None = None, change: str = "") -> Explained:
        """Return the parts of the answer, or of that of another ``decision`` for the pod after the change in words."""
        rests_on = self.provenance
        if change:
            rests_on = msgspec.structs.replace(rests_on, changes=(*rests_on.changes, change))
        return Explained(
            decision or self.decision, rests_on, node_name=self.node_name, seed=self.seed, admitted=self.admitted
        )

    def standing(self, answer: T) -> T:
        """Return the answer as the one for the pod's workload, if it has one."""
        return answer if self.workload is None else standing_for(answer, self.workload)


def decide_together(
    cluster: LoadedCluster, asked: Iterable[PodSubject], seed: int | None, count_placed: CountPlaced | None = None
) -> Iterator[DecidedPod]:
    """Decide for pods; pods of one workload with equal answers are yielded as one.

    Args:
        seed: The seed of the random choice between equally good nodes.
        count_placed: A function that counts the pods of a workload that fit one after another, and returns the
            message of the quota that refuses the next one.

    The pods of a DaemonSet, each for a node of its own, share an answer if their nodes get the same reasons, whatever
    the numbers behind them. Other pods share an answer if the answers differ only in names.
    """
    for workload, group in groupby(asked, key=lambda one: one.workload):
        members = list(group)
        if workload is None:
            yield from (_decide(cluster, one, seed) for one in members)
            continue
        found: dict[object, DecidedPod] = {}
        by_kind: dict[object, DecidedPod] = {}
        on_nodes = None
        if for_nodes := [one for one in members if one.node]:
            # Few questions are about DaemonSets.
            from kschedctl.questions.explain.daemon_set_verdicts import DaemonSetVerdicts, answer_on_node

            on_nodes = DaemonSetVerdicts(cluster, for_nodes)
        kinds = [on_nodes.kind(one) if on_nodes and one.node else cluster.kind(one.pod) for one in members]
        for one, kind in zip(members, kinds, strict=True):
            if kind in by_kind:
                by_kind[kind].alike.append(one)
                if on_nodes and one.node:
                    by_kind[kind].own_nodes.append(on_nodes.node_data(one))
                continue
            decided = _decide(cluster, one, seed)
            key: object = None
            if one.node:
                key = answer_on_node(decided.decision, one.node)
            elif len(set(kinds)) > 1:
                # The pod's name is also part of the names of its claims.
                text = msgspec.json.encode(decided.explained().explanation(), enc_hook=encode_part).decode()
                key = text.replace(one.pod.name, "")
            first = by_kind[kind] = found.setdefault(key, decided)
            first.alike.append(one)
            if one.node:
                first.own_nodes.append(node_data(decided.decision, cluster.nodes.row[one.node]))
        in_group = group_of(next(iter(found.values())).decision)
        placed: int | None = None
        refused = ""
        if in_group is not None:
            own = workload.kind, workload.namespace, workload.name
            placed = sum(
                bool(each.node) and workload_of(in_group.cluster, each.pod.metadata) == own for each in in_group.members
            )
        elif count_placed is not None:
            placed, refused = count_placed(cluster, members)
        for decided in found.values():
            names = tuple(one.pod.name for one in decided.alike)
            nodes = tuple(one.node for one in decided.alike if one.node)
            decided.workload = msgspec.structs.replace(
                workload, pods=names, nodes=nodes, placed=placed, refused=refused
            )
            yield decided


def _decide(cluster: LoadedCluster, one: PodSubject, seed: int | None) -> DecidedPod:
    admitted = cluster.admit(one.pod, where=one.where)
    scheduler, node_name = cluster.scheduler, cluster.node_name(one.pod)
    if scheduler.knows(admitted.pod) or node_name:
        decision = cluster.decide_admitted(admitted.pod)
    else:
        decision = scheduler.decide_for_other_scheduler(admitted.pod)
    rests_on = provenance(
        cluster, cluster.missing(one.pod, decision), pod=one.pod, evicts=decision.preemption is not None
    )
    return DecidedPod(one, decision, rests_on, node_name, seed, admitted)


def worst_first(answer: Explanation) -> int:
    """Return the position of an answer among several: first what fits nowhere, or is not even admitted."""
    return [*FATES].index(answer.fate)


def explain(cluster: LoadedCluster, request: ExplainRequest, handle: AnalysisHandle) -> Iterator[Explanation]:
    """Yield the answer for each pod; pods of a workload with equal answers share one.

    Raises InputError if the cluster has no such node, or there is no such suggestion.
    """
    for decided in _decided(cluster, request, handle):
        yield _answer(cluster, request, decided)


def explain_daemon_set(cluster: LoadedCluster, request: ExplainRequest, handle: AnalysisHandle) -> DaemonSetExplanation:
    """Explain the pods of one DaemonSet together, and the nodes that it leaves out."""
    from kschedctl.diagnosis.diagnose import diagnose_workload
    from kschedctl.questions.explain.left_out_nodes import left_out_cures, left_out_nodes, spec_of_daemon_set

    every = list(_decided(cluster, request, handle))
    answers = tuple(_answer(cluster, request, decided) for decided in every)
    first = request.pods[0]
    left = left_out_nodes(cluster, spec_of_daemon_set(cluster, first), [one.node for one in request.pods])
    workload = first.workload
    of = (workload.kind, workload.namespace, workload.name) if workload is not None else None
    refused = diagnose_workload(cluster.scheduler, of) if of is not None else None
    cures = map(suggestion_data, sorted(refused.advice, key=lambda one: one.risk)) if refused is not None else ()
    return DaemonSetExplanation(
        held=f"{refused.state}: {refused.cause}" if refused is not None else "",
        answers=answers,
        nodes=tuple(node for one in every for node in one.own_nodes),
        left_out=left,
        suggestions=() if request.suggest == 0 else (*cures, *left_out_cures(cluster, first, left)),
    )


def summarize(cluster: LoadedCluster, pods: Iterable[PodSubject], handle: AnalysisHandle) -> ExplanationSummary:
    """Summarize the decisions for many pods: outcomes and causes, each with its pods."""
    cluster, pods = with_new_members(cluster, list(pods))
    known: dict[object, tuple[Outcome, str]] = {}
    refused = False
    missing: dict[Missing, None] = {}
    not_modelled: dict[NotModelled, None] = {}
    fates: dict[tuple[Outcome, str], list[str]] = {}
    for one in handle.track(pods, "evaluating pods"):
        kind = cluster.kind(one.pod)
        if kind not in known:
            admitted = cluster.admit(one.pod)
            decision = cluster.decide_admitted(admitted.pod)
            missing |= dict.fromkeys(cluster.missing(one.pod, decision))
            not_modelled |= dict.fromkeys(decision.not_modelled)
            refused |= bool(admitted.quota_refusals)
            known[kind] = decision.outcome, cause(decision)
        fates.setdefault(known[kind], []).append(one.pod.key)
    ordered = sorted(fates.items(), key=lambda item: ([*FATES].index(item[0][0]), -len(item[1])))
    return ExplanationSummary(
        **envelope(cluster.cluster, provenance(cluster, missing), not_modelled),
        fates=tuple(OutcomeGroupData(outcome, why, tuple(keys)) for (outcome, why), keys in ordered),
        refused=refused,
    )


def _decided(cluster: LoadedCluster, request: ExplainRequest, handle: AnalysisHandle) -> Iterator[DecidedPod]:
    for option, name in (*(("--node", name) for name in request.node), ("--prefer", request.prefer)):
        if name and name not in cluster.nodes.row:
            close = similar(name, cluster.nodes.names)
            hint = f"did you mean {', '.join(close)}?" if close else "kschedctl explain POD --nodes lists the nodes"
            raise InputError(f"the snapshot has no node {name}", path=option, hint=hint)
    cluster, pods = with_new_members(cluster, request.pods)
    return decide_together(cluster, pods, request.seed, partial(count_placed, handle=handle))


def _answer(cluster: LoadedCluster, request: ExplainRequest, decided: DecidedPod) -> Explanation:
    answer, decision = _with_suggestions(request, decided)
    scheduler, there = cluster.scheduler.moved(decision.cluster), decision.cluster.nodes.row
    # Most questions need none of these modules.
    if request.why:
        from kschedctl.questions.explain.story import story_data

        rows = [there[name] for name in request.node if name in there]
        answer = structs.replace(answer, stories=tuple(story_data(decision, row) for row in rows))
    if request.prefer:
        from kschedctl.questions.explain.node_preference import prefer

        answer = structs.replace(answer, preference=prefer(scheduler, decision, request.prefer))
    if request.withstand:
        from kschedctl.questions.explain.failure_tolerance import withstand

        answer = structs.replace(answer, withstanding=withstand(scheduler, decision))
    if decision.schedulable and (request.sampling or len(decision.searched) > MIN_FEASIBLE_NODES_TO_FIND):
        percentage = scheduler.percentage_of_nodes_to_score(decision.framework.profile.scheduler_name)
        search = search_data(decision, percentage, followed=request.sampling)
        if request.sampling:
            answer = with_samples(answer, search, request.seed)
        else:
            answer = structs.replace(answer, search=search)
    workload = decided.workload
    if workload is not None and (workload.missing or workload.suspended) and answer.group is None:
        answer = _held_back(cluster, decided, workload, answer)
    return decided.standing(answer)


def _held_back(cluster: LoadedCluster, decided: DecidedPod, workload: WorkloadData, answer: Explanation) -> Explanation:
    """Return the answer with the reason why the workload lacks pods: an API server, a queue or an earlier pod."""
    from kschedctl.diagnosis.diagnose import diagnose_workload
    from kschedctl.diagnosis.rules.cluster import ORDINAL_WAITS

    found = diagnose_workload(cluster.scheduler, (workload.kind, workload.namespace, workload.name))
    # A pending pod on which later pods wait is what the answer is about already.
    if found is None or (found.rule == ORDINAL_WAITS and found.missing < workload.missing):
        return answer
    decided.workload = structs.replace(workload, held=f"{found.state}: {found.cause}")
    cures = map(suggestion_data, sorted(found.advice, key=lambda one: one.risk))
    diagnoses, suggestions = (diagnosis_data(found), *answer.diagnoses), (*cures, *(answer.suggestions or ()))
    return structs.replace(answer, diagnoses=diagnoses, suggestions=suggestions)


def _with_suggestions(request: ExplainRequest, decided: DecidedPod) -> tuple[Explanation, Decision]:
    """Return the answer with suggestions, or with one of them applied, and the decision behind it."""
    most, wanted = request.suggest, request.apply_suggestion or 0
    few = len(request.pods) <= FEW and not decided.asked.node
    if not wanted:
        answer = decided.explained().explanation()
        if most == 0 or (most is None and not few):
            return answer, decided.decision
        if decided.decision.schedulable and not answer.diagnoses:
            # For a pod that fits and starts, nothing is searched for.
            return structs.replace(answer, suggestions=(), suggestions_exhausted=True), decided.decision
    from kschedctl.diagnosis.why.proof import Suggestion
    from kschedctl.diagnosis.why.search import DEFAULT_MOST, suggest

    if most is None:
        most = DEFAULT_MOST
    searched = suggest(decided.decision, most, decided.node_name)
    there = [each for each in searched.ranked if isinstance(each, Suggestion) and set(each.nodes) & set(request.node)]
    found = there or searched.ranked
    if not wanted:
        told = structs.replace(
            answer,
            suggestions=tuple(map(suggestion_data, found)),
            suggestions_tried=searched.tried,
            suggestions_exhausted=searched.exhausted,
        )
        return told, decided.decision
    if wanted > len(found):
        problem = f"{decided.decision.pod.key} fits: there are no suggestions"
        hint = ""
        if not decided.decision.schedulable:
            are = f"there {'is' if len(found) == 1 else 'are'} {counted(len(found), 'suggestion')}"
            problem = f"{are} for {decided.decision.pod.key}"
            hint = f"--suggest {wanted} looks for {wanted} suggestions"
        raise InputError(problem, path="--apply-suggestion", hint=hint)
    applied = found[wanted - 1]
    if isinstance(applied, Advice):
        raise InputError(
            f"suggestion {wanted} cannot be tried: {applied.untried}",
            path="--apply-suggestion",
            hint="choose a suggestion with a result",
        )
    if decided.workload is not None:
        # The number of replicas that fit was counted without the change.
        decided.workload = structs.replace(decided.workload, placed=None)
    return decided.explained(applied.decision, applied.summary).explanation(), applied.decision


# The number of replicas of a workload that are admitted and fit, one after another, each beside those before it.

#: At most 500 replicas are tried.
MOST: Final = 500


def count_placed(
    cluster: LoadedCluster, members: Sequence[PodSubject], handle: AnalysisHandle
) -> tuple[int | None, str]:
    """Count the pods of a workload that are admitted and fit, one after another.

    Return the message of the quota that refuses the next one as well; empty if none does.

    Of equally good nodes, a pod is bound to the first by name. Other effects of a bound pod, such as a volume that is
    provisioned for it, are not visible to the next pod.

    Args:
        members: The pods of the workload that differ in more than their name, each with its number of replicas.

    Returns: The number is ``None`` if nothing is placed one after another (a DaemonSet, at most one pod, or a quota
        refuses the first), or if more than 500 replicas are wanted and all that were tried fit.
    """
    from kschedctl.trials.whatif.pods import fresh_names

    if any(one.node for one in members) or sum(one.replicas for one in members) < 2:
        return None, ""
    # A pod of which there is one replica has a name of its own, such as one with an ordinal.
    pods = [
        (one, name)
        for one in members
        for name in (
            fresh_names(one.pod, min(one.replicas, MOST), cluster.pods.index) if one.replicas > 1 else [one.pod.name]
        )
    ]
    from kschedctl.controllers.admission.resource_quota import quota_refusals

    n_placed = n_new = 0
    start, rules = cluster.cluster, RequestRules.of(cluster.release_choice.release)
    for one, name in handle.track(pods[:MOST], "placing replicas"):
        cluster, pod = cluster.with_replica(one.pod, name)
        admitted = cluster.admit(pod, where=one.where).pod
        if (pod.namespace, pod.name) not in start.pods.index:
            refusals = quota_refusals(admitted, start, rules, after=n_new) if cluster.admission else ()
            if refusals:
                return n_placed or None, refusals[0].message
            n_new += 1
        decision = cluster.decide_admitted(admitted)
        if not decision.schedulable:
            # The remaining pods are equal to it, or come after it.
            return n_placed, ""
        cluster = cluster.with_bound(decision, decision.best[0])
        n_placed += 1
    return n_placed if len(pods) <= MOST and sum(one.replicas for one in members) <= MOST else None, ""


# The search for feasible nodes, and with ``--sampling`` the nodes that its starts lead to.


def search_data(decision: Decision, percentage: int, *, followed: bool) -> SearchData:
    """Return the search for the pod of a decision, which schedules it.

    Args:
        percentage: The ``percentageOfNodesToScore`` that applies to the pod's profile.
        followed: True to try all starts.
    """
    nodes: tuple[SampledNodeData, ...] = ()
    unscheduled = 0
    if followed:
        choice, names = sampled_choice(decision, percentage), decision.cluster.nodes.names
        found = zip(choice.rows.tolist(), choice.starts.tolist(), choice.chance.tolist(), strict=True)
        nodes = tuple(SampledNodeData(names[row], starts, chance) for row, starts, chance in found)
        unscheduled = choice.unscheduled
    return SearchData(
        scope=search_scope(decision, percentage),
        percentage=percentage,
        starts=len(decision.searched),
        nodes_to_find=nodes_to_find(decision, percentage),
        followed=followed,
        nodes=nodes,
        unscheduled=unscheduled,
    )


def with_samples(answer: Explanation, search: SearchData, seed: int | None) -> Explanation:
    """Return an answer that all starts of the search were tried for.

    Args:
        seed: The seed of the random choice of a start and of a node; ``None`` to choose none.
    """
    verdict, nodes = answer.verdict, search.nodes
    if search.scope is SearchScope.SAMPLE:
        picked = nodes[0].name if len(nodes) == 1 else None
        if seed is not None and nodes:
            names, weights = [node.name for node in nodes], [node.chance for node in nodes]
            picked = random.Random(seed).choices(names, weights)[0]
        verdict = structs.replace(verdict, picked=picked)
    text = summary(
        answer.pod,
        verdict,
        n_nodes=len(answer.nodes),
        gate="",
        scores=answer.scores,
        preemption=None,
        cause=answer.diagnoses[0].cause if answer.diagnoses else "",
        group=answer.group,
        search=search,
    )
    return structs.replace(answer, search=search, verdict=structs.replace(verdict, summary=text))


# Suggestions for a pod as data.


def suggestion_data(suggestion: "Suggestion | Advice") -> SuggestionData:
    """Return a suggestion, or a cure that cannot be tried, as data."""
    from kschedctl.diagnosis.why.rollout_trial import consequences, pod_to_delete
    from kschedctl.diagnosis.why.template import commands_of, through_templates

    if isinstance(suggestion, Advice):
        return SuggestionData(
            summary=suggestion.summary,
            kind=RemedyScope.CLUSTER,
            evicts=(),
            violates=(),
            changes=(),
            workload_changes=(),
            commands=(suggestion.command,) if suggestion.command else (),
            consequences=(),
            alternatives=(),
            untried=suggestion.untried,
            then=ThenData(()),
        )
    before = suggestion.before
    through = through_templates(before.cluster, before.pod, suggestion.remedies)
    group = group_of(suggestion.decision)
    return SuggestionData(
        summary=suggestion.summary,
        kind=suggestion.scope,
        evicts=suggestion.evicts,
        violates=suggestion.violates,
        changes=tuple(map(msgspec.to_builtins, suggestion.changes)),
        workload_changes=tuple(map(msgspec.to_builtins, through)),
        commands=(
            *commands_of(before.cluster, suggestion.remedies, through),
            *((delete_command((deleted,)),) if (deleted := pod_to_delete(suggestion, through)) else ()),
            # The other ways are lines that begin with `# or`.
            *(
                f"# or {line.removeprefix('# ')}"
                for other in suggestion.others
                for line in commands_of(other.before.cluster, other.remedies)
            ),
        ),
        consequences=tuple(dict.fromkeys(consequences(suggestion, through))),
        alternatives=tuple(other.summary for other in suggestion.others),
        untried="",
        then=ThenData(suggestion.nodes, sum(bool(each.node) for each in group.members) if group is not None else None),
    )
