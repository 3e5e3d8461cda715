"""Running pods that are alike, each decided for as if it were rescheduled: over the cluster without the pod itself.

The clusters of two such pods differ only on the nodes of the two. Most plugins' results depend on the pods of the node
itself (``Plugin.reach_of_copies``). They are those over the cluster with all pods; for the pod's own node they are
those over a cluster that lacks one of the pods on each of their nodes. So the verdicts for many of the pods are columns
that differ in one node each. Only the other plugins run for each pod.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.common.arrays import Int64Array, Mask, PodIndices, Rows
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.ranking import SEARCH_POINTS, is_scaled
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin, PluginError, PreEnqueuePlugin, ScorePlugin
from kschedctl.scheduler.framework.node_statuses import FilterRun, NodeStatuses
from kschedctl.scheduler.framework.runtime import Framework, PreFilterOutcome
from kschedctl.scheduler.framework.scoring import Scores, normalized_scores, run_score
from kschedctl.scheduler.framework.status import Code, Rejections, Status

_ALL_NODES: Final = PreFilterOutcome(Status())


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The verdicts on the nodes of a cluster for some pods: arrays of shape (n_pods, n_nodes)."""

    names: tuple[str, ...]
    #: True for nodes that the pod fits on.
    fits: Mask
    #: The index of each node's status in ``statuses``.
    said: Int64Array
    #: The statuses at which kube-scheduler stops.
    statuses: tuple[Status, ...]
    #: True for nodes that have scores.
    scored: Mask
    #: The total scores; 0 for nodes without scores.
    total: Int64Array
    #: Per plugin the normalized score times the weight; shape (1, n_nodes) if it is the same for all pods.
    weighted: Mapping[str, Int64Array]

    @classmethod
    def of(cls, decision: Decision) -> "NodeColumns | None":
        """Return the verdicts for the pod of a decision; ``None`` if the cycle ended before the filters."""
        if decision.statuses is None:
            return None
        said, statuses = decision.statuses.distinct()
        n_nodes = len(decision.cluster.nodes)
        scored, total = np.zeros((1, n_nodes), dtype=np.bool_), np.zeros((1, n_nodes), dtype=np.int64)
        weighted: dict[str, Int64Array] = {}
        scores = decision.scores
        if scores is not None:
            scored[0, scores.rows] = True
            total[0, scores.rows] = scores.total
            for plugin, normalized in scores.normalized.items():
                weighted[plugin] = np.zeros((1, n_nodes), dtype=np.int64)
                weighted[plugin][0, scores.rows] = normalized * scores.weights[plugin]
        fits = decision.statuses.code == 0
        return cls(decision.cluster.nodes.names, fits[None], said[None], statuses, scored, total, weighted)

    @property
    def best(self) -> Mask:
        """True for the nodes with the highest total score of those that have scores."""
        total = np.where(self.scored, self.total, np.iinfo(np.int64).min)
        best: Mask = self.scored & (total == total.max(axis=1, keepdims=True))
        return best


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


class Rescheduled(msgspec.Struct, frozen=True):
    """The verdicts for some of the pods."""

    #: False for pods for which a scheduling cycle has to decide; what the columns say about these is of no meaning.
    decided: Mask
    columns: NodeColumns
    #: Features that are not modelled and may change the answer, by the pod's position.
    not_modelled: Mapping[int, tuple[NotModelled, ...]]


class _Related(msgspec.Struct, frozen=True):
    """The results for a pod by the plugins that relate pods on different nodes."""

    state: CycleState
    #: The statuses of the nodes by all filters; ``None`` if these plugins filter nothing.
    statuses: NodeStatuses | None
    scores: Scores


