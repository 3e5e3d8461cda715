"""JSON patches: the examples of RFC 6902, and the same results as another implementation."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpointer import JsonPointerException

from kschedctl.trials.whatif.json_patch import PatchError, apply_patch


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        pytest.param({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}, id="a member"),
        pytest.param({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}, id="an element"),
        pytest.param({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}, id="at the end"),
        pytest.param({"a": [1]}, {"op": "add", "path": "/a/1", "value": [2]}, {"a": [1, [2]]}, id="a list as it is"),
        pytest.param({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}, id="add replaces a member"),
        pytest.param({"a": 1, "b": 2}, {"op": "remove", "path": "/b"}, {"a": 1}, id="remove a member"),
        pytest.param({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}, id="remove an element"),
        pytest.param({"a": [1]}, {"op": "replace", "path": "/a/0", "value": None}, {"a": [None]}, id="replace by null"),
        pytest.param({"x/y": {"~": 1}}, {"op": "replace", "path": "/x~1y/~0", "value": 2}, {"x/y": {"~": 2}}, id="~"),
        pytest.param({"0": 1}, {"op": "remove", "path": "/0"}, {}, id="a number as the name of a member"),
        pytest.param({"a": 1}, {"op": "replace", "path": "", "value": [1]}, [1], id="the whole document"),
    ],
)
def test_operations(document: Any, operation: dict[str, Any], expected: Any) -> None:
    assert apply_patch(document, [operation]) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/none/b", "value": 1},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/text/b", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/list/-"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "replace", "path": "/list/2", "value": 1},
        {"op": "move", "from": "/list", "path": "/other"},
    ],
    ids=lambda operation: f"{operation['op']} {operation['path']}",
)
def test_what_cannot_be_done_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        apply_patch({"list": [1, 2], "text": "x"}, [operation])


VALUES = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab01"), inner, max_size=3),
    max_leaves=8,
)
OPERATIONS = st.builds(
    lambda op, path, value: {"op": op, "path": "".join(f"/{part}" for part in path), "value": value},
    st.sampled_from(["add", "replace", "remove"]),
    st.lists(st.sampled_from(["a", "b", "0", "1", "2", "-"]), min_size=1, max_size=3),
    VALUES,
)


@given(st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2), st.lists(OPERATIONS, max_size=3))
def test_results_are_those_of_another_implementation(document: Any, patch: list[dict[str, Any]]) -> None:
    try:
        expected = jsonpatch.apply_patch(deepcopy(document), patch)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError):
        with pytest.raises(PatchError):
            apply_patch(document, patch)
    else:
        assert apply_patch(document, patch) == expected
