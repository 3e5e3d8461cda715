"""The answer of ``explain``, from a decision."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Final, cast

import numpy as np
from msgspec import structs

from kschedctl.common.wording import counted, listed
from kschedctl.controllers.admission.changes import Admitted
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.diagnosis import Diagnosis, Situation
from kschedctl.objects.resources import exact_quantity, pod_requests, scheduler_units
from kschedctl.questions.answer import EnvelopeFields
from kschedctl.questions.answer_parts import DiagnosisData, PodGroupData
from kschedctl.questions.explain.answer import (
    AdmissionData,
    CandidateData,
    ChangeData,
    ClaimsData,
    ConstraintData,
    Explanation,
    FilterData,
    NodeData,
    OwnerUsageData,
    PodData,
    PreemptionData,
    QuotaRefusalData,
    ScoresData,
    SearchData,
    StatusData,
    UsageData,
    VerdictData,
)
from kschedctl.questions.explain.node_results import nodes_data, scores_data
from kschedctl.questions.pod_groups import pod_group_data
from kschedctl.questions.provenance import Provenance, diagnosis_data, envelope, expansion_data
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome, SearchScope
from kschedctl.scheduler.cycle.pod_group_decision import DecisionInGroup, group_of
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin
from kschedctl.scheduler.plugins.dynamic_resources.state import State

# The summary of an explanation, which is its first line.


def summary(
    pod: PodData,
    verdict: VerdictData,
    *,
    n_nodes: int,
    gate: str,
    scores: ScoresData | None,
    preemption: PreemptionData | None,
    cause: str = "",
    binding: str = "",
    group: PodGroupData | None = None,
    pod_group_name: str = "",
    search: SearchData | None = None,
) -> str:
    """Return the outcome in one or two sentences.

    Args:
        verdict: The outcome; its own summary is ignored.
        gate: The message of the gate that keeps the pod out of the queue.
        preemption: The result of preemption; ``None`` if it did not run.
        cause: The cause of the diagnosis; empty if there is none.
        binding: The relation of the pod to its node, such as ``runs on n1``; empty for a pending pod.
        group: The decision for the pod's group; ``None`` for a pod that is tried by itself.
        pod_group_name: The pod's group, whether or not it is tried; empty for none.
        search: The search for feasible nodes, if all of its starts were tried.
    """
    if group is not None and verdict.result is Outcome.UNSCHEDULABLE:
        return _of_group(pod, group, cause)
    subject = f"{pod.namespace}/{pod.name}"
    start = f"{subject} {binding}. If rescheduled, it" if binding else subject
    match verdict.result:
        case Outcome.ERROR:
            why = f"{cause}: {verdict.error}" if cause else verdict.error
            if group is not None:
                return f"The {group.title} is not scheduled: kube-scheduler returns an error: {why}."
            return f"kube-scheduler returns an error for {subject}: {why}"
        case Outcome.OTHER_SCHEDULER:
            return f"{subject} is not scheduled{f': {cause}' if cause else ''}."
        case Outcome.GATED:
            alone = "Otherwise" if not pod_group_name else "By itself"
            then = (
                f"{alone} it would fit on {verdict.feasible_nodes} of {counted(n_nodes, 'node')}."
                if verdict.feasible_nodes
                else f"{alone} it would fit on none of {counted(n_nodes, 'node')}."
            )
            return f"{subject} is not tried: {gate}{f'; {cause}' if cause else ''}. {then}"
        case Outcome.UNSCHEDULABLE:
            text = f"{start} fits on none of {counted(n_nodes, 'node')}{f': {cause}' if cause else ''}."
            return f"{text} {_summary_preemption(preemption)}" if preemption is not None else text
    if cause:
        # Only a pod with a node, or about to get one, has a cause although it fits.
        start = f"{subject}: {cause}. It"
        if pod.node_name:
            start = f"{subject} {binding}{'' if cause in binding else f': {cause}'}. If rescheduled, it"
    of = f"{verdict.feasible_nodes} of {counted(n_nodes, 'node')}"
    with_group = ""
    if group is not None and not pod.node_name:
        with_group = f"The {group.title} is scheduled: {group.count}. "
    where = _destination(pod, verdict, scores) if search is None else _searched(pod, verdict, scores, search)
    return f"{with_group}{start} fits on {of} and is scheduled to {where}."


def _of_group(pod: PodData, group: PodGroupData, cause: str) -> str:
    """Return the sentences for a member of a group that is not scheduled, or only in part."""
    why = f"; {cause}" if cause else ""
    if group.outcome is GroupOutcome.SCHEDULED:
        return f"The {group.title} is scheduled, but without {pod.namespace}/{pod.name}: {group.count}{why}."
    rest = "rest of " if group.is_rest else ""
    text = f"The {rest}{group.title} is not scheduled: {group.count}{why}."
    victims = [key for unit in group.victims for key in unit.pods]
    if victims:
        whom = victims[0] if len(victims) == 1 else counted(len(victims), "pod")
        return f"{text} Preemption helps: it evicts {whom} for the group."
    return text


def _destination(pod: PodData, verdict: VerdictData, scores: ScoresData | None) -> str:
    best = verdict.nodes
    if best == (pod.nominated_node_name,):
        return f"{best[0]}, the node it is nominated to"
    if scores is None or verdict.feasible_nodes == 1:
        return best[0]
    total = scores.nodes[0].total
    if verdict.picked is not None and len(best) > 1:
        others = [name for name in best if name != verdict.picked]
        return f"{verdict.picked} (score {total}, chosen by the seed; also possible: {listed(others)})"
    if len(best) > 1:
        return f"one of {listed(best)} (score {total} each; kube-scheduler picks at random)"
    return f"{best[0]} (score {total}, next best {scores.nodes[1].name} with {scores.nodes[1].total})"


def _searched(pod: PodData, verdict: VerdictData, scores: ScoresData | None, search: SearchData) -> str:
    """Return the nodes that the search leads to, with the reason if all nodes are looked at."""
    match search.scope:
        case SearchScope.SAMPLE:
            nodes, of = search.nodes, f"of {counted(search.starts, 'start')}"
            likely = [node.name for node in nodes if node.chance == nodes[0].chance]
            each = " each" if len(likely) > 1 else ""
            starts = f"({nodes[0].starts} {of}{each})"
            if len(nodes) == 1:
                where = f"{nodes[0].name} {starts}"
            elif len(likely) == len(nodes):
                where = f"one of {counted(len(nodes), 'node')}, all equally likely {starts}"
            else:
                where = f"one of {counted(len(nodes), 'node')}, most likely {listed(likely, 'or')} {starts}"
            if verdict.picked is not None and len(nodes) > 1:
                where = f"{verdict.picked}, chosen by the seed as {where}"
            nowhere = f", and nowhere in {search.unscheduled} {of}" if search.unscheduled else ""
            return f"{where}{nowhere}: kube-scheduler stops at {counted(search.nodes_to_find, 'feasible node')}"
        case SearchScope.NOMINATED:
            extent = "kube-scheduler looks at no other node"
        case SearchScope.ALL_FEASIBLE:
            extent = f"kube-scheduler scores all of them, as it would stop at {search.nodes_to_find}"
        case SearchScope.PRE_FILTER:
            extent = f"its sample of the {search.starts} nodes that PreFilter leaves is not followed"
        case SearchScope.POD_GROUP:
            extent = "samples are not followed for pod groups"
        case SearchScope.ALL_NODES:
            extent = "kube-scheduler looks at all nodes"
    return f"{_destination(pod, verdict, scores)}; {extent}"


def _summary_preemption(preemption: PreemptionData) -> str:
    if not preemption.nominated:
        # Preemption is imported if it ran.
        from kschedctl.scheduler.preemption.result import NEVER, TERMINATING

        ineligible: dict[tuple[str, ...], str] = {
            (NEVER,): "It cannot preempt: its preemptionPolicy is Never.",
            (TERMINATING,): "It is pending: a pod evicted for it is still terminating.",
        }
        return ineligible.get(preemption.status.reasons, "Preemption would not help.")
    taken = next(candidate for candidate in preemption.candidates if candidate.name == preemption.nominated[0])
    whom = taken.victims[0] if len(taken.victims) == 1 else f"{len(taken.victims)} pods"
    some = "" if taken.pdb_violations == len(taken.victims) else f"{taken.pdb_violations} of them "
    against = f", {some}in violation of a disruption budget" if taken.pdb_violations else ""
    if len(preemption.nominated) > 1:
        whom = counted(len(taken.victims), "pod")
    elif taken.terminating:
        number = "" if len(taken.terminating) == len(taken.victims) else f"{len(taken.terminating)} of them "
        whom += f", {number}already being deleted"
    return f"Preemption would help: {listed(preemption.nominated, 'or')}, evicting {whom}{against}."


# The users of the capacity that a pod lacks.

#: At most 5 owners are reported.
_MOST: Final = 5


def usage_data(decision: Decision, nodes: Sequence[NodeData]) -> UsageData | None:
    """Return the owners that request most of the resource that is short on most nodes.

    Only nodes that could hold the pod if they were empty count.

    Args:
        nodes: The verdicts on the nodes, in the order of their rows.

    Returns: ``None`` if the pod fits, or no node that could hold it if empty is short of a resource that pods
        request.
    """
    if decision.best:
        return None
    cluster = decision.cluster
    columns, pods = cluster.resources(decision.framework.handle.request_rules), cluster.pods
    rows: dict[str, list[int]] = {}
    for row, node in enumerate(nodes):
        shortages = [each.operands.shortfall() if each.operands is not None else None for each in node.reasons]
        # Room on a node that another filter rejects as well, or that is too small, would not help.
        if any(found is None or found.hopeless for found in shortages):
            continue
        for found in shortages:
            # Not everything that can be short is requested by pods: claims hold devices.
            if found is not None and found.resource in columns.index:
                rows.setdefault(found.resource, []).append(row)
    if not rows:
        return None
    resource, lacking = max(rows.items(), key=lambda item: len(item[1]))
    amounts = columns.per_class[columns.index[resource]][pods.class_id]
    there = np.flatnonzero(np.isin(pods.node_row, lacking) & (amounts > 0))
    used: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for index in there.tolist():
        owner = pods.owner(index)
        namespace = pods.records[index].metadata.namespace
        name = f"{owner.kind} {namespace}/{owner.name}" if owner is not None else f"Pod {pods.key(index)}"
        used[name] += int(amounts[index])
        number[name] += 1
    return UsageData(
        resource,
        len(lacking),
        exact_quantity(resource, used.total()),
        tuple(
            OwnerUsageData(name, number[name], exact_quantity(resource, amount))
            for name, amount in used.most_common(_MOST)
        ),
    )


class Explained:
    """A decision and the parts of the answers about it, each computed when it is first read.

    Args:
        node_name: The node that the pod runs on in the snapshot; empty if it is pending.
        seed: The seed of the random choice between equally good nodes; ``None`` to choose none.
        admitted: The changes that admission made to the pod.
    """

    def __init__(
        self,
        decision: Decision,
        provenance: Provenance,
        *,
        node_name: str = "",
        seed: int | None = None,
        admitted: Admitted | None = None,
    ) -> None:
        self.decision: Final = decision
        self.seed: Final = seed
        self._provenance = provenance
        self._node_name = node_name
        self._admitted = admitted

    @property
    def envelope(self) -> EnvelopeFields:
        """The envelope of an answer about the decision."""
        return envelope(self.decision.cluster, self._provenance, self.decision.not_modelled)

    @cached_property
    def pod(self) -> PodData:
        """The pod."""
        return _pod(self.decision, self._node_name)

    @cached_property
    def group(self) -> PodGroupData | None:
        """The decision for the pod's group; ``None`` for a pod that is tried by itself."""
        found = group_of(self.decision)
        return pod_group_data(found) if found is not None else None

    @cached_property
    def admission(self) -> AdmissionData:
        """The result of admission."""
        return _admission(self._admitted) if self._admitted is not None else AdmissionData()

    @cached_property
    def diagnosed(self) -> tuple[Diagnosis, ...]:
        """The causes for which the pod is not scheduled, or does not start, the most important first."""
        return diagnose(self.decision, self._node_name)

    @property
    def diagnoses(self) -> tuple[DiagnosisData, ...]:
        """The causes as data."""
        return tuple(map(diagnosis_data, self.diagnosed))

    @cached_property
    def nodes(self) -> Sequence[NodeData]:
        """The verdicts on all nodes, in the order of their rows; empty if nodes were not filtered."""
        return nodes_data(self.decision)

    @cached_property
    def scores(self) -> ScoresData | None:
        """The scores of the feasible nodes; ``None`` if nodes were not scored."""
        return scores_data(self.decision)

    @cached_property
    def preemption(self) -> PreemptionData | None:
        """The result of preemption; ``None`` if it did not run."""
        return _preemption(self.decision)

    @cached_property
    def verdict(self) -> VerdictData:
        """The node chosen, or why there is none."""
        decision, seed = self.decision, self.seed
        verdict = VerdictData(
            result=decision.outcome,
            summary="",
            nodes=decision.best,
            picked=decision.pick(seed),
            feasible_nodes=len(decision.statuses.feasible) if decision.statuses is not None else 0,
            error=decision.error,
        )
        bound = ""
        if self._node_name:
            # Most questions are about pending pods.
            from kschedctl.diagnosis.rules.unstarted import binding

            bound = binding(decision.cluster, decision.pod, self._node_name)
        text = summary(
            self.pod,
            verdict,
            n_nodes=len(decision.cluster.nodes),
            gate=decision.pre_enqueue.message,
            scores=self.scores,
            preemption=self.preemption,
            cause=self.diagnosed[0].cause if self.diagnosed else "",
            binding=bound,
            group=self.group,
            pod_group_name=decision.pod.spec.pod_group_name if decision.release.gangs else "",
        )
        return structs.replace(verdict, summary=text)

    def explanation(self) -> Explanation:
        """Return the answer of ``explain``."""
        decision, nodes = self.decision, self.nodes
        return Explanation(
            pod=self.pod,
            group=self.group,
            **self.envelope,
            admission=self.admission,
            verdict=self.verdict,
            pre_enqueue=StatusData.of(decision.pre_enqueue),
            pre_filter=StatusData.of(decision.pre_filter.status) if decision.pre_filter is not None else None,
            pre_filter_nodes=(
                tuple(sorted(decision.pre_filter.node_names))
                if decision.pre_filter is not None and decision.pre_filter.node_names is not None
                else None
            ),
            filters=_filters(decision),
            nodes=nodes,
            constraints=_constraints(decision),
            claims=_claims(decision, nodes),
            usage=usage_data(decision, nodes),
            scores=self.scores,
            preemption=self.preemption,
            message=decision.event_message,
            diagnoses=self.diagnoses,
            autoscaler=next(
                (expansion_data(each.expansion) for each in self.diagnosed if each.expansion is not None), None
            ),
            notes=_notes(decision),
        )


