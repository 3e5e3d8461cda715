"""Draining nodes: kubectl's refusals, budgets that hold it up or block it, and rolling upgrades."""

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.placed_pods import pod_at, pods_on
from kschedctl.controllers.disruption import SEVERAL, VIOLATES
from kschedctl.controllers.workloads.template import generated_name
from kschedctl.objects.meta import ApiObject, OwnerReference
from kschedctl.objects.pod import Pod, PodStatus
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.alike_pods import AlikePods, Rejection
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.drain import (
    DAEMON_SET,
    LOCAL_STORAGE,
    UNMANAGED,
    DrainedNode,
    DrainOptions,
    drain,
    surge_nodes,
)
from kschedctl.trials.simulate.simulated_cluster import SimulatedCluster
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import GeneratedNames
from tests.builders import make_cluster, make_node, make_object, make_pod
from tests.example_counts import scaled
from tests.scheduler.cycle.test_alike_members import CONFIGS, busy_nodes, scheduler_of
from tests.scheduler.cycle.test_moved import objects
from tests.scheduler.devices import builders as devices
from tests.scheduler.preemption.small_clusters import budget
from tests.trials.simulate.test_alike_pods import related_pods, replicas, told

RS = ("apps/v1", "ReplicaSet", "web")
DS = ("apps/v1", "DaemonSet", "agent")
STATEFUL = ("apps/v1", "StatefulSet", "db")
LOCAL = [{"name": "scratch", "emptyDir": {}}]
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}


def web(name: str = "web-1", node: str = "n1", cpu: str = "1", **settings: Any) -> Pod:
    settings = {"owner": RS, "status": {"phase": "Running"}, **settings}
    return make_pod(name, node=node, labels={"app": "web"}, requests={"cpu": cpu}, **settings)


def drained(
    pods: list[Pod], *objects: PodDisruptionBudget, names: tuple[str, ...] = ("n1",), n: int = 2, **options: Any
) -> tuple[list[DrainedNode], Simulation]:
    surge = options.pop("surge", 0)
    cluster = make_cluster([make_node(f"n{i + 1}", cpu="2") for i in range(n)], pods, *objects)
    simulation = Simulation(Scheduler(cluster))
    steps = drain(simulation, names, DrainOptions(**options), surge_nodes(cluster.nodes.objects[0], surge))
    return [step for step in steps if isinstance(step, DrainedNode)], simulation


@pytest.mark.parametrize(
    ("pod", "flag", "refusal"),
    [
        pytest.param(make_pod("bare", node="n1"), "force", UNMANAGED, id="a pod without a controller"),
        pytest.param(web(volumes=LOCAL), "delete_emptydir_data", LOCAL_STORAGE, id="an emptyDir"),
    ],
)
def test_flags_let_pods_go_that_stop_a_drain_without_them(pod: Pod, flag: str, refusal: str) -> None:
    (node,), _ = drained([pod, web("web-2")])
    assert node.refusals == {refusal: [pod.key]}
    assert not node.evicted
    options: dict[str, Any] = {flag: True}
    (node,), _ = drained([pod, web("web-2")], **options)
    assert (node.refusals, len(node.evicted)) == ({}, 2)


def test_pods_of_daemon_sets_stop_it_or_stay() -> None:
    pods = [make_pod("agent-1", node="n1", owner=DS), web()]
    (node,), _ = drained(pods)
    assert node.refusals == {DAEMON_SET: ["default/agent-1"]}
    (node,), simulation = drained(pods, ignore_daemonsets=True)
    assert node.passed_over == ["default/agent-1"]
    assert [pod.name for pod in pods_on(simulation.cluster, "n1")] == ["agent-1"]


def test_of_several_refusals_a_pod_has_the_first() -> None:
    (node,), _ = drained([make_pod("bare", node="n1", volumes=LOCAL)])
    assert list(node.refusals) == [LOCAL_STORAGE]


def test_pods_go_where_they_fit_and_wait_where_they_do_not() -> None:
    (node,), simulation = drained([web("web-1"), web("web-2"), web("web-3", node="n2")])
    assert node.drained
    assert len(pods_on(simulation.cluster, "n2")) == 2
    assert len(simulation.queue.unschedulable) == 1


