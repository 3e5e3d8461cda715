"""Running pods that are alike, each decided for as if it were rescheduled: over the cluster without the pod itself.

The clusters of two such pods differ only on the nodes of the two. Most plugins' results depend on the pods of the node
itself (``Plugin.reach_of_copies``). They are those over the cluster with all pods; for the pod's own node they are
those over a cluster that lacks one of the pods on each of their nodes. Only the other plugins run for each pod.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.common.arrays import Int64Array, PodIndices
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.ranking import SEARCH_POINTS
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin, PluginError, ScorePlugin
from kschedctl.scheduler.framework.node_statuses import FilterRun, NodeStatuses
from kschedctl.scheduler.framework.runtime import Framework, PreFilterOutcome
from kschedctl.scheduler.framework.scoring import Scores, normalized_scores, run_score
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status

_ALL_NODES: Final = PreFilterOutcome(Status())


class _Results(msgspec.Struct, frozen=True):
    """The results of a decision by the plugins whose results depend on the node itself."""

    statuses: NodeStatuses
    scores: Scores
    #: By filter its results, in the order of the nodes.
    rejections: Mapping[str, Rejections]
    #: By Score plugin the raw score of each node; 0 for nodes that the filters reject.
    raw: Mapping[str, Int64Array]

    @property
    def plugins(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The filters and the Score plugins that ran."""
        return tuple(self.rejections), tuple(self.raw)

    @classmethod
    def of(cls, decision: Decision) -> "_Results | None":
        """Return the results; ``None`` if the cycle ended early, or anything but filters and scores has a say."""
        statuses, scores = decision.statuses, decision.scores
        if statuses is None or statuses.snapshot is None or scores is None or decision.pre_filter != _ALL_NODES:
            return None
        if decision.error or decision.state.not_modelled or decision.pre_enqueue.code is not Code.SUCCESS:
            return None
        raw: dict[str, Int64Array] = {}
        for name, given in scores.raw.items():
            raw[name] = np.zeros(len(decision.cluster.nodes), dtype=np.int64)
            raw[name][scores.rows] = given
        return cls(statuses, scores, statuses.snapshot.rejections, raw)


