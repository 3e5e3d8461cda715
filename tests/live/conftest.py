"""Fixtures for tests on a control plane: one control plane for all, and a cluster scheduled by kube-scheduler."""

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from tests.live.control_plane import ASSETS, ControlPlane, missing_assets

T = TypeVar("T")

_SECONDS = 60.0
_NO_CONTROL_PLANE = "no control plane to test against"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report at the end that live tests were skipped: a skipped test alone is easily overlooked."""
    missing = missing_assets()
    skipped = terminalreporter.stats.get("skipped", ())
    if missing and any(_NO_CONTROL_PLANE in str(report.longrepr) for report in skipped):
        text = f"the tests against a real control plane were skipped: {missing}"
        terminalreporter.write_line(f"{text} (set {ASSETS} to a folder with the binaries)", yellow=True, bold=True)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start etcd and an API server, without a scheduler."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"{_NO_CONTROL_PLANE}: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("control-plane"))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def scheduled(control_plane: ControlPlane) -> ControlPlane:
    """Return a cluster on which the real scheduler and controllers have done all that they can.

    The cluster has three nodes in two zones, one of them tainted. Some pods fit, others fit nowhere for various
    reasons; some have claims, priorities or another scheduler.
    """
    control_plane.start_controllers()
    control_plane.create_nodes(
        [
            node("red-1", zone="red", cpu="2"),
            node("red-2", zone="red", cpu="2", taints=[{"key": "team", "value": "db", "effect": "NoSchedule"}]),
            node("blue-1", zone="blue", cpu="4"),
        ]
    )
    control_plane.create(OBJECTS)
    wait_for(
        lambda: any(claim["status"].get("phase") == "Bound" for claim in control_plane.get("pvc")), "a bound claim"
    )
    control_plane.create(PODS)
    control_plane.start_scheduler()
    wait_for(lambda: all(map(is_settled, control_plane.get("pods"))), "the scheduler to have tried all pods")
    return control_plane


def is_settled(pod: dict[str, Any]) -> bool:
    """Report whether the scheduler has decided about a pod, or is not responsible for the pod."""
    conditions = [c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled"]
    return pod["spec"]["schedulerName"] != "default-scheduler" or any(
        c.get("reason") or c["status"] == "True" for c in conditions
    )


def wait_for(what: Callable[[], bool], name: str) -> None:
    """Wait up to 60 seconds until a condition holds."""
    until = time.monotonic() + _SECONDS
    while not what():
        assert time.monotonic() < until, f"waited in vain for {name}"
        time.sleep(0.25)


def settled(read: Callable[[], T], accept: Callable[[T], bool]) -> T:
    """Return what is read as soon as it is accepted, or what was read last after 60 seconds: then assert on it."""
    until = time.monotonic() + _SECONDS
    while not accept(found := read()) and time.monotonic() < until:
        time.sleep(0.25)
    return found


def node(name: str, *, zone: str, cpu: str, taints: Any = ()) -> dict[str, Any]:
    resources = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": list(taints)},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "nodeInfo": {"kubeletVersion": "v1.36.3"} | dict.fromkeys(_NODE_INFO, ""),
        },
    }


_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def pod(name: str, *, cpu: str = "100m", labels: Any = None, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "registry.example.com/app:1",
        "env": [{"name": "PASSWORD", "value": "environment-secret"}],
        "args": ["--argument-secret"],
        "command": ["/command-secret"],
        "resources": {"requests": {"cpu": cpu}},
    }
    metadata = {"name": name, "namespace": "shop", "labels": labels or {}, "annotations": {"note": "annotation-secret"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def claim_volume(claim: str) -> list[dict[str, Any]]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


def _spread(app: str) -> list[dict[str, Any]]:
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    return [{**constraint, "labelSelector": {"matchLabels": {"app": app}}}]


OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000},
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "secret", "namespace": "shop"},
        "stringData": {"password": "content-of-a-secret"},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "local": {"path": "/data"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["red-1"]}]}
                    ]
                }
            },
        },
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
]

PODS: list[dict[str, Any]] = [
    pod("fits", cpu="500m", labels={"app": "web"}),
    pod("with-claim", cpu="1", volumes=claim_volume("data")),
    pod("without-claim", volumes=claim_volume("nowhere")),
    pod("tolerates", cpu="1500m", tolerations=[{"key": "team", "operator": "Equal", "value": "db"}]),
    pod("too-large", cpu="64"),
    pod(
        "too-large-and-urgent",
        cpu="3900m",
        priorityClassName="urgent",
        nodeSelector={"topology.kubernetes.io/zone": "red"},
    ),
    pod("elsewhere", nodeSelector={"topology.kubernetes.io/zone": "green"}),
    pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
    pod("of-another", schedulerName="another-scheduler"),
    *(pod(f"spread-{i}", labels={"app": "spread"}, topologySpreadConstraints=_spread("spread")) for i in range(4)),
]


@pytest.fixture(autouse=True)
def _no_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSCHEDCTL_SNAPSHOT", raising=False)
