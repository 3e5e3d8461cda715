"""The evaluator of preemption for one pod: kube-scheduler's stages in their order (upstream ``Evaluator.Preempt``)."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extender import ExtenderError
from kschedctl.scheduler.framework.fit_error import fit_error
from kschedctl.scheduler.framework.interface import PluginsRunner
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.scheduler.preemption.call_extenders import call_extenders
from kschedctl.scheduler.preemption.dry_run_preemption import DryRun, dry_run_preemption
from kschedctl.scheduler.preemption.pod_eligible_to_preempt_others import pod_eligible_to_preempt_others
from kschedctl.scheduler.preemption.potential_nodes import potential_nodes
from kschedctl.scheduler.preemption.result import NO_VICTIMS, PreemptionResult, dry_run_errors
from kschedctl.scheduler.preemption.select_candidate import pick_one_node_for_preemption

NO_CANDIDATE: Final = "no candidate node for preemption"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"


def preempt(framework: PluginsRunner, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PreemptionResult:
    """Find the nodes on which evicting pods of lower priority lets the pod fit.

    All potential nodes are tried; kube-scheduler stops at a share of them (``minCandidateNodesPercentage``).

    Parameters
    ----------
    framework : PluginsRunner
        The pod's profile.
    state : CycleState
        The state after PreFilter.
    pod : Pod
        The pod that fits on no node.
    statuses : NodeStatuses
        The filters' verdicts, by node.
    """
    cluster = framework.cluster
    problem = pod_eligible_to_preempt_others(cluster, pod, statuses, framework.handle.release.pod_groups)
    if problem:
        return PreemptionResult(cluster, pod, Status(Code.UNSCHEDULABLE, (problem,)))
    potential = potential_nodes(statuses)
    if not len(potential):
        return PreemptionResult(cluster, pod, _not_helpful(cluster, Counter(), 0), clears_nomination=True)
    run = dry_run_preemption(framework, state, pod, potential, get_pod_disruption_budgets(cluster))
    if not run.victims.n_worlds:
        status = _no_candidate(cluster, run)
        return PreemptionResult(cluster, pod, status, run, clears_nomination=status.code is not Code.ERROR)
    try:
        run = call_extenders(framework, state, pod, run)
    except ExtenderError as error:
        return PreemptionResult(cluster, pod, Status(Code.ERROR, (str(error),)), run)
    if not run.victims.n_worlds:
        return PreemptionResult(cluster, pod, Status(Code.UNSCHEDULABLE, (NO_CANDIDATE,)), run)
    choice = pick_one_node_for_preemption(cluster.pods, run.victims, run.violations)
    return PreemptionResult(cluster, pod, Status(), run, choice)


def _no_candidate(cluster: Cluster, run: DryRun) -> Status:
    errors = dry_run_errors(cluster, run)
    if errors:
        text = ", ".join(errors)
        return Status(Code.ERROR, (f"[{text}]" if len(errors) > 1 else text,))
    reasons = run.statuses.reason_counts()
    reasons[NO_VICTIMS.reasons[0]] += len(run.without_victims)
    return _not_helpful(cluster, +reasons, len(run.looked_at))


def _not_helpful(cluster: Cluster, reasons: Counter[str], n_looked_at: int) -> Status:
    """Return the status Unschedulable, with the reasons counted over all nodes."""
    n_nodes = len(cluster.nodes)
    if n_nodes > n_looked_at:
        reasons[NOT_HELPFUL] += n_nodes - n_looked_at
    return Status(Code.UNSCHEDULABLE, (fit_error(n_nodes, pre_filter="", reasons=reasons, post_filter=""),))
