"""The feasible nodes of a pod and their scores, updated for each copy of the pod that is placed on one of them.

If no plugin's result for other nodes depends on a copy (``Plugin.reach_of_copies``), the next search for a node differs
from the previous one in one node. The results for that node are those of a cluster with as many copies of the pod on
it. They are computed for many nodes together, because most of them are needed for a later copy.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod, PodSpec, PodStatus
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import PluginError, ScorePlugin
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.scoring import Scores, normalized_scores, run_score
from kschedctl.scheduler.framework.status import Code

#: The extension points whose results decide for a node, or change objects when a pod is assumed there.
SEARCH_POINTS: Final = (
    ExtensionPoint.PRE_FILTER,
    ExtensionPoint.FILTER,
    ExtensionPoint.PRE_SCORE,
    ExtensionPoint.SCORE,
    ExtensionPoint.RESERVE,
    ExtensionPoint.PRE_BIND,
)


class Ranking:
    """The feasible nodes and their scores, updated for every copy of the pod that is placed.

    rows: The feasible nodes, ascending.
    """

    def __init__(self, framework: Framework, decision: Decision, scores: Scores, reaches: Mapping[str, Reach]) -> None:
        self._framework = framework
        self._pod = decision.pod
        self._state = decision.state
        nodes = framework.cluster.nodes
        self.rows = scores.rows
        self._nodes = nodes
        self._place = nodes.by_name[0][scores.rows]
        self.total = scores.total.copy()
        self._weights = scores.weights
        self._varying = tuple(name for name in scores.raw if reaches[name] is Reach.NODE)
        self._scaled = {name: scores.normalized[name] for name in scores.raw if _is_scaled(framework, name)}
        self._raw = {name: scores.raw[name].copy() for name in (*self._varying, *self._scaled)}
        self._copies = np.zeros(len(nodes), dtype=np.int64)
        self._results = _ResultsWithCopies(framework, decision.pod, self._varying)

    @property
    def best(self) -> tuple[str, ...]:
        """The nodes with the highest total score, by name; empty if no node is feasible."""
        if not len(self.rows):
            return ()
        return self._nodes.sorted_names(self.rows[self.total == self.total.max()])

    def first_best(self) -> str:
        """Return the first node by name of those with the highest total score; empty if no node is feasible."""
        if not len(self.rows):
            return ""
        best = np.flatnonzero(self.total == self.total.max())
        return self._nodes.names[int(self.rows[best[np.argmin(self._place[best])]])]

    def take(self, row: int, n_together: int) -> bool:
        """Place one more copy on a feasible node; return ``False`` if an error ends the search.

        Args:
            n_together: The maximum number of nodes for which results are computed together.
        """
        self._copies[row] += 1
        n_copies = int(self._copies[row])
        position = int(np.searchsorted(self.rows, row))
        try:
            if not self._results.has(row, n_copies):
                self._results.extend(self._likely(row, n_copies, n_together), n_copies)
            scores = self._results.scores(row, n_copies)
            if scores is None:
                self.rows, self._place, self.total = (
                    np.delete(each, position) for each in (self.rows, self._place, self.total)
                )
                self._raw = {name: np.delete(raw, position) for name, raw in self._raw.items()}
                for name in self._scaled:
                    self._scaled[name] = np.delete(self._scaled[name], position)
                    if len(self.rows):
                        self._scale(name)
            else:
                for name, score in zip(self._varying, scores, strict=True):
                    raw = self._raw[name]
                    if raw[position] == score:
                        continue
                    if name not in self._scaled:
                        self.total[position] += (score - raw[position]) * self._weights[name]
                    raw[position] = score
                    if name in self._scaled:
                        self._scale(name)
        except PluginError:
            return False
        return True

    def _likely(self, row: int, n_copies: int, n_together: int) -> Rows:
        """Return a node and those after it in the order of their scores whose results are known for one copy less."""
        open_rows = self._results.n_known[self.rows] == n_copies - 1
        order = np.lexsort((self._place[open_rows], -self.total[open_rows]))
        rows: Rows = self.rows[open_rows][order[:n_together]]
        return rows if row in rows else np.append(rows, row)

    def _scale(self, name: str) -> None:
        scaled = normalized_scores(self._framework, name, self._state, self._pod, self._raw[name].copy())
        self.total += (scaled - self._scaled[name]) * self._weights[name]
        self._scaled[name] = scaled


class _ResultsWithCopies:
    """The results of filters and of some Score plugins for nodes with one or more copies of a pod.

    n_known: The greatest number of copies for which the results of each node are known.
    """

    def __init__(self, framework: Framework, pod: Pod, scoring: tuple[str, ...]) -> None:
        self._framework = framework
        self._pod = pod
        self._scoring = scoring
        #: The cluster with as many copies on each node as ``n_known`` tells.
        self._cluster: Cluster = framework.cluster
        self.n_known = np.zeros(len(framework.cluster.nodes), dtype=np.int64)
        self._known: dict[tuple[int, int], tuple[int, ...] | None] = {}

    def has(self, row: int, n_copies: int) -> bool:
        """Report whether the results for a node with a number of copies are known."""
        return (row, n_copies) in self._known

    def scores(self, row: int, n_copies: int) -> tuple[int, ...] | None:
        """Return the raw score of each Score plugin for a node with copies on it; ``None`` if a filter rejects it."""
        return self._known[row, n_copies]

    def extend(self, rows: Rows, n_copies: int) -> None:
        """Compute the results for nodes that are known with one copy less.

        Raises PluginError if a filter or a Score plugin fails.
        """
        rows = np.sort(rows)
        names = self._cluster.nodes.names
        self._cluster = self._cluster.with_copies(self._pod, [names[row] for row in rows.tolist()])
        self.n_known[rows] = n_copies
        framework, state = self._framework.moved(self._cluster), CycleState()
        outcome = framework.run_pre_filter(state, self._pod)
        run = framework.run_filters(state, self._pod, self._cluster.overlay(rows))
        # A plugin that fails for one node can fail for all nodes that it is asked for, so other filters do not hide it.
        fails = any((said.code == Code.ERROR).any() for said in run.rejections.values())
        if outcome.status.code is not Code.SUCCESS or fails:
            raise PluginError("a filter fails")
        passing: Int64Array = rows[run.passed]
        self._known.update(((row, n_copies), None) for row in rows.tolist())
        if not len(passing):
            return
        raw = run_score(framework, state, self._pod, passing).raw
        if any(name not in raw for name in self._scoring):
            raise PluginError("a Score plugin skips the pod")
        columns = [raw[name].tolist() for name in self._scoring]
        scores = zip(*columns, strict=True) if columns else [()] * len(passing)
        self._known.update(((row, n_copies), tuple(each)) for row, each in zip(passing.tolist(), scores, strict=True))


def reaches_of_copies(
    framework: Framework, pod: Pod, points: Sequence[ExtensionPoint] = SEARCH_POINTS
) -> Mapping[str, Reach] | None:
    """Return the reach of copies of a pod for each plugin; ``None`` if results for all nodes can depend on copies."""
    if framework.handle.extenders:
        return None
    pods = framework.cluster.pods
    # Nodes with nominated pods are filtered twice.
    if any(pods.records[index].priority >= (pod.spec.priority or 0) for index in pods.nominated.tolist()):
        return None
    names = dict.fromkeys(name for point in points for name in framework.profile.plugins.get(point, ()))
    reaches: dict[str, Reach] = {}
    for name in names:
        reaches[name] = framework.plugin(name).reach_of_copies(pod)
        if reaches[name] is Reach.CLUSTER:
            return None
    return reaches


def _is_scaled(framework: Framework, name: str) -> bool:
    """Report whether a Score plugin normalises its scores."""
    plugin = framework.plugin_class(name)
    return not issubclass(plugin, ScorePlugin) or plugin.normalize_score is not ScorePlugin.normalize_score


def likeness_of(pod: Pod) -> tuple[ObjectMeta, PodSpec, PodStatus]:
    """Return the parts of a pod that are equal for pods that are alike: all but its names, times and conditions."""
    metadata = replace(pod.metadata, name="", uid="", creation_timestamp=None, resource_version="")
    return metadata, pod.spec, replace(pod.status, conditions=(), start_time=None)
