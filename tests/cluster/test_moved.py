"""A cluster that is derived from another by pods that go and come answers as one built anew from the same objects."""

import weakref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import VictimTies
from kschedctl.objects.resources import RequestRules
from tests.builders import decide, make_cluster, make_node, make_pod
from tests.strategies import World, worlds

RULES = RequestRules()


def pods_of(cluster: Cluster) -> list[Pod]:
    """The pods with their nodes, as they would be read."""
    pods = cluster.pods
    return [
        replace(pods.pod(i), spec=replace(pods.pod(i).spec, node_name=record.node_name))
        for i, record in enumerate(pods.records)
    ]


def assert_same(moved: Cluster, anew: Cluster) -> None:
    assert [moved.pods.key(i) for i in range(len(moved.pods))] == [anew.pods.key(i) for i in range(len(anew.pods))]
    for name in ("node_row", "priority", "nominated_row", "start_time", "assigned"):
        np.testing.assert_array_equal(getattr(moved.pods, name), getattr(anew.pods, name), err_msg=name)
    for ties in VictimTies:
        found, expected = (each.pods.by_importance(ties=ties) for each in (moved, anew))
        np.testing.assert_array_equal(found, expected)
    ours, theirs = moved.resources(RULES), anew.resources(RULES)
    for resource in {*ours.names, *theirs.names}:
        requested = [c.requested[c.index[resource]] if resource in c.index else 0 for c in (ours, theirs)]
        assert np.all(requested[0] == requested[1]), resource
    np.testing.assert_array_equal(ours.non_zero_requested, theirs.non_zero_requested)


@given(worlds("requests", "spread", "podAffinity", pending=1), st.data())
def test_moved_pods_are_as_if_built_anew(world: World, data: st.DataObject) -> None:
    pods, pod = world.pods, data.draw(st.sampled_from(world.pods or [make_pod("alone")]))
    cluster = make_cluster(world.nodes, pods)
    before = pods_of(cluster)
    # What was asked before may be carried along.
    if data.draw(st.booleans()):
        cluster.resources(RULES)
        decide(pod, cluster)
    for _ in range(data.draw(st.integers(1, 3))):
        n_pods = len(cluster.pods)
        removed = data.draw(st.sets(st.integers(0, max(n_pods - 1, 0)), max_size=n_pods))
        names = [node.name for node in world.nodes]
        added = [
            replace(one, metadata=replace(one.metadata, name=f"new-{data.draw(st.integers(0, 3))}"))
            for one in data.draw(st.lists(st.sampled_from(world.pods), max_size=2, unique_by=id))
        ]
        added = [
            replace(one, spec=replace(one.spec, node_name=data.draw(st.sampled_from(["", *names])))) for one in added
        ]
        by_name = {(one.namespace, one.name): one for one in added}
        cluster = cluster.with_pods(removed=removed, added=by_name.values())
        anew = make_cluster(world.nodes, pods_of(cluster))
        assert_same(cluster, anew)
        ours, theirs = decide(pod, cluster), decide(pod, anew)
        assert (ours.best, ours.message, ours.error) == (theirs.best, theirs.message, theirs.error)
        if ours.scores is not None and theirs.scores is not None:
            np.testing.assert_array_equal(ours.scores.total, theirs.scores.total)
    assert pods_of(make_cluster(world.nodes, pods)) == before, "the first cluster stays as it was"


@given(worlds("requests", "spread", "podAffinity", pending=1), st.data())
def test_nodes_that_come_last_are_as_if_built_anew(world: World, data: st.DataObject) -> None:
    """Nodes come after all others, change, and go; some pods name nodes that come later, or are nominated to them."""
    nodes = [*world.nodes, *(make_node(f"late-{i}", labels=world.nodes[0].metadata.labels) for i in range(3))]
    names = [node.name for node in nodes]
    n_there = data.draw(st.integers(1, len(nodes)))
    own = names if data.draw(st.booleans()) else names[:n_there]
    pods = [
        replace(
            one,
            spec=replace(one.spec, node_name=data.draw(st.sampled_from(["", *own]))),
            status=replace(one.status, nominated_node_name=data.draw(st.sampled_from(["", *own]))),
        )
        for one in world.pods
    ]
    pod = data.draw(st.sampled_from(pods or [make_pod("alone")]))
    cluster = make_cluster(nodes[:n_there], pods)
    for _ in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()):
            cluster.resources(RULES)
            decide(pod, cluster)
        step = data.draw(st.sampled_from(("more", "fewer", "changed", "pod")))
        if step == "more":
            n_there = data.draw(st.integers(n_there, len(nodes)))
        elif step == "fewer":
            n_there = data.draw(st.integers(1, n_there))
        if step == "pod":
            node = data.draw(st.sampled_from(["", *names]))
            cluster = cluster.with_pods(added=[replace(pod, spec=replace(pod.spec, node_name=node))])
        else:
            there = list(cluster.nodes.objects[:n_there]) + nodes[len(cluster.nodes) : n_there]
            if step == "changed":
                there[-1] = make_node(there[-1].name, cpu="1")
            cluster = cluster.with_nodes(there)
        anew = make_cluster(cluster.nodes.objects, pods_of(cluster))
        assert_same(cluster, anew)
        assert cluster.nodes.row == anew.nodes.row
        assert cluster.pods.nominated.tolist() == anew.pods.nominated.tolist()
        for row in range(n_there):
            assert cluster.pods.on_node(row).tolist() == anew.pods.on_node(row).tolist()
        ours, theirs = decide(pod, cluster), decide(pod, anew)
        assert (ours.best, ours.message, ours.error) == (theirs.best, theirs.message, theirs.error)


