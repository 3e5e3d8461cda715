"""The scheduling cycle of a pod, from PreEnqueue to the choice of a node or PostFilter (upstream ``schedulePod``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.find_nodes_that_pass_extenders import ExtenderFilters, NodesPassingExtenders
from kschedctl.scheduler.cycle.prioritize_nodes import prioritize_nodes
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extender import ExtenderError
from kschedctl.scheduler.framework.fit_error import fit_error
from kschedctl.scheduler.framework.interface import PluginError, PostFilterResult
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.result_cache import CachedResults
from kschedctl.scheduler.framework.runtime import Framework, PreFilterOutcome
from kschedctl.scheduler.framework.scoring import Scores, run_score
from kschedctl.scheduler.framework.status import Code, Status

NO_NODES = "no nodes available to schedule pods"
_NO_ROWS = np.empty(0, dtype=np.int64)


def schedule_pod(
    framework: Framework,
    pod: Pod,
    *,
    among: Rows | None = None,
    run_post_filter: bool = True,
    gate: Status | None = None,
) -> Decision:
    """Run the scheduling cycle of a pod.

    All nodes are filtered and all feasible nodes are scored, even if kube-scheduler would stop earlier
    (``percentageOfNodesToScore``).

    Parameters
    ----------
    framework : Framework
        The profile named by the pod's ``schedulerName``.
    pod : Pod
        The pod, defaulted. It does not count as a pod on a node, even if the cluster has it on one.
    among : ndarray of int64, optional
        The rows of the only nodes to choose from, ascending (a placement of a pod group); by default all. The state of
        the other nodes still counts.
    run_post_filter : bool
        False for a member of a pod group whose members do not preempt for themselves.
    gate : Status, optional
        The status of PreEnqueue, if it is known; by default PreEnqueue runs.
    """
    state = framework.new_state(pod)
    if among is not None and len(among) == len(framework.cluster.nodes):
        among = None
    try:
        gate = framework.run_pre_enqueue(pod) if gate is None else gate
        return _cycle(framework, state, pod, gate, among, run_post_filter=run_post_filter)
    finally:
        # The decision retains the state, but the next cycle reuses and changes the cached results.
        state.discard(CachedResults)


def find_nodes_that_fit_pod(framework: Framework, pod: Pod) -> Rows:
    """Return the nodes that pass the filters and the extenders, without scoring and without preemption.

    Parameters
    ----------
    framework : Framework
        The profile named by the pod's ``schedulerName``.
    pod : Pod
        The pod, defaulted.

    Returns
    -------
    ndarray of int64
        The rows of the nodes, ascending; empty if the cycle ends with an error.
    """
    if not len(framework.cluster.nodes):
        return _NO_ROWS
    state = framework.new_state(pod)
    try:
        outcome = framework.run_pre_filter(state, pod)
        searched = rows_allowed_by_pre_filter(framework, outcome)
        statuses = _filter(framework, state, pod, outcome, searched)
        if _filter_error(framework, statuses):
            return _NO_ROWS
        extenders = ExtenderFilters(framework.cluster, framework.handle.extenders, state, pod)
        return extenders.passing(searched[statuses.code[searched] == 0]).in_order()
    except (PluginError, ExtenderError):
        return _NO_ROWS
    finally:
        state.discard(CachedResults)


def _cycle(
    framework: Framework, state: CycleState, pod: Pod, gate: Status, among: Rows | None, *, run_post_filter: bool
) -> Decision:
    n_nodes = len(framework.cluster.nodes) if among is None else len(among)
    if not n_nodes:
        return Decision(pod=pod, framework=framework, state=state, error=NO_NODES, pre_enqueue=gate, searched=_NO_ROWS)
    try:
        outcome = framework.run_pre_filter(state, pod)
    except PluginError as failure:
        return Decision(
            pod=pod, framework=framework, state=state, error=str(failure), pre_enqueue=gate, searched=_NO_ROWS
        )
    searched = rows_allowed_by_pre_filter(framework, outcome)
    searched, statuses = _within(among, searched, _filter(framework, state, pod, outcome, searched))
    scores = None
    best: tuple[str, ...] = ()
    message = ""
    post_filter = None
    feasible = searched[statuses.code[searched] == 0] if statuses.code.any() else searched
    own = _nominated_row(framework, pod, among)
    fits_own = own >= 0 and outcome.status.code is Code.SUCCESS and statuses.code[own] == 0
    # The pod's nominated node is evaluated alone first. If the pod fits there, no other node is considered.
    extenders = ExtenderFilters(framework.cluster, framework.handle.extenders, state, pod)
    fits_own = fits_own and _passes_alone(extenders, own)
    error = "" if fits_own else _filter_error(framework, statuses)
    passed = NodesPassingExtenders(feasible)
    if not error and not fits_own:
        try:
            passed = extenders.passing(feasible)
        except ExtenderError as failure:
            error = str(failure)
        feasible = passed.in_order()
    statuses = extenders.statuses(statuses, np.append(feasible, own) if fits_own else feasible)
    if error:
        pass
    elif len(feasible) or fits_own:
        try:
            if fits_own:
                scores = run_score(framework, state, pod, feasible)
            else:
                scores = prioritize_nodes(framework, state, pod, passed)
        except PluginError as failure:
            # kube-scheduler does not run Score for a single feasible node.
            if not fits_own and len(feasible) > 1:
                error = str(failure)
        only = own if fits_own else feasible[0]
        best = _best(framework, scores, int(only), alone=fits_own or scores is None) if not error else ()
    else:
        post_filter = framework.run_post_filter(state, pod, statuses) if run_post_filter else None
        message = _message(n_nodes, outcome, statuses, post_filter)
    return Decision(
        pod=pod,
        framework=framework,
        state=state,
        error=error,
        pre_enqueue=gate,
        pre_filter=outcome,
        searched=searched,
        statuses=statuses,
        scores=scores,
        best=best,
        message=message,
        post_filter=post_filter,
    )


def _within(among: Rows | None, searched: Rows, statuses: NodeStatuses) -> tuple[Rows, NodeStatuses]:
    """Return the nodes and their statuses within a placement.

    The nodes outside were filtered too: the results are cached for all nodes together.
    """
    if among is None:
        return searched, statuses
    return np.intersect1d(searched, among, assume_unique=True), statuses.among(among)


def _nominated_row(framework: Framework, pod: Pod, among: Rows | None) -> int:
    """Return the row of the pod's nominated node; -1 if it has none, or none in its placement."""
    row = framework.cluster.nodes.row.get(pod.status.nominated_node_name, -1)
    return row if among is None or row in among else -1