@pytest.mark.parametrize(
    ("budgets", "said"),
    [
        pytest.param([budget("pdb", "web", 0, currentHealthy=1, desiredHealthy=1)], VIOLATES, id="none allowed"),
        pytest.param([budget("a", "web", 1), budget("b", "web", 1)], SEVERAL, id="two budgets"),
    ],
)
def test_budgets_block_for_ever(budgets: list[PodDisruptionBudget], said: str) -> None:
    (node,), simulation = drained([web()], *budgets)
    assert node.blocked["default/web-1"].startswith(said)
    assert not node.drained
    assert [pod.name for pod in pods_on(simulation.cluster, "n1")] == ["web-1"]
    (node,), _ = drained([web()], *budgets, disable_eviction=True)
    assert node.drained


def test_budgets_hold_it_up_until_replacements_run() -> None:
    pdb = budget("pdb", "web", 1, currentHealthy=2, desiredHealthy=1)
    (node,), simulation = drained([web("web-1"), web("web-2")], pdb)
    assert node.drained
    assert node.waited == {"default/pdb": 5.0}
    assert node.seconds >= 5
    assert len(pods_on(simulation.cluster, "n2")) == 2


@pytest.mark.parametrize(
    ("grace", "seconds"), [(-(10**18), 5), (-1, 5), (0, 0), (1, 5), (30, 30), (31, 35), (10**9, 366 * 86_400)]
)
def test_time_leaps_to_the_end_of_a_grace_period(grace: int, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[float] = []

    def counted(simulation: Simulation, seconds: float) -> Iterator[Attempt]:
        steps.append(seconds)
        return run_for(simulation, seconds)

    run_for = Simulation.run_for
    monkeypatch.setattr(Simulation, "run_for", counted)
    (node,), _ = drained([web(terminationGracePeriodSeconds=grace)])
    assert node.drained
    # Attempts take time, too.
    assert seconds <= node.seconds < seconds + 5.1
    assert len(steps) <= 2


@pytest.mark.parametrize("grace", [1, 31, 600])
def test_leaps_end_where_single_retries_do(grace: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pods = [web("web-1"), web("web-2", terminationGracePeriodSeconds=grace), make_pod("other", node="n2")]
    pdb = budget("pdb", "web", 1, currentHealthy=2, desiredHealthy=1)
    found = drained(pods, pdb)
    monkeypatch.setattr(Simulation, "periods", lambda *_: 1)
    step_by_step = drained(pods, pdb)
    assert found[0] == step_by_step[0]
    assert found[1].timeline == step_by_step[1].timeline


def test_a_budget_with_an_empty_selector_is_about_all_pods_of_the_namespace() -> None:
    status = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    pdb = make_object(PodDisruptionBudget, "pdb", namespace="default", spec={"selector": {}}, status=status)
    (node,), _ = drained([web("web-1"), web("web-2")], pdb)
    assert node.drained
    assert node.waited == {"default/pdb": 5.0}


@pytest.mark.parametrize(
    ("policy", "current", "goes"),
    [("IfHealthyBudget", 1, True), ("IfHealthyBudget", 0, False), ("AlwaysAllow", 0, True)],
)
def test_pods_that_are_not_ready_go_by_the_policy(policy: str, current: int, *, goes: bool) -> None:
    pdb = make_object(
        PodDisruptionBudget,
        "pdb",
        namespace="default",
        spec={"selector": {"matchLabels": {"app": "web"}}, "unhealthyPodEvictionPolicy": policy},
        status={"disruptionsAllowed": 0, "currentHealthy": current, "desiredHealthy": 1},
    )
    (node,), _ = drained([web(status=UNREADY)], pdb)
    assert node.drained is goes


def test_a_stateful_pod_comes_back_under_its_name_once_it_is_gone() -> None:
    pod = web("db-0", owner=STATEFUL, terminationGracePeriodSeconds=60)
    (node,), simulation = drained([pod])
    assert node.seconds >= 60
    assert [p.name for p in pods_on(simulation.cluster, "n2")] == ["db-0"]


def test_all_nodes_are_cordoned_first_but_not_where_they_come_back() -> None:
    pods = [web("web-1", cpu="2"), web("web-2", node="n2", cpu="2")]
    _, simulation = drained(pods, names=("n1", "n2"), n=3)
    assert len(simulation.queue.unschedulable) == 1
    nodes, simulation = drained(pods, names=("n1", "n2"), n=3, rolling=True)
    assert all(node.drained for node in nodes)
    assert len(simulation.queue.unschedulable) == 0
    assert not any(node.spec.unschedulable for node in simulation.cluster.nodes.objects)


def test_a_rolling_drain_ends_where_a_node_cannot_be_drained() -> None:
    pods = [web("web-1"), web("web-2", node="n2")]
    pdb = budget("pdb", "web", 0, currentHealthy=2, desiredHealthy=2)
    nodes, _ = drained(pods, pdb, names=("n1", "n2"), n=3, rolling=True)
    assert [(node.node, node.drained) for node in nodes] == [("n1", False)]
    nodes, _ = drained(pods, pdb, names=("n1", "n2"), n=3)
    assert [node.node for node in nodes] == ["n1", "n2"]


def test_surge_nodes_take_what_the_others_cannot() -> None:
    pods = [web("web-1", cpu="2"), web("web-2", node="n2", cpu="2")]
    _, simulation = drained(pods)
    assert len(simulation.queue.unschedulable) == 1
    (node,), simulation = drained(pods, surge=1)
    assert node.drained
    assert len(pods_on(simulation.cluster, "n1-surge-1")) == 1
    assert simulation.cluster.nodes.objects[-1].metadata.labels["kubernetes.io/hostname"] == "n1-surge-1"


def first_free(names: GeneratedNames, namespace: str, prefix: str, is_taken: Callable[[str], bool]) -> str:
    return next(name for name in (generated_name(prefix, number) for number in count()) if not is_taken(name))


def followed(scheduler: Scheduler, names: list[str], options: DrainOptions) -> dict[str, Any]:
    """All that is said of a drain."""
    simulation = Simulation(scheduler)
    attempts: list[Attempt] = []
    nodes: list[DrainedNode] = []
    for step in islice(drain(simulation, names, options), 80):
        (nodes if isinstance(step, DrainedNode) else attempts).append(step)  # type: ignore[arg-type]
    pods = [pod_at(simulation.cluster, index) for index in range(len(simulation.cluster.pods))]
    budgets = list(simulation.cluster.list(PodDisruptionBudget))
    return {**told(simulation, attempts), "nodes": nodes, "pods": pods, "budgets": budgets}


@given(data=st.data(), version=st.sampled_from(sorted(RELEASES)))
@settings(max_examples=scaled(100))
def test_nodes_are_drained_as_with_a_change_and_a_cycle_for_each_pod(data: st.DataObject, version: str) -> None:
    draw = data.draw
    made, running, kinds = draw(busy_nodes())
    if draw(st.booleans()):
        kinds += [draw(related_pods(f"related-{i}")) for i in range(draw(st.integers(1, 2)))]
    owners = st.sampled_from(["ReplicaSet", "ReplicaSet", "ReplicaSet", "Job", "StatefulSet", "DaemonSet"])
    names = [node.name for node in made]
    for number, kind in enumerate(kinds):
        owner = OwnerReference(api_version="apps/v1", kind=draw(owners), name=kind.name, uid="owner", controller=True)
        spec = replace(kind.spec, termination_grace_period_seconds=draw(st.sampled_from([0, 1, 30])))
        for pod in replicas(kind, draw(st.integers(1, 8)), f"web-{number}"):
            metadata = replace(pod.metadata, owner_references=(owner,))
            placed = replace(spec, node_name=draw(st.sampled_from(names[:2])))
            running.append(replace(pod, metadata=metadata, spec=placed, status=PodStatus(phase="Running")))
    others: list[ApiObject] = []
    if draw(st.booleans()):
        others += [*objects(), devices.make_claim("gpu-claim", devices.request())]
    if draw(st.integers(0, 2)) == 0:
        others.append(budget("guard", draw(st.sampled_from(["a", "b"])), draw(st.integers(0, 2))))
    scheduler = scheduler_of(
        make_cluster(made, running, *others), draw(st.sampled_from(sorted(CONFIGS))), RELEASES[version]
    )
    options = DrainOptions(ignore_daemonsets=True, force=True, delete_emptydir_data=True, rolling=draw(st.booleans()))
    ours = followed(scheduler, names[:2], options)
    with (
        patch.object(AlikePods, "search", lambda alike, scheduler, pod: None),
        patch.object(Rejection, "of_alike", lambda rejection, scheduler, pod: None),
        patch.object(SimulatedCluster, "_evict_together", lambda simulation, pods: False),
        patch.object(SimulatedCluster, "_remove_later", lambda simulation, pod: False),
        patch.object(GeneratedNames, "free", first_free),
    ):
        theirs = followed(scheduler.moved(scheduler.cluster), names[:2], options)
    for what, said in theirs.items():
        assert ours[what] == said, what
