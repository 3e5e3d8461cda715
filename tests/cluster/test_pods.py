from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import NOT_STARTED, PENDING
from kschedctl.objects.releases.rules import VictimTies
from kschedctl.objects.resources import RequestRules
from tests.builders import GPU, make_cluster, make_node, make_pod
from tests.strategies import World, worlds

WEB, DB = {"app": "web"}, {"app": "db"}


def sample() -> Cluster:
    pods = [
        make_pod("w1", node="b", labels=WEB),
        make_pod("d1", node="a", labels=DB),
        make_pod("w2", node="a", labels=WEB),
        make_pod("w3", labels=WEB),
        make_pod("w4", node="a", labels=WEB),
        make_pod("w5", node="gone", labels=WEB),
    ]
    return make_cluster([make_node("a"), make_node("b"), make_node("c")], pods)


def test_pods_by_node_in_the_order_of_the_snapshot() -> None:
    pods = sample().pods
    assert pods.assigned.tolist() == [1, 2, 4, 0]
    assert [pods.on_node(row).tolist() for row in range(3)] == [[1, 2, 4], [0], []]


def test_cells_count_pods_by_class_and_node() -> None:
    pods = sample().pods
    web, db = pods.class_id[0], pods.class_id[1]
    classes, rows, counts = pods.cells(np.array([web, db]))
    assert sorted(zip(classes.tolist(), rows.tolist(), counts.tolist(), strict=True)) == sorted(
        [(web, 0, 2), (web, 1, 1), (db, 0, 1)]
    )
    classes, rows, counts = pods.cells(np.array([db]))
    assert (classes.tolist(), rows.tolist(), counts.tolist()) == ([db], [0], [1])
    assert pods.cells(np.array([], dtype=np.int64))[0].shape == (0,)


def test_pods_of_a_class_that_came_later_are_counted() -> None:
    before = sample()
    assert before.pods.sum_per_node(np.ones(len(before.pods.classes), dtype=np.int64)).tolist() == [3, 1, 0]
    pods = before.with_pods(added=[make_pod(f"new-{app}", node="c", labels={"app": app}) for app in "xyz"]).pods
    per_class = np.zeros(len(pods.classes), dtype=np.int64)
    per_class[-2:] = 1
    assert pods.sum_per_node(per_class).tolist() == [0, 0, 2]
    classes, rows, counts = pods.cells(np.array([2, 3]))
    assert (classes.tolist(), rows.tolist(), counts.tolist()) == ([2, 3], [2, 2], [1, 1])


def test_sums_per_node() -> None:
    pods = sample().pods
    per_class = np.zeros(len(pods.classes), dtype=np.int64)
    per_class[pods.class_id[0]] = 10
    per_class[pods.class_id[1]] = -1
    assert pods.sum_per_node(per_class).tolist() == [19, 10, 0]


def test_a_cluster_without_pods_sums_to_nothing() -> None:
    pods = make_cluster([make_node("a"), make_node("b")]).pods
    assert pods.sum_per_node(np.zeros(0, dtype=np.int64)).tolist() == [0, 0]


def test_names_and_owners() -> None:
    owned = make_pod("a", namespace="shop", owner=("apps/v1", "ReplicaSet", "web"))
    pods = make_cluster([], [owned, make_pod("b")]).pods
    assert pods.key(0) == "shop/a"
    assert pods.index == {("shop", "a"): 0, ("default", "b"): 1}
    owner = pods.owner(0)
    assert owner is not None
    assert owner.name == "web"
    assert pods.owner(1) is None


def test_pods_of_one_name_are_found_in_their_namespaces_however_many_are_looked_for() -> None:
    spaces = ["n1", "n2", "n3"]
    pods = [make_pod(f"db-{i}", namespace=space) for space in spaces for i in range(3)]
    wanted = [(pod.namespace, pod.name) for pod in pods] + [("n1", "db-9"), ("n4", "db-0")]
    for order in (wanted, wanted[::-1]):
        index = make_cluster([make_node("a")], pods).pods.index
        found = {name: index.get(name) for name in order}
        assert found == {name: i if i < len(pods) else None for i, name in enumerate(wanted)}


