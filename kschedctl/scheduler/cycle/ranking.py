"""The feasible nodes of a pod and their scores, updated for each copy of the pod that is placed, and for other pods.

The next search for a node differs from the previous one only in what the copy changes. Most plugins' results depend on
the pods of the node itself (``Plugin.reach_of_copies``): those for the copy's node are those of a cluster with as many
copies of the pod on it. They are computed for many nodes together, because most of them are needed for a later copy.
Plugins that relate pods on different nodes update their own results for all nodes (``Plugin.placed_copies``).

A ranking can follow the cluster when other pods come and go between two copies. Most plugins' results are then computed
again for the nodes of these pods (``Plugin.reach_of_pods``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod, PodSpec, PodStatus
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin, PlacedCopies, PluginError, ScorePlugin
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.scoring import normalized_scores, run_score, within_range
from kschedctl.scheduler.framework.status import Code

#: Returns the nodes to score, of those on which a pod fits.
Prefer: TypeAlias = Callable[[Rows], Rows]
#: The extension points whose results decide for a node, or change objects when a pod is assumed there.
SEARCH_POINTS: Final = (
    ExtensionPoint.PRE_FILTER,
    ExtensionPoint.FILTER,
    ExtensionPoint.PRE_SCORE,
    ExtensionPoint.SCORE,
    ExtensionPoint.RESERVE,
    ExtensionPoint.PRE_BIND,
)


class EffectOfCopies(msgspec.Struct, frozen=True):
    """The effect that copies of a pod on nodes, or any pods, have on the results of plugins for further copies."""

    #: The plugins whose results change at most for the node of such a pod: true if they do.
    own_node: Mapping[str, bool]
    #: The plugins whose results change for other nodes too.
    related: Mapping[str, PlacedCopies]


def effect_of_copies(
    decision: Decision, points: Sequence[ExtensionPoint] = SEARCH_POINTS, *, any_pods: bool = False
) -> EffectOfCopies | None:
    """Return the effect of copies of a pod; ``None`` if the next copy needs a scheduling cycle of its own.

    Args:
        decision: The decision for the pod.
        points: The extension points whose plugins matter.
        any_pods: True for the effect of any pods that come and go, copies included.
    """
    framework, pod = decision.framework, decision.pod
    if framework.handle.extenders or _nominated_count(framework.cluster, pod):
        return None
    own_node: dict[str, bool] = {}
    related: dict[str, PlacedCopies] = {}
    for name in dict.fromkeys(name for point in points for name in framework.profile.plugins.get(point, ())):
        plugin = framework.plugin(name)
        reach = plugin.reach_of_copies(pod)
        if any_pods:
            reach = max(reach, plugin.reach_of_pods(pod))
        if reach is not Reach.CLUSTER:
            own_node[name] = reach is Reach.NODE
            continue
        copies = plugin.placed_copies(decision.state, pod)
        if copies is None:
            return None
        related[name] = copies
    return EffectOfCopies(own_node, related)


def _nominated_count(cluster: Cluster, pod: Pod) -> bool:
    """Report whether nominated pods may count while a pod is filtered, so that nodes are filtered twice."""
    pods = cluster.pods
    return any(pods.records[index].priority >= (pod.spec.priority or 0) for index in pods.nominated.tolist())


class Ranking:
    """The feasible nodes and their scores, updated for every copy of the pod that is placed.

    They hold for the cluster of ``decision`` with the copies of ``take``, until ``follow`` moves them to a cluster with
    these copies and other pods. A ranking that returned False once is of no use any more.

    rows: The feasible nodes that are scored, ascending.
    total: Their total scores.

    Args:
        decision: The decision for the first of the pods, which has scores.
        effect: The effect of its copies; what they change is updated in place.
        is_choosy: True if only some of the feasible nodes are scored.

    Raises PluginError if a Score plugin fails for a node on which a later copy may fit.
    """

    def __init__(self, decision: Decision, effect: EffectOfCopies, *, is_choosy: bool = False) -> None:
        scores = decision.scores
        assert scores is not None
        framework = self._framework = decision.framework
        self._decision, self._effect = decision, effect
        self._pod, self._state, self._nodes = decision.pod, decision.state.clone(), framework.cluster.nodes
        self._related, self._weights = effect.related, framework.profile.weights
        self.rows, self.total = scores.rows, scores.total.copy()
        alone = framework.without(effect.related)
        filters = framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin)
        self._filtering = tuple(copies for name, copies in effect.related.items() if name in filters)
        # A node that only related plugins reject may become feasible, and a feasible one may be scored later.
        rows, raw = scores.rows, scores.raw
        if (self._filtering or is_choosy) and decision.statuses is not None and decision.statuses.snapshot is not None:
            run = decision.statuses.snapshot
            passing = run.rows[run.passed_without(effect.related)]
            rows = np.intersect1d(passing, decision.searched, assume_unique=True)
            if len(rows) > len(scores.rows):
                raw = run_score(alone, decision.state.clone(), decision.pod, rows).raw
        n_nodes = len(self._nodes)
        self._copies = np.zeros(n_nodes, dtype=np.int64)
        #: The nodes that pass all filters but those of related plugins, and for these nodes the weighted sum of the
        #: scores that are not scaled, and the raw scores that can change or are scaled.
        self._open = np.zeros(n_nodes, dtype=np.bool_)
        self._open[rows] = True
        #: The nodes on which the next copies are likely to be placed.
        self._near = rows if is_choosy else scores.rows
        #: The nodes for which all scores are known that do not depend on pods.
        self._scored = self._open.copy()
        self._unscaled = np.zeros(n_nodes, dtype=np.int64)
        self._raw: dict[str, Int64Array] = {}
        #: The scaled scores of the feasible nodes.
        self._scaled: dict[str, Int64Array] = {}
        own = {name: given for name, given in raw.items() if name not in effect.related}
        self._own = tuple(own)
        self._varying = tuple(name for name in own if effect.own_node[name])
        for name, given in own.items():
            if is_scaled(framework, name):
                self._scaled[name] = scores.normalized[name]
            else:
                self._unscaled[rows] += given * self._weights[name]
            if name in self._scaled or name in self._varying:
                self._raw[name] = np.zeros(n_nodes, dtype=np.int64)
                self._raw[name][rows] = given
        scoring = framework.plugin_names(ExtensionPoint.SCORE, ScorePlugin)
        for name, copies in effect.related.items():
            related_scores = copies.scores(self.rows) if name in scoring else None
            if related_scores is not None:
                self._scaled[name] = related_scores
        self._results: _ResultsWithCopies | None = None

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
        best = self.rows[self.total == self.total.max()]
        return self._nodes.names[int(best[np.argmin(self._nodes.by_name[0][best])])]

    def take(self, row: int, n_together: int, prefer: Prefer | None = None) -> bool:
        """Place one more copy on a feasible node; return ``False`` if an error ends the search.

        Args:
            n_together: The maximum number of nodes for which results are computed together.
            prefer: Returns the nodes to score for the next copy; by default all feasible ones.
        """
        rejected = [copies.rejected for copies in self._filtering]
        try:
            changed = [*self._take_alone(row, n_together), *(name for name in self._related if name in self._scaled)]
            for copies in self._related.values():
                copies.place(row)
            if (
                prefer is not None
                or not self._open[row]
                or any(copies.rejected is not before for copies, before in zip(self._filtering, rejected, strict=True))
            ):
                self._select_feasible(prefer)
            else:
                self._scale_again(changed)
        except PluginError:
            return False
        return True

    def follow(self, framework: Framework, before: Cluster) -> bool:
        """Take in the pods that came and went; return ``False`` if a scheduling cycle has to decide.

        Args:
            framework: The profile over the cluster as it is now, of which nodes and objects that plugins read are the
                same.
            before: The cluster in which the copies so far are placed, and nothing else has changed.
        """
        cluster = framework.cluster
        moves = cluster.pods.mark.moves_since(before.pods.mark)
        touched = np.flatnonzero(cluster.pods.row_version != before.pods.row_version)
        if moves is None or 2 * len(touched) > len(self._nodes):
            return False
        nominated = bool((moves.slots.take("nominated_row", moves.come) >= 0).any())
        if nominated and _nominated_count(cluster, self._pod):
            return False
        self._framework, self._results = framework, None
        self._copies.fill(0)
        n_notes = len(self._state.not_modelled)
        moved = moves.on_nodes()
        rejected = [copies.rejected for copies in self._filtering]
        was_open, unscaled = self._open[touched], self._unscaled[touched]
        try:
            changed = self._follow_alone(touched)
            if not all(copies.follow(cluster, moved) for copies in self._related.values()):
                return False
            if np.array_equal(was_open, self._open[touched]) and all(
                copies.rejected is before for copies, before in zip(self._filtering, rejected, strict=True)
            ):
                at = np.searchsorted(self.rows, touched)
                feasible = np.append(self.rows, -1)[at] == touched
                self.total[at[feasible]] += (self._unscaled[touched] - unscaled)[feasible]
                self._scale_again([*changed, *(name for name in self._related if name in self._scaled)])
            else:
                self._select_feasible(None)
        except PluginError:
            return False
        return len(self._state.not_modelled) == n_notes

    def _follow_alone(self, rows: Rows) -> list[str]:
        """Compute the results for some nodes again, without those of related plugins.

        Returns: The plugins of which the scaled scores may differ now.
        """
        rows = rows[self._settled[rows]]
        if not len(rows):
            return []
        passing = np.ones(len(rows), dtype=np.bool_)
        nodes = self._framework.cluster.overlay(rows)
        for name in self._filters:
            said = cast("FilterPlugin", self._framework.plugin(name)).filter(self._state, self._pod, nodes)
            if (said.code == Code.ERROR).any():
                raise PluginError("a filter fails")
            passing &= ~said.rejected
        self._open[rows] = passing
        rows = rows[passing]
        new = rows[~self._scored[rows]]
        self._scored[new] = True
        changed = []
        for name in self._own:
            some = rows if name in self._varying else new
            if not len(some):
                continue
            scores = cast("ScorePlugin", self._framework.plugin(name)).score(self._state, self._pod, some)
            if name in self._raw:
                more = scores - self._raw[name][some]
                self._raw[name][some] = scores
            else:
                more = scores
            if name in self._scaled:
                changed.append(name)
            else:
                # Scores that are scaled are checked afterwards.
                within_range(name, scores)
                self._unscaled[some] += more * self._weights[name]
        return changed

    @cached_property
    def _filters(self) -> tuple[str, ...]:
        """The filters whose results for a node depend on its pods."""
        names = self._framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin)
        own_node, skipped = self._effect.own_node, self._state.skip_filter_plugins
        return tuple(name for name in names if own_node.get(name) and name not in skipped)

    @cached_property
    def _settled(self) -> Mask:
        """The nodes that pass all filters whose results do not depend on pods: bool, shape (n_nodes,)."""
        out = np.zeros(len(self._nodes), dtype=np.bool_)
        decision = self._decision
        run = decision.statuses.snapshot if decision.statuses is not None else None
        assert run is not None
        if any((said.code == Code.ERROR).any() for said in run.rejections.values()):
            # The filter that ends the cycle may be hidden by the rejection of another one, so far.
            raise PluginError("a filter fails")
        out[run.rows[run.passed_without({*self._effect.related, *self._filters})]] = True
        allowed = np.zeros_like(out)
        allowed[decision.searched] = True
        return out & allowed

    def _take_alone(self, row: int, n_together: int) -> list[str]:
        """Update the results for a node with one more copy, without those of related plugins.

        Returns: The plugins of which the scaled scores may differ now.
        """
        results = self._results
        if results is None:
            alone = self._framework.without(self._related)
            results = self._results = _ResultsWithCopies(alone, self._pod, self._varying)
        self._copies[row] += 1
        n_copies = int(self._copies[row])
        if not results.has(row, n_copies):
            results.extend(self._likely(results, row, n_copies, n_together), n_copies)
        scores = results.scores(row, n_copies)
        if scores is None:
            self._open[row] = False
            return []
        changed = []
        for name, score in zip(self._varying, scores, strict=True):
            more = score - int(self._raw[name][row])
            self._raw[name][row] = score
            if more and name in self._scaled:
                changed.append(name)
            elif more:
                self._unscaled[row] += more * self._weights[name]
                self.total[np.searchsorted(self.rows, row)] += more * self._weights[name]
        return changed

    def _likely(self, results: "_ResultsWithCopies", row: int, n_copies: int, n_together: int) -> Rows:
        """Return a node and those after it in the order of their scores whose results are known for one copy less."""
        total = self._unscaled.copy()
        total[self.rows] = self.total
        rows = self._near[results.n_known[self._near] == n_copies - 1]
        rows = rows[np.lexsort((self._nodes.by_name[0][rows], -total[rows]))[:n_together]]
        return rows if row in rows else np.append(rows, row)

    def _select_feasible(self, prefer: Prefer | None) -> None:
        """Find the feasible nodes, and scale their scores."""
        feasible = self._open
        for copies in self._filtering:
            feasible = feasible & ~copies.rejected
        self.rows = self._near = np.flatnonzero(feasible)
        if prefer is not None and len(self.rows):
            self.rows = prefer(self.rows)
        self.total = self._unscaled[self.rows]
        for name in self._scaled if len(self.rows) else ():
            self._scaled[name] = scores = self._scores_of(name)
            self.total += scores * self._weights[name]

    def _scale_again(self, names: Iterable[str]) -> None:
        """Scale the scores of some plugins again, for the same feasible nodes."""
        for name in names:
            scores = self._scores_of(name)
            self.total += (scores - self._scaled[name]) * self._weights[name]
            self._scaled[name] = scores

    def _scores_of(self, name: str) -> Int64Array:
        """Return the scaled scores of the feasible nodes."""
        copies = self._related.get(name)
        if copies is None:
            return normalized_scores(self._framework, name, self._state, self._pod, self._raw[name][self.rows])
        scores = copies.scores(self.rows)
        assert scores is not None
        return within_range(name, scores)


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


def is_scaled(framework: Framework, name: str) -> bool:
    """Report whether a Score plugin normalises its scores."""
    plugin = framework.plugin_class(name)
    return not issubclass(plugin, ScorePlugin) or plugin.normalize_score is not ScorePlugin.normalize_score


def likeness_of(pod: Pod) -> tuple[ObjectMeta, PodSpec, PodStatus]:
    """Return the parts of a pod that are equal for pods that are alike: all but its names, times and conditions."""
    metadata = replace(pod.metadata, name="", uid="", creation_timestamp=None, resource_version="")
    return metadata, pod.spec, replace(pod.status, conditions=(), start_time=None)
