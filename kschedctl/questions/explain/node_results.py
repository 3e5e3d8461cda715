"""The results of a decision by node, as data: the verdicts of the filters, and the scores.

Nodes with equal results share the parts of their data.
"""

from collections.abc import Iterable, Iterator
from itertools import repeat

import msgspec
import numpy as np

from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Int64Array, numbered_together
from kschedctl.questions.explain.answer import (
    LeadData,
    NodeData,
    NodeScoreData,
    PluginScoreData,
    ReasonData,
    ScoresData,
)
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.scoring import Scores
from kschedctl.scheduler.framework.status import Code, Reason, Status

# The verdicts of the filters.

#: The reasons of each plugin that rejects a node.
PluginReasons = Iterable[tuple[str, Iterable[Reason]]]


class _FittingNodes(msgspec.Struct, frozen=True):
    """The verdicts on the nodes of a cluster if no filter rejects them, which all answers for the cluster share."""

    nodes: tuple[NodeData, ...]

    @classmethod
    def of(cls, nodes: Nodes) -> "_FittingNodes":
        code = str(Code.SUCCESS)
        return cls(tuple(map(NodeData, nodes.names, nodes.zones, repeat(True), repeat(code), repeat(""), repeat(()))))


def nodes_data(decision: Decision) -> tuple[NodeData, ...]:
    """Return the verdicts on all nodes, in the order of their rows; empty if nodes were not filtered."""
    statuses, cluster = decision.statuses, decision.cluster
    if statuses is None:
        return ()
    fitting = cluster.derived(_FittingNodes, (), lambda: _FittingNodes.of(cluster.nodes), of=()).nodes
    rejected = {*np.flatnonzero(statuses.code).tolist(), *statuses.extender_verdicts}
    if not rejected:
        return fitting
    nodes = [*fitting]
    for row, node in zip(rejected, some_nodes_data(decision, rejected), strict=True):
        nodes[row] = node
    return tuple(nodes)


def some_nodes_data(decision: Decision, rows: Iterable[int]) -> Iterator[NodeData]:
    """Yield the verdicts on the nodes of some rows; none if nodes were not filtered."""
    statuses, nodes = decision.statuses, decision.cluster.nodes
    if statuses is None:
        return
    numbers, distinct = statuses.distinct()
    number, alike = numbers.tolist(), statuses.alike().tolist()
    known: dict[tuple[int, int], _Verdict] = {}
    for row in rows:
        kind = number[row], alike[row]
        verdict = known.get(kind)
        if verdict is None:
            verdict = known[kind] = _verdict(distinct[number[row]], statuses.reasons(row))
        yield NodeData(nodes.names[row], nodes.zones[row], *verdict)


def node_data(decision: Decision, row: int) -> NodeData:
    """Return the verdict on the node of a row."""
    verdict = decision.verdict(row)
    nodes = decision.cluster.nodes
    return NodeData(nodes.names[row], nodes.zones[row], *_verdict(verdict.status, verdict.reasons))


#: The fields of ``NodeData`` after name and zone.
_Verdict = tuple[bool, str, str, tuple[ReasonData, ...]]


def _verdict(status: Status, found: PluginReasons) -> _Verdict:
    return status.code is Code.SUCCESS, str(status.code), status.plugin, reasons_data(found, status)


def reasons_data(found: PluginReasons, status: Status) -> tuple[ReasonData, ...]:
    """Return the reasons of plugins as data; those of the status that a node has in the end if there are none."""
    reasons = tuple(ReasonData.of(plugin, reason) for plugin, some in found for reason in some)
    return reasons or tuple(ReasonData.of(status.plugin, Reason(text)) for text in status.reasons)


# The scores.


def scores_data(decision: Decision) -> ScoresData | None:
    """Return the scores of the feasible nodes, the best first; ``None`` if nodes were not scored."""
    scores = decision.scores
    if scores is None:
        return None
    place, names = decision.cluster.nodes.by_name
    place = place[scores.rows]
    # From the best down; equal nodes by name, as kube-scheduler chooses one of them at random.
    order = np.lexsort((place, -scores.total))
    totals, (distinct, number) = scores.total[order], _by_plugin(scores)
    by_plugin = map(distinct.__getitem__, number[order].tolist())
    nodes = tuple(map(NodeScoreData, names[place[order]].tolist(), totals.tolist(), by_plugin))
    return ScoresData({plugin: scores.weights[plugin] for plugin in scores.raw}, nodes, _lead(nodes, totals))


def _by_plugin(scores: Scores) -> tuple[list[dict[str, PluginScoreData]], Int64Array]:
    """Return the distinct scores of all plugins for a node, and which of them each node has."""
    first, number = numbered_together([*scores.raw.values(), *scores.normalized.values()], len(scores.rows))
    columns = [
        map(
            PluginScoreData,
            raw[first].tolist(),
            scores.normalized[plugin][first].tolist(),
            (scores.normalized[plugin][first] * scores.weights[plugin]).tolist(),
        )
        for plugin, raw in scores.raw.items()
    ]
    if not columns:
        return [{}], number
    return [dict(zip(scores.raw, each, strict=True)) for each in zip(*columns, strict=True)], number


def _lead(nodes: tuple[NodeScoreData, ...], totals: Int64Array) -> LeadData | None:
    """Return the lead of the best nodes over the second-best ones; ``None`` if all nodes are equally good.

    Args:
        totals: The total score of each node, highest first.
    """
    steps = (np.flatnonzero(np.diff(totals)) + 1).tolist()
    if not steps:
        return None
    best, second = nodes[0], nodes[steps[0] : steps[1] if len(steps) > 1 else None]
    apart = {name: own.weighted - second[0].plugins[name].weighted for name, own in best.plugins.items()}
    over = tuple(node.name for node in second)
    return LeadData(over, best.total - second[0].total, {name: n for name, n in apart.items() if n})
