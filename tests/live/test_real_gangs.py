"""Ten groups of pods under a real kube-scheduler: the same outcome and the same messages as in a simulation before."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pytest

from conformance.generate.groups_parts import APIS
from kschedctl.objects.pod_group import PodGroup
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.trials.simulate.simulation import Simulation
from tests.builders import load_engine
from tests.live.conftest import node, pod, settled
from tests.live.control_plane import ControlPlane, assets_release, missing_assets
from tests.objects.validation.groups import GATES

pytestmark = pytest.mark.live

BASIC: Final[dict[str, Any]] = {"schedulingPolicy": {"basic": {}}}
ZONE: Final = "topology.kubernetes.io/zone"
#: Each group has nodes of its own, so that none depends on another: CPUs per node, each in a zone of its own.
NODES: Final[dict[str, tuple[int, ...]]] = {
    "fits": (4,),
    "too-large": (4,),
    "too-few-pods": (4,),
    "basic": (4,),
    "no-zone": (4, 4),
    "one-zone": (2, 8),
    "preempts": (4,),
    "mixed": (4,),
    "no-group": (4,),
    "gated": (4,),
}
#: The specs of the groups; one does not exist.
GROUPS: Final[dict[str, dict[str, Any]]] = {
    "fits": {"min": 2},
    "too-large": {"min": 3},
    "too-few-pods": {"min": 4},
    "basic": BASIC,
    "no-zone": {"min": 3, "zone": True},
    "one-zone": {"min": 3, "zone": True},
    "preempts": {"min": 2, "priorityClassName": "urgent"},
    "mixed": {"min": 2},
    "gated": {"min": 2},
}
#: All members of the basic group fit: if one were left over, kube-scheduler would try it at once, with the group as it
#: was before the first attempt, and sometimes replace its condition "Scheduled".
CPU: Final = dict.fromkeys(NODES, "2") | {"fits": "1", "basic": "1"}
N_PODS: Final = dict.fromkeys(NODES, 3) | {"fits": 2, "preempts": 2, "mixed": 2}


def groups() -> list[dict[str, Any]]:
    made = []
    for name, given in GROUPS.items():
        spec = dict(given)
        if "min" in spec:
            spec["schedulingPolicy"] = {"gang": {"minCount": spec.pop("min")}}
        if spec.pop("zone", False):
            spec["schedulingConstraints"] = {"topology": [{"key": ZONE}]}
        metadata = {"name": name, "namespace": "shop"}
        api_version = APIS[assets_release()].version
        made.append({"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec})
    return made


def members() -> list[dict[str, Any]]:
    made = []
    for name, n_pods in N_PODS.items():
        for number in range(n_pods):
            spec: dict[str, Any] = {"nodeSelector": {"pool": name}, "schedulingGroup": {"podGroupName": name}}
            if name == "preempts" or (name == "mixed" and number):
                spec["priorityClassName"] = "urgent"
            if name == "gated" and not number:
                spec["schedulingGates"] = [{"name": "example.com/wait"}]
            made.append(pod(f"{name}-{number}", cpu=CPU[name], **spec))
    return made


def pool(name: str, number: int, cpu: int) -> dict[str, Any]:
    one = node(f"{name}-{number}", zone=f"{name}-{number}", cpu=str(cpu))
    one["metadata"]["labels"]["pool"] = name
    return one


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    if missing := missing_assets():
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("gangs"))
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}}
    running = pod("runs", cpu="2", nodeName="preempts-0", terminationGracePeriodSeconds=0)
    try:
        plane.start(gates(), "--runtime-config=api/all=true")
        plane.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, {**urgent, "value": 9}])
        plane.create_nodes([pool(name, i, cpu) for name, cpus in NODES.items() for i, cpu in enumerate(cpus)])
        plane.create([running, *groups(), *members()])
        yield plane
    finally:
        plane.stop()


def gates() -> str:
    return f"--feature-gates={','.join(f'{gate}=true' for gate in GATES[assets_release()])}"


def condition_of(status: Any) -> tuple[str, str, str, str] | None:
    """Return type, status, reason and message of the only condition."""
    found = [(each["type"], each["status"], each["reason"], each["message"]) for each in status.get("conditions", [])]
    assert len(found) <= 1
    return found[0] if found else None


def conditions(plane: ControlPlane) -> dict[str, tuple[str, str, str, str] | None]:
    found = plane.get("podgroups")
    return {group["metadata"]["name"]: condition_of(group.get("status", {})) for group in found}


def nodes_of(plane: ControlPlane) -> list[tuple[str, str]]:
    return [(each["metadata"]["name"], each["spec"].get("nodeName", "")) for each in plane.get("pods")]


def by_group(values: Iterable[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Count values of pods, such as nodes, by group: the name of a pod begins with that of its group."""
    return Counter((name.rpartition("-")[0], value) for name, value in values)


def messages_of(plane: ControlPlane) -> set[tuple[str, str]]:
    """Return the messages of all events by group: events are written a moment after the attempt they report."""
    return set(by_group((event["involvedObject"]["name"], event["message"]) for event in plane.get("events")))


def simulated(plane: ControlPlane) -> tuple[Simulation, list[tuple[str, str]]]:
    """Return a simulation after its end, and the messages of the attempts with the names of their pods."""
    simulation = load_engine(live=LiveContext(kubeconfig=str(plane.kubeconfig))).simulation()
    attempts = list(simulation)
    return simulation, [(each.pod.partition("/")[2], each.message) for each in attempts]


def test_ten_groups_end_as_simulated(plane: ControlPlane) -> None:
    simulation, messages = simulated(plane)
    cluster = simulation.cluster
    expected = {
        group.name: next(((c.type, c.status, c.reason, c.message) for c in group.status.conditions), None)
        for group in cluster.list(PodGroup)
    }
    outcomes = {name: found[1:3] if found is not None else None for name, found in expected.items()}
    mixed = {"1.36": ("True", "Scheduled"), "1.37": ("False", "SchedulerError"), "1.38": ("False", "PodGroupError")}
    assert outcomes == {
        "fits": ("True", "Scheduled"),
        "too-large": ("False", "Unschedulable"),
        "too-few-pods": None,
        "basic": ("True", "Scheduled"),
        "no-zone": ("False", "Unschedulable"),
        "one-zone": ("True", "Scheduled"),
        "preempts": ("True", "Scheduled"),
        "mixed": mixed[assets_release()],
        # A gated member holds back its whole group since 1.37.
        "gated": ("True", "Scheduled") if assets_release() == "1.36" else None,
    }
    plane.start_scheduler(gates())
    assert settled(lambda: conditions(plane), lambda found: found == expected) == expected
    # Pods that are created in one second are tried in any order, so members of a group are interchangeable.
    nodes = by_group((record.metadata.name, record.node_name) for record in cluster.pods.records)
    assert settled(lambda: by_group(nodes_of(plane)), lambda found: found == nodes) == nodes
    expected_messages = {each for each in by_group(messages) if each[1]}
    assert expected_messages <= settled(lambda: messages_of(plane), lambda found: expected_messages <= found)
