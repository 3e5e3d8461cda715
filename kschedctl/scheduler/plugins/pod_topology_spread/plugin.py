"""PodTopologySpread: the plugin class, which connects counting and scoring to the extension points."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import zip_longest

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.core import Node, Service
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import Selector, SelectorError, label_map_selector, matches, parse_label_selector
from kschedctl.objects.workload import ReplicaSet, ReplicationController, StatefulSet
from kschedctl.scheduler.framework.config.types import PodTopologySpreadArgs
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    is_on_node,
    registered,
    same_pod,
)
from kschedctl.scheduler.framework.explanation import Arithmetic, CountedDomains, FilterCheck
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Handle,
    PlacedCopies,
    PluginError,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    required_state,
)
from kschedctl.scheduler.framework.status import SKIP, SUCCESS, Code, Rejections, Status
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    DomainCounts,
    SkewWithCopies,
    SpreadConstraint,
    count_domains,
    explain_skew,
    parse_constraints,
    reject_nodes,
    selected_classes,
    shown_domains,
)
from kschedctl.scheduler.plugins.pod_topology_spread.scoring import (
    MatchingPerDomain,
    MatchingWithCopies,
    SpreadScores,
    count_matching,
    explain_normalized,
    explain_scores,
    normalize,
    spread_scores,
)


def _domains(node: Node, constraints: Iterable[SpreadConstraint]) -> list[str | None]:
    return [node.metadata.labels.get(constraint.topology_key) for constraint in constraints]


# The label selector of default topology spreading, combined from a pod's Services and controller.


def default_selector(cluster: Cluster, pod: Pod) -> Selector:
    """Return the combined selector of a pod's Services and owning controller (plugins/helper ``DefaultSelector``).

    Returns: Empty if no Service and no controller selects the pod.
    """
    namespace = pod.metadata.namespace
    labels: dict[str, str] = {}
    for service in cluster.list(Service):
        wanted = service.spec.selector
        if service.namespace == namespace and wanted and matches(label_map_selector(wanted), pod.metadata.labels):
            labels |= wanted
    owner = pod.metadata.controller
    if owner is None:
        return label_map_selector(labels)
    match (owner.api_version, owner.kind):
        case ("v1", "ReplicationController"):
            controller = cluster.get(ReplicationController, owner.name, namespace)
            return label_map_selector({**labels, **(controller.spec.selector if controller else {})})
        case ("apps/v1", "ReplicaSet"):
            replica_set = cluster.get(ReplicaSet, owner.name, namespace)
            return _with_selector(labels, replica_set.spec.selector if replica_set else None)
        case ("apps/v1", "StatefulSet"):
            stateful_set = cluster.get(StatefulSet, owner.name, namespace)
            return _with_selector(labels, stateful_set.spec.selector if stateful_set else None)
        case _:
            return label_map_selector(labels)


def _with_selector(labels: Mapping[str, str], selector: LabelSelector | None) -> Selector:
    base = label_map_selector(labels)
    if selector is None:
        return base
    try:
        return (*base, *parse_label_selector(selector))
    except SelectorError:
        return base


class _FilterState(msgspec.Struct, frozen=True):
    domains: tuple[DomainCounts, ...]


class _ScoreState(msgspec.Struct, frozen=True):
    scores: SpreadScores
    rows: Int64Array
    per_domain: MatchingPerDomain
    require_all: bool


class _PlacedCopies(PlacedCopies):
    """The nodes that hard constraints reject, and the scores by soft ones."""

    def __init__(
        self, domains: tuple[DomainCounts, ...], soft: MatchingPerDomain | None, pod: Pod, n_nodes: int
    ) -> None:
        self._hard = tuple(map(SkewWithCopies, domains))
        self._soft = MatchingWithCopies(soft, pod) if soft is not None else None
        self._pod = pod
        self._parts: list[Mask] = []
        self.rejected = np.zeros(n_nodes, dtype=np.bool_)
        self._unite()

    def _unite(self) -> None:
        parts = [each.rejected for each in self._hard]
        if any(new is not old for new, old in zip_longest(parts, self._parts)):
            self._parts, self.rejected = parts, np.logical_or.reduce(parts)

    def place(self, row: int) -> None:
        for each in self._hard:
            each.place(row)
        self._unite()
        if self._soft is not None:
            self._soft.place(row)

    def follow(self, cluster: Cluster, moved: MovedPods) -> bool:
        for each in self._hard:
            each.follow(cluster, self._pod.namespace, moved)
        self._unite()
        if self._soft is not None:
            self._soft.follow(cluster, self._pod, moved)
        return True

    def scores(self, rows: Rows) -> Int64Array | None:
        if self._soft is None:
            return None
        found = spread_scores(self._soft.per_domain, rows)
        return normalize(found.scores[rows], found.ignored[rows])


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Upstream: plugins/podtopologyspread."""

    name = "PodTopologySpread"

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        if not isinstance(args, PodTopologySpreadArgs):
            raise TypeError(f"want args to be of type PodTopologySpreadArgs, got {type(args).__name__}")
        self._system_defaulted = args.defaulting_type == "System"
        self._defaults = SYSTEM_DEFAULTS if self._system_defaulted else args.default_constraints

    def _constraints(self, pod: Pod, action: str) -> tuple[SpreadConstraint, ...]:
        """Return the pod's constraints, or the defaults with the selector of its Services and controller."""
        release = self.handle.release
        if pod.spec.topology_spread_constraints:
            return parse_constraints(
                pod.spec.topology_spread_constraints,
                pod,
                action,
                match_label_keys=release.enabled("MatchLabelKeysInPodTopologySpread"),
                empty_counts=release.empty_spread_selector_counts,
            )
        if not any(constraint.when_unsatisfiable == action for constraint in self._defaults):
            return ()
        selector = default_selector(self.handle.cluster, pod)
        return parse_constraints(self._defaults, pod, action, selector=selector) if selector else ()

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        of_pods = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        own = ActionType.UPDATE_POD_TOLERATION | ActionType.UPDATE_POD_LABEL
        of_nodes = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        nodes = registered(EventResource.NODE, of_nodes, self.after_node_change)
        if self.handle.release.queue.unscheduled_pods_wake:
            return registered(EventResource.POD, of_pods | own, self.after_pod_change), nodes
        return (
            registered(EventResource.ASSIGNED_POD, of_pods, self.after_pod_change),
            registered(EventResource.TARGET_POD, own, self.after_pod_change),
            nodes,
        )

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Report whether an added, deleted or updated pod may change the counts."""
        if any(other is not None and not self._involved(other, pod) for other in (old, new)):
            return False
        try:
            constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        except PluginError:
            # Upstream queues the pod if a hint returns an error.
            return True
        if old is not None and new is not None:
            tolerates_else = same_pod(pod, new) and old.spec.tolerations != new.spec.tolerations
            if tolerates_else and any(constraint.honor_taints for constraint in constraints):
                return True
            if old.metadata.labels == new.metadata.labels:
                return False
            return any(constraint.selects(old) != constraint.selects(new) for constraint in constraints)
        changed = new if new is not None else old
        return changed is not None and any(constraint.selects(changed) for constraint in constraints)

    def _involved(self, other: Pod, pod: Pod) -> bool:
        if same_pod(other, pod):
            return True
        on_node = is_on_node(other, or_nominated=self.handle.release.queue.nominated_pods_wake)
        return on_node and other.namespace == pod.namespace

    def after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        """Report whether an added, deleted or updated node may add a domain, or remove the one with the fewest pods."""
        try:
            constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        except PluginError:
            return True
        had, has = (
            node is not None and all(constraint.topology_key in node.metadata.labels for constraint in constraints)
            for node in (old, new)
        )
        if old is None or new is None:
            return had or has
        if had != has:
            return True
        return has and (_domains(old, constraints) != _domains(new, constraints) or old.spec.taints != new.spec.taints)

    def sign_pod(self, pod: Pod) -> Hashable | None:
        return None if pod.spec.topology_spread_constraints or self._defaults else ()

    def reach_of_pods(self, pod: Pod) -> Reach:
        try:
            has_constraints = self._constraints(pod, DO_NOT_SCHEDULE) or self._constraints(pod, SCHEDULE_ANYWAY)
        except PluginError:
            return Reach.CLUSTER
        return Reach.CLUSTER if has_constraints else Reach.NOTHING

    def placed_copies(self, state: CycleState, pod: Pod) -> PlacedCopies | None:
        hard, soft = state.read(_FilterState), state.read(_ScoreState)
        return _PlacedCopies(
            hard.domains if hard is not None else (),
            soft.per_domain if soft is not None else None,
            pod,
            len(self.handle.cluster.nodes),
        )

    def hard_domains(self, pod: Pod) -> tuple[DomainCounts, ...]:
        """Return the matching pods by domain, one entry per hard constraint.

        Raises PluginError if a selector of the pod is invalid.
        """
        return count_domains(self.handle.cluster, self._constraints(pod, DO_NOT_SCHEDULE), pod)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        try:
            constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        except PluginError as error:
            raise PluginError(f"get constraints from pod: {error}") from None
        if not constraints:
            return PreFilterResult(SKIP)
        state.write(_FilterState(count_domains(self.handle.cluster, constraints, pod)))
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(state, _FilterState, 'reading "PreFilterPodTopologySpread" from cycleState: not found')
        return reject_nodes(found.domains, nodes)

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        found = state.read(_ScoreState)
        if found is not None and found.per_domain.cluster is self.handle.cluster:
            # PreScore runs again for other feasible nodes of the same cycle.
            state.write(structs.replace(found, scores=spread_scores(found.per_domain, rows), rows=rows))
            return SUCCESS
        try:
            constraints = self._constraints(pod, SCHEDULE_ANYWAY)
        except PluginError as error:
            return Status(Code.ERROR, (f"calculating preScoreState: {error}",))
        if not constraints:
            return SKIP
        require_all = bool(pod.spec.topology_spread_constraints) or not self._system_defaulted
        per_domain = count_matching(self.handle.cluster, constraints, pod, require_all=require_all)
        state.write(_ScoreState(spread_scores(per_domain, rows), rows, per_domain, require_all))
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        return self._scores(state, pod).scores[rows]

    def _scores(self, state: CycleState, pod: Pod) -> SpreadScores:
        prepared = self._prepared(state)
        own, per_domain = self.handle.cluster, prepared.per_domain
        if own is per_domain.cluster:
            return prepared.scores
        # Score may see node objects sent back by an extender, and counts the pods of hostname domains on those.
        # All other domains are counted by PreScore, on the original cluster.
        by_host = count_matching(
            per_domain.cluster, per_domain.constraints, pod, require_all=prepared.require_all, by_host=own
        )
        return spread_scores(by_host, prepared.rows)

    def alike_when_lost(self, state: CycleState, pod: Pod) -> Iterator[Int64Array]:
        found = state.read(_FilterState)
        for counts in found.domains if found is not None else ():
            counted, _ = selected_classes(self.handle.cluster, counts.constraint, pod.metadata.namespace)
            yield counts.column.among_others
            yield self.handle.cluster.pods.sum_per_node(counted)
            yield counts.included.astype(np.int64)

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        found = state.read(_FilterState)
        nodes = self.handle.cluster.overlay(np.array([row], dtype=np.int64))
        return tuple(explain_skew(counts, nodes) for counts in found.domains) if found is not None else ()

    def counted_domains(self, state: CycleState, pod: Pod) -> tuple[CountedDomains, ...]:
        found = state.read(_FilterState)
        return tuple(shown_domains(counts) for counts in found.domains) if found is not None else ()

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        return explain_scores(self._prepared(state).per_domain.cluster, self._scores(state, pod), row)

    def explain_normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array, position: int) -> Arithmetic:
        prepared = self._prepared(state)
        return explain_normalized(scores, prepared.scores.ignored[prepared.rows], position)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        prepared = self._prepared(state)
        return normalize(scores, prepared.scores.ignored[prepared.rows])

    def depends_on_feasible_nodes(self, state: CycleState, pod: Pod) -> bool:
        return state.read(_ScoreState) is not None

    def _prepared(self, state: CycleState) -> _ScoreState:
        return required_state(
            state, _ScoreState, 'error reading "PreScorePodTopologySpread" from cycleState: not found'
        )