def test_a_node_that_is_added_counts_no_pod_again() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("p", node="a"), make_pod("q")])
    cluster.pods.on_node(0)
    more = cluster.with_nodes([make_node("a"), make_node("b")]).with_pods(added=[make_pod("r", node="b")])
    moves = more.pods.mark.moves_since(cluster.pods.mark)
    assert moves is not None
    assert (moves.gone.tolist(), moves.come.tolist()) == ([], [2])
    # A pod of the cluster may name the node that comes.
    lost = make_cluster([make_node("a")], [make_pod("p", node="b")])
    found = lost.with_nodes([make_node("a"), make_node("b")])
    assert found.pods.mark.moves_since(lost.pods.mark) is None
    assert found.pods.on_node(1).tolist() == [0]


def test_clusters_before_many_nodes_that_came_one_by_one_are_not_kept() -> None:
    nodes = [make_node(f"n{i}") for i in range(100)]
    cluster = make_cluster(nodes[:1], [make_pod("p", node="n0")])
    first = weakref.ref(cluster.pods.mark.slots)
    for i in range(1, len(nodes)):
        cluster = cluster.with_nodes(nodes[: i + 1]).with_pods(added=[make_pod(f"p{i}", node=f"n{i}")])
        cluster.resources(RULES)
    assert_same(cluster, make_cluster(nodes, pods_of(cluster)))
    slots, n_kept = cluster.pods.mark.slots, 0
    while slots._forked is not None:
        slots, n_kept = slots._forked[0], n_kept + 1
    assert n_kept <= 16
    assert slots is not first()


def test_a_new_resource_is_counted() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("p", node="a")])
    cluster.resources(RULES)
    more = cluster.with_pods(added=[make_pod("q", node="a", requests={"example.com/gpu": "3"})])
    columns = more.resources(RULES)
    assert columns.requested[columns.index["example.com/gpu"]].tolist() == [3]
    assert more.with_pods(removed=[1]).resources(RULES).requested.tolist() == [
        *cluster.resources(RULES).requested.tolist(),
        [0],
    ]


def test_nodes_that_go_and_come_while_there_are_no_pods() -> None:
    cluster = make_cluster([make_node("a"), make_node("b")])
    cluster.resources(RULES)
    for names in ("a", "", "bc"):
        cluster = cluster.with_nodes([make_node(name) for name in names])
        assert_same(cluster, make_cluster([make_node(name) for name in names]))


def test_pods_on_a_node_that_comes_after_all_others_have_gone() -> None:
    pods = [make_pod("p", node="a"), make_pod("q")]
    cluster = make_cluster([make_node("b")], pods).with_nodes([]).with_nodes([make_node("a")])
    assert_same(cluster, make_cluster([make_node("a")], pods))


def test_many_pods_that_go_at_once() -> None:
    cluster = make_cluster([make_node("a")], [make_pod(f"p{i}", node="a") for i in range(40)])
    left = cluster.with_pods(removed=range(0, 40, 2))
    assert [record.metadata.name for record in left.pods.records] == [f"p{i}" for i in range(1, 40, 2)]


def test_a_node_that_comes_back_has_its_pods_again() -> None:
    a, b, c = (make_node(name, cpu="4") for name in "abc")
    bound, nominated = make_pod("bound", node="b", requests={"cpu": "3"}), make_pod("nominated", nominated="b")
    cluster = make_cluster([a, b], [bound, nominated])
    for nodes in ([a, b, c], [a], [a, b]):
        cluster = cluster.with_nodes(nodes)
    assert cluster.pods.node_row.tolist() == [1, PENDING]
    assert cluster.pods.on_node(1).tolist() == [0]
    assert cluster.pods.nominated.tolist() == [1]
