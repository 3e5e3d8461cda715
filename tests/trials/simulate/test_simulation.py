"""Simulations: what becomes of pods, one after another, with grace, controllers, budgets, Permit and volumes."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import on_node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, RELEASES, Release
from kschedctl.objects.resources import RequestRules
from kschedctl.objects.volume import CSINode, PersistentVolume, PersistentVolumeClaim
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import PermitPlugin, Plugin
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.sources.snapshot.capture import ClusterReader
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.choice import TieBreak, as_recorded
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEvent
from kschedctl.trials.simulate.world import SCHEDULER_ALONE, World
from tests import strategies
from tests.builders import (
    HOSTNAME,
    ZONE,
    make_claim,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
)
from tests.example_counts import scaled
from tests.gangs import GROUPING, make_group, make_members
from tests.scheduler.extenders.scheduling import make_scheduler
from tests.scheduler.extenders.server import ExtenderServer
from tests.scheduler.preemption.small_clusters import budget
from tests.strategies import World as Objects
from tests.trials.whatif.test_pods import deployment, web

RS = ("apps/v1", "ReplicaSet", "web")
STATEFUL = ("apps/v1", "StatefulSet", "db")
HOST_1 = {"kubernetes.io/hostname": "n1"}


def simulate(
    cluster: Cluster,
    *pods: Pod,
    world: World | None = None,
    release: Release = LATEST,
    plugins: Mapping[str, type[Plugin]] | None = None,
    config: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Simulation:
    registry = in_tree_registry()
    registry.merge(plugins or {})
    configuration = None
    if config is not None:
        points = registry.extension_points(release)
        configuration = load_configuration(
            dict(config), release=release, implements=points, args_types=registry.args_types
        )
    simulation = Simulation(Scheduler(cluster, release, configuration, registry), world=world, **settings)
    simulation.enqueue_pending()
    simulation.create(pods)
    return simulation


def told(attempts: Iterable[Attempt]) -> list[str]:
    """The attempts: ``pod>node``, ``pod!node-victims`` or ``pod-``."""
    out = []
    for attempt in attempts:
        name = attempt.pod.removeprefix("default/")
        victims = ",".join(victim.removeprefix("default/") for victim in attempt.victims)
        nowhere = f"{name}!{attempt.nominated}" + (f"-{victims}" if victims else "")
        out.append(f"{name}>{attempt.node}" if attempt.node else nowhere)
    return out


def places(simulation: Simulation) -> dict[str, str]:
    pods = simulation.cluster.pods
    return {record.metadata.name: record.node_name for record in pods.records}


def small(*pods: Pod, n: int = 1, cpu: str = "2") -> Cluster:
    return make_cluster([make_node(f"n{i + 1}", cpu=cpu) for i in range(n)], pods)


def test_each_pod_lives_with_what_the_earlier_ones_got() -> None:
    pods = [make_pod(name, requests={"cpu": "1"}) for name in "abc"]
    simulation = simulate(small(n=1), *pods)
    assert told(simulation) == ["a>n1", "b>n1", "c!"]
    assert places(simulation) == {"a": "n1", "b": "n1", "c": ""}


def test_pods_of_the_snapshot_come_first() -> None:
    waiting = make_pod("old", requests={"cpu": "2"})
    assert told(simulate(small(waiting), make_pod("new", requests={"cpu": "2"}))) == ["old>n1", "new!"]


def test_chance_is_settled_by_whoever_is_asked() -> None:
    cluster = small(n=3)
    pods = [make_pod(name) for name in "ab"]
    assert told(simulate(cluster, *pods, choose=lambda pod, nodes: nodes[-1]))[0] == "a>n3"
    assert told(simulate(cluster, *pods, choose=TieBreak(5).choose())) == told(
        simulate(cluster, *pods, choose=TieBreak(5).choose())
    )
    recorded = as_recorded({"default/a": ["n2"], "default/b": ["nowhere"]})
    assert told(simulate(cluster, pods[0], choose=recorded)) == ["a>n2"]


def test_victims_take_their_grace_period_before_the_preemptor_gets_their_place() -> None:
    victim = make_pod("low", requests={"cpu": "2"}, node="n1", terminationGracePeriodSeconds=40)
    simulation = simulate(small(victim), make_pod("high", requests={"cpu": "2"}, priority=9))
    assert told(simulation) == ["high!n1-low", "high>n1"]
    times = {entry.event: (entry.time - simulation.began).total_seconds() for entry in simulation.timeline}
    assert 40 <= times[TimelineEvent.DELETED] <= times[TimelineEvent.SCHEDULED] < 41


def test_without_grace_they_are_gone_at_once() -> None:
    victim = make_pod("low", requests={"cpu": "2"}, node="n1")
    simulation = simulate(small(victim), make_pod("high", requests={"cpu": "2"}, priority=9), world=SCHEDULER_ALONE)
    assert told(simulation) == ["high!n1-low", "high>n1"]
    assert (simulation.now() - simulation.began).total_seconds() < 1


@pytest.mark.parametrize(
    ("owner", "again"),
    [
        pytest.param(None, [], id="nobody makes a bare pod again"),
        pytest.param(RS, ["web-xxxxx"], id="a ReplicaSet makes another one"),
        pytest.param(STATEFUL, ["low"], id="a StatefulSet the same one, once it is gone"),
    ],
)
def test_controllers_make_victims_again(owner: tuple[str, str, str] | None, again: list[str]) -> None:
    victim = make_pod("low", requests={"cpu": "2"}, node="n1", owner=owner)
    simulation = simulate(small(victim), make_pod("high", requests={"cpu": "2"}, priority=9))
    for _ in simulation:
        pass
    assert sorted(name for name in places(simulation) if name != "high") == again


def test_budgets_follow_what_comes_and_goes() -> None:
    web = [make_pod(f"web-{i}", labels={"app": "web"}, requests={"cpu": "1"}, node="n1", owner=RS) for i in range(2)]
    pdb = budget("web", "web", 1, currentHealthy=2, desiredHealthy=1)
    cluster = make_cluster([make_node("n1", cpu="2"), make_node("n2", cpu="1")], web, pdb)
    simulation = simulate(cluster, make_pod("high", requests={"cpu": "1"}, priority=9, nodeSelector=HOST_1))
    allowed = []
    for _ in simulation:
        found = simulation.cluster.get(PodDisruptionBudget, "web", "default")
        assert found is not None
        allowed.append(found.status.disruptions_allowed)
    # Evicted: none allowed; its successor runs on the other node: one again.
    assert allowed[0] == 0
    assert allowed[-1] == 1


@pytest.mark.parametrize(
    ("labels", "node", "said"),
    [
        pytest.param({"app": "db"}, "n1", ["web!", "web>n1"], id="the pod that it waits for"),
        pytest.param({"app": "db"}, "n9", ["web!", "web!"], id="on a node that does not exist"),
        pytest.param({"app": "other"}, "n1", ["web!"], id="another pod"),
    ],
)
def test_a_pod_that_is_created_on_a_node_wakes_those_that_wait_for_it(
    labels: dict[str, str], node: str, said: list[str]
) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    simulation = simulate(small(), make_pod("web", affinity=affinity))
    attempts = told(simulation)
    simulation.create([make_pod("db", labels=labels, node=node)])
    assert attempts + told(simulation.run_for(60)) == said


@pytest.mark.parametrize("release", GROUPING.values(), ids=GROUPING)
def test_a_gang_is_complete_with_a_member_that_is_created_on_a_node(release: Release) -> None:
    waiting, running = make_members(2)
    simulation = simulate(make_cluster([make_node("n1")], [], make_group(min_count=2)), waiting, release=release)
    assert told(simulation) == []
    simulation.create([on_node(running, "n1")])
    assert told(simulation) == [f"{waiting.name}>n1"]


def test_pods_of_lower_priority_lose_their_nomination() -> None:
    cluster = small(make_pod("v1", requests={"cpu": "1"}, node="n1"), make_pod("v2", requests={"cpu": "1"}, node="n1"))
    middle = make_pod("middle", requests={"cpu": "1"}, priority=5)
    high = make_pod("high", requests={"cpu": "2"}, priority=9)
    simulation = simulate(cluster, middle, world=World(leftovers=False))
    next(iter(simulation))
    assert simulation.cluster.pods.pod(simulation.cluster.pods.index["default", "middle"]).status.nominated_node_name
    simulation.create([high])
    assert next(iter(simulation)).pod == "default/high"
    for _ in simulation:
        pass
    assert places(simulation)["high"] == "n1"
    assert places(simulation)["middle"] == ""


def test_a_nominated_pod_that_is_deleted_leaves_its_node_to_others() -> None:
    gates = [{"name": "example.com/wait"}]
    held = make_pod("held", requests={"cpu": "2"}, priority=9, nominated="n1", schedulingGates=gates)
    simulation = simulate(small(held), make_pod("web", requests={"cpu": "2"}))
    assert told(simulation) == ["web!"]
    simulation.remove(held)
    assert told(simulation.run_for(60)) == ["web>n1"]


class Waits(PermitPlugin):
    """Lets every pod wait for ten seconds."""

    name = "Waits"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return Status(Code.WAIT), 10.0


class WaitsForTwo(PermitPlugin):
    """Lets pods wait until there are two."""

    name = "WaitsForTwo"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        waiting = list(self.handle.iterate_over_waiting_pods())
        if not waiting:
            return Status(Code.WAIT), 10.0
        for other in waiting:
            other.allow(self.name)
        return SUCCESS, 0.0


def permitting(plugin: type[Plugin]) -> dict[str, Any]:
    profile = {"schedulerName": "default-scheduler", "plugins": {"permit": {"enabled": [{"name": plugin.name}]}}}
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}


def test_a_pod_that_waits_is_allowed_by_the_next_one() -> None:
    pods = [make_pod(name, requests={"cpu": "1"}) for name in "ab"]
    simulation = simulate(small(), *pods, plugins={WaitsForTwo.name: WaitsForTwo}, config=permitting(WaitsForTwo))
    first = next(iter(simulation))
    assert first.waits
    assert places(simulation)["a"] == "n1", "it counts on its node while it waits"
    assert [entry.pod for entry in simulation.timeline if entry.event is TimelineEvent.SCHEDULED] == []
    for _ in simulation:
        pass
    scheduled = [entry.pod for entry in simulation.timeline if entry.event is TimelineEvent.SCHEDULED]
    assert sorted(scheduled) == ["default/a", "default/b"]


def test_a_pod_that_waits_too_long_goes_back_to_the_queue() -> None:
    simulation = simulate(small(), make_pod("a"), plugins={Waits.name: Waits}, config=permitting(Waits))
    attempts = [next(iter(simulation))]
    assert attempts[0].waits
    simulation.clock.advance(11)
    simulation.scheduler.waiting_pods.due(simulation.clock.now())
    simulation._settle_waiting()
    assert places(simulation)["a"] == ""
    said = [entry.why for entry in simulation.timeline if entry.event is TimelineEvent.FAILED]
    assert said == ["0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Waits."]


def test_a_claim_that_waits_for_its_first_consumer_is_bound_for_the_next_pod() -> None:
    nodes = [make_node("n1", zone="z1"), make_node("n2", zone="z2")]
    objects = [
        make_storage_class("late", provisioner="kubernetes.io/no-provisioner"),
        make_claim("data"),
        make_volume("v", affinity={"topology.kubernetes.io/zone": ["z2"]}),
    ]
    cluster = make_cluster(nodes, [], *objects)
    pods = [make_pod(name, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]) for name in "ab"]
    simulation = simulate(cluster, *pods)
    assert told(simulation) == ["a>n2", "b>n2"]
    claim = simulation.cluster.get(PersistentVolumeClaim, "data", "default")
    assert claim is not None
    assert claim.spec.volume_name == "v"
    volume = simulation.cluster.get(PersistentVolume, "v")
    assert volume is not None
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.name == "data"


def test_a_volume_is_provisioned_where_its_first_pod_goes() -> None:
    nodes = [make_node(name, labels={"rack": name}) for name in ("n1", "n2")]
    data = {"drivers": [{"name": "csi.example.com", "topologyKeys": ["rack"]}]}
    csi_nodes = [make_object(CSINode, name, spec=data) for name in ("n1", "n2")]
    cluster = make_cluster(nodes, [], make_storage_class("late"), make_claim("data"), *csi_nodes)
    pods = [make_pod(name, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]) for name in "abc"]
    assert told(simulate(cluster, *pods)) == ["a>n1", "b>n1", "c>n1"]


@pytest.mark.parametrize("version", RELEASES)
def test_a_pod_that_fits_nowhere_is_not_tried_for_ever(version: str) -> None:
    simulation = simulate(small(), make_pod("a", requests={"cpu": "5"}), release=RELEASES[version])
    assert told(simulation) == ["a!"]


def test_a_pod_that_evicts_others_again_and_again_is_given_up() -> None:
    """A replacement takes the place back while the pod backs off; in a cluster that goes on for ever."""
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "b"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spread = {
        "topologyKey": ZONE,
        "maxSkew": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    victim = make_pod(
        "victim",
        labels={"app": "b"},
        node="a",
        priority=10,
        owner=("apps/v1", "ReplicaSet", "some"),
        topologySpreadConstraints=[spread],
    )
    evicting = make_pod(
        "evicting", labels={"app": "a"}, priority=20, affinity=apart, topologySpreadConstraints=[spread]
    )
    beside = make_pod(
        "beside", labels={"app": "b"}, requests={"cpu": "4"}, priority=20, affinity=apart, preemptionPolicy="Never"
    )
    nodes = [make_node("tainted", taints=["t:NoSchedule"]), make_node("a", zone="z1")]
    simulation = Simulation(Scheduler(make_cluster(nodes, [victim, evicting, beside])))
    simulation.enqueue_pending()
    attempts = list(simulation)
    assert simulation.restless == {"default/evicting"}
    assert len(attempts) < 200
    last = [one for one in attempts if one.pod == "default/evicting"][-1]
    assert last.message.endswith("; not retried: its victims are recreated before its next attempt")
    assert not last.victims


@pytest.mark.parametrize(
    ("node", "cpu"),
    [
        pytest.param("", "2", id="changed while pending, as by a what-if"),
        pytest.param("a", "1", id="resized while running"),
    ],
)
def test_the_pod_in_place_of_one_that_was_changed(node: str, cpu: str) -> None:
    pods = web(node, requests={"cpu": "2"})
    simulation = Simulation(Scheduler(make_cluster([make_node("a", cpu="3")], pods, *deployment(1))))
    simulation.enqueue_pending()
    list(simulation)
    simulation.create([make_pod("high", requests={"cpu": "3"}, priority=9)])
    list(simulation)
    (again,) = (pod for pod in map(simulation.cluster.pods.pod, range(2)) if pod.name != "high")
    assert again.spec.containers[0].resources.requests["cpu"] == cpu


ASPECTS = ("requests", "tolerations", "spread", "podAffinity", "ports")
SURROUNDINGS = [SCHEDULER_ALONE, World(), World(grace=False)]
MOST = 60


@given(
    world=strategies.worlds(*ASPECTS, of_nodes=("labels", "taints"), pending=5),
    priorities=st.lists(st.sampled_from([0, 0, 5, 9]), min_size=13, max_size=13),
    surroundings=st.sampled_from(SURROUNDINGS),
    seed=st.integers(0, 9),
)
@settings(max_examples=scaled(40))
def test_simulations_keep_the_rules(world: Objects, priorities: list[int], surroundings: World, seed: int) -> None:
    """A pod is placed only where it fits and scores highest, no pod is skipped, and no node is overcommitted."""
    pods = [
        replace(pod, spec=replace(pod.spec, priority=priority))
        for pod, priority in zip(world.pods, priorities, strict=False)
    ]
    scheduler = Scheduler(make_cluster(world.nodes, pods, *world.namespaces))
    simulation = Simulation(scheduler, choose=TieBreak(seed).choose(), world=surroundings)
    simulation.enqueue_pending()
    bound: set[str] = set()
    full = overfull(scheduler)
    for attempt in islice(simulation, MOST):
        decision = attempt.decision
        anew = decided_anew(simulation, decision)
        assert (decision.best, decision.message, decision.error) == (anew.best, anew.message, anew.error)
        if attempt.node:
            assert attempt.node in anew.best
            assert attempt.pod not in bound
            bound.add(attempt.pod)
        if attempt.victims:
            assert not anew.best
            own = decision.pod.spec.priority or 0
            there = decision.cluster.pods
            index = {there.key(i): i for i in range(len(there))}
            assert all(there.priority[index[victim]] < own for victim in attempt.victims)
        # A node that held too much from the start may go on to.
        assert overfull(simulation.scheduler) <= full


def decided_anew(simulation: Simulation, decision: Decision) -> Decision:
    """Return the decision over a cluster built from the objects of the decision's cluster."""
    objects = [obj for obj, _ in ClusterReader(decision.cluster, ReadSummary())]
    return Scheduler(make_cluster([], [], *objects), simulation.scheduler.release).decide(decision.pod)