class RescheduledPods:
    """Decisions for running pods that are alike, each over the cluster without the pod itself.

    Args:
        framework: The profile over the cluster with all pods.
        pod: One of the pods; none of them has a nominated node.
        indices: The pods, as indices into ``Cluster.pods``. They are on nodes, of one class, and share their spec.
    """

    def __init__(self, framework: Framework, pod: Pod, indices: PodIndices) -> None:
        self._framework = framework
        names = dict.fromkeys(name for point in SEARCH_POINTS for name in framework.profile.plugins.get(point, ()))
        related = {name for name in names if framework.plugin(name).reach_of_copies(pod) is Reach.CLUSTER}
        self._related = framework.without(names.keys() - related) if related else None
        self._alone = framework.without(related)
        cluster = framework.cluster
        _, first = np.unique(cluster.pods.node_row[indices], return_index=True)
        #: The first of the pods on each node.
        self._firsts = frozenset(indices[first].tolist())
        fewer = self._alone.moved(cluster.with_pods(removed=self._firsts))
        # No pod of the cluster has this name.
        stranger = structs.replace(pod, metadata=structs.replace(pod.metadata, name=f"{pod.name}\0", uid=""))
        self._decision = schedule_pod(self._alone, stranger, run_post_filter=False)
        whole = _Results.of(self._decision)
        own = _Results.of(schedule_pod(fewer, stranger, run_post_filter=False))
        #: The results with all pods, and with one fewer on each of their nodes; ``None`` if cycles have to decide.
        self._results: tuple[_Results, _Results] | None = None
        # Nodes with nominated pods are filtered twice.
        is_filtered_once = not framework.handle.extenders and not len(framework.nominated_pods(stranger))
        if is_filtered_once and whole and own and whole.plugins == own.plugins:
            self._results = whole, own

    def decide(self, pod: Pod, index: int) -> Decision | None:
        """Return the decision for one of the pods; ``None`` if a scheduling cycle has to decide.

        Args:
            index: The pod, as an index into ``Cluster.pods``.
        """
        # Reasons may name the pods that are left on the node.
        if self._results is None or index not in self._firsts:
            return None
        cluster = self._framework.cluster
        row, without = int(cluster.pods.node_row[index]), cluster.with_pods(removed=[index])
        framework, state = self._framework.moved(without), self._decision.state.clone()
        related = self._related.moved(without) if self._related is not None else None
        if framework.run_pre_enqueue(pod).code is not Code.SUCCESS:
            return None
        try:
            statuses = self._statuses(*self._results, related, state, pod, row)
            if statuses is None:
                return None
            scores = self._scores(*self._results, related, state, pod, row, statuses)
        except PluginError:
            return None
        return replace(
            self._decision,
            pod=pod,
            framework=framework,
            state=state,
            statuses=statuses,
            scores=structs.replace(scores, scorers=framework),
            best=cluster.nodes.sorted_names(scores.rows[scores.total == scores.total.max()]),
        )

    def _statuses(
        self, whole: _Results, own: _Results, related: Framework | None, state: CycleState, pod: Pod, row: int
    ) -> NodeStatuses | None:
        """Return the statuses of the nodes; ``None`` if it fits nowhere, or a plugin fails or narrows them down."""
        found = {name: _with_own_row(said, own.rejections[name], row) for name, said in whole.rejections.items()}
        if related is not None:
            if related.run_pre_filter(state, pod) != _ALL_NODES:
                return None
            run = related.run_filters(state, pod, related.cluster.overlay())
            if any((said.code == Code.ERROR).any() for said in run.rejections.values()):
                return None
            found |= run.rejections
        statuses = whole.statuses
        if any(said is not whole.rejections.get(name) for name, said in found.items()):
            names = self._framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin)
            run = FilterRun.of(self._decision.searched, {name: found[name] for name in names if name in found})
            statuses = NodeStatuses(statuses.n_nodes, statuses.absent, run)
        return statuses if (statuses.code == 0).any() else None

    def _scores(
        self,
        whole: _Results,
        own: _Results,
        related: Framework | None,
        state: CycleState,
        pod: Pod,
        row: int,
        statuses: NodeStatuses,
    ) -> Scores:
        """Return the scores of the feasible nodes.

        Raises PluginError if a plugin ends the cycle with an error.
        """
        is_same = statuses is whole.statuses
        rows = whole.scores.rows if is_same else statuses.feasible
        given = run_score(related, state, pod, rows) if related is not None else None
        raw: dict[str, Int64Array] = {}
        normalized: dict[str, Int64Array] = {}
        weights: dict[str, int] = {}
        total = np.zeros(len(rows), dtype=np.int64)
        for name in self._framework.plugin_names(ExtensionPoint.SCORE, ScorePlugin):
            if given is not None and name in given.raw:
                raw[name], normalized[name] = given.raw[name], given.normalized[name]
            elif name not in whole.raw:
                continue
            elif is_same and whole.raw[name][row] == own.raw[name][row]:
                raw[name], normalized[name] = whole.scores.raw[name], whole.scores.normalized[name]
            else:
                column = whole.raw[name].copy()
                column[row] = own.raw[name][row]
                raw[name] = column[rows]
                normalized[name] = normalized_scores(self._alone, name, state, pod, raw[name])
            weights[name] = self._framework.profile.weights[name]
            total += normalized[name] * weights[name]
        return Scores(rows, raw, normalized, weights, total, self._framework)


def _with_own_row(whole: Rejections, own: Rejections, row: int) -> Rejections:
    """Return the results of a filter with those for one node in place of its own."""
    if not whole.code[row] and not own.code[row]:
        return whole
    number = int(whole.reason.max()) + 1
    code, reason = whole.code.copy(), whole.reason.copy()
    code[row], reason[row] = own.code[row], number

    def texts(asked: int) -> tuple[str, ...]:
        return own.texts(int(own.reason[row])) if asked == number else whole.texts(asked)

    def details(position: int) -> tuple[Reason, ...]:
        return (own if position == row else whole).reasons(position)

    return Rejections(code, reason, texts, details)
