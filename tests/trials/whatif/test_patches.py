"""Changes as data, made to a cluster: what is patched, created and deleted."""

from copy import deepcopy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpointer import JsonPointerException

from kschedctl.common.errors import InputError
from kschedctl.scheduler.framework.remedy import (
    Change,
    Create,
    ObjectDeletion,
    ObjectKey,
    Patch,
    add_operation,
    created,
    deleted,
    patched,
    remove_operation,
)
from kschedctl.trials.whatif.patches import PatchError, apply_patch, make_changes
from tests.builders import make_claim, make_cluster, make_node, make_pod

NODE = make_node("a", labels={"pool": "x"}, taints=["gpu:NoSchedule"])
CLUSTER = make_cluster([NODE], [make_pod("x", node="a")], make_claim("data"))
POD = make_pod("asked")


def after(*changes: Change) -> object:
    return make_changes(CLUSTER, POD, changes)


def test_a_node_is_patched_and_the_first_cluster_stays() -> None:
    change = patched(NODE, remove_operation("spec", "taints", 0), add_operation("y", "metadata", "labels", "pool"))
    found = make_changes(CLUSTER, POD, [change]).cluster.nodes.objects[0]
    assert (found.spec.taints, found.metadata.labels["pool"]) == ((), "y")
    assert CLUSTER.nodes.objects[0].spec.taints


def test_the_pod_that_is_asked_about_need_not_be_in_the_cluster() -> None:
    found = make_changes(CLUSTER, POD, [patched(POD, add_operation({"pool": "y"}, "spec", "nodeSelector"))])
    assert found.pod.spec.node_selector == {"pool": "y"}
    assert found.cluster is CLUSTER


def test_objects_come_and_go() -> None:
    changes: list[Change] = [created(make_node("b")), created(make_pod("y", node="b")), deleted(make_claim("data"))]
    found = make_changes(CLUSTER, POD, changes).cluster
    assert found.nodes.names == ("a", "b")
    assert found.pods.on_node(1).tolist() == [found.pods.index["default", "y"]]
    assert not list(found.list(type(make_claim())))


def test_two_changes_that_create_the_same_node_create_it_once() -> None:
    found = make_changes(CLUSTER, POD, [created(make_node("b")), created(make_node("b"))]).cluster
    assert found.nodes.names == ("a", "b")


def test_a_node_goes_with_its_pods() -> None:
    found = make_changes(CLUSTER, POD, [deleted(NODE)]).cluster
    assert (found.nodes.names, found.pods.node_row.tolist()) == ((), [-2])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(
            ObjectDeletion(ObjectKey("v1", "Pod", "none", "default")),
            "the cluster has no Pod default/none",
            id="nobody",
        ),
        pytest.param(
            Patch("v1", "Node", "a", patch=(remove_operation("spec", "taints", 7),)),
            "cannot be patched",
            id="no such field",
        ),
        pytest.param(
            Patch("v1", "Node", "a", patch=(add_operation(7, "spec", "taints"),)),
            "cannot be patched",
            id="no such type",
        ),
        pytest.param(Create({"apiVersion": "v1", "kind": "Secret"}), "not a kind that kschedctl reads", id="a kind"),
    ],
)
def test_what_is_refused(change: Change, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make_changes(CLUSTER, POD, [change])


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