def _message(
    n_nodes: int, outcome: PreFilterOutcome, statuses: NodeStatuses, post_filter: PostFilterResult | None
) -> str:
    """Return the message for a pod that fits nowhere."""
    return fit_error(
        n_nodes,
        pre_filter=outcome.status.message,
        reasons=Counter() if outcome.status.message else statuses.reason_counts(),
        post_filter=post_filter.status.message if post_filter is not None else "",
    )


def _passes_alone(extenders: ExtenderFilters, row: int) -> bool:
    """Report whether the extenders accept the pod's nominated node; on an error all nodes are evaluated."""
    try:
        return len(extenders.passing(np.array([row], dtype=np.int64)).rows) > 0
    except ExtenderError:
        return False


def rows_allowed_by_pre_filter(framework: Framework, outcome: PreFilterOutcome) -> Int64Array:
    """Return the rows of the nodes that PreFilter allows."""
    nodes = framework.cluster.nodes
    if outcome.status.code is not Code.SUCCESS:
        return _NO_ROWS
    if outcome.node_names is None:
        return nodes.rows
    return np.array(sorted(nodes.row[name] for name in outcome.node_names if name in nodes.row), dtype=np.int64)


def _filter(
    framework: Framework, state: CycleState, pod: Pod, outcome: PreFilterOutcome, searched: Int64Array
) -> NodeStatuses:
    """Filter the nodes that PreFilter allows, and the pod's own nominated node.

    The nominated node is filtered first, whether PreFilter allows it or not. It keeps its status, unless that is an
    error. The plugin that rejects it is listed among those that restricted the search: upstream collects both in one
    set.
    """
    nodes = framework.cluster.nodes
    if outcome.status.code is not Code.SUCCESS:
        return NodeStatuses(len(nodes), outcome.status)
    own = nodes.row.get(pod.status.nominated_node_name)
    rows = searched if own is None else np.union1d(searched, [own])
    statuses = _filtered(framework, state, pod, outcome, rows)
    if own is None or outcome.node_names is None:
        return statuses
    said = statuses.status(own)
    if said.code is Code.ERROR and len(rows) > len(searched):
        return _filtered(framework, state, pod, outcome, searched)
    rejecting = {said.plugin} if said.code.rejected else set()
    absent = _not_in_question({*outcome.plugins, *rejecting})
    return NodeStatuses(len(nodes), absent, statuses.snapshot, statuses.nominated)


def _filtered(framework: Framework, state: CycleState, pod: Pod, outcome: PreFilterOutcome, rows: Rows) -> NodeStatuses:
    absent = _not_in_question(outcome.plugins) if outcome.node_names is not None else None
    worlds = framework.overlay_with_nominated_pods(pod, rows)
    return framework.run_filters_with_nominated_pods(state, pod, worlds, absent)


def _not_in_question(plugins: Iterable[str]) -> Status:
    """Return the status of the nodes that PreFilter excludes."""
    text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))


def _filter_error(framework: Framework, statuses: NodeStatuses) -> str:
    """Return the error of a filter, which ends the cycle; if several nodes fail, the error of the first one by name."""
    if not (statuses.code == Code.ERROR).any():
        return ""
    failed = np.flatnonzero(statuses.code == Code.ERROR)
    first = min(failed, key=lambda row: framework.cluster.nodes.names[row])
    return statuses.status(int(first)).message


def _best(framework: Framework, scores: Scores | None, only: int, *, alone: bool) -> tuple[str, ...]:
    """Return the nodes with the highest total score, or the only feasible node."""
    nodes = framework.cluster.nodes
    if alone or scores is None:
        return (nodes.names[only],)
    return nodes.sorted_names(scores.rows[scores.total == scores.total.max()])
