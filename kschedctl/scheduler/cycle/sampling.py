"""The choice of a node if kube-scheduler ends its search early (``percentageOfNodesToScore``), for all starts at once.

kube-scheduler goes through the nodes from where its previous cycle stopped, and ends the search once it has found
enough feasible nodes (upstream ``findNodesThatPassFilters``). Only these nodes, the sample, are scored, and scores are
normalised over them alone. The start depends on the history of the scheduler's process, so every start is tried.

The sample of a start is a run of feasible nodes in the order of the search. All starts between two feasible nodes have
the same sample. Nodes are filtered once; what a plugin computes from the other feasible nodes is computed per sample.

Three things may differ from a running scheduler. Nodes are filtered one after another, while kube-scheduler filters
chunks of nodes in parallel (``parallelism``), so that its sample can skip nodes and have later ones instead. Nodes are
in the order of a scheduler that started after the last node was added. Extenders are called once for all feasible
nodes, not for each sample.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, cast

import msgspec
import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Int64Array, Mask, Rows
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import MIN_FEASIBLE_NODES_TO_FIND, Decision
from kschedctl.scheduler.cycle.outcome import SearchScope
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import PluginError, PreScorePlugin, ScorePlugin
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.scoring import Scores, normalized_scores
from kschedctl.scheduler.framework.status import Code

_MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND: Final = 5
#: The labels for zone and region; the first one that a node has counts (component-helpers ``GetZoneKey``).
_ZONE: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_REGION: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


class Sample(msgspec.Struct, frozen=True):
    """The nodes that some starts of the search lead to."""

    #: The first of the starts, as an index into the order of the search, and their number. Starts that reach
    #: beyond the last node continue with the first.
    first_start: int
    n_starts: int
    #: The nodes of the sample, without those that extenders reject, in the order of the search.
    rows: Rows
    #: The best of these nodes; empty if extenders reject all of them, or a plugin ends the cycle with an error.
    best: Int64Array
    #: The start of the next cycle.
    next_start: int


class SampledChoice(msgspec.Struct, frozen=True):
    """The nodes that a pod can be scheduled to over all starts of the search."""

    #: The nodes that can be chosen, the most likely first, then by name.
    rows: Rows
    #: The number of starts for which each of these nodes is a best node.
    starts: Int64Array
    #: The probability of each node if all starts are equally likely; best nodes of one sample share it.
    chance: np.ndarray[tuple[int], np.dtype[np.float64]]
    #: The number of starts for which the pod is scheduled nowhere, because extenders reject every node of the
    #: sample, or because a plugin ends the cycle with an error.
    unscheduled: int = 0


def num_feasible_nodes_to_find(percentage: int, n_nodes: int) -> int:
    """Return the number of feasible nodes at which the search ends (upstream ``numFeasibleNodesToFind``).

    Args:
        percentage: The profile's ``percentageOfNodesToScore``, or that of the whole configuration; 0 for the
            adaptive percentage.

    >>> [num_feasible_nodes_to_find(0, n) for n in (99, 100, 250, 5000, 15000)]
    [99, 100, 120, 500, 750]
    """
    if n_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return n_nodes
    if percentage == 0:
        percentage = max(50 - n_nodes // 125, _MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return max(n_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


def search_order(nodes: Nodes) -> Rows:
    """Return the rows of all nodes in the order in which they are searched (upstream ``nodeTree.list``).

    The zones take turns. An API server lists nodes by name, so a scheduler that started after the last node was added
    has zones in the order of their first names, and the nodes of a zone by name.
    """
    by_zone: dict[tuple[str, str], list[int]] = {}
    for row in sorted(range(len(nodes)), key=nodes.names.__getitem__):
        by_zone.setdefault(_zone_key(nodes.objects[row]), []).append(row)
    turns = ((turn, zone, row) for zone, rows in enumerate(by_zone.values()) for turn, row in enumerate(rows))
    return np.array([row for _, _, row in sorted(turns)], dtype=np.int64)


def _zone_key(node: Node) -> tuple[str, str]:
    labels = node.metadata.labels
    region, zone = (next((labels[key] for key in keys if key in labels), "") for keys in (_REGION, _ZONE))
    return region, zone


def sampled_choice(decision: Decision, percentage: int) -> SampledChoice:
    """Return the nodes that a pod can be scheduled to over all starts of the search.

    Args:
        decision: The decision for the pod over all nodes, which schedules it. If there is no feasible node, the
            search looks at all nodes.
        percentage: The ``percentageOfNodesToScore`` that applies to the pod's profile.
    """
    nodes = decision.cluster.nodes
    n_starts = len(decision.searched)
    starts, chance = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes))
    unscheduled = 0
    if search_scope(decision, percentage) is SearchScope.SAMPLE:
        for sample in samples(decision, nodes_to_find(decision, percentage)):
            starts[sample.best] += sample.n_starts
            if len(sample.best):
                chance[sample.best] += sample.n_starts / len(sample.best)
            else:
                unscheduled += sample.n_starts
    else:
        best = [nodes.row[name] for name in decision.best]
        starts[best], chance[best] = n_starts, n_starts / len(best)
    found = np.flatnonzero(starts)
    place, _ = nodes.by_name
    rows = found[np.lexsort((place[found], -starts[found], -chance[found]))]
    return SampledChoice(rows, starts[rows], chance[rows] / n_starts, unscheduled)


def nodes_to_find(decision: Decision, percentage: int) -> int:
    """Return the number of feasible nodes at which the search for a decision's pod ends."""
    framework = decision.framework
    extenders = [each.config for each in framework.handle.extenders]
    scores = framework.profile.plugins.get(ExtensionPoint.SCORE) or any(each.prioritize_verb for each in extenders)
    if not scores and not any(each.filter_verb for each in extenders):
        return 1
    return num_feasible_nodes_to_find(percentage, len(decision.searched))