class _Asked(msgspec.Struct, frozen=True):
    """The pods that are asked for, with what is known before the scores: arrays with a row per pod."""

    pods: Sequence[Pod]
    #: The node of each pod.
    rows: Rows
    fits: Mask
    #: True for pods that do not fit on the same nodes as a pod that takes no pod's place.
    fits_differ: Mask
    #: False for pods for which a scheduling cycle has to decide.
    decided: Mask
    #: By position, the results of the plugins that relate pods on different nodes.
    related: Mapping[int, _Related]


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
        self._gates = framework.plugins(ExtensionPoint.PRE_ENQUEUE, PreEnqueuePlugin)
        cluster = framework.cluster
        _, first = np.unique(cluster.pods.node_row[indices], return_index=True)
        #: The first of the pods on each node.
        self._firsts = frozenset(indices[first].tolist())
        fewer = self._alone.moved(cluster.with_pods(removed=self._firsts))
        # No pod of the cluster has this name.
        stranger = structs.replace(pod, metadata=structs.replace(pod.metadata, name=f"{pod.name}\0", uid=""))
        decision = schedule_pod(self._alone, stranger, run_post_filter=False)
        self._state = decision.state
        whole = _Results.of(decision)
        own = _Results.of(schedule_pod(fewer, stranger, run_post_filter=False))
        #: The results with all pods, and with one fewer on each of their nodes; ``None`` if cycles have to decide.
        self._results: tuple[_Results, _Results] | None = None
        # Nodes with nominated pods are filtered twice.
        is_filtered_once = not framework.handle.extenders and not len(framework.nominated_pods(stranger))
        if is_filtered_once and whole and own and whole.plugins == own.plugins:
            self._results = whole, own

    def decide(self, indices: PodIndices) -> Rescheduled | None:
        """Return the verdicts for some of the pods; ``None`` if scheduling cycles have to decide.

        Args:
            indices: The pods, as indices into ``Cluster.pods``.
        """
        if self._results is None:
            return None
        whole, own = self._results
        cluster, n_pods, each = self._framework.cluster, len(indices), np.arange(len(indices))
        pods, rows = [cluster.pods.pod(index) for index in indices.tolist()], cluster.pods.node_row[indices]
        decided = np.array(list(map(self._is_tried, pods, indices.tolist())), dtype=np.bool_)
        statuses, said_whole, said_own = _merged(whole, own)
        fits_whole = (whole.statuses.code == 0)[None]
        fits, said = fits_whole.repeat(n_pods, axis=0), said_whole[None].repeat(n_pods, axis=0)
        fits[each, rows], said[each, rows] = own.statuses.code[rows] == 0, said_own[rows]
        related: dict[int, _Related] = {}
        for i in np.flatnonzero(decided).tolist() if self._related else ():
            found = self._related_results(whole, own, pods[i], int(indices[i]), fits[i])
            if found is None:
                decided[i] = False
                continue
            related[i] = found
            if found.statuses is not None:
                number, words = found.statuses.distinct()
                fits[i], said[i] = found.statuses.code == 0, number + len(statuses)
                statuses += words
        decided &= fits.any(axis=1)
        asked = _Asked(pods, rows, fits, (fits != fits_whole).any(axis=1), decided, related)
        weighted: dict[str, Int64Array] = {}
        for name in self._framework.plugin_names(ExtensionPoint.SCORE, ScorePlugin):
            if name in whole.raw:
                weighted[name] = self._weighted(name, whole, own, asked)
            elif any(name in found.scores.raw for found in related.values()):
                weighted[name] = np.zeros(fits.shape, dtype=np.int64)
                for i, scores in ((i, found.scores) for i, found in related.items() if name in found.scores.raw):
                    weighted[name][i, scores.rows] = scores.normalized[name] * scores.weights[name]
        total = np.zeros(fits.shape, dtype=np.int64)
        for each_weighted in weighted.values():
            total += each_weighted
        columns = NodeColumns(cluster.nodes.names, fits, said, statuses, fits, total, weighted)
        return Rescheduled(decided, columns, {i: tuple(found.state.not_modelled) for i, found in related.items()})

    def _is_tried(self, pod: Pod, index: int) -> bool:
        """Report whether PreEnqueue lets a pod pass, and the results for its node are those without this pod."""
        # Reasons may name the pods that are left on the node.
        if index not in self._firsts:
            return False
        framework = self._framework
        if any(gate.counts_pods for gate in self._gates):
            framework = framework.moved(framework.cluster.with_pods(removed=[index]))
        return framework.run_pre_enqueue(pod).code is Code.SUCCESS

    def _related_results(self, whole: _Results, own: _Results, pod: Pod, index: int, fits: Mask) -> _Related | None:
        """Return the results of the plugins that relate pods; ``None`` if one of them fails or narrows the nodes down.

        Args:
            fits: The nodes that pass all other filters.
        """
        assert self._related is not None
        cluster = self._framework.cluster.with_pods(removed=[index])
        framework, state, statuses = self._related.moved(cluster), self._state.clone(), None
        try:
            if framework.run_pre_filter(state, pod) != _ALL_NODES:
                return None
            run = framework.run_filters(state, pod, cluster.overlay())
            if any((said.code == Code.ERROR).any() for said in run.rejections.values()):
                return None
            if run.rejections:
                row = int(self._framework.cluster.pods.node_row[index])
                alone = ((name, said, own.rejections[name]) for name, said in whole.rejections.items())
                found = {name: _with_own_row(said, said_own, row) for name, said, said_own in alone}
                found.update(run.rejections)
                names = self._framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin)
                run = FilterRun.of(run.rows, {name: found[name] for name in names if name in found})
                statuses = NodeStatuses(len(fits), Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE), run)
                fits = statuses.code == 0
            rows = np.flatnonzero(fits)
            return _Related(state, statuses, run_score(framework, state, pod, rows)) if len(rows) else None
        except PluginError:
            return None

    def _weighted(self, name: str, whole: _Results, own: _Results, asked: _Asked) -> Int64Array:
        """Return the weighted scores of a plugin for which only the pod's own node matters.

        Pods for which it fails are marked as not decided.
        """
        rows, fits, weight = asked.rows, asked.fits, self._framework.profile.weights[name]
        differs = asked.fits_differ | (whole.raw[name][rows] != own.raw[name][rows])
        known = np.zeros((1, fits.shape[1]), dtype=np.int64)
        known[0, whole.scores.rows] = whole.scores.normalized[name] * weight
        if not differs.any():
            return known
        raw = whole.raw[name][None].repeat(len(rows), axis=0)
        raw[np.arange(len(rows)), rows] = own.raw[name][rows]
        if not is_scaled(self._framework, name):
            unscaled: Int64Array = raw * fits * weight
            return unscaled
        out = known.repeat(len(rows), axis=0)
        for i in np.flatnonzero(differs & asked.decided).tolist():
            state = asked.related[i].state if i in asked.related else self._state
            try:
                scored, out[i] = np.flatnonzero(fits[i]), 0
                out[i, scored] = normalized_scores(self._alone, name, state, asked.pods[i], raw[i, scored]) * weight
            except PluginError:
                asked.decided[i] = False
        return out


