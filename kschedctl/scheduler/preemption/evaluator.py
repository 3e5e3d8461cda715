"""Preemption for one pod: kube-scheduler's stages in their order (upstream ``Evaluator``)."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.common.arrays import Rows
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.pod import Pod, PodStatus
from kschedctl.objects.releases.rules import PodGroupRules
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extender import Extender, ExtenderError, MetaVictims, Victims, extender_note
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.framework.node_statuses import NodeStatuses, fit_error
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun, dry_run_preemption
from kschedctl.scheduler.preemption.result import NEVER, NO_VICTIMS, TERMINATING, PreemptionResult, dry_run_errors
from kschedctl.scheduler.preemption.select_candidate import pick_one_node_for_preemption
from kschedctl.scheduler.preemption.victim_units import pod_priority


def pod_eligible_to_preempt_others(
    cluster: Cluster, pod: Pod, statuses: NodeStatuses, rules: PodGroupRules | None
) -> str:
    """Return the reason why a pod may not preempt others; empty if it may (upstream ``PodEligibleToPreemptOthers``).

    Args:
        statuses: The filters' verdicts, by node.
        rules: The rules of pod groups; ``None`` if pods are scheduled one by one.
    """
    if pod.spec.preemption_policy == "Never":
        return NEVER
    row = cluster.nodes.row.get(pod.status.nominated_node_name)
    if row is None or statuses.code[row] == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    pods = cluster.pods
    for index in pods.on_node(row):
        terminating = pods.records[index].metadata.deletion_timestamp is not None
        lower = pod_priority(cluster, int(index), rules) < (pod.spec.priority or 0)
        if lower and terminating and evicted_by_scheduler(pods.records[index].status):
            return TERMINATING
    return ""


def evicted_by_scheduler(status: PodStatus) -> bool:
    """Report whether the pod's first DisruptionTarget condition has the reason PreemptionByScheduler."""
    target = next((condition for condition in status.conditions if condition.type == "DisruptionTarget"), None)
    return target is not None and target.status == "True" and target.reason == "PreemptionByScheduler"


def potential_nodes(statuses: NodeStatuses) -> Rows:
    """Return the nodes with the status Unschedulable, on which removing pods may help (upstream ``potentialNodes``).

    Args:
        statuses: The filters' verdicts, by node.

    Returns: The rows, ascending. Nodes with UnschedulableAndUnresolvable are not among them.
    """
    return np.flatnonzero(statuses.code == Code.UNSCHEDULABLE)


# The extenders that support preemption (upstream ``callExtenders``): they decline candidates or change victims.
#
# From candidates to candidates: each extender is called with the candidates that the extender before it accepted.

#: A candidate's victims by index, and the number of evictions that violate a budget.
_Found = tuple[tuple[int, ...], int]


def call_extenders(framework: PluginsRunner, state: CycleState, pod: Pod, run: DryRun) -> DryRun:
    """Call the extenders that support preemption and are interested in the pod.

    Args:
        framework: The pod's profile.
        state: The cycle state, in which failures of ignorable extenders are recorded.
        run: The result of the dry run, with at least one candidate.

    Returns: The result with the remaining candidates; ``run`` itself if no extender is called.

    Raises ExtenderError if an extender that is not ignorable fails, or if a response is inconsistent with the
        cluster.
    """
    cluster = framework.cluster
    extenders = [each for each in framework.handle.extenders if each.config.preempt_verb and each.is_interested(pod)]
    if not extenders:
        return run
    counts = run.violations
    found = {
        cluster.nodes.names[row]: (tuple(run.victims.pods[i] for i in run.victims.entries(world)), int(counts[world]))
        for world, row in enumerate(run.victims.rows.tolist())
    }
    declined: dict[int, str] = {}
    for extender in extenders:
        given = {name: Victims(_stored_pods(cluster, pods), violations) for name, (pods, violations) in found.items()}
        try:
            left = _converted(cluster, extender, extender.process_preemption(pod, given))
        except ExtenderError as error:
            if not extender.config.ignorable:
                raise
            state.not_modelled.append(extender_note(extender, f"it is ignorable and its preempt call failed: {error}"))
            continue
        for name in [name for name, (pods, _) in left.items() if not pods]:
            if not extender.config.ignorable:
                raise ExtenderError(f'expected at least one victim pod on node "{name}"')
            del left[name]
        declined |= {cluster.nodes.row[name]: extender.name for name in found.keys() - left.keys()}
        found = left
        if not found:
            break
    ordered = sorted((cluster.nodes.row[name], *victims) for name, victims in found.items())
    rows = np.array([row for row, _, _ in ordered], dtype=np.int64)
    worlds = np.repeat(np.arange(len(ordered)), [len(pods) for _, pods, _ in ordered]).astype(np.int64)
    pods = np.array([pod for _, each, _ in ordered for pod in each], dtype=np.int64)
    return replace(
        run,
        victims=PodsInWorlds(rows, worlds, pods),
        # Budget violations are known only for the victims that the dry run chose.
        violating=np.isin(pods, run.victims.pods[run.violating]),
        counted=np.array([violations for _, _, violations in ordered], dtype=np.int64),
        declined=declined,
    )


