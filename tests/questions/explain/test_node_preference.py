"""Changes that move a pod to a node: each is applied to the object, and the pod is decided again from scratch."""

import json
from collections.abc import Mapping
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.explain.answer import PreferenceData, SuggestedChangeData
from kschedctl.questions.explain.node_preference import prefer
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.framework.risk import RemedyScope
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import ZONE, make_cluster, make_node, make_pod
from tests.strategies import World

DEFAULT: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}


#: Nodes that a pod without requirements fits on, and that nearly every Score plugin tells apart.
_NODES = st.lists(
    st.builds(
        lambda **fields: fields,
        cpu=st.sampled_from(["2", "3", "4", "8"]),
        memory=st.sampled_from(["4Gi", "8Gi"]),
        labels=st.fixed_dictionaries({"disk": st.sampled_from(["ssd", "hdd"]), ZONE: st.sampled_from(["z1", "z2"])}),
        taints=st.lists(
            st.sampled_from(["busy=yes:PreferNoSchedule", "old:PreferNoSchedule"]), max_size=2, unique=True
        ),
    ),
    min_size=2,
    max_size=4,
)
_TERM = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}


def _liking(disk: str, weight: int) -> dict[str, Any]:
    expression = {"key": "disk", "operator": "In", "values": [disk]}
    return {"weight": weight, "preference": {"matchExpressions": [expression]}}


@st.composite
def choices(draw: st.DrawFn) -> tuple[World, Pod]:
    """Draw a few nodes, some pods on them, and a pod with preferences among the nodes."""
    nodes = [make_node(f"n{i}", **fields) for i, fields in enumerate(draw(_NODES))]
    names = st.sampled_from([node.name for node in nodes])
    running = [
        make_pod(f"web-{i}", labels={"app": "web"}, node=draw(names), requests={"cpu": "500m"})
        for i in range(draw(st.integers(0, 3)))
    ]
    weights = st.integers(1, 100)
    liked = draw(st.lists(st.builds(_liking, st.sampled_from(["ssd", "hdd"]), weights), max_size=2))
    near = draw(st.lists(st.fixed_dictionaries({"weight": weights, "podAffinityTerm": st.just(_TERM)}), max_size=2))
    soft = "preferredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {soft: liked}, "podAffinity": {soft: near}}
    tolerations = draw(st.sampled_from([[], [{"key": "old", "operator": "Exists"}]]))
    requests = {"cpu": draw(st.sampled_from(["100m", "1"])), "memory": "1Gi"}
    pod = make_pod(requests=requests, affinity=affinity if liked or near else None, tolerations=tolerations)
    return World(nodes, running, []), pod


def scheduler_of(cluster: Any, config: Mapping[str, Any] = DEFAULT) -> Scheduler:
    points = in_tree_registry().extension_points(LATEST)
    return Scheduler(cluster, LATEST, load_configuration(config, release=LATEST, implements=points))


def found(nodes: list[Node], pod: Pod, node: str, config: Mapping[str, Any] = DEFAULT) -> PreferenceData:
    scheduler = scheduler_of(make_cluster(nodes), config)
    return prefer(scheduler, scheduler.decide(pod), node)


def made(world: World, pod: Pod, config: Mapping[str, Any], move: SuggestedChangeData) -> Decision:
    """Apply a suggestion's patch to the object as JSON, and return the decision from scratch."""
    nodes = world.nodes
    (change,) = move.changes
    data: Any = {"Pod": pod, KIND: config}.get(change["kind"])
    if change["kind"] == "Node":
        data = next(node for node in nodes if node.name == change["name"])
    after = jsonpatch.apply_patch(json.loads(msgspec.json.encode(data)), plain(change))
    if change["kind"] == "Pod":
        pod = msgspec.convert(after, Pod)
    elif change["kind"] == "Node":
        changed = msgspec.convert(after, Node)
        nodes = [changed if node.name == change["name"] else node for node in nodes]
    else:
        config = after
    return scheduler_of(make_cluster(nodes, world.pods, *world.namespaces), config).decide(pod)


def plain(change: Any) -> Any:
    """Return the operations of a change as plain data."""
    return json.loads(msgspec.json.encode(change["patch"]))


