from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.comparison import differences

RECORDED: dict[str, Any] = {
    "id": "x",
    "preFilter": {"code": "Success"},
    "preFilterNodes": ["a", "b"],
    "filter": {"a": {"code": "Unschedulable", "plugin": "NodePorts"}},
    "best": ["b", "a"],
    "message": "0/2 nodes are available: 2 no. preemption: 0/2 nodes are available.",
    "preemption": {
        "status": {"code": "Success"},
        "nominated": ["a", "b"],
        "candidates": {"a": {"victims": ["1", "2"]}},
    },
}


@pytest.mark.parametrize(
    "ours",
    [
        pytest.param({}, id="the same"),
        pytest.param({"preFilterNodes": ["b", "a"], "best": ["a", "b"]}, id="sets in another order"),
        pytest.param({"skippedFilters": ["NodePorts"]}, id="skipped plugins are for information"),
    ],
)
def test_equal(ours: dict[str, Any]) -> None:
    assert differences(RECORDED, RECORDED | ours) == {}


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        pytest.param(
            {"filter": {"a": {"code": "Unschedulable", "plugin": "NodeName"}}},
            {"filter": 'a.plugin: recorded "NodePorts", ours "NodeName"'},
            id="the first difference is named by its path",
        ),
        pytest.param(
            {"message": "0/2 nodes are available: 2 no."},
            {"message": f'recorded "{RECORDED["message"]}", ours "0/2 nodes are available: 2 no."'},
            id="the summary ends where PostFilter begins",
        ),
        pytest.param({"error": "x"}, {"error": "recorded false, ours true"}, id="an error of ours"),
    ],
)
def test_different(ours: dict[str, Any], expected: dict[str, str]) -> None:
    assert differences(RECORDED, RECORDED | ours) == expected


def test_order_of_victims_counts() -> None:
    ours = RECORDED | {"preemption": RECORDED["preemption"] | {"candidates": {"a": {"victims": ["2", "1"]}}}}
    assert list(differences(RECORDED, ours)) == ["preemption"]


def test_only_the_error_counts_where_the_scheduler_gave_up() -> None:
    assert differences({"error": "a text"}, {"error": "another", "best": ["a"]}) == {}
    assert differences({"error": "a text", "best": ["a"]}, {}) == {"error": "recorded true, ours false"}
