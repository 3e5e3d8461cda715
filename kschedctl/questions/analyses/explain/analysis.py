"""The analysis behind ``explain``: decisions for pods, with suggestions and other details on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import structs

from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted, similar
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.questions.analyses.explain.cause import cause
from kschedctl.questions.analyses.explain.grouping import DecidedPod, decide_together
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.pod_groups.members import with_new_members
from kschedctl.questions.analyses.provenance import envelope, provenance
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.questions.answers.explain import DaemonSetExplanation, Explanation, ExplanationSummary, OutcomeGroupData
from kschedctl.scheduler.cycle.decision import MIN_FEASIBLE_NODES_TO_FIND, Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.trials.completeness import Missing
from kschedctl.trials.loaded_cluster import LoadedCluster

#: Up to 8 pods are explained one by one, with suggestions; more are summarized.
FEW: Final = 8
_ORDER: Final = (Outcome.ERROR, Outcome.UNSCHEDULABLE, Outcome.GATED, Outcome.SCHEDULED)


class ExplainRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question about the nodes that pods are scheduled to.

    Attributes
    ----------
    pods : tuple of PodSubject
        The pods; those of one workload follow each other.
    nodes : tuple of str
        The nodes of interest: if suggestions help there, only these are given.
    stories : bool
        True to add the filters' comparisons and the arithmetic behind scores for these nodes.
    suggest : int or None
        The number of suggestions to look for; ``None`` for 5, or 0 for more than 8 pods and for pods of DaemonSets.
    apply_suggestion : int or None
        The number, from 1, of the suggestion to apply before answering; ``None`` to apply none.
    prefer : str
        A node; the answer lists the changes that would move the pod to it. Empty for none.
    withstand : bool
        True to add the failures of nodes and zones after which the pod still fits somewhere.
    sampling : bool
        True to end the search for feasible nodes as kube-scheduler does, for all starts; False to score all nodes.
    seed : int or None
        The seed of the random choice between equally good nodes, and of a start; ``None`` to choose none.
    """

    pods: tuple[PodSubject, ...]
    nodes: tuple[str, ...] = ()
    stories: bool = False
    suggest: int | None = None
    apply_suggestion: int | None = None
    prefer: str = ""
    withstand: bool = False
    sampling: bool = False
    seed: int | None = None

    @property
    def can_be_summed_up(self) -> bool:
        """True if there are more than 8 pods and the request needs nothing that a summary leaves out."""
        return len(self.pods) > FEW and not (self.nodes or self.prefer or self.withstand or self.sampling)

    @property
    def is_daemon_set(self) -> bool:
        """True if all pods are those of one DaemonSet."""
        return all(one.node and one.workload == self.pods[0].workload for one in self.pods)


def explain(cluster: LoadedCluster, request: ExplainRequest, handle: AnalysisHandle) -> Iterator[Explanation]:
    """Yield the answer for each pod; pods of a workload with equal answers share one.

    Raises
    ------
    InputError
        If the cluster has no such node, or there is no such suggestion.
    """
    for decided in _decided(cluster, request, handle):
        yield _answer(cluster, request, decided)


def explain_daemon_set(cluster: LoadedCluster, request: ExplainRequest, handle: AnalysisHandle) -> DaemonSetExplanation:
    """Explain the pods of one DaemonSet together."""
    every = list(_decided(cluster, request, handle))
    answers = tuple(_answer(cluster, request, decided) for decided in every)
    return DaemonSetExplanation(answers=answers, nodes=tuple(node for one in every for node in one.own_nodes))


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
    ordered = sorted(fates.items(), key=lambda item: (_ORDER.index(item[0][0]), -len(item[1])))
    return ExplanationSummary(
        **envelope(cluster.cluster, provenance(cluster, missing), not_modelled),
        fates=tuple(OutcomeGroupData(outcome, why, tuple(keys)) for (outcome, why), keys in ordered),
        refused=refused,
    )