def _admission(admitted: Admitted) -> AdmissionData:
    return AdmissionData(
        tuple(ChangeData(change.plugin, change.path, change.before, change.after) for change in admitted.changes),
        tuple(
            QuotaRefusalData(
                refusal.quota,
                refusal.message,
                *({k: str(v) for k, v in of.items()} for of in (refusal.requested, refusal.used, refusal.limited)),
            )
            for refusal in admitted.quota_refusals
        ),
    )


def _notes(decision: Decision) -> tuple[str, ...]:
    """Return the terms of the pod that do nothing, in words."""
    spec = decision.pod.spec
    if not spec.topology_spread_constraints and spec.affinity is None:
        return ()
    # Most pods have no such terms.
    from kschedctl.diagnosis.idle_terms import idle_terms

    return tuple(idle_terms(Situation(decision)))


def _pod(decision: Decision, node_name: str) -> PodData:
    pod = decision.asked if isinstance(decision, DecisionInGroup) else decision.pod
    wanted = scheduler_units(pod_requests(pod, decision.framework.handle.request_rules))
    return PodData(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        requests={name: exact_quantity(name, amount) for name, amount in wanted.items() if amount},
        priority=pod.spec.priority or 0,
        priority_class_name=pod.spec.priority_class_name,
        scheduler_name=pod.spec.scheduler_name,
        node_name=node_name,
        nominated_node_name=pod.status.nominated_node_name,
    )