def _stored_pods(cluster: Cluster, indices: tuple[int, ...]) -> tuple[Pod, ...]:
    """Return the stored pods, each with its node name."""
    pods = cluster.pods
    return tuple(
        replace(pod, spec=replace(pod.spec, node_name=pods.records[index].node_name))
        for index in indices
        for pod in (pods.pod(index),)
    )


def _converted(cluster: Cluster, extender: Extender, answer: Mapping[str, MetaVictims]) -> dict[str, _Found]:
    """Return an extender's response with pod indices instead of uids; any pod of the node may be a victim."""
    found: dict[str, _Found] = {}
    for name in sorted(answer):
        row = cluster.nodes.row.get(name)
        if row is None:
            raise ExtenderError(f'nodeinfo not found for node name "{name}"')
        on_node = np.flatnonzero(cluster.pods.node_row == row).tolist()
        known = {uid_of(cluster.pods.pod(index)): index for index in on_node}
        missing = next((uid for uid in answer[name].uids if uid not in known), None)
        if missing is not None:
            raise ExtenderError(
                f"extender: {extender.name} claims to preempt pod (UID: &{{{missing}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
        found[name] = tuple(known[uid] for uid in answer[name].uids), answer[name].num_pdb_violations
    return found


NO_CANDIDATE: Final = "no candidate node for preemption"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"


def preempt(framework: PluginsRunner, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PreemptionResult:
    """Find the nodes on which evicting pods of lower priority lets the pod fit.

    All potential nodes are tried; kube-scheduler stops at a share of them (``minCandidateNodesPercentage``).

    Args:
        framework: The pod's profile.
        state: The state after PreFilter.
        statuses: The filters' verdicts, by node.
    """
    cluster = framework.cluster
    problem = pod_eligible_to_preempt_others(cluster, pod, statuses, framework.handle.release.pod_groups)
    if problem:
        return PreemptionResult(cluster, pod, Status(Code.UNSCHEDULABLE, (problem,)))
    potential = potential_nodes(statuses)
    if not len(potential):
        return PreemptionResult(cluster, pod, _not_helpful(cluster, Counter(), 0), clears_nomination=True)
    empty_protects = framework.handle.release.empty_budget_selector_protects
    budgets = get_pod_disruption_budgets(cluster, empty_protects=empty_protects)
    run = dry_run_preemption(framework, state, pod, potential, budgets)
    if not run.victims.n_worlds:
        if errors := dry_run_errors(cluster, run):
            text = ", ".join(errors)
            return PreemptionResult(cluster, pod, Status(Code.ERROR, (f"[{text}]" if len(errors) > 1 else text,)), run)
        reasons = run.statuses.reason_counts()
        reasons[NO_VICTIMS.reasons[0]] += len(run.without_victims)
        status = _not_helpful(cluster, +reasons, len(run.looked_at))
        return PreemptionResult(cluster, pod, status, run, clears_nomination=True)
    try:
        run = call_extenders(framework, state, pod, run)
    except ExtenderError as error:
        return PreemptionResult(cluster, pod, Status(Code.ERROR, (str(error),)), run)
    if not run.victims.n_worlds:
        return PreemptionResult(cluster, pod, Status(Code.UNSCHEDULABLE, (NO_CANDIDATE,)), run)
    choice = pick_one_node_for_preemption(cluster.pods, run.victims, run.violations)
    return PreemptionResult(cluster, pod, Status(), run, choice)


def _not_helpful(cluster: Cluster, reasons: Counter[str], n_looked_at: int) -> Status:
    """Return the status Unschedulable, with the reasons counted over all nodes."""
    n_nodes = len(cluster.nodes)
    if n_nodes > n_looked_at:
        reasons[NOT_HELPFUL] += n_nodes - n_looked_at
    return Status(Code.UNSCHEDULABLE, (fit_error(n_nodes, pre_filter="", reasons=reasons, post_filter=""),))