def _decided(cluster: LoadedCluster, request: ExplainRequest, handle: AnalysisHandle) -> Iterator[DecidedPod]:
    for option, name in (*(("--node", name) for name in request.nodes), ("--prefer", request.prefer)):
        if name and name not in cluster.nodes.row:
            raise _no_such_node(cluster, name, option)
    cluster, pods = with_new_members(cluster, request.pods)

    def placed(cluster: LoadedCluster, members: Sequence[PodSubject]) -> tuple[int | None, str]:
        # Only workloads have replicas to count.
        from kschedctl.questions.analyses.explain.replicas import count_placed

        return count_placed(cluster, members, handle)

    return decide_together(cluster, pods, request.seed, placed)


def _answer(cluster: LoadedCluster, request: ExplainRequest, decided: DecidedPod) -> Explanation:
    answer, decision = _with_suggestions(request, decided)
    scheduler, there = cluster.scheduler.moved(decision.cluster), decision.cluster.nodes.row
    # Most questions need none of these modules.
    if request.stories:
        from kschedctl.questions.analyses.explain.story import story_data

        rows = [there[name] for name in request.nodes if name in there]
        answer = structs.replace(answer, stories=tuple(story_data(decision, row) for row in rows))
    if request.prefer:
        from kschedctl.questions.analyses.explain.node_preference import prefer

        answer = structs.replace(answer, preference=prefer(scheduler, decision, request.prefer))
    if request.withstand:
        from kschedctl.questions.analyses.explain.failure_tolerance import withstand

        answer = structs.replace(answer, withstanding=withstand(scheduler, decision))
    if decision.schedulable and (request.sampling or len(decision.searched) > MIN_FEASIBLE_NODES_TO_FIND):
        from kschedctl.questions.analyses.explain.search import search_data, with_samples

        percentage = scheduler.percentage_of_nodes_to_score(decision.framework.profile.scheduler_name)
        search = search_data(decision, percentage, followed=request.sampling)
        if request.sampling:
            answer = with_samples(answer, search, request.seed)
        else:
            answer = structs.replace(answer, search=search)
    return decided.standing(answer)


def _with_suggestions(request: ExplainRequest, decided: DecidedPod) -> tuple[Explanation, Decision]:
    """Return the answer with suggestions, or with one of them applied, and the decision behind it."""
    most, wanted = request.suggest, request.apply_suggestion or 0
    few = len(request.pods) <= FEW and not decided.asked.node
    if not wanted:
        answer = decided.explanation()
        if most == 0 or (most is None and not few):
            return answer, decided.decision
        if decided.decision.schedulable and not answer.diagnoses:
            # For a pod that fits and starts, nothing is searched for.
            return structs.replace(answer, suggestions=(), suggestions_exhausted=True), decided.decision
    from kschedctl.diagnosis.why.proof import Suggestion
    from kschedctl.diagnosis.why.search import DEFAULT_MOST, suggest
    from kschedctl.questions.analyses.explain.suggestions import suggestion_data

    if most is None:
        most = DEFAULT_MOST
    searched = suggest(decided.decision, most, decided.node_name)
    there = [each for each in searched.ranked if isinstance(each, Suggestion) and set(each.nodes) & set(request.nodes)]
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
        raise _no_such_suggestion(decided.decision, wanted, len(found))
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
    return decided.explanation(applied.decision, applied.summary), applied.decision


def _no_such_suggestion(decision: Decision, wanted: int, n_found: int) -> InputError:
    pod = decision.pod.key
    if decision.schedulable:
        return InputError(f"{pod} fits: there are no suggestions", path="--apply-suggestion")
    problem = f"there {'is' if n_found == 1 else 'are'} {counted(n_found, 'suggestion')} for {pod}"
    return InputError(problem, path="--apply-suggestion", hint=f"--suggest {wanted} looks for {wanted} suggestions")


def _no_such_node(cluster: LoadedCluster, name: str, option: str) -> InputError:
    close = similar(name, cluster.nodes.names)
    hint = f"did you mean {', '.join(close)}?" if close else "kschedctl explain POD --nodes lists the nodes"
    return InputError(f"the snapshot has no node {name}", path=option, hint=hint)
