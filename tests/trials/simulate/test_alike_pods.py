"""Pods that are alike are placed as if each of them ran its own scheduling cycle, even with others between them."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Node, Service
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.interface import PostBindPlugin, ScorePlugin
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.trials.simulate.alike_pods import AlikePods, RankedDecision, RejectedDecision, Rejection
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.choice import TieBreak
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE, World
from tests.builders import (
    ZONE,
    make_cluster,
    make_container,
    make_namespace,
    make_node,
    make_object,
    make_pod,
    make_profile,
    mount,
)
from tests.example_counts import scaled
from tests.gangs import GROUPING
from tests.scheduler.cycle.test_alike_members import CONFIGS, busy_nodes, scheduler_of
from tests.scheduler.cycle.test_moved import objects, whole
from tests.scheduler.devices import builders as devices
from tests.scheduler.preemption.small_clusters import budget
from tests.strategies import NAMESPACES, nodes, pods

MOST = 60


def replicas(kind: Pod, n_pods: int, prefix: str = "pod") -> list[Pod]:
    """Copies of a pod with names of their own."""
    names = (f"{prefix}-{i:02}" for i in range(n_pods))
    return [replace(kind, metadata=replace(kind.metadata, name=name, uid=f"uid-{name}")) for name in names]


def told(simulation: Simulation, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """All that is said of attempts and of the cluster after them; decisions that were not made yet are made now."""
    return {
        "attempts": [
            (a.time, a.pod, a.number, a.node, a.waits, a.message, a.nominated, a.victims, a.search.best)
            for a in attempts
        ],
        "not modelled": [tuple(a.search.not_modelled) for a in attempts],
        "decisions": [whole(a.decision) for a in attempts],
        "timeline": simulation.timeline,
        "pods": sorted((record.name, record.node_name) for record in simulation.cluster.pods.records),
    }


def run(scheduler: Scheduler, pods: Sequence[Pod], world: World, seed: int | None) -> dict[str, Any]:
    simulation = Simulation(scheduler, choose=TieBreak(seed).choose(), world=world)
    simulation.enqueue_pending()
    simulation.create(pods)
    return told(simulation, list(islice(simulation, MOST)))


def both(scheduler: Scheduler, pods: Sequence[Pod], world: World | None = None, seed: int | None = None) -> None:
    """Check that a simulation says the same with a scheduling cycle for each pod; all scores are compared, too."""
    world = World() if world is None else world
    search = AlikePods.search
    rankings: list[tuple[RankedDecision, list[int], list[int]]] = []

    def searched(alike: AlikePods, scheduler: Scheduler, pod: Pod) -> RankedDecision | None:
        found = search(alike, scheduler, pod)
        if found is not None:
            rankings.append((found, found.rows.tolist(), found.total.tolist()))
        return found

    with patch.object(AlikePods, "search", searched):
        ours = run(scheduler, pods, world, seed)
    for found, rows, total in rankings:
        scores = found.decision.scores
        assert scores is not None
        assert (rows, total) == (scores.rows.tolist(), scores.total.tolist())
    with (
        patch.object(AlikePods, "search", lambda alike, scheduler, pod: None),
        patch.object(Rejection, "of_alike", lambda rejection, scheduler, pod: None),
    ):
        theirs = run(scheduler.moved(scheduler.cluster), pods, world, seed)
    for what, said in theirs.items():
        assert ours[what] == said, what


def in_turns(pods: list[Pod]) -> st.SearchStrategy[list[Pod]]:
    """Pods in their order, or in any order."""
    return st.just(pods) | st.permutations(pods)


@given(data=st.data(), seed=st.sampled_from([None, 1, 2]), version=st.sampled_from(sorted(RELEASES)))
@settings(max_examples=scaled(100))
def test_alike_pods_are_placed_as_one_by_one(data: st.DataObject, seed: int | None, version: str) -> None:
    draw = data.draw
    made, running, kinds = draw(busy_nodes())
    pods: list[Pod] = []
    for number in range(draw(st.integers(1, 3))):
        pods += replicas(draw(st.sampled_from(kinds)), draw(st.integers(2, 8)), f"new-{number}")
    pods = draw(in_turns(pods))
    others: list[ApiObject] = [*objects(), devices.make_claim("gpu-claim", devices.request())]
    if draw(st.booleans()):
        others.append(make_object(Service, "s", namespace="default", spec={"selector": {"app": "a"}}))
    cluster = make_cluster(made, running, *others)
    scheduler = scheduler_of(cluster, draw(st.sampled_from(sorted(CONFIGS))), RELEASES[version])
    both(scheduler, pods, draw(st.sampled_from([SCHEDULER_ALONE, World(), World(grace=False)])), seed)


@st.composite
def related_pods(draw: st.DrawFn, name: str, namespaces: tuple[str, ...] = ("default",)) -> Pod:
    """A pod that counts for pods on other nodes: it has spread constraints or pod affinity."""
    relations = draw(st.sampled_from([("spread",), ("podAffinity",), ("spread", "podAffinity")]))
    others = draw(st.lists(st.sampled_from(["requests", "ports", "tolerations", "nodeAffinity"]), max_size=2))
    return draw(pods(*relations, *others, name=name, namespaces=namespaces))


@given(data=st.data(), seed=st.sampled_from([None, 1]), version=st.sampled_from(sorted(RELEASES)))
@settings(max_examples=scaled(300))
def test_alike_pods_that_count_for_each_other_are_placed_as_one_by_one(
    data: st.DataObject, seed: int | None, version: str
) -> None:
    draw = data.draw
    made = draw(nodes("labels", *draw(st.sampled_from([(), ("offers",), ("taints", "offers")])), most=8))
    names = st.sampled_from([node.name for node in made])
    running = [
        replace(pod, spec=replace(pod.spec, node_name=draw(names)))
        for pod in (draw(related_pods(f"running-{i}", tuple(NAMESPACES))) for i in range(draw(st.integers(0, 4))))
    ]
    new = replicas(draw(related_pods("kind", tuple(NAMESPACES))), draw(st.integers(2, 12)))
    if draw(st.booleans()):
        new += replicas(draw(related_pods("kind")), draw(st.integers(2, 6)), "other")
        new = draw(in_turns(new))
    others: list[ApiObject] = [make_namespace(name, **labels) for name, labels in NAMESPACES.items()]
    cluster = make_cluster(made, running, *others)
    both(scheduler_of(cluster, draw(st.sampled_from(sorted(CONFIGS))), RELEASES[version]), new, seed=seed)


def _nodes(n_nodes: int = 4) -> list[Node]:
    return [make_node(f"n{i}", zone=f"z{i % 2}", cpu="4", memory="8Gi") for i in range(n_nodes)]


def cycles(scheduler: Scheduler, pods: Sequence[Pod]) -> list[str]:
    """The pods for which a scheduling cycle runs, in order."""
    simulation = Simulation(scheduler)
    simulation.create(pods)
    return [
        attempt.pod.partition("/")[2]
        for attempt in simulation
        if not isinstance(attempt.search, RankedDecision | RejectedDecision)
    ]


SMALL = make_pod(requests={"cpu": "100m"}, labels={"app": "a"})
_TERM = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
_HARD = {**_TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PORT = make_container(ports=[{"containerPort": 80, "hostPort": 80}])


@pytest.mark.parametrize(
    ("pods", "others", "expected"),
    [
        pytest.param(replicas(SMALL, 4), [], ["pod-00"], id="alike"),
        pytest.param([*replicas(SMALL, 2, "a"), *replicas(make_pod(), 2, "b")], [], ["a-00", "b-00"], id="two specs"),
        pytest.param(
            [*replicas(SMALL, 1, "a"), *replicas(make_pod(), 1, "b"), *replicas(SMALL, 1, "c")],
            [],
            ["a-00", "b-00"],
            id="taking turns",
        ),
        pytest.param(replicas(SMALL, 3), [budget("guard", "a", 1)], ["pod-00"], id="with a disruption budget"),
        pytest.param(
            replicas(SMALL, 3),
            [make_object(Service, "s", namespace="default", spec={"selector": {"app": "a"}})],
            ["pod-00"],
            id="default spread constraints of a service",
        ),
        pytest.param(
            replicas(
                make_pod(
                    labels={"app": "a"},
                    topologySpreadConstraints=[{**_TERM, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
                ),
                4,
            ),
            [],
            ["pod-00"],
            id="soft spread",
        ),
        # One zone after the other takes a pod.
        pytest.param(
            replicas(make_pod(labels={"app": "a"}, topologySpreadConstraints=[_HARD]), 6), [], ["pod-00"], id="spread"
        ),
        # Two zones are fewer than minDomains, so each of them takes one pod.
        pytest.param(
            replicas(make_pod(labels={"app": "a"}, topologySpreadConstraints=[{**_HARD, "minDomains": 3}]), 5),
            [],
            ["pod-00", "pod-02"],
            id="spread over more domains than there are",
        ),
        pytest.param(
            replicas(make_pod(labels={"app": "a"}, affinity={"podAntiAffinity": {_REQUIRED: [_TERM]}}), 5),
            [],
            ["pod-00", "pod-02"],
            id="anti-affinity",
        ),
        # The first pod matches its own affinity, and decides for the zone of the others.
        pytest.param(
            replicas(
                make_pod(requests={"cpu": "2"}, labels={"app": "a"}, affinity={"podAffinity": {_REQUIRED: [_TERM]}}), 6
            ),
            [],
            ["pod-00", "pod-04"],
            id="affinity",
        ),
        pytest.param(replicas(make_pod(volumes=mount("two")), 2), objects(), ["pod-00", "pod-01"], id="claim"),
        # The fifth finds no node, and preemption is tried for it.
        pytest.param(replicas(make_pod(containers=[_PORT]), 5), [], ["pod-00", "pod-04"], id="host port"),
        pytest.param(replicas(make_pod(requests={"cpu": "3"}), 5), [], ["pod-00", "pod-04"], id="full nodes"),
        # Those that fit nowhere have the decision for the first of them.
        pytest.param(replicas(make_pod(requests={"cpu": "3"}), 9), [], ["pod-00", "pod-04"], id="more than fit"),
    ],
)
@pytest.mark.parametrize("version", sorted(RELEASES))
def test_only_the_first_of_alike_pods_runs_a_cycle(
    pods: list[Pod], others: list[ApiObject], expected: list[str], version: str
) -> None:
    scheduler = Scheduler(make_cluster(_nodes(), [], *others), RELEASES[version])
    assert cycles(scheduler, pods) == expected
    both(scheduler, pods)


@pytest.mark.parametrize("action", ["DoNotSchedule", "ScheduleAnyway"])
def test_pods_on_nodes_that_do_not_count_for_their_constraint_are_not_counted(action: str) -> None:
    # In this configuration, NodeAffinity does not reject the nodes that the pods do not select.
    made = [make_node(f"n{i}", labels={ZONE: f"z{i % 2}", **({"disk": "ssd"} if i else {})}) for i in range(4)]
    constraint = {**_HARD, "whenUnsatisfiable": action}
    kind = make_pod(
        requests={"cpu": "1"}, labels={"app": "a"}, nodeSelector={"disk": "ssd"}, topologySpreadConstraints=[constraint]
    )
    scheduler = scheduler_of(make_cluster(made), "relations")
    assert cycles(scheduler, replicas(kind, 8)) == ["pod-00"]
    both(scheduler, replicas(kind, 8))


class Listener(PostBindPlugin):
    """Counts the pods that are bound."""

    name = "Listener"
    heard: ClassVar[list[str]] = []

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self.heard.append(pod.name)


def test_a_plugin_that_hears_of_bound_pods_hears_of_all() -> None:
    registry = in_tree_registry()
    registry.merge({Listener.name: Listener})
    points, types = registry.extension_points(LATEST), registry.args_types
    profile = make_profile(plugins={"postBind": {"enabled": [{"name": Listener.name}]}})
    configuration = load_configuration(profile, release=LATEST, implements=points, args_types=types)
    scheduler = Scheduler(make_cluster(_nodes()), LATEST, configuration, Registry(registry))
    Listener.heard.clear()
    assert cycles(scheduler, replicas(SMALL, 3)) == Listener.heard == ["pod-00", "pod-01", "pod-02"]


class Crowd(ScorePlugin):
    """Gives 40 points for each pod of a node, and so more than 100 for three of them."""

    name = "Crowd"
    reads = Dependencies(pods=Reach.NODE)

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        pods = self.handle.cluster.pods
        return np.array([40 * len(pods.on_node(row)) for row in rows.tolist()], dtype=np.int64)


def test_an_invalid_score_after_other_pods_is_an_error() -> None:
    registry = in_tree_registry()
    registry.merge({Crowd.name: Crowd})
    points, types = registry.extension_points(LATEST), registry.args_types
    profile = make_profile(plugins={"score": {"enabled": [{"name": Crowd.name, "weight": 100}]}})
    configuration = load_configuration(profile, release=LATEST, implements=points, args_types=types)
    simulation = Simulation(Scheduler(make_cluster(_nodes()), LATEST, configuration, Registry(registry)))
    first, second = replicas(SMALL, 2)
    others = replicas(make_pod(requests={"cpu": "200m"}), 2, "other")
    simulation.create([first, *others, second])
    attempts = list(islice(simulation, 4))
    assert [attempt.node for attempt in attempts] == ["n0", "n0", "n0", ""]
    assert "returns an invalid score 120" in attempts[-1].message


def test_an_event_between_alike_pods_ends_the_batch() -> None:
    simulation = Simulation(Scheduler(make_cluster(_nodes(2))))
    simulation.create(replicas(SMALL, 4))
    attempts = [*simulation.step(), *simulation.step()]
    cordoned = _nodes(2)[0]
    simulation.change_node(replace(cordoned, spec=replace(cordoned.spec, unschedulable=True)))
    attempts += simulation
    assert [isinstance(a.search, RankedDecision) for a in attempts] == [False, True, False, True]
    assert [a.node for a in attempts[2:]] == ["n1", "n1"]


@pytest.mark.parametrize("version", sorted(GROUPING))
def test_pods_with_others_between_them_are_placed_together_where_groups_are_scheduled_too(version: str) -> None:
    scheduler = Scheduler(make_cluster(_nodes()), GROUPING[version])
    other = make_pod("other", requests={"cpu": "200m"})
    first, second = replicas(SMALL, 2)
    assert cycles(scheduler, [first, other, second]) == [first.name, other.name]
