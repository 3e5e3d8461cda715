from collections import Counter
from typing import Any

import numpy as np
import pytest

from kschedctl.scheduler.framework.node_statuses import FilterRun, NodeStatuses, fit_error
from kschedctl.scheduler.framework.status import Code, Rejections, Status

ONE = Status(Code.UNSCHEDULABLE, ("one",))
TWO = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("two", "deux"))
ABSENT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("not asked",))


def run(rows: list[int], **which: list[int]) -> FilterRun:
    """A run over rows; per plugin 0 for ``ONE``, 1 for ``TWO``, -1 for none."""
    found = {name: Rejections.choose(np.array(numbers), (ONE, TWO)) for name, numbers in which.items()}
    return FilterRun.of(np.array(rows), found)


def said(status: Status, plugin: str) -> Any:
    return Status(status.code, status.reasons, plugin)


def test_the_first_plugin_that_objects_decides() -> None:
    found = run([0, 1, 2], a=[-1, 0, -1], b=[1, 1, -1])
    assert found.passed.tolist() == [False, False, True]
    assert found.code.tolist() == [TWO.code, ONE.code, 0]
    assert [found.status(i) for i in range(3)] == [said(TWO, "b"), said(ONE, "a"), Status()]


def test_reasons_are_counted_over_the_deciding_plugins() -> None:
    found = run([0, 1, 2, 3], a=[-1, 0, -1, 0], b=[1, 1, -1, -1])
    assert found.reason_counts(np.ones(4, dtype=np.bool_)) == {"one": 2, "two": 1, "deux": 1}
    assert found.reason_counts(np.array([False, True, True, False])) == {"one": 1}


def test_a_run_without_plugins_lets_all_pass() -> None:
    assert run([0, 1]).passed.tolist() == [True, True]


def test_nodes_that_are_not_looked_at() -> None:
    found = NodeStatuses(4, ABSENT, run([1, 3], a=[0, -1]))
    assert [found.status(row) for row in range(4)] == [ABSENT, said(ONE, "a"), ABSENT, Status()]
    assert found.feasible.tolist() == [3]
    assert found.reason_counts() == {"one": 1, "not asked": 2}
    assert found.deciding(0) is None


def test_where_pre_filter_turned_the_pod_away_all_nodes_are_alike() -> None:
    found = NodeStatuses(2, ABSENT)
    assert [found.status(row) for row in range(2)] == [ABSENT, ABSENT]
    assert found.reason_counts() == {"not asked": 2}


def test_nominated_pods_decide_where_the_pod_does_not_fit_with_them() -> None:
    snapshot = run([0, 1, 2], a=[0, 0, -1])
    nominated = run([0, 1], a=[1, -1])
    found = NodeStatuses(3, ABSENT, snapshot, nominated)
    assert [found.status(row) for row in range(3)] == [said(TWO, "a"), said(ONE, "a"), Status()]
    assert found.code.tolist() == [TWO.code, ONE.code, 0]
    assert found.reason_counts() == {"two": 1, "deux": 1, "one": 1}
    assert found.deciding(0) == (nominated, 0)
    assert found.snapshot_position(0) == (snapshot, 0)


@pytest.mark.parametrize(
    ("pre_filter", "reasons", "post_filter", "text"),
    [
        pytest.param("", {}, "", "0/12 nodes are available:", id="nothing to say"),
        pytest.param("", {"b": 2, "a": 2}, "", "0/12 nodes are available: 2 a, 2 b.", id="sorted"),
        pytest.param("", {"a": 2, "b": 10}, "", "0/12 nodes are available: 10 b, 2 a.", id="as texts"),
        pytest.param("no", {"a": 1}, "", "0/12 nodes are available: no.", id="PreFilter stands for all nodes"),
        pytest.param("", {"a": 1}, "preemption: x", "0/12 nodes are available: 1 a. preemption: x", id="PostFilter"),
    ],
)
def test_wording(pre_filter: str, reasons: dict[str, int], post_filter: str, text: str) -> None:
    found = fit_error(12, pre_filter=pre_filter, reasons=Counter(reasons), post_filter=post_filter)
    assert found == text
