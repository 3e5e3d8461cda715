"""Changes as data, made to a cluster: what is patched, created and deleted."""

from __future__ import annotations

import pytest

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
from kschedctl.trials.whatif.patches import make_changes
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