def _claims(decision: Decision, nodes: Sequence[NodeData]) -> ClaimsData:
    found = decision.state.read(State)
    if not decision.pod.spec.resource_claims and (found is None or found.is_empty):
        return ClaimsData((), {})
    from kschedctl.questions.explain.claims import claims_data

    return claims_data(decision, nodes)


def _filters(decision: Decision) -> tuple[FilterData, ...]:
    names = decision.framework.profile.plugins.get(ExtensionPoint.FILTER, ())
    return tuple(FilterData(name, name in decision.state.skip_filter_plugins) for name in names)


def _constraints(decision: Decision) -> tuple[ConstraintData, ...]:
    """Return the constraints of the filters that were run."""
    if decision.statuses is None:
        return ()
    framework, skipped = decision.framework, decision.state.skip_filter_plugins
    filters = (
        (name, cast("FilterPlugin", framework.plugin(name)))
        for name in framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin)
        if name not in skipped
    )
    return tuple(
        ConstraintData(plugin=name, **structs.asdict(each))
        for name, plugin in filters
        for each in plugin.counted_domains(decision.state, decision.pod)
    )


def _preemption(decision: Decision) -> PreemptionData | None:
    found = decision.preemption
    if found is None:
        return None
    pods = decision.cluster.pods
    candidates = tuple(
        CandidateData(
            candidate.node,
            tuple(pods.key(victim.pod) for victim in candidate.victims),
            candidate.n_violations,
            candidate.lost_at,
            tuple(
                pods.key(victim.pod)
                for victim in candidate.victims
                if pods.records[victim.pod].metadata.deletion_timestamp is not None
            ),
        )
        for candidate in found.candidates
    )
    return PreemptionData(StatusData.of(found.status), found.nominated, candidates)
