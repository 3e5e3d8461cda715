"""The charts of an explanation: maps and bars of nodes, domains of constraints, and the scores by plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.questions.answers.explain import Explanation, ScoresData
from kschedctl.questions.answers.nodes import NodeDescription, NodesOverview
from kschedctl.questions.presentation.charts import Bar, Bars, Segment, kinds_of
from kschedctl.questions.presentation.document import GAP, Document
from kschedctl.questions.presentation.explain.domains import domain_bars
from kschedctl.questions.presentation.node_bars import node_bars
from kschedctl.questions.presentation.node_map import explained_map

#: The number of nodes whose scores are drawn.
_MOST_NODES: Final = 20


def charts_section(
    explanation: Explanation,
    overview: NodesOverview | None,
    describe: Callable[[str], NodeDescription] | None,
    nodes: Iterable[str],
) -> Document:
    """Lay out the charts.

    Parameters
    ----------
    overview : NodesOverview or None
        The nodes of the cluster; ``None`` for no map.
    describe : callable or None
        Describes a node by its name; ``None`` for no bars of nodes.
    nodes : iterable of str
        The nodes with bars of their resources.
    """
    if overview is not None and explanation.nodes:
        yield GAP
        yield explained_map(explanation, overview)
    for bars in domain_bars(explanation.constraints, explanation.nodes):
        yield GAP
        yield bars
    if describe is not None:
        for name in nodes:
            yield GAP
            yield node_bars(describe(name), explanation.pod)
    if explanation.scores is not None and len(explanation.scores.nodes) > 1:
        yield GAP
        yield score_bars(explanation.scores)


def score_bars(scores: ScoresData) -> Bars:
    """Return the total scores of the best nodes, divided by plugin."""
    kinds = kinds_of(plugin for plugin in scores.weights if any(n.plugins[plugin].weighted for n in scores.nodes))
    highest = max(node.total for node in scores.nodes)
    rows = []
    for node in scores.nodes[:_MOST_NODES]:
        weighted = ((i, node.plugins[kind.name].weighted) for i, kind in enumerate(kinds))
        segments = tuple(Segment(i, score, str(score)) for i, score in weighted if score)
        rows.append(Bar((node.name, str(node.total)), segments, highest))
    left = len(scores.nodes) - len(rows)
    return Bars(
        title="Scores by plugin",
        measure="points",
        headings=("node", "score"),
        kinds=kinds,
        rows=tuple(rows),
        note=f"the best {_MOST_NODES} of {len(scores.nodes)} nodes" if left else "",
        numbers=False,
    )
