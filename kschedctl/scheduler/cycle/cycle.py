"""The scheduling cycle of a pod, from PreEnqueue to the choice of a node or PostFilter (upstream ``schedulePod``)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extender import (
    EXTENDER_NAME,
    MAX_EXTENDER_PRIORITY,
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderRejection,
    extender_note,
)
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, PluginError
from kschedctl.scheduler.framework.node_statuses import ExtenderVerdict, NodeStatuses, fit_error
from kschedctl.scheduler.framework.result_cache import CachedResults
from kschedctl.scheduler.framework.runtime import (
    Framework,
    PreFilterOutcome,
    run_bind,
    run_permit,
    run_pre_bind,
    run_reserve,
    run_unreserve,
)
from kschedctl.scheduler.framework.scoring import Scores, run_score
from kschedctl.scheduler.framework.status import Code, Reason, Status

# Extenders as filters (upstream ``findNodesThatPassExtenders``): each filters the nodes that the previous one left.


class NodesPassingExtenders(msgspec.Struct, frozen=True):
    """The nodes that pass the extenders."""

    #: The rows of the nodes, in the order of the last extender's response.
    rows: Rows
    #: By row: the nodes that an extender sent back as objects.
    objects: Mapping[int, Node] = msgspec.field(default_factory=dict)

    def in_order_of_response(self, cluster: Cluster) -> list[Node]:
        """Return the nodes, those that extenders sent back in place of the cluster's."""
        return [self.objects.get(row) or cluster.nodes.objects[row] for row in self.rows.tolist()]

    def in_order(self) -> Rows:
        """Return the rows in the order of the cluster."""
        return self.rows if bool((self.rows[1:] > self.rows[:-1]).all()) else np.sort(self.rows)


class ExtenderFilters:
    """The filtering extenders in one scheduling cycle. They may be called twice in a cycle.

    Args:
        extenders: The extenders of the configuration, in their order.
        state: The cycle state, in which failures of ignorable extenders are recorded.
        pod: The pod; only extenders that are interested in it are called.
    """

    def __init__(self, cluster: Cluster, extenders: Sequence[Extender], state: CycleState, pod: Pod) -> None:
        self._cluster = cluster
        self._extenders = [each for each in extenders if each.config.filter_verb and each.is_interested(pod)]
        self._state = state
        self._pod = pod
        self._said: dict[int, ExtenderVerdict] = {}
        self._elsewhere: dict[str, Status] = {}

    def passing(self, rows: Rows) -> NodesPassingExtenders:
        """Return the nodes that pass all extenders.

        Args:
            rows: The rows of the nodes that passed the filters.

        Raises ExtenderError if an extender that is not ignorable fails.
        """
        passed = NodesPassingExtenders(rows)
        for extender in self._extenders:
            if not len(passed.rows):
                break
            try:
                result = extender.filter(self._pod, passed.in_order_of_response(self._cluster))
            except ExtenderError as error:
                if not extender.config.ignorable:
                    raise
                self._state.not_modelled.append(
                    extender_note(extender, f"it is ignorable and its filter call failed: {error}")
                )
                continue
            passed = self._nodes_left_by(extender, passed, result)
        return passed

    def statuses(self, statuses: NodeStatuses, passed: Rows) -> NodeStatuses:
        """Return the verdicts on all nodes, extenders included.

        Args:
            passed: The rows of the nodes on which the pod fits after the extenders.
        """
        if not self._said and not self._elsewhere:
            return statuses
        fits = set(passed.tolist())
        said = {row: extender_verdict for row, extender_verdict in self._said.items() if row not in fits}
        for row, extender_verdict in said.items():
            if not extender_verdict.explicit:
                status = Status(statuses.absent.code, statuses.absent.reasons, EXTENDER_NAME)
                said[row] = ExtenderVerdict(status, extender_verdict.reasons, explicit=False)
        if not said and not self._elsewhere:
            return statuses
        return statuses.with_extenders(said, tuple(self._elsewhere.values()))

    def _nodes_left_by(
        self, extender: Extender, before: NodesPassingExtenders, result: ExtenderFilterResult
    ) -> NodesPassingExtenders:
        row_of = self._cluster.nodes.row
        for code, failed in (
            (Code.UNSCHEDULABLE, result.failed),
            (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, result.failed_and_unresolvable),
        ):
            for name, message in failed.items():
                status = Status(code, (message,), EXTENDER_NAME)
                if name in row_of:
                    self._said[row_of[name]] = ExtenderVerdict(status, (_extender_reason(extender, message),))
                else:
                    self._elsewhere[name] = status
        unknown = [name for name in result.nodes if name not in row_of]
        if unknown:
            effect = f"it returns nodes that are not in the cluster, which are ignored: {', '.join(unknown[:3])}"
            self._state.not_modelled.append(extender_note(extender, effect))
        relabelled = [
            name
            for name, node in result.objects.items()
            if name in row_of and node.metadata.labels != self._cluster.nodes.objects[row_of[name]].metadata.labels
        ]
        if relabelled:
            effect = f"it returns nodes with other labels, which the scores ignore: {', '.join(relabelled[:3])}"
            self._state.not_modelled.append(extender_note(extender, effect))
        left = [row_of[name] for name in dict.fromkeys(result.nodes) if name in row_of]
        for row in set(before.rows.tolist()) - set(left):
            self._said.setdefault(row, ExtenderVerdict(Status(), (_extender_reason(extender, ""),), explicit=False))
        objects = {**before.objects, **{row_of[name]: node for name, node in result.objects.items() if name in row_of}}
        return NodesPassingExtenders(
            np.array(left, dtype=np.int64), {row: objects[row] for row in left if row in objects}
        )


