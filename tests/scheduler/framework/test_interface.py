import numpy as np
import pytest

from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import (
    EXTENSION_POINT_CLASSES,
    FilterPlugin,
    ScorePlugin,
    default_normalize_score,
)
from kschedctl.scheduler.framework.scoring import run_score
from tests.builders import make_cluster, make_node, make_pod
from tests.scheduler.framework.plugins import filtering, make_framework, make_plugin, scoring


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