def search_scope(decision: Decision, percentage: int) -> SearchScope:
    """Return the nodes that the search for a pod looks at, which the decision schedules."""
    n_to_find = nodes_to_find(decision, percentage)
    if group_of(decision) is not None:
        return SearchScope.POD_GROUP
    if decision.best == (decision.pod.status.nominated_node_name,):
        return SearchScope.NOMINATED
    if n_to_find >= len(decision.searched):
        return SearchScope.ALL_NODES
    if len(_feasible(decision)) <= n_to_find:
        return SearchScope.ALL_FEASIBLE
    if len(decision.searched) < len(decision.cluster.nodes):
        return SearchScope.PRE_FILTER
    return SearchScope.SAMPLE


def _feasible(decision: Decision) -> Rows:
    """Return the nodes that pass the filters, before extenders."""
    assert decision.statuses is not None
    passes: Mask = decision.statuses.code == Code.SUCCESS
    # Extenders see only nodes that pass the filters.
    passes[list(decision.statuses.extender_verdicts)] = True
    return decision.searched[passes[decision.searched]]


def starts_to(decision: Decision, percentage: int, row: int) -> int:
    """Return the number of starts of the search for which a node is a best node of the sample."""
    if search_scope(decision, percentage) is not SearchScope.SAMPLE:
        return len(decision.searched) if decision.cluster.nodes.names[row] in decision.best else 0
    found = samples(decision, nodes_to_find(decision, percentage), row)
    return sum(sample.n_starts for sample in found if row in sample.best)


