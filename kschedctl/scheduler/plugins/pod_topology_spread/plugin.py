"""PodTopologySpread: the plugin class, which connects counting and scoring to the extension points."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.arithmetic import Arithmetic
from kschedctl.scheduler.framework.config.args import PodTopologySpreadArgs
from kschedctl.scheduler.framework.counted_domains import CountedDomains
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import ClusterEventWithHint
from kschedctl.scheduler.framework.filter_check import FilterCheck
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Handle,
    PluginError,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from kschedctl.scheduler.framework.status import SKIP, SUCCESS, Code, Rejections, Status
from kschedctl.scheduler.plugins.default_selector import default_selector
from kschedctl.scheduler.plugins.pod_topology_spread.constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    SpreadConstraint,
    parse_constraints,
    selected_classes,
)
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import (
    DomainCounts,
    count_domains,
    explain_skew,
    reject_nodes,
    shown_domains,
)
from kschedctl.scheduler.plugins.pod_topology_spread.hints import PodTopologySpreadHints
from kschedctl.scheduler.plugins.pod_topology_spread.scoring import (
    MatchingPerDomain,
    SpreadScores,
    count_matching,
    explain_normalized,
    explain_scores,
    normalize,
    spread_scores,
)


class _FilterState(msgspec.Struct, frozen=True):
    domains: tuple[DomainCounts, ...]


class _ScoreState(msgspec.Struct, frozen=True):
    scores: SpreadScores
    rows: Int64Array
    per_domain: MatchingPerDomain
    require_all: bool


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
        gate = self.handle.release.enabled("MatchLabelKeysInPodTopologySpread")
        if pod.spec.topology_spread_constraints:
            return parse_constraints(pod.spec.topology_spread_constraints, pod, action, match_label_keys=gate)
        if not any(constraint.when_unsatisfiable == action for constraint in self._defaults):
            return ()
        selector = default_selector(self.handle.cluster, pod)
        return parse_constraints(self._defaults, pod, action, selector=selector) if selector else ()

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return added, deleted or updated pods and nodes."""
        return PodTopologySpreadHints(
            self.handle.release.queue, lambda pod: self._constraints(pod, DO_NOT_SCHEDULE)
        ).events

    def sign_pod(self, pod: Pod) -> Hashable | None:
        """Return an empty signature if pod and profile have no constraints; else the pod cannot be signed."""
        return None if pod.spec.topology_spread_constraints or self._defaults else ()

    def reach_of_copies(self, pod: Pod) -> Reach:
        """Return ``Reach.CLUSTER`` for pods with constraints, which may count copies."""
        try:
            has_constraints = self._constraints(pod, DO_NOT_SCHEDULE) or self._constraints(pod, SCHEDULE_ANYWAY)
        except PluginError:
            return Reach.CLUSTER
        return Reach.CLUSTER if has_constraints else Reach.NOTHING

    def hard_domains(self, pod: Pod) -> tuple[DomainCounts, ...]:
        """Return the matching pods by domain, one entry per hard constraint.

        Raises
        ------
        PluginError
            If a selector of the pod is invalid.
        """
        return count_domains(self.handle.cluster, self._constraints(pod, DO_NOT_SCHEDULE), pod)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Count matching pods by domain; return Skip for pods without hard constraints."""
        try:
            constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        except PluginError as error:
            raise PluginError(f"get constraints from pod: {error}") from None
        if not constraints:
            return PreFilterResult(SKIP)
        state.write(_FilterState(count_domains(self.handle.cluster, constraints, pod)))
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Reject nodes on which a hard constraint would be violated."""
        found = state.read(_FilterState)
        if found is None:
            raise PluginError('reading "PreFilterPodTopologySpread" from cycleState: not found')
        return reject_nodes(found.domains, nodes)

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        """Compute the scores by soft constraints; return Skip for pods without soft constraints."""
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
        """Return the raw scores: more matching pods give a higher raw score."""
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
        """Yield each node's domain, number of matching pods and inclusion, per constraint."""
        found = state.read(_FilterState)
        for counts in found.domains if found is not None else ():
            counted, _ = selected_classes(self.handle.cluster, counts.constraint, pod.metadata.namespace)
            yield counts.column.among_others
            yield self.handle.cluster.pods.sum_per_node(counted)
            yield counts.included.astype(np.int64)

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        """Check the skew of every hard constraint."""
        found = state.read(_FilterState)
        nodes = self.handle.cluster.overlay(np.array([row], dtype=np.int64))
        return tuple(explain_skew(counts, nodes) for counts in found.domains) if found is not None else ()

    def counted_domains(self, state: CycleState, pod: Pod) -> tuple[CountedDomains, ...]:
        """Return the matching pods of every hard constraint."""
        found = state.read(_FilterState)
        return tuple(shown_domains(counts) for counts in found.domains) if found is not None else ()

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        """Return the arithmetic of the raw score, by constraint."""
        return explain_scores(self._prepared(state).per_domain.cluster, self._scores(state, pod), row)

    def explain_normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array, position: int) -> Arithmetic:
        """Explain the scaling by the lowest and the highest score."""
        prepared = self._prepared(state)
        return explain_normalized(scores, prepared.scores.ignored[prepared.rows], position)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        """Scale the scores in reverse: fewest matching pods give 100."""
        prepared = self._prepared(state)
        return normalize(scores, prepared.scores.ignored[prepared.rows])

    def depends_on_feasible_nodes(self, state: CycleState, pod: Pod) -> bool:
        """Return True for pods with soft constraints, whose weights depend on the number of domains."""
        return state.read(_ScoreState) is not None

    def _prepared(self, state: CycleState) -> _ScoreState:
        found = state.read(_ScoreState)
        if found is None:
            raise PluginError('error reading "PreScorePodTopologySpread" from cycleState: not found')
        return found