def _extender_reason(extender: Extender, message: str) -> Reason:
    return Reason(message, ExtenderRejection(extender.name, message))


# The scores of the feasible nodes, including those of extenders (upstream ``prioritizeNodes``).


def prioritize_nodes(framework: Framework, state: CycleState, pod: Pod, passed: NodesPassingExtenders) -> Scores:
    """Score the nodes that passed filters and extenders.

    Raises PluginError if a plugin ends the cycle with an error.
    """
    scores = run_score(
        framework, state, pod, passed.in_order(), framework_with_returned_nodes(framework, passed.objects)
    )
    extenders = [each for each in framework.handle.extenders if each.config.prioritize_verb and each.is_interested(pod)]
    # kube-scheduler does not run Score for a single feasible node.
    if not extenders or len(passed.rows) < 2:
        return scores
    nodes = passed.in_order_of_response(framework.cluster)
    # Few configurations have extenders.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(extenders)) as threads:
        asked = [threads.submit(extender.prioritize, pod, nodes) for extender in extenders]
    raw, normalized, weights = dict(scores.raw), dict(scores.normalized), dict(scores.weights)
    total = scores.total.copy()
    scale = np.int64(MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    position = {framework.cluster.nodes.names[row]: i for i, row in enumerate(scores.rows.tolist())}
    for extender, answer in zip(extenders, asked, strict=True):
        try:
            given = _given(answer.result(), position)
        except ExtenderError as error:
            state.not_modelled.append(
                extender_note(
                    extender, f"it is ignorable and its prioritize call failed, so it gives no scores: {error}"
                )
            )
            continue
        # Two extenders may have the same address.
        name, number = extender.name, 2
        while name in raw:
            name, number = f"{extender.name} ({number})", number + 1
        raw[name], normalized[name], weights[name] = given, given * scale, extender.config.weight
        total += normalized[name] * np.int64(extender.config.weight)
    return structs.replace(scores, raw=raw, normalized=normalized, weights=weights, total=total)


def framework_with_returned_nodes(framework: Framework, objects: Mapping[int, Node]) -> Framework | None:
    """Return the profile over the nodes that an extender sent back.

    kube-scheduler knows neither the pods nor the images of such nodes, so they count as empty.

    Args:
        objects: The nodes that an extender sent back, by row.
    """
    if not objects:
        return None
    cluster = framework.cluster
    nodes = list(cluster.nodes.objects)
    for row, node in objects.items():
        nodes[row] = structs.replace(node, status=structs.replace(node.status, images=()))
    gone = np.flatnonzero(np.isin(cluster.pods.node_row, list(objects)))
    return framework.moved(cluster.with_pods(removed=gone.tolist()).with_nodes(nodes))


def _given(answer: Sequence[tuple[str, int]], position: Mapping[str, int]) -> Int64Array:
    """Return an extender's scores by node.

    A node that is missing in the response gets 0. The scores of a node that occurs more than once are summed.
    """
    given = [0] * len(position)
    for host, score in answer:
        if host in position:
            given[position[host]] += score
    # int64 sums wrap around on overflow, as in Go.
    return np.array([(each + 2**63) % 2**64 - 2**63 for each in given], dtype=np.int64)


NO_NODES = "no nodes available to schedule pods"
_NO_ROWS = np.empty(0, dtype=np.int64)


def schedule_pod(
    framework: Framework,
    pod: Pod,
    *,
    among: Rows | None = None,
    run_post_filter: bool = True,
    gate: Status | None = None,
    prefer: Callable[[Rows], Rows] | None = None,
) -> Decision:
    """Run the scheduling cycle of a pod.

    All nodes are filtered and all feasible nodes are scored, even if kube-scheduler would stop earlier
    (``percentageOfNodesToScore``).

    Args:
        framework: The profile named by the pod's ``schedulerName``.
        pod: The pod, defaulted. It does not count as a pod on a node, even if the cluster has it on one.
        among: The rows of the only nodes to choose from, ascending (a placement of a pod group); by default all.
            The state of the other nodes still counts.
        run_post_filter: False for a member of a pod group whose members do not preempt for themselves.
        gate: The status of PreEnqueue, if it is known; by default PreEnqueue runs.
        prefer: Returns the nodes to score, of those on which the pod fits; by default all.
    """
    state = framework.new_state(pod)
    if among is not None and len(among) == len(framework.cluster.nodes):
        among = None
    try:
        gate = framework.run_pre_enqueue(pod) if gate is None else gate
        return _cycle(framework, state, pod, gate, among, prefer, run_post_filter=run_post_filter)
    finally:
        # The decision retains the state, but the next cycle reuses and changes the cached results.
        state.discard(CachedResults)


def find_nodes_that_fit_pod(framework: Framework, pod: Pod) -> Rows:
    """Return the nodes that pass the filters and the extenders, without scoring and without preemption.

    Args:
        framework: The profile named by the pod's ``schedulerName``.
        pod: The pod, defaulted.

    Returns: The rows of the nodes, ascending; empty if the cycle ends with an error.
    """
    if not len(framework.cluster.nodes):
        return _NO_ROWS
    state = framework.new_state(pod)
    try:
        outcome = framework.run_pre_filter(state, pod)
        searched = rows_allowed_by_pre_filter(framework, outcome)
        statuses = _filter_nodes(framework, state, pod, outcome, searched)
        if _filter_error(framework, statuses):
            return _NO_ROWS
        extenders = ExtenderFilters(framework.cluster, framework.handle.extenders, state, pod)
        return extenders.passing(searched[statuses.code[searched] == 0]).in_order()
    except (PluginError, ExtenderError):
        return _NO_ROWS
    finally:
        state.discard(CachedResults)


def _cycle(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    gate: Status,
    among: Rows | None,
    prefer: Callable[[Rows], Rows] | None,
    *,
    run_post_filter: bool,
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
    searched, statuses = _within(among, searched, _filter_nodes(framework, state, pod, outcome, searched))
    scores = None
    best: tuple[str, ...] = ()
    message = ""
    post_filter = None
    feasible = searched[statuses.code[searched] == 0] if statuses.code.any() else searched
    row = framework.cluster.nodes.row.get(pod.status.nominated_node_name, -1)
    own = row if among is None or row in among else -1
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
    if prefer is not None and not fits_own and len(feasible) > 1:
        passed = structs.replace(passed, rows=prefer(passed.rows))
        feasible = passed.in_order()
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
        if error:
            best = ()
        elif fits_own or scores is None:
            best = (framework.cluster.nodes.names[int(only)],)
        else:
            best = framework.cluster.nodes.sorted_names(scores.rows[scores.total == scores.total.max()])
    else:
        post_filter = framework.run_post_filter(state, pod, statuses) if run_post_filter else None
        message = fit_error(
            n_nodes,
            pre_filter=outcome.status.message,
            reasons=Counter() if outcome.status.message else statuses.reason_counts(),
            post_filter=post_filter.status.message if post_filter is not None else "",
        )
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


def _filter_nodes(
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


# The binding cycle after the choice of a node: Reserve, Permit, PreBind and Bind, as far as possible offline.


class Binding(msgspec.Struct, frozen=True):
    """The outcome of the binding cycle on one node."""

    #: The node's name.
    node: str
    #: Success if the pod is bound, Wait if a Permit plugin delays it, else the rejection or error.
    status: Status
    #: The maximum wait in seconds, per Permit plugin that delays the pod.
    waits: Mapping[str, float] = msgspec.field(default_factory=dict)


def bind(decision: Decision, node: str) -> Binding:
    """Run the binding cycle of a decision on one of its best nodes.

    Args:
        decision: A decision with at least one best node.
    """
    framework, state, pod = decision.framework, decision.state, decision.pod
    status = run_reserve(framework, state, pod, node)
    if status.code is not Code.SUCCESS:
        return Binding(node, status)
    status, waits = run_permit(framework, state, pod, node)
    if status.code is Code.WAIT:
        return Binding(node, status, waits)
    for step in (run_pre_bind, run_bind):
        if status.code is Code.SUCCESS:
            status = step(framework, state, pod, node)
    if status.code is not Code.SUCCESS:
        run_unreserve(framework, state, pod, node)
    return Binding(node, status)