def overfull(scheduler: Scheduler) -> set[tuple[str, str]]:
    """Return the nodes whose pods request more than is allocatable, with the resource."""
    columns = scheduler.cluster.resources(RequestRules.of(LATEST))
    names = scheduler.cluster.nodes.names
    return {
        (names[row], resource)
        for resource, index in columns.index.items()
        for row in range(len(names))
        if columns.requested[index, row] > columns.allocatable[index, row]
    }


def test_a_pod_that_an_extender_turned_away_is_tried_again_after_any_event() -> None:
    """The extender rejects the second pod until the first pod is placed."""
    taken: list[str] = []

    def answer(about: Any) -> Any:
        name = about["Pod"]["metadata"]["name"]
        if name == "second" and not taken:
            return {"FailedNodes": {"node": "not before the first"}}
        taken.append(name)
        return {"NodeNames": about["NodeNames"]}

    with ExtenderServer({"filter": answer}) as server:
        own = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
        simulation = Simulation(make_scheduler([make_node()], own))
        simulation.create([make_pod("second"), make_pod("first")])
        attempts = [(each.pod, each.node, each.message) for each in simulation]
    refused = "0/1 nodes are available: 1 not before the first."
    no_help = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert attempts == [
        ("default/second", "", f"{refused} {no_help}"),
        ("default/first", "node", ""),
        ("default/second", "node", ""),
    ]


def test_pods_are_not_placed_together_where_extenders_have_a_say() -> None:
    with ExtenderServer({"filter": lambda about: {"NodeNames": about["NodeNames"]}}) as server:
        own = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
        simulation = Simulation(make_scheduler([make_node("a"), make_node("b")], own))
        simulation.create([make_pod(f"web-{i}") for i in range(3)])
        placed = [attempt.node for attempt in simulation]
        assert all(asked.about["NodeNames"] == ["a", "b"] for asked in server.asked)
    assert (len(placed), len(server.asked)) == (3, 3)