def _with_own_row(whole: Rejections, own: Rejections, row: int) -> Rejections:
    """Return the results of a filter with those for one node in place of its own."""
    if not whole.code[row] and not own.code[row]:
        return whole
    number = int(whole.reason.max()) + 1
    code, reason = whole.code.copy(), whole.reason.copy()
    code[row], reason[row] = own.code[row], number

    def texts(asked: int) -> tuple[str, ...]:
        return own.texts(int(own.reason[row])) if asked == number else whole.texts(asked)

    return Rejections(code, reason, texts)


def _merged(whole: _Results, own: _Results) -> tuple[tuple[Status, ...], Int64Array, Int64Array]:
    """Return the statuses of two results, and the index there of each node's status by either of them.

    They are in the order of the filters, as those of one result are; for each filter, those of ``whole`` come first.
    """
    place = {name: i for i, name in enumerate(whole.rejections)}
    sides = whole.statuses.distinct(), own.statuses.distinct()
    order = sorted(
        (place.get(status.plugin, -1), side, i) for side in (0, 1) for i, status in enumerate(sides[side][1])
    )
    index = {(side, i): number for number, (_, side, i) in enumerate(order)}
    said_whole, said_own = (
        np.array([index[side, i] for i in range(len(statuses))], dtype=np.int64)[said]
        for side, (said, statuses) in enumerate(sides)
    )
    return tuple(sides[side][1][i] for _, side, i in order), said_whole, said_own