def configuration(**plugins: Any) -> dict[str, Any]:
    return {**DEFAULT, "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}]}


CONFIGURATIONS = {
    "none": DEFAULT,
    "a profile without plugins": {**DEFAULT, "profiles": [{"percentageOfNodesToScore": 100}]},
    "a weight at score": configuration(score={"enabled": [{"name": "NodeResourcesFit", "weight": 3}]}),
    "a weight at multiPoint": configuration(multiPoint={"enabled": [{"name": "NodeResourcesFit", "weight": 2}]}),
    "something disabled": configuration(score={"disabled": [{"name": "ImageLocality"}]}),
}


@pytest.mark.parametrize("config", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
@given(choice=choices())
def test_every_change_that_is_told_does_it(config: dict[str, Any], choice: tuple[World, Pod]) -> None:
    world, pod = choice
    scheduler = scheduler_of(world.cluster, config)
    decision = scheduler.decide(pod)
    scores = decision.scores
    assert scores is not None
    for row in scores.rows.tolist():
        node = decision.cluster.nodes.names[row]
        preference = prefer(scheduler, decision, node)
        assert preference.fits
        assert preference.is_best == (node in decision.best)
        assert preference.here == sum(one.here for one in preference.points)
        assert preference.there == sum(one.there for one in preference.points)
        for move in preference.changes:
            assert move.then.nodes == (node,)
            assert made(world, pod, config, move).best == (node,), move
        if decision.best == (node,):
            assert not preference.changes


@given(choice=choices())
def test_no_smaller_weight_does_it(choice: tuple[World, Pod]) -> None:
    """Try all weights between the profile's own and the reported one, and as many in the other direction."""
    world, pod = choice
    scheduler = scheduler_of(world.cluster)
    decision = scheduler.decide(pod)
    assert decision.scores is not None
    node = decision.cluster.nodes.names[int(decision.scores.rows[0])]
    if decision.best == (node,):
        return
    told = {}
    for move in prefer(scheduler, decision, node).changes:
        if move.kind is RemedyScope.CLUSTER:
            (item,) = plain(move.changes[0])[-1]["value"][0]["plugins"]["score"].values()
            told[item[0]["name"]] = item[0].get("weight", 0)
    for plugin, before in scheduler.configuration.profiles["default-scheduler"].weights.items():
        farthest = min(abs(told[plugin] - before) - 1, 12) if plugin in told else 4
        for weight in range(max(before - farthest, 1), before + farthest + 1):
            scored = {"enabled": [{"name": plugin, "weight": weight}]}
            best = scheduler_of(world.cluster, configuration(score=scored)).decide(pod).best
            assert weight == before or best != (node,), f"{plugin} with {weight}, told {told}"


def preferring(node: str, weight: int) -> dict[str, Any]:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": term}]}
    }


def test_the_smallest_weight_of_a_term_is_told() -> None:
    """NodeAffinity gives a 100 for weight 40; b scores more only with 41, as the nodes are equal otherwise."""
    pod = make_pod(requests={"cpu": "1"}, affinity=preferring("a", 40))
    (move, *_) = found([make_node("a"), make_node("b")], pod, "b").changes
    assert move.summary == "prefer b by node affinity with weight 41"
    terms = preferring("b", 41)["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    path = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution/-"
    assert plain(move.changes[0]) == [{"op": "add", "path": path, "value": terms[0]}]


def test_a_soft_taint_is_taken_off_or_tolerated() -> None:
    nodes = [make_node("a", cpu="2"), make_node("b", taints=["busy=yes:PreferNoSchedule"])]
    moves = found(nodes, make_pod(requests={"cpu": "1"}), "b").changes
    told = [(move.summary, move.kind) for move in moves]
    assert told[:2] == [
        ("tolerate busy=yes:PreferNoSchedule", RemedyScope.POD),
        ("remove taint busy=yes:PreferNoSchedule from node b", RemedyScope.NODE),
    ]
    assert plain(moves[1].changes[0]) == [{"op": "remove", "path": "/spec/taints/0"}]


def test_a_node_that_does_not_fit_is_left_alone() -> None:
    preference = found([make_node("a"), make_node("b", taints=["gpu:NoSchedule"])], make_pod(), "b")
    assert not preference.fits
    assert preference.changes == ()


def test_the_only_best_one_needs_no_change_and_the_only_feasible_one_neither() -> None:
    pod = make_pod(requests={"cpu": "1"})
    preference = found([make_node("a"), make_node("b", cpu="2")], pod, "a")
    assert (preference.is_best, preference.other, preference.changes) == (True, "b", ())
    alone = found([make_node("a")], pod, "a")
    assert (alone.is_best, alone.other, alone.changes) == (True, "", ())


def test_of_equal_nodes_one_can_be_made_the_only_best_one() -> None:
    preference = found([make_node("a"), make_node("b")], make_pod(requests={"cpu": "1"}), "b")
    assert preference.is_best
    assert preference.here == preference.there
    assert [move.kind for move in preference.changes] == [RemedyScope.POD]


def test_a_node_that_is_not_there_is_an_error() -> None:
    scheduler = scheduler_of(make_cluster([make_node("a")]))
    with pytest.raises(InputError):
        prefer(scheduler, scheduler.decide(make_pod()), "c")


def test_the_nearest_weight_of_a_plugin_is_told() -> None:
    """Node b scores less by resources and more by its image."""
    nodes = [make_node("a", cpu="8"), make_node("b", images={"registry.example/app:1": 300_000_000})]
    pod = make_pod(requests={"cpu": "3", "memory": "1Gi"})
    preference = found(nodes, pod, "b")
    points = {one.plugin: one.here - one.there for one in preference.points if one.here != one.there}
    (move,) = (move for move in preference.changes if "ImageLocality" in move.summary)
    weight = -(preference.here - preference.there) // points["ImageLocality"] + 2
    assert move.summary == f"give ImageLocality weight {weight} instead of 1 in profile default-scheduler"
    assert move.then.nodes == ("b",)


def test_a_score_that_is_in_the_way_can_be_left_out() -> None:
    nodes = [make_node("a", cpu="2"), make_node("b", taints=["busy=yes:PreferNoSchedule"])]
    (move,) = (
        move for move in found(nodes, make_pod(requests={"cpu": "1"}), "b").changes if "TaintToleration" in move.summary
    )
    assert move.summary == "disable the score of TaintToleration in profile default-scheduler"
    off = {"schedulerName": "default-scheduler", "plugins": {"score": {"disabled": [{"name": "TaintToleration"}]}}}
    assert plain(move.changes[0]) == [{"op": "add", "path": "/profiles", "value": [off]}]
