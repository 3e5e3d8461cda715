"""The charts of an explanation: which there are, and scores of any sign."""

from __future__ import annotations

import pytest

from kschedctl.questions.answers.explain import NodeScoreData, PluginScoreData, ScoresData
from kschedctl.questions.presentation.charts import Bars, NodeMap
from kschedctl.questions.presentation.explain.charts import score_bars
from kschedctl.questions.presentation.explain.text import ExplainView, document
from tests.builders import make_cluster, make_loaded, make_node, make_pod
from tests.questions.presentation.drawn import parts, view_of

CLUSTER = make_loaded(
    make_cluster(
        [make_node("a", cpu="4"), make_node("b", cpu="8"), make_node("c", cpu="2", unschedulable=True)],
        [make_pod("fits", requests={"cpu": "1"}), make_pod("huge", requests={"cpu": "9"})],
    )
)


def titles(pod: str, **options: object) -> list[str]:
    base = view_of(CLUSTER)
    view = ExplainView(wide=True, drawn=True, overview=base.overview, describe=base.describe, **options)  # type: ignore[arg-type]
    return [each.title for each in document(CLUSTER.explain(pod), view) if isinstance(each, NodeMap | Bars)]


@pytest.mark.parametrize(
    ("pod", "options", "expected"),
    [
        pytest.param(
            "default/fits", {}, ["Map of the nodes", "Resources of b", "Scores by plugin"], id="one-of-the-best-nodes"
        ),
        pytest.param("default/huge", {}, ["Map of the nodes", "Resources of b"], id="the-closest-node"),
        pytest.param(
            "default/huge",
            {"nodes": ("b", "c")},
            ["Map of the nodes", "Resources of b", "Resources of c"],
            id="named-nodes",
        ),
        pytest.param("default/huge", {"applied": True}, ["Map of the nodes"], id="not-as-the-cluster-is"),
    ],
)
def test_charts(pod: str, options: dict[str, object], expected: list[str]) -> None:
    assert titles(pod, **options) == expected


def scores(*totals: dict[str, int]) -> ScoresData:
    nodes = tuple(
        NodeScoreData(f"n{i}", sum(each.values()), {name: PluginScoreData(n, n, n) for name, n in each.items()})
        for i, each in enumerate(totals)
    )
    return ScoresData(dict.fromkeys(totals[0], 1), nodes)


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ([{"A": 5, "B": 2}, {"A": 1, "B": 0}], {"n0": ["A: 5", "B: 2"], "n1": ["A: 1"]}),
        ([{"A": 0, "B": 0}, {"A": 0, "B": 0}], {"n0": [], "n1": []}),
    ],
)
def test_scores_by_plugin(totals: list[dict[str, int]], expected: dict[str, list[str]]) -> None:
    assert parts(score_bars(scores(*totals))) == expected
