import numpy as np
import pytest

from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import (
    EXTENSION_POINT_CLASSES,
    FilterPlugin,
    Plugin,
    PluginError,
    ScorePlugin,
    default_normalize_score,
)
from kschedctl.scheduler.framework.scoring import Scores, run_score
from kschedctl.scheduler.framework.status import SKIP, Code, Status
from tests.builders import make_cluster, make_node, make_pod
from tests.scheduler.framework.plugins import failing, filtering, make_framework, make_plugin, scoring

CLUSTER = make_cluster([make_node("a"), make_node("b"), make_node("c")])


def scored(*plugins: type[Plugin], **weights: int) -> Scores:
    framework = make_framework(CLUSTER, *plugins, weights=weights)
    return run_score(framework, CycleState(), make_pod(), CLUSTER.nodes.rows[1:])


def test_the_total_is_the_weighted_sum_over_feasible_nodes() -> None:
    found = scored(scoring("A", 0, 10, 20), scoring("B", 0, 100, 50), A=1, B=3)
    assert found.rows.tolist() == [1, 2]
    assert {name: raw.tolist() for name, raw in found.raw.items()} == {"A": [10, 20], "B": [100, 50]}
    assert found.weights == {"A": 1, "B": 3}
    assert found.total.tolist() == [10 + 3 * 100, 20 + 3 * 50]


def test_plugins_that_skip_do_not_score() -> None:
    found = scored(scoring("A", 1, 1, 1), scoring("B", 9, 9, 9, pre_score=SKIP))
    assert list(found.raw) == ["A"]
    assert found.total.tolist() == [1, 1]


def test_a_plugin_may_return_scores_of_another_integer_type() -> None:
    found = scored(scoring("A", 0, 10, 20, dtype=np.int8), scoring("B", 0, 100, 50, dtype=np.int32))
    assert found.total.tolist() == [110, 70]


def test_without_plugins_all_nodes_are_equal() -> None:
    assert scored().total.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        pytest.param(
            scoring("A", 0, 5, 101),
            'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score 101, '
            "it should in the range of [0, 100] after normalizing",
            id="too high",
        ),
        pytest.param(
            scoring("A", 0, -1, 5),
            'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score -1, '
            "it should in the range of [0, 100] after normalizing",
            id="too low",
        ),
        pytest.param(
            scoring("A", 0, 0, 0, pre_score=Status(Code.ERROR, ("no data",))),
            'running PreScore plugin "A": no data',
            id="an error of PreScore",
        ),
        pytest.param(
            failing("A", ScorePlugin),
            'running Score plugins: plugin "A" failed with: out of order',
            id="an error of Score",
        ),
    ],
)
def test_errors_end_the_cycle(plugin: type[Plugin], text: str) -> None:
    with pytest.raises(PluginError) as caught:
        scored(plugin)
    assert str(caught.value) == text


def test_a_score_of_an_infeasible_node_does_not_matter() -> None:
    assert scored(scoring("A", 999, 1, 2)).total.tolist() == [1, 2]


def test_there_is_a_class_for_every_extension_point() -> None:
    assert set(EXTENSION_POINT_CLASSES) == set(ExtensionPoint)


def test_a_plugin_takes_part_where_it_derives_from() -> None:
    both = make_plugin("Both", FilterPlugin, ScorePlugin)
    assert both.extension_points(LATEST) == {ExtensionPoint.FILTER, ExtensionPoint.SCORE}
    assert both.exists_in(LATEST)


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        pytest.param([1, 2, 4], False, [25, 50, 100], id="the highest gets 100"),
        pytest.param([1, 2, 3], False, [33, 66, 100], id="divisions truncate"),
        pytest.param([1, 2, 3], True, [67, 34, 0], id="reversed after dividing"),
        pytest.param([0, 0], False, [0, 0], id="nothing but zeros stay"),
        pytest.param([0, 0], True, [100, 100], id="or are all best"),
        pytest.param([], True, [], id="no nodes"),
    ],
)
def test_default_normalizing(scores: list[int], reverse: bool, expected: list[int]) -> None:
    found = default_normalize_score(np.array(scores, dtype=np.int64), reverse=reverse)
    assert found.tolist() == expected


def test_raw_scores_are_scores_unless_a_plugin_normalises() -> None:
    cluster = make_cluster([make_node("a"), make_node("b")])
    framework = make_framework(cluster, scoring("A", 3, 7), filtering("F", {}))
    found = run_score(framework, CycleState(), make_pod(), cluster.nodes.rows)
    assert found.normalized["A"].tolist() == [3, 7]


def test_request_rules_follow_the_gates() -> None:
    handle = make_framework(make_cluster()).handle
    assert handle.request_rules.pod_level
    assert handle.scheduler_names == {"default-scheduler"}