def test_starting_and_selecting_pods_that_go_and_come() -> None:
    waits, selects = {"phase": "Pending"}, {"x": "1"}
    pods = [
        make_pod("on", node="a", status=waits),
        make_pod("lost", node="gone", status=waits, nodeSelector=selects),
        make_pod("waits", status=waits, nodeSelector=selects),
        make_pod("runs", node="a"),
    ]
    cluster = make_cluster([make_node("a")], pods)
    assert cluster.pods.starting.tolist() == [0, 1]
    assert cluster.pods.selecting.tolist() == [1, 2]
    moved = cluster.with_pods(removed=[1], added=[make_pod("new", node="a", status=waits)])
    assert [moved.pods.key(i) for i in moved.pods.starting.tolist()] == ["default/on", "default/new"]
    assert [moved.pods.key(i) for i in moved.pods.selecting.tolist()] == ["default/waits"]


def test_nominations_count_for_pending_pods_only() -> None:
    pods = [make_pod("a", nominated="n"), make_pod("b", nominated="n", node="n"), make_pod("c", nominated="gone")]
    assert make_cluster([make_node("n")], pods).pods.nominated_row.tolist() == [0, PENDING, PENDING]


def test_start_times_are_microseconds() -> None:
    started = make_pod("a", status={"startTime": "2026-01-01T00:00:00.000001Z"})
    pods = make_cluster([], [started, make_pod("b")]).pods
    since = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert pods.start_time.tolist() == [int(since) * 10**6 + 1, NOT_STARTED]


@pytest.mark.parametrize(
    ("ties", "names"),
    [
        (VictimTies.UNSTARTED_REVERSED, "early also late newer new low"),
        (VictimTies.AS_THEY_CAME, "early also late new newer low"),
        (VictimTies.BY_UID, "also early late new newer low"),
    ],
)
def test_importance_is_priority_then_the_earlier_start_then_the_order_of_ties(ties: VictimTies, names: str) -> None:
    early, late = {"startTime": "2026-01-01T00:00:00Z"}, {"startTime": "2026-01-02T00:00:00Z"}
    pods = [
        make_pod("low", node="a", priority=1, status=early),
        make_pod("new", node="a", priority=5),
        make_pod("newer", node="a", priority=5),
        make_pod("late", node="a", priority=5, status=late),
        make_pod("early", node="a", priority=5, status=early),
        make_pod("also", node="a", priority=5, status=early),
        make_pod("pending", priority=9),
    ]
    found = make_cluster([make_node("a")], pods).pods
    assert " ".join(found.records[i].metadata.name for i in found.by_importance(ties=ties)) == names


@given(worlds("requests"), st.data())
def test_sums_equal_adding_up_pod_by_pod(world: World, data: st.DataObject) -> None:
    pods = world.cluster.pods
    values = st.lists(st.integers(-5, 5), min_size=len(pods.classes), max_size=len(pods.classes))
    per_class = np.array(data.draw(values), dtype=np.int64)
    expected = [0] * len(world.nodes)
    for row, class_id in zip(pods.node_row.tolist(), pods.class_id.tolist(), strict=True):
        expected[row] += per_class[class_id]
    assert pods.sum_per_node(per_class).tolist() == expected


def test_what_nodes_offer_and_pods_request() -> None:
    cluster = make_cluster(
        [make_node("a", offers={GPU: 2}), make_node("b", cpu="500m", memory=None)],
        [make_pod("p", node="a", requests={"cpu": "1", "hugepages-2Mi": "4Mi"}), make_pod("q", node="a")],
    )
    columns = cluster.resources(RequestRules())
    assert columns.names == ("cpu", "memory", "ephemeral-storage", "pods", GPU, "hugepages-2Mi")
    assert columns.allocatable[columns.index["cpu"]].tolist() == [4000, 500]
    assert columns.allocatable[columns.index["memory"]].tolist() == [8 << 30, 0]
    assert columns.allocatable[columns.index[GPU]].tolist() == [2, 0]
    assert columns.requested[columns.index["cpu"]].tolist() == [1000, 0]
    assert columns.requested[columns.index["pods"]].tolist() == [2, 0]
    assert columns.requested[columns.index["hugepages-2Mi"]].tolist() == [4 << 20, 0]
    # One pod counts with the default of 100m.
    assert columns.non_zero_requested[0].tolist() == [1100, 0]


def test_columns_are_made_once_per_set_of_rules() -> None:
    cluster = make_cluster([make_node()])
    assert cluster.resources(RequestRules()) is cluster.resources(RequestRules())
    assert cluster.resources(RequestRules()) is not cluster.resources(RequestRules(pod_level=False))
