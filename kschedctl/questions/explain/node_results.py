"""The results of a decision by node, as data: the verdicts of the filters, and the scores.

Nodes with equal results share the parts of their data.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import repeat
from typing import Any, Final, TypeVar, overload

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array, numbered_together
from kschedctl.common.text.json_text import encoded_json
from kschedctl.questions.answer import TypedPart
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
N = TypeVar("N", NodeData, NodeScoreData)
#: At most 3 rejected nodes get their verdicts one by one.
_FEW: Final = 3


class _ByNode(Sequence[N], TypedPart):
    """Results by node, which are encoded in another way than they are read."""

    @property
    @abstractmethod
    def nodes(self) -> tuple[N, ...]:
        """The results, in the order of the nodes."""

    def __len__(self) -> int:
        return len(self.nodes)

    @overload
    def __getitem__(self, at: int) -> N: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[N, ...]: ...

    def __getitem__(self, at: int | slice) -> N | tuple[N, ...]:
        return self.nodes[at]

    def __iter__(self) -> Iterator[N]:
        return iter(self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByNode | tuple) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.nodes)


class FittingNodes(_ByNode[NodeData]):
    """The verdicts on the nodes of a cluster if no filter rejects them, which all answers for it share."""

    def __init__(self, names: Sequence[str], zones: Sequence[str]) -> None:
        self._names: Final = names
        self._zones: Final = zones

    @cached_property
    def nodes(self) -> tuple[NodeData, ...]:
        same = repeat(True), repeat(str(Code.SUCCESS)), repeat(""), repeat(())
        return tuple(map(NodeData, self._names, self._zones, *same))

    @cached_property
    def _text(self) -> msgspec.Raw:
        return msgspec.Raw(encoded_json(self.nodes))

    def encodable(self) -> object:
        return self._text


#: What-ifs rarely change the names and zones of nodes.
_fitting_nodes: Final = lru_cache(maxsize=2)(FittingNodes)


def nodes_data(decision: Decision) -> Sequence[NodeData]:
    """Return the verdicts on all nodes, in the order of their rows; empty if nodes were not filtered."""
    statuses, cluster = decision.statuses, decision.cluster
    if statuses is None:
        return ()
    fitting = cluster.derived(FittingNodes, (), lambda: _fitting_nodes(cluster.nodes.names, cluster.nodes.zones), of=())
    rejected = {*np.flatnonzero(statuses.code).tolist(), *statuses.extender_verdicts}
    if not rejected:
        return fitting
    nodes = [*fitting]
    # To find those that are alike, all nodes are numbered.
    few = len(rejected) <= _FEW
    verdicts = (node_data(decision, row) for row in rejected) if few else some_nodes_data(decision, rejected)
    for row, node in zip(rejected, verdicts, strict=True):
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

#: The scores of all plugins for a node.
_ByPlugin = dict[str, PluginScoreData]


class NodeScores(_ByNode[NodeScoreData]):
    """The scores by node as columns: most answers are encoded, and few nodes of them are read.

    names: The names of the nodes.

    Args:
        distinct: The distinct scores by plugin.
        number: Which of them each node has.
    """

    def __init__(self, names: list[str], totals: list[int], distinct: Sequence[_ByPlugin], number: list[int]) -> None:
        self.names: Final = names
        self._totals: Final = totals
        self._distinct: Final = distinct
        self._number: Final = number

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def nodes(self) -> tuple[NodeScoreData, ...]:
        plugins = map(self._distinct.__getitem__, self._number)
        return tuple(map(NodeScoreData, self.names, self._totals, plugins))

    def at(self, position: int) -> NodeScoreData:
        """Return the scores of one node, without those of the others."""
        return NodeScoreData(self.names[position], self._totals[position], self._distinct[self._number[position]])

    def encodable(self) -> object:
        """Return the scores with those by plugin as JSON, which is written once for all nodes that share them."""
        raw: list[Any] = [msgspec.Raw(encoded_json(each)) for each in self._distinct]
        return tuple(map(NodeScoreData, self.names, self._totals, map(raw.__getitem__, self._number)))


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
    nodes = NodeScores(names[place[order]].tolist(), totals.tolist(), distinct, number[order].tolist())
    return ScoresData({plugin: scores.weights[plugin] for plugin in scores.raw}, nodes, _lead(nodes, totals))


def _by_plugin(scores: Scores) -> tuple[list[_ByPlugin], Int64Array]:
    """Return the distinct scores of all plugins for a node, and which of them each node has."""
    # Scores that need no scaling are the same array.
    every = {id(each): each for each in (*scores.raw.values(), *scores.normalized.values())}
    first, number = numbered_together(every.values(), len(scores.rows))
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


def _lead(nodes: NodeScores, totals: Int64Array) -> LeadData | None:
    """Return the lead of the best nodes over the second-best ones; ``None`` if all nodes are equally good.

    Args:
        totals: The total score of each node, highest first.
    """
    steps = (np.flatnonzero(np.diff(totals)) + 1).tolist()
    if not steps:
        return None
    best, second = nodes.at(0), nodes.at(steps[0])
    over = nodes.names[steps[0] : steps[1] if len(steps) > 1 else None]
    apart = {name: own.weighted - second.plugins[name].weighted for name, own in best.plugins.items()}
    return LeadData(tuple(over), best.total - second.total, {name: n for name, n in apart.items() if n})
