"""The pods of the question for the solver: kinds of pods to place, and the running pods that may be evicted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import SelectorError
from kschedctl.scheduler.cycle.cycle import rows_allowed_by_pre_filter
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin, PluginError
from kschedctl.scheduler.framework.result_cache import CachedResults
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.scoring import run_score
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import FilterState, KeyCounts
from kschedctl.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity
from kschedctl.scheduler.plugins.node_ports import HostPort, NodePorts, host_ports
from kschedctl.scheduler.plugins.node_resources.fit import NodeResourcesFit
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import DomainCounts
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

# Filter results as the solver's input: the allowed nodes, and the constraints between pods.

#: Filters that the model represents, or whose answer can improve once other pods are placed.
_MODELLED: Final = frozenset({NodeResourcesFit.name, InterPodAffinity.name, PodTopologySpread.name})


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterResults:
    """The filters' results for a kind of pod, over the cluster without the pods that are allowed to leave."""

    #: True for nodes that pass every filter that does not depend on placed pods.
    allowed: Mask
    #: The resources that a pod must find on its node; empty if NodeResourcesFit is disabled.
    wanted: dict[str, int]
    ports: tuple[HostPort, ...]
    #: Matches of required affinity terms; ``None`` if InterPodAffinity is disabled.
    affinity: FilterState | None
    #: Matching pods per domain of each hard topology spread constraint.
    spread: tuple[DomainCounts, ...]
    #: The scheduler's score for each allowed node in the initial cluster.
    scores: Int64Array

    @property
    def attractions(self) -> Sequence[KeyCounts]:
        """Required affinity terms."""
        return self.affinity.affinity if self.affinity is not None else ()

    @property
    def exclusions(self) -> Sequence[KeyCounts]:
        """Required anti-affinity terms, of this kind and of running pods."""
        return (*self.affinity.anti_affinity, *self.affinity.existing) if self.affinity is not None else ()


def evaluate_filters(scheduler: Scheduler, pod: Pod) -> FilterResults:
    """Run the filters for a pod."""
    framework = scheduler.framework(pod.spec.scheduler_name)
    enabled = framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin)
    n_nodes = len(scheduler.cluster.nodes)
    allowed, scores = np.zeros(n_nodes, dtype=np.bool_), np.zeros(n_nodes, dtype=np.int64)
    affinity: FilterState | None = None
    spread: tuple[DomainCounts, ...] = ()
    try:
        passes = _filter_unmodelled(framework, pod, allowed, scores)
        if passes and InterPodAffinity.name in enabled:
            affinity = framework.plugin(InterPodAffinity.name).hard_counts(pod)  # type: ignore[attr-defined]
        if passes and PodTopologySpread.name in enabled:
            spread = framework.plugin(PodTopologySpread.name).hard_domains(pod)  # type: ignore[attr-defined]
    except (PluginError, SelectorError):
        passes = False
    wanted = {}
    if NodeResourcesFit.name in enabled:
        plugin = framework.plugin(NodeResourcesFit.name)
        assert isinstance(plugin, NodeResourcesFit)
        wanted = plugin.wanted(pod)
    columns = [counts.column for counts in (affinity.affinity if affinity is not None else ())]
    for column in (*columns, *(domains.column for domains in spread)):
        allowed &= column.present
    return FilterResults(
        allowed=allowed if passes else np.zeros(n_nodes, dtype=np.bool_),
        wanted=wanted,
        ports=host_ports(pod) if NodePorts.name in enabled else (),
        affinity=affinity,
        spread=spread,
        scores=scores,
    )


def _filter_unmodelled(framework: Framework, pod: Pod, allowed: Mask, scores: Int64Array) -> bool:
    """Mark and score the nodes that only modelled filters could reject; return False if PreFilter fails."""
    state = framework.new_state(pod)
    try:
        outcome = framework.run_pre_filter(state, pod)
        if outcome.status.code is not Code.SUCCESS:
            return False
        rows = rows_allowed_by_pre_filter(framework, outcome)
        run = framework.run_filters(state, pod, framework.overlay_with_nominated_pods(pod, rows))
        passed = np.ones(len(rows), dtype=np.bool_)
        for name, rejections in run.rejections.items():
            if name not in _MODELLED:
                passed &= ~rejections.rejected
        rows = rows[passed]
        allowed[rows] = True
        if len(rows):
            scores[rows] = run_score(framework, state, pod, rows).total
        return True
    finally:
        state.discard(CachedResults)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A set of identical pods."""

    #: Pending pods, the oldest first; empty for a kind that exists only after evictions.
    pods: tuple[Pod, ...]
    #: One pod of the kind.
    sample: Pod
    class_id: int
    #: True if the pods can preempt others.
    preempts: bool
    filters: FilterResults

    @property
    def priority(self) -> int:
        """The pods' priority."""
        return self.sample.spec.priority or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupants:
    """Identical pods on one node that may be evicted."""

    row: int
    #: Indices into the pods of the initial cluster.
    pods: tuple[int, ...]
    #: The pods' class and priority.
    class_id: int
    priority: int
    #: The kind of the pods that their controller creates instead; -1 if no controller does.
    kind: int


# A placement of pods on nodes, as numbers of pods.


@dataclass(frozen=True, slots=True)
class Placement:
    """A placement: pods per kind and node row, and evicted pods per group of occupants."""

    placed: Mapping[tuple[int, int], int] = field(default_factory=dict)
    leaving: Mapping[int, int] = field(default_factory=dict)

    @property
    def rows(self) -> frozenset[int]:
        """The rows of nodes that receive pods."""
        return frozenset(row for (_, row), n in self.placed.items() if n)
