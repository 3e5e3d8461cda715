"""A cache under changes answers like a cluster built from the current objects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.objects.core import Namespace, Node, Service
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.questions.loading import loaded_cluster
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.watch.cache import Cache
from kschedctl.watch.feed import FeedChanges, Name
from kschedctl.watch.pod_answers import PendingReport, PodAnswers
from tests.builders import LONG_AGO, make_cluster, make_namespace, make_node, make_object, make_pod
from tests.cluster.test_moved import assert_same, pods_of
from tests.strategies import World, nodes, worlds

#: The objects by kind and name: a plain model with which the cache is compared.
Model = dict[type[ApiObject], dict[Name, ApiObject]]


def model_of(*objects: ApiObject) -> Model:
    model: Model = {Node: {}, Pod: {}, Namespace: {}, Service: {}}
    for obj in objects:
        model[type(obj)][obj.namespace, obj.name] = obj
    return model


def changes_of(**kinds: Any) -> FeedChanges:
    """Return changes: ``nodes=[...]`` are all current nodes, ``put=[...]`` and ``gone=[...]`` objects of any kind."""
    changes = FeedChanges()
    for obj in kinds.get("put", ()):
        changes.objects.setdefault(type(obj), {})[obj.namespace, obj.name] = obj
    for obj in kinds.get("gone", ()):
        changes.objects.setdefault(type(obj), {})[obj.namespace, obj.name] = None
    for kind, objects in ((Node, kinds.get("nodes")), (Pod, kinds.get("pods"))):
        if objects is not None:
            changes.lists[kind] = {(obj.namespace, obj.name): obj for obj in objects}
    return changes


def answers(cluster: Any) -> dict[str, tuple[str, str, bool]]:
    """Return the answers about all pending pods."""
    found = PodAnswers(lambda metadata: True).round(cluster)
    return {
        told.pod.key: (told.answer.outcome, told.answer.message, told.answer.helped)
        for told in found.told
        if isinstance(told, PendingReport)
    }


def scheduling(cluster: Any) -> Any:
    return loaded_cluster(Snapshot(cluster=cluster, paths=(), scheduler_config=None, left_out={}))


@given(worlds("requests", "spread", "podAffinity", "tolerations", pending=3), st.data())
def test_moved_cache_answers_as_a_cluster_that_is_built_anew(world: World, data: st.DataObject) -> None:
    world.nodes.sort(key=lambda node: node.name)
    model = model_of(*world.nodes, *world.pods, *world.namespaces)
    # Built anew after almost every change, now and then, or never.
    cache = Cache(make_cluster(world.nodes, world.pods, *world.namespaces), data.draw(st.sampled_from([0, 12, 10**6])))
    moved, compactions = scheduling(cache.cluster), 0
    others = data.draw(nodes("labels", "taints"))
    for _ in range(data.draw(st.integers(1, 4))):
        changes = data.draw(st.one_of(_relisted(model, others), _told(model, world, others)))
        _book(model, changes)
        before = cache.cluster
        assert cache.apply(changes) or cache.cluster is before
        if data.draw(st.booleans()):
            continue
        anew = cache.compactions != compactions
        moved, compactions = (moved.over if anew else moved.moved)(cache.cluster), cache.compactions
        there = sorted(model[Node].values(), key=lambda node: node.name)
        assert cache.cluster.nodes.objects == tuple(there)
        living = {name for name, pod in model[Pod].items() if pod.status.phase != "Succeeded"}  # type: ignore[attr-defined]
        assert set(cache.cluster.pods.index) == living
        built = make_cluster(there, pods_of(cache.cluster), *model[Namespace].values())  # type: ignore[arg-type]
        assert_same(cache.cluster, built)
        # As many pods are as important as others, in another order others may be named in messages.
        assert answers(moved) == answers(scheduling(built))


@st.composite
def _told(draw: st.DrawFn, model: Model, world: World, others: list[Node]) -> FeedChanges:
    """Draw a few objects that are added, changed or deleted."""
    changes = FeedChanges()
    pods = draw(st.lists(st.sampled_from([*model[Pod].values(), *world.pods]), max_size=3)) if world.pods else []
    names = [node.name for node in (*world.nodes, *others)]
    for pod in pods:
        assert isinstance(pod, Pod)
        now: ApiObject | None = None
        match draw(st.sampled_from(["goes", "binds", "finishes", "comes", "same"])):
            case "binds":
                now = replace(pod, spec=replace(pod.spec, node_name=draw(st.sampled_from(names))))
            case "finishes":
                now = replace(pod, status=replace(pod.status, phase="Succeeded"))
            case "comes":
                pod = replace(pod, metadata=replace(pod.metadata, name=f"new-{draw(st.integers(0, 2))}"))
                now = pod
            case "same":
                now = pod
        changes.objects.setdefault(Pod, {})[pod.namespace, pod.name] = now
    for node in draw(st.lists(st.sampled_from([*world.nodes, *others]), max_size=2)):
        gone = draw(st.booleans())
        changes.objects.setdefault(Node, {})["", node.name] = None if gone else node
    return changes


@st.composite
def _relisted(draw: st.DrawFn, model: Model, others: list[Node]) -> FeedChanges:
    """Draw a new list of a kind, after unseen deletions and additions."""
    if draw(st.booleans()):
        nodes = [*model[Node].values(), *others]
        return changes_of(
            nodes=draw(st.lists(st.sampled_from(nodes), unique_by=lambda node: node.name)) if nodes else []
        )
    pods = list(model[Pod].values())
    return changes_of(pods=draw(st.lists(st.sampled_from(pods), unique_by=lambda pod: pod.name)) if pods else [])


def _book(model: Model, changes: FeedChanges) -> None:
    for kind, listed in changes.lists.items():
        model[kind] = dict(listed)
    for kind, objects in changes.objects.items():
        for name, obj in objects.items():
            if obj is None:
                model[kind].pop(name, None)
            else:
                model[kind][name] = obj


RUNS = make_pod("runs", node="a", requests={"cpu": "1"})
WAITS = make_pod("waits", requests={"cpu": "3500m"})
CONDITION = {"type": "Initialized", "status": "True"}
SERVICE = make_object(Service, "web", namespace="default", spec={"selector": {"app": "web"}})


def of_version(obj: Any, version: str) -> Any:
    return replace(obj, metadata=replace(obj.metadata, resource_version=version))


NOTHING = [
    pytest.param([of_version(make_node("a"), "7")], id="a node that only its version tells apart"),
    pytest.param([of_version(RUNS, "7")], id="a pod that only its version tells apart"),
    pytest.param(
        [make_pod("runs", node="a", requests={"cpu": "1"}, status={"conditions": [CONDITION]})],
        id="a pod whose kubelet reports what scheduling does not read",
    ),
    pytest.param([of_version(SERVICE, "7")], id="another object that only its version tells apart"),
]


@pytest.mark.parametrize("objects", NOTHING)
def test_what_scheduling_does_not_read_changes_nothing(objects: list[ApiObject]) -> None:
    cache = Cache(make_cluster([make_node("a")], [RUNS, WAITS], SERVICE))
    before = cache.cluster
    assert not cache.apply(changes_of(put=objects))
    assert cache.cluster is before


def test_list_that_says_the_same_changes_nothing() -> None:
    cache = Cache(make_cluster([make_node("a")], [RUNS, WAITS]))
    before = cache.cluster
    assert not cache.apply(changes_of(nodes=[of_version(make_node("a"), "9")], pods=[WAITS, RUNS]))
    assert cache.cluster is before


def test_objects_are_in_the_order_of_a_server() -> None:
    """An API server stores objects by ``namespace/name``: a hyphen sorts before the slash."""
    cache = Cache(make_cluster([make_node("b")]))
    services = [make_object(Service, name, namespace=space) for space, name in (("a", "z"), ("a-b", "x"), ("a", "b"))]
    cache.apply(changes_of(put=[*services, make_node("a")]))
    assert [(s.namespace, s.name) for s in cache.cluster.list(Service)] == [("a-b", "x"), ("a", "b"), ("a", "z")]
    assert cache.cluster.nodes.names == ("a", "b")


def test_pods_on_a_node_that_comes_later_count_there() -> None:
    cache = Cache(make_cluster([make_node("b")], [RUNS]))
    assert cache.cluster.pods.node_row.tolist() == [-2]
    cache.apply(changes_of(put=[make_node("a")]))
    assert cache.cluster.pods.node_row.tolist() == [0]


def test_what_cannot_be_understood_is_left_out_and_told() -> None:
    cache = Cache(make_cluster([make_node("a")], [RUNS]))
    cache.apply(changes_of(put=[make_pod("runs", node="a", requests={"cpu": "much"}), make_node("a", cpu="many")]))
    assert len(cache.cluster.nodes) == len(cache.cluster.pods) == 0
    assert [text.partition(":")[0] for text in cache.left_out.values()] == ["Node a", "Pod default/runs"]
    cache.apply(changes_of(put=[RUNS, make_node("a")]))
    assert not cache.left_out
    assert cache.cluster.pods.node_row.tolist() == [0]


def test_what_is_appended_is_let_go_of() -> None:
    """A thousand pods are added and deleted, each with its own class, spec and node label."""
    cache = Cache(make_cluster([make_node("a")], [RUNS]), few_changes=50)
    most = 0
    for i in range(1000):
        pod = make_pod("short", labels={"run": str(i)}, requests={"cpu": f"{i + 1}m"})
        cache.apply(changes_of(put=[pod, make_node("a", labels={"seen": str(i)})]))
        cache.apply(changes_of(gone=[pod]))
        cluster = cache.cluster
        most = max(most, len(cluster.pods.classes), cluster.pods.mark.end, len(cluster._interner._specs))
    assert cache.compactions > 20
    assert most < 70
    assert pods_of(cache.cluster) == [RUNS]


def test_compaction_keeps_everything() -> None:
    cluster = make_cluster(
        [make_node("a"), make_node("b")],
        [RUNS, WAITS, make_pod("goes", node="b", terminating=True, status={"startTime": LONG_AGO})],
        SERVICE,
        make_namespace("default"),
    ).with_pods(removed=[0], added=[make_pod("a", node="a", nominated="b")])
    anew = cluster.compacted()
    assert sorted(pods_of(anew), key=lambda pod: pod.name) == sorted(pods_of(cluster), key=lambda pod: pod.name)
    assert (anew.kinds, anew.nodes.objects) == (cluster.kinds, cluster.nodes.objects)
    assert len(anew.pods.classes) == 3
    assert [record.metadata.name for record in anew.pods.records] == ["a", "goes", "waits"]
