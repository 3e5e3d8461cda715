from typing import Any

import msgspec
import pytest
from kschedctl_example_plugins.gang import POD_GROUP_LABEL, Gang, GangArgs, PodGroup

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.testing.contract import ContractCheck, plugin_checks
from kschedctl.trials.simulate.simulation import Simulation

ARGS = GangArgs((PodGroup("two", min_member=2), PodGroup("three", min_member=3)))


@pytest.mark.parametrize("check", plugin_checks(Gang, args=ARGS), ids=str)
def test_contract(check: ContractCheck) -> None:
    check()


def make_node(name: str, cpu: int) -> Node:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": 110}
    return msgspec.convert({"metadata": {"name": name}, "status": {"allocatable": allocatable}}, Node)


def make_pod(name: str, group: str = "", node: str = "", **metadata: Any) -> Pod:
    """Return a pod that requests one CPU."""
    labels = {POD_GROUP_LABEL: group} if group else {}
    containers = [{"name": "c", "resources": {"requests": {"cpu": 1}}}]
    own = {"name": name, "namespace": "default", "uid": name, "labels": labels, **metadata}
    return default_pod(msgspec.convert({"metadata": own, "spec": {"containers": containers, "nodeName": node}}, Pod))


def simulate(*pods: Pod, cpu: int = 4, there: tuple[Pod, ...] = (), **args: Any) -> Simulation:
    """Return a simulation of the pods on a cluster with one node."""
    registry = in_tree_registry()
    registry.register(Gang.name, Gang)
    groups = [{"name": "two", "minMember": 2}, {"name": "three", "minMember": 3}]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "Gang"}]}},
                "pluginConfig": [{"name": "Gang", "args": {"podGroups": groups, **args}}],
            }
        ],
    }
    points = registry.extension_points(LATEST)
    loaded = load_configuration(config, release=LATEST, implements=points, args_types=registry.args_types)
    builder = ClusterBuilder()
    for obj in (make_node("n", cpu), *there):
        builder.add(obj)
    simulation = Simulation(Scheduler(builder.build(), LATEST, loaded, registry))
    simulation.create(pods)
    return simulation


def told(simulation: Simulation) -> list[str]:
    """Run the simulation; return the second, the event's letter (Waiting, Scheduled, Failed) and the pod per event."""
    for _ in simulation:
        pass
    return [
        f"{(entry.time - simulation.began).seconds} {entry.event[0]} {entry.pod.removeprefix('default/')}"
        for entry in simulation.timeline
        if entry.event[0] != "C"
    ]


def reasons(simulation: Simulation) -> list[str]:
    return [entry.why.partition(" available: ")[2] for entry in simulation.timeline if entry.event[0] == "F"]


def test_the_last_of_a_gang_lets_all_go() -> None:
    pods = [make_pod(f"t{i}", "three") for i in range(3)]
    assert told(simulate(*pods)) == ["0 W t0", "0 W t1", "0 S t2", "0 S t0", "0 S t1"]


def test_a_pod_without_a_group_does_not_wait() -> None:
    assert told(simulate(make_pod("web"))) == ["0 S web"]


def test_pods_that_run_already_count() -> None:
    assert told(simulate(make_pod("t1", "two"), there=(make_pod("t0", "two", node="n"),))) == ["0 S t1"]


def test_gangs_do_not_count_for_each_other() -> None:
    pods = [make_pod("a0", "two"), make_pod("b0", "three"), make_pod("b1", "three"), make_pod("a1", "two")]
    pods.append(make_pod("b2", "three"))
    found = told(simulate(*pods, cpu=5))
    assert found == ["0 W a0", "0 W b0", "0 W b1", "0 S a1", "0 S a0", "0 S b2", "0 S b0", "0 S b1"]


def test_who_waits_too_long_takes_the_others_along() -> None:
    simulation = simulate(*(make_pod(f"t{i}", "three") for i in range(3)), cpu=2, permitWaitingTimeSeconds=10)
    assert told(simulation)[:5] == ["0 W t0", "0 W t1", "0 F t2", "10 F t0", "10 F t1"]
    assert reasons(simulation)[1:3] == [
        "1 rejected due to timeout after waiting 10s at plugin Gang.",
        "1 default/t0 of its pod group was turned away.",
    ]
    assert not (simulation.cluster.pods.node_row >= 0).any()


def test_it_starts_once_there_is_room() -> None:
    web = make_pod("web", node="n")
    simulation = simulate(*(make_pod(f"t{i}", "three") for i in range(3)), there=(web,), cpu=3)
    simulation.clock.schedule(simulation.clock.now() + 20, lambda: simulation.remove(web))
    assert told(simulation)[-3:] == ["20 S t2", "20 S t0", "20 S t1"]


def test_a_group_that_is_not_configured_takes_no_place() -> None:
    simulation = simulate(make_pod("t0", "none"))
    assert told(simulation)[0] == "0 F t0"
    assert reasons(simulation)[0].startswith("pod group none is not configured. ")


def test_a_member_that_arrives_later_completes_it() -> None:
    simulation = simulate(make_pod("t0", "two"))
    later = make_pod("t1", "two")
    simulation.clock.schedule(simulation.clock.now() + 30, lambda: simulation.create([later]))
    assert told(simulation) == ["0 W t0", "30 S t1", "30 S t0"]
