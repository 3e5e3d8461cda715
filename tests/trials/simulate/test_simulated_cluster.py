"""Pods that are being deleted in the snapshot: when they go, who takes their place, and who stays."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.common.clock import VirtualClock
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE, World
from tests.builders import make_cluster, make_node, make_object, make_pod

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
EVICTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
FULL = {"cpu": "4"}


def ending(name: str, ends: int, **fields: Any) -> Pod:
    """A pod of n1 whose deletion ends some seconds after noon."""
    pod = make_pod(name, requests=FULL, node="n1", terminating=True, status=EVICTED, **fields)
    at = datetime.fromtimestamp(NOON.timestamp() + ends, UTC)
    return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=at))


def told(*pods: Pod, sets: Iterable[StatefulSet] = (), world: World | None = None, **status: Any) -> list[str]:
    """The attempts from noon on: ``SECONDS pod>node``, without a node if the pod stays pending."""
    cluster = make_cluster([make_node("n1", **status)], pods, *sets)
    simulation = Simulation(Scheduler(cluster), clock=VirtualClock(NOON.timestamp()), world=world)
    simulation.enqueue_pending()
    lines = []
    for attempt in simulation:
        passed = int((attempt.time - NOON).total_seconds())
        lines.append(f"{passed} {attempt.pod.removeprefix('default/')}>{attempt.node}")
    return lines


def waiting(name: str = "urgent") -> Pod:
    return make_pod(name, requests=FULL, priority=10, nominated="n1")


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        pytest.param(-60, ["0 urgent>n1"], id="the deadline has passed: gone before the first cycle"),
        pytest.param(25, ["0 urgent>", "25 urgent>n1"], id="the deadline passes: gone then, which wakes the pod"),
    ],
)
def test_a_nominated_pod_is_placed_once_its_victim_is_gone(ends: int, expected: list[str]) -> None:
    assert told(ending("victim", ends), waiting()) == expected


def test_a_replica_set_has_replaced_the_pod_already() -> None:
    victim = ending("web-1", -60, owner=("apps/v1", "ReplicaSet", "web"))
    assert told(victim, waiting()) == ["0 urgent>n1"]


STATEFUL = ("apps/v1", "StatefulSet", "db")


def stateful_set(name: str, replicas: int) -> StatefulSet:
    selector = {"matchLabels": {"app": name}}
    return make_object(StatefulSet, name, namespace="default", spec={"replicas": replicas, "selector": selector})


@pytest.mark.parametrize(
    ("sets", "again"),
    [
        pytest.param([stateful_set("db", 2)], True, id="wanted"),
        pytest.param([stateful_set("db", 1)], False, id="scaled down"),
        pytest.param([stateful_set("other", 2)], False, id="the set is gone"),
        pytest.param([], True, id="the snapshot has no sets"),
    ],
)
def test_a_stateful_set_recreates_its_pod_if_it_wants_it(sets: list[StatefulSet], again: bool) -> None:
    victim = ending("db-1", 5, owner=STATEFUL)
    assert told(victim, sets=sets) == (["5 db-1>n1"] if again else [])


def test_pods_stay_on_a_node_whose_kubelet_does_not_answer() -> None:
    silent = [{"type": "Ready", "status": "Unknown"}]
    assert told(ending("victim", -60), waiting(), conditions=silent) == ["0 urgent>"]


def test_without_grace_periods_nobody_ends_pods() -> None:
    assert told(ending("victim", -60), waiting(), world=SCHEDULER_ALONE) == ["0 urgent>"]


def test_an_evicted_pod_gets_the_end_of_its_grace_period_as_deletion_time() -> None:
    pod = make_pod("low", node="n1", terminationGracePeriodSeconds=30)
    cluster = make_cluster([make_node("n1")], [pod])
    simulation = Simulation(Scheduler(cluster), clock=VirtualClock(NOON.timestamp()))
    simulation.delete(pod, preempted=True)
    ends = simulation.cluster.pods.records[0].metadata.deletion_timestamp
    assert ends is not None
    assert (ends - NOON).total_seconds() == 30


def test_times_beyond_the_calendar_do_not_end_the_simulation() -> None:
    never = replace(
        ending("never", 0),
        metadata=replace(ending("never", 0).metadata, deletion_timestamp=datetime(9999, 12, 31, 23, 59, tzinfo=UTC)),
    )
    assert told(never, waiting()) == ["0 urgent>"]


@pytest.mark.parametrize("taken", [NOON, datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_a_grace_period_without_end_counts_as_a_year(taken: datetime) -> None:
    low = make_pod("low", requests=FULL, node="n1", terminationGracePeriodSeconds=2**62)
    builder = ClusterBuilder()
    for obj in (make_node("n1"), low, make_pod("urgent", requests=FULL, priority=10)):
        builder.add(obj)
    simulation = Simulation(Scheduler(builder.build(taken_at=taken)))
    simulation.enqueue_pending()
    *_, last = simulation
    assert last.node == "n1"
    assert (last.time - simulation.began).days == 366
