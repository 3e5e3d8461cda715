from typing import Any

import pytest

from conformance.comparison import differences

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


ATTEMPTS: list[dict[str, Any]] = [
    {"pod": "d/a", "message": "0/1", "nominated": "n", "victims": ["d/y", "d/x"]},
    {"pod": "d/a", "node": "n"},
]
SEQUENCE: dict[str, Any] = {"id": "s", "attempts": ATTEMPTS, "pods": {"d/a": "n"}, "gated": ["d/c", "d/b"]}


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        pytest.param({}, {}, id="the same"),
        pytest.param({"gated": ["d/b", "d/c"]}, {}, id="gated pods in another order"),
        pytest.param(
            {"attempts": [{**ATTEMPTS[0], "victims": ["d/x", "d/y"]}, ATTEMPTS[1]]},
            {},
            id="victims of one attempt as a set",
        ),
        pytest.param(
            {"attempts": [ATTEMPTS[0], {"pod": "d/a", "node": "m"}]},
            {"attempts": '[1].node: recorded "n", ours "m"'},
            id="the first attempt that differs is named",
        ),
        pytest.param(
            {"attempts": ATTEMPTS[:1]},
            {"attempts": '[1]: recorded {"pod": "d/a", "node": "n"}, ours null'},
            id="an attempt that is missing",
        ),
        pytest.param(
            {"nominations": {"d/b": "n"}},
            {"nominations": 'd/b: recorded null, ours "n"'},
            id="a nomination that is left in the end",
        ),
        pytest.param({"pods": {"d/a": ""}}, {"pods": 'd/a: recorded "n", ours ""'}, id="where a pod is in the end"),
    ],
)
def test_sequences(ours: dict[str, Any], expected: dict[str, str]) -> None:
    assert differences(SEQUENCE, SEQUENCE | ours) == expected
