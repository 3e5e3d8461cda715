"""The answer of ``explain``, from a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kschedctl.controllers.admission.changes import Admitted
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.objects.resources import exact_quantity, pod_requests, scheduler_units
from kschedctl.objects.well_known import zone_of
from kschedctl.questions.analyses.diagnosis import diagnosis_data
from kschedctl.questions.analyses.explain.summary import summary
from kschedctl.questions.analyses.explain.usage import usage_data
from kschedctl.questions.analyses.pod_groups.answer import pod_group_data
from kschedctl.questions.analyses.provenance import Provenance, envelope
from kschedctl.questions.answers.explain import (
    AdmissionData,
    CandidateData,
    ChangeData,
    ClaimsData,
    ConstraintData,
    Explanation,
    FilterData,
    LeadData,
    NodeData,
    NodeScoreData,
    PluginScoreData,
    PodData,
    PreemptionData,
    QuotaRefusalData,
    ReasonData,
    ScoresData,
    StatusData,
    VerdictData,
)
from kschedctl.questions.answers.pod_group import PodGroupData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin
from kschedctl.scheduler.framework.status import Reason, Status
from kschedctl.scheduler.plugins.dynamic_resources.filtering import State


def explanation(
    decision: Decision,
    provenance: Provenance,
    *,
    node_name: str = "",
    seed: int | None = None,
    admitted: Admitted | None = None,
) -> Explanation:
    """Return a decision as the answer of ``explain``.

    Parameters
    ----------
    decision : Decision
        The decision.
    provenance : Provenance
        The provenance of the answer.
    node_name : str
        The node that the pod runs on in the snapshot; empty if it is pending.
    seed : int or None
        The seed of the random choice between equally good nodes; ``None`` to choose none.
    admitted : Admitted or None
        The changes that admission made to the pod.
    """
    pod = _pod(decision, node_name)
    nodes = _nodes(decision)
    scores = _scores(decision)
    preemption = _preemption(decision)
    diagnoses = diagnose(decision, node_name)
    in_group = group_of(decision)
    group = pod_group_data(in_group) if in_group is not None else None
    return Explanation(
        pod=pod,
        group=group,
        **envelope(decision.cluster, provenance, decision.not_modelled),
        admission=_admission(admitted),
        verdict=_verdict(decision, pod, scores, preemption, seed, diagnoses, group),
        pre_enqueue=_status(decision.pre_enqueue),
        pre_filter=_status(decision.pre_filter.status) if decision.pre_filter is not None else None,
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
        scores=scores,
        preemption=preemption,
        message=decision.event_message,
        diagnoses=tuple(map(diagnosis_data, diagnoses)),
    )


def _pod(decision: Decision, node_name: str) -> PodData:
    pod = decision.pod
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


def _verdict(
    decision: Decision,
    pod: PodData,
    scores: ScoresData | None,
    preemption: PreemptionData | None,
    seed: int | None,
    diagnoses: Sequence[Diagnosis],
    group: PodGroupData | None,
) -> VerdictData:
    result, picked = decision.outcome, decision.pick(seed)
    n_feasible = len(decision.statuses.feasible) if decision.statuses is not None else 0
    verdict = VerdictData(
        result=result,
        summary="",
        nodes=decision.best,
        picked=picked,
        feasible_nodes=n_feasible,
        error=decision.error,
    )
    text = summary(
        pod,
        verdict,
        n_nodes=len(decision.cluster.nodes),
        gate=decision.pre_enqueue.message,
        scores=scores,
        preemption=preemption,
        cause=diagnoses[0].cause if diagnoses else "",
        binding=_binding(decision, pod.node_name),
        group=group,
        pod_group_name=decision.pod.spec.pod_group_name if decision.release.gangs else "",
    )
    return VerdictData(result, text, verdict.nodes, picked, n_feasible, verdict.error)


def _binding(decision: Decision, node: str) -> str:
    if not node:
        return ""
    # Most questions are about pending pods.
    from kschedctl.diagnosis.cluster_rules.cluster import binding

    return binding(decision.cluster, decision.pod, node)


def _claims(decision: Decision, nodes: Sequence[NodeData]) -> ClaimsData:
    found = decision.state.read(State)
    if not decision.pod.spec.resource_claims and (found is None or found.is_empty):
        return ClaimsData((), {})
    # Most pods need no devices.
    from kschedctl.questions.analyses.explain.claims import claims_data

    return claims_data(decision, nodes)


def _status(status: Status) -> StatusData:
    return StatusData(str(status.code), status.plugin, status.reasons)


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
        ConstraintData(
            plugin=name,
            topology_key=each.topology_key,
            pods=each.pods,
            domains=each.domains,
            own=each.own,
            minimum=each.minimum,
            max_skew=each.max_skew,
        )
        for name, plugin in filters
        for each in plugin.counted_domains(decision.state, decision.pod)
    )


def _nodes(decision: Decision) -> tuple[NodeData, ...]:
    if decision.statuses is None:
        return ()
    return tuple(node_data(decision, row) for row in range(len(decision.cluster.nodes)))


def node_data(decision: Decision, row: int) -> NodeData:
    """Return the verdict on the node of a row."""
    node, verdict = decision.cluster.nodes.objects[row], decision.verdict(row)
    reasons = tuple(ReasonData.of(plugin, reason) for plugin, found in verdict.reasons for reason in found)
    status = verdict.status
    if not reasons:
        reasons = tuple(ReasonData.of(status.plugin, Reason(text)) for text in status.reasons)
    zone = zone_of(node.metadata.labels)
    return NodeData(node.name, zone, verdict.feasible, str(status.code), status.plugin, reasons)


def _scores(decision: Decision) -> ScoresData | None:
    scores = decision.scores
    if scores is None:
        return None
    names = decision.cluster.nodes.names
    # From the best down; equal nodes by name, as kube-scheduler chooses one of them at random.
    order = sorted(range(len(scores.rows)), key=lambda i: (-int(scores.total[i]), names[scores.rows[i]]))
    nodes = tuple(
        NodeScoreData(
            names[scores.rows[i]],
            int(scores.total[i]),
            {
                plugin: PluginScoreData(
                    int(raw[i]),
                    int(scores.normalized[plugin][i]),
                    int(scores.normalized[plugin][i]) * scores.weights[plugin],
                )
                for plugin, raw in scores.raw.items()
            },
        )
        for i in order
    )
    return ScoresData({plugin: scores.weights[plugin] for plugin in scores.raw}, nodes, _lead(nodes))


def _lead(nodes: Sequence[NodeScoreData]) -> LeadData | None:
    """Return the lead of the best node over the next best, from nodes in the order of their scores."""
    behind = [node for node in nodes if node.total < nodes[0].total]
    if not behind:
        return None
    second = [node for node in behind if node.total == behind[0].total]
    apart = {name: own.weighted - second[0].plugins[name].weighted for name, own in nodes[0].plugins.items()}
    points = nodes[0].total - second[0].total
    return LeadData(tuple(node.name for node in second), points, {name: n for name, n in apart.items() if n})


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
    return PreemptionData(_status(found.status), found.nominated, candidates)


def _admission(admitted: Admitted | None) -> AdmissionData:
    if admitted is None:
        return AdmissionData()
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
