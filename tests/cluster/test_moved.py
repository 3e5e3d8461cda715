"""A cluster that is derived from another by pods that go and come answers as one built anew from the same objects."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
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