def samples(decision: Decision, n_to_find: int, containing: int | None = None) -> Iterator[Sample]:
    """Yield the samples of all starts, one per sequence of starts with the same sample.

    Args:
        decision: The decision for a pod over all nodes, which found more than ``n_to_find`` feasible nodes.
        n_to_find: The number of feasible nodes at which the search ends.
        containing: The row of a node: only samples with this node are scored and yielded.
    """
    scores = decision.scores
    assert scores is not None
    order = search_order(decision.cluster.nodes)
    n_nodes = len(order)
    feasible, passing = np.zeros(n_nodes, dtype=np.bool_), np.full(n_nodes, -1, dtype=np.int64)
    feasible[_feasible(decision)] = True
    passing[scores.rows] = np.arange(len(scores.rows))
    positions = np.flatnonzero(feasible[order])
    # Each list is repeated, so that a sample that reaches beyond the last node is a slice, too.
    at = np.tile(passing[order[positions]], 2)
    ends = np.concatenate(([0], np.cumsum(at >= 0)))
    at = at[at >= 0]
    rows = scores.rows[at]
    total = _TotalOfSample(decision, scores, at)
    before = np.concatenate((positions[-1:] - n_nodes, positions[:-1]))
    for i, (position, previous) in enumerate(zip(positions.tolist(), before.tolist(), strict=True)):
        own = slice(int(ends[i]), int(ends[i + n_to_find]))
        if containing is not None and containing not in rows[own]:
            continue
        best = rows[own][:0]
        if own.start < own.stop:
            # A cycle that ends with an error schedules the pod nowhere.
            with suppress(PluginError):
                sums = total(own)
                best = rows[own][sums == sums.max()]
        following = int(positions[(i + n_to_find) % len(positions)])
        yield Sample((previous + 1) % n_nodes, position - previous, rows[own], best, following)


class _TotalOfSample:
    """The total scores of the nodes of a sample.

    Args:
        scores: The scores over all feasible nodes.
        at: The indices into ``scores.rows`` in the order of the search, twice in a row.
    """

    def __init__(self, decision: Decision, scores: Scores, at: Int64Array) -> None:
        framework, state = decision.framework, decision.state.clone()
        names = framework.plugin_names(ExtensionPoint.SCORE, ScorePlugin)
        self._rows = scores.rows[at]
        self._fixed = np.zeros(len(at), dtype=np.int64)
        self._parts: list[tuple[int, Callable[[slice], Int64Array | None]]] = []
        for name in (*names, *(name for name in scores.raw if name not in names)):
            plugin = framework.plugin(name) if name in names else None
            if isinstance(plugin, ScorePlugin) and plugin.depends_on_feasible_nodes(state, decision.pod):
                score = _RunOfPlugin(framework, scores.scorers, name, state, decision.pod, self._rows)
                self._parts.append((framework.profile.weights[name], score))
            elif name not in scores.raw:
                continue
            elif isinstance(plugin, ScorePlugin) and type(plugin).normalize_score is not ScorePlugin.normalize_score:
                normalize = _Normalized(scores.scorers, name, state, decision.pod, scores.raw[name][at])
                self._parts.append((scores.weights[name], normalize))
            else:
                self._fixed += scores.normalized[name][at] * scores.weights[name]

    def __call__(self, own: slice) -> Int64Array:
        total = self._fixed[own]
        for weight, part in self._parts:
            scores = part(own)
            if scores is not None:
                total = total + scores * weight
        return total


class _Normalized(msgspec.Struct, frozen=True):
    """The scores of a plugin whose raw scores do not depend on the sample, normalised over a sample."""

    scorers: Framework
    name: str
    state: CycleState
    pod: Pod
    raw: Int64Array

    def __call__(self, own: slice) -> Int64Array:
        return normalized_scores(self.scorers, self.name, self.state, self.pod, self.raw[own])


class _RunOfPlugin(msgspec.Struct, frozen=True):
    """The scores of a plugin that runs for each sample, from PreScore on."""

    framework: Framework
    scorers: Framework
    name: str
    state: CycleState
    pod: Pod
    rows: Rows

    def __call__(self, own: slice) -> Int64Array | None:
        plugin, rows = self.framework.plugin(self.name), self.rows[own]
        if isinstance(plugin, PreScorePlugin):
            status = plugin.pre_score(self.state, self.pod, rows)
            if status.code is Code.SKIP:
                return None
            if status.code is not Code.SUCCESS:
                raise PluginError(f'running PreScore plugin "{self.name}": {status.message}')
        raw = cast("ScorePlugin", self.scorers.plugin(self.name)).score(self.state, self.pod, rows)
        return normalized_scores(self.scorers, self.name, self.state, self.pod, raw)
