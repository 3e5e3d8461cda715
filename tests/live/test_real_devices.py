"""ResourceClaims on a real control plane: kschedctl finds the allocations of kube-scheduler.

A gate holds back each pod until kschedctl has decided, so that both see the same cluster.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kschedctl.objects.device import AllocationResult
from kschedctl.objects.quantity import parse_quantity
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.verify.answer import Match
from kschedctl.scheduler.devices.allocator import ClaimAllocation
from kschedctl.scheduler.plugins.dynamic_resources.binding import allocations_on
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.reader import LiveReader
from kschedctl.sources.snapshot.anonymize import anonymized
from kschedctl.sources.snapshot.capture import capture, write_capture
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import load_engine
from tests.live.conftest import is_settled, node, wait_for
from tests.live.control_plane import ControlPlane, missing_assets

pytestmark = pytest.mark.live

API = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
HOSTNAME = "kubernetes.io/hostname"
GATE = [{"name": "example.com/undecided"}]
ILL = {"key": f"{DRIVER}/ill", "effect": "NoSchedule"}


def gpu(name: str, memory: str, numa: int, **fields: Any) -> dict[str, Any]:
    attributes = {"numa": {"int": numa}, "model": {"string": "a100"}, "firmware": {"version": "1.10.0"}}
    return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": memory}}, **fields}


def resource_slice(name: str, *devices: Any, driver: str = DRIVER, slices: int = 1, **spec: Any) -> dict[str, Any]:
    pool = {"name": name, "generation": 1, "resourceSliceCount": slices}
    own = {"driver": driver, "pool": pool, "devices": list(devices), **spec}
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": own}


def device_class(name: str, *expressions: str, **spec: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    own = {"selectors": selectors, **spec}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": own}


def asked(of: str, count: int | None = 1, *expressions: str, **fields: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"deviceClassName": of, "count": count, "selectors": selectors, **fields}


def claim(name: str, *requests: dict[str, Any], constraints: Any = (), kind: str = "ResourceClaim") -> dict[str, Any]:
    spec: dict[str, Any] = {"devices": {"requests": list(requests), "constraints": list(constraints)}}
    if kind == "ResourceClaimTemplate":
        spec = {"spec": spec}
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": "ml"}, "spec": spec}


def exactly(of: str, count: int | None = 1, *expressions: str, name: str = "r", **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": asked(of, count, *expressions, **fields)}


def pod(name: str, *claims: str, template: str = "", requests: Any = None, **spec: Any) -> dict[str, Any]:
    entries = [{"name": f"c{i}", "resourceClaimName": own} for i, own in enumerate(claims)]
    entries += [{"name": "made", "resourceClaimTemplateName": template}] if template else []
    resources = {"requests": {"cpu": "10m", **(requests or {})}, "limits": requests or {}}
    uses = {"claims": [{"name": entry["name"]} for entry in entries]} if entries else {}
    container = {"name": "c", "image": "registry.example.com/app:1", "resources": {**resources, **uses}}
    own = {"containers": [container], "resourceClaims": entries, "schedulingGates": GATE, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml"}, "spec": own}


MEMORY = f'device.capacity["{DRIVER}"].memory'
OBJECTS: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "ml", "labels": {"resource.kubernetes.io/admin-access": "true"}},
    },
    device_class("gpu", f'device.driver == "{DRIVER}" && {MEMORY}.compareTo(quantity("1Gi")) >= 0'),
    device_class("nic", 'device.driver == "nic.example.com"'),
    device_class("disk", 'device.driver == "disk.example.com"'),
    device_class("slow", 'device.driver == "slow.example.com"'),
    device_class("fpga", 'device.driver == "fpga.example.com"', extendedResourceName="example.com/fpga"),
    resource_slice(
        "gpu-1",
        *(gpu(f"gpu-{i}", "40Gi", i % 2) for i in range(4)),
        gpu("ill", "80Gi", 0, taints=[ILL]),
        nodeName="gpu-1",
    ),
    resource_slice("gpu-2", gpu("gpu-0", "80Gi", 0), gpu("gpu-1", "80Gi", 1), nodeName="gpu-2"),
    resource_slice("half", gpu("gpu-0", "320Gi", 0), slices=2, nodeName="gpu-2"),
    resource_slice(
        "nics",
        {
            "name": "nic-0",
            "allowMultipleAllocations": True,
            "capacity": {
                "bandwidth": {
                    "value": "10Gi",
                    "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}},
                }
            },
        },
        driver="nic.example.com",
        allNodes=True,
    ),
    resource_slice(
        "disks",
        {"name": "disk-0"},
        driver="disk.example.com",
        nodeSelector={
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["blue"]}]}
            ]
        },
    ),
    resource_slice(
        "slow",
        {
            "name": "slow-0",
            "bindsToNode": True,
            "bindingConditions": ["example.com/attached"],
            "bindingFailureConditions": ["example.com/failed"],
        },
        driver="slow.example.com",
        allNodes=True,
    ),
    resource_slice("fpga-1", {"name": "f0"}, {"name": "f1"}, driver="fpga.example.com", nodeName="gpu-1"),
    claim(
        "pair",
        exactly("gpu", 2, f'device.attributes["{DRIVER}"].firmware.isGreaterThan(semver("1.9.0"))'),
        constraints=[{"matchAttribute": f"{DRIVER}/numa"}],
    ),
    claim("one", exactly("gpu"), kind="ResourceClaimTemplate"),
    claim("share", exactly("nic", capacity={"requests": {"bandwidth": "2500Mi"}})),
    claim("default-share", exactly("nic")),
    claim(
        "either",
        {
            "name": "r",
            "firstAvailable": [
                {"name": "huge", **asked("gpu", 1, f'{MEMORY}.compareTo(quantity("1Ti")) >= 0')},
                {"name": "large", **asked("gpu", 1, f'{MEMORY}.compareTo(quantity("80Gi")) >= 0')},
            ],
        },
    ),
    claim("ill", exactly("gpu", 1, f'{MEMORY} == quantity("80Gi")', tolerations=[{"operator": "Exists"}])),
    claim(
        "watch",
        exactly("gpu", allocationMode="All", count=None, adminAccess=True, tolerations=[{"operator": "Exists"}]),
    ),
    claim("disk", exactly("disk")),
    claim("slow", exactly("slow")),
    claim("many", exactly("gpu", 7)),
    claim("no-class", exactly("absent")),
    claim("no-key", exactly("nic", 1, 'device.attributes["nic.example.com"].speed > 1')),
    claim("different", exactly("nic", 1, name="a"), exactly("disk", 2, name="b")),
]
#: Pods that are bound, one after another, the claims that each has, and those that are allocated for it.
BOUND = {
    "pair": pod("pair", "pair"),
    "of-a-template": pod("of-a-template", template="one"),
    # Both on gpu-2, which the scheduler chooses at random, would leave no GPU of 80 GiB for "either".
    "another-of-a-template": pod("another-of-a-template", template="one", nodeSelector={HOSTNAME: "gpu-1"}),
    "share": pod("share", "share"),
    "default-share": pod("default-share", "default-share"),
    "same-share": pod("same-share", "share"),
    "either": pod("either", "either"),
    "tolerates": pod("tolerates", "ill"),
    "watches": pod("watches", "watch", nodeSelector={HOSTNAME: "gpu-1"}),
    "network-and-disk": pod("network-and-disk", "disk", "share"),
    "extended": pod("extended", requests={"example.com/fpga": "2"}),
}
#: Pods that fit nowhere.
WAITING = {
    "many": pod("many", "many"),
    "no-class": pod("no-class", "no-class"),
    "no-key": pod("no-key", "no-key"),
    "different": pod("different", "different"),
    "no-claim": pod("no-claim", "absent"),
    "elsewhere": pod("elsewhere", "disk", nodeSelector={HOSTNAME: "gpu-1"}),
    "extended-too-many": pod("extended-too-many", requests={"example.com/fpga": "3"}),
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a separate control plane, with nodes in two zones, devices and claims."""
    missing = missing_assets()
    if missing:
        pytest.skip(f"no control plane to test against: {missing}")
    plane = ControlPlane(tmp_path_factory.mktemp("devices"))
    try:
        plane.start()
        plane.start_controllers()
        plane.start_scheduler()
        zones = {"gpu-1": "red", "gpu-2": "red", "cpu-1": "blue"}
        plane.create_nodes([node(name, zone=zone, cpu="4") for name, zone in zones.items()])
        plane.create(OBJECTS)
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="module")
def decided(plane: ControlPlane) -> dict[str, tuple[dict[str, Any], tuple[ClaimAllocation, ...]]]:
    """Return per bound pod its node and claims, and kschedctl's earlier answer about the node."""
    out = {}
    for name, manifest in BOUND.items():
        plane.create([manifest])
        wait_for(partial(_has_claims, plane, name), f"the claims of {name}")
        cluster = load(plane)
        decision = cluster.decide(f"ml/{name}")
        assert decision.best, (name, decision.message)
        release(plane, name)
        wait_for(lambda: bool(_pod(plane, name)["spec"].get("nodeName")), f"{name} to be bound")  # noqa: B023
        found = _pod(plane, name)
        chosen = found["spec"]["nodeName"]
        assert chosen in decision.best, name
        out[name] = found, allocations_on(decision.state, cluster.nodes.row[chosen])
    return out


def load(plane: ControlPlane) -> LoadedCluster:
    return load_engine(live=LiveContext(kubeconfig=str(plane.kubeconfig)))


def release(plane: ControlPlane, name: str) -> None:
    """Remove a pod's gate."""
    patch = json.dumps([{"op": "remove", "path": "/spec/schedulingGates"}])
    plane.kubectl("patch", "pod", name, "-n", "ml", "--type=json", "-p", patch)


def _pod(plane: ControlPlane, name: str) -> dict[str, Any]:
    (found,) = plane.get("pods", f"--field-selector=metadata.name={name}")
    return found


def _has_claims(plane: ControlPlane, name: str) -> bool:
    found = _pod(plane, name)
    made = [entry for entry in found["spec"].get("resourceClaims", ()) if "resourceClaimTemplateName" in entry]
    return len(found["status"].get("resourceClaimStatuses", ())) == len(made)


def _allocations(plane: ControlPlane, found: dict[str, Any]) -> list[AllocationResult]:
    """Return the allocations in a pod's claims, in the pod's order; the claim for extended resources is last."""
    stored = {each["metadata"]["name"]: each for each in plane.get("resourceclaims")}
    statuses = {each["name"]: each["resourceClaimName"] for each in found["status"].get("resourceClaimStatuses", ())}
    names = [
        entry.get("resourceClaimName") or statuses[entry["name"]] for entry in found["spec"].get("resourceClaims", ())
    ]
    extended = found["status"].get("extendedResourceClaimStatus")
    names += [extended["resourceClaimName"]] if extended else []
    return [msgspec.convert(stored[name]["status"]["allocation"], AllocationResult) for name in names]


def _comparable(result: AllocationResult) -> Any:
    """Return an allocation without random values and times; amounts are numbers."""
    out = msgspec.to_builtins(msgspec.structs.replace(result, allocation_timestamp=None))
    for device in out["devices"]["results"]:
        if "shareID" in device:
            device["shareID"] = "drawn"
        if "consumedCapacity" in device:
            device["consumedCapacity"] = {k: parse_quantity(v) for k, v in device["consumedCapacity"].items()}
    return out


@pytest.mark.parametrize("name", BOUND)
def test_allocation_is_the_one_that_we_find(
    plane: ControlPlane, decided: dict[str, tuple[dict[str, Any], tuple[ClaimAllocation, ...]]], name: str
) -> None:
    found, ours = decided[name]
    # Ours are those that the claims have first, then those that are new.
    theirs = sorted(map(_comparable, _allocations(plane, found)), key=str)
    assert theirs == sorted((_comparable(one.result) for one in ours), key=str)


def test_device_that_is_bound_once_it_is_ready(plane: ControlPlane) -> None:
    """The allocation is written first; the pod is bound once the device's condition is true."""
    plane.create([pod("slow", "slow")])
    cluster = load(plane)
    decision = cluster.decide("ml/slow")
    release(plane, "slow")
    wait_for(lambda: bool(_claim(plane, "slow")["status"].get("allocation")), "the claim to be allocated")
    (theirs,) = _allocations(plane, _pod(plane, "slow"))
    ours = {cluster.nodes.names[row]: allocations_on(decision.state, row) for row in range(3)}
    assert theirs.node_selector is not None
    chosen = theirs.node_selector.node_selector_terms[0].match_fields[0].values[0]
    assert chosen in decision.best
    assert [_comparable(one.result) for one in ours[chosen]] == [_comparable(theirs)]
    assert not _pod(plane, "slow")["spec"].get("nodeName")
    condition = {"type": "example.com/attached", "status": "True", "reason": "Attached", "message": ""}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    device = {"driver": "slow.example.com", "pool": "slow", "device": "slow-0", "conditions": [condition]}
    patch = json.dumps({"status": {"devices": [device]}})
    plane.kubectl("patch", "resourceclaim", "slow", "-n", "ml", "--subresource=status", "--type=merge", "-p", patch)
    wait_for(lambda: _pod(plane, "slow")["spec"].get("nodeName") == chosen, "the pod to be bound")


def _claim(plane: ControlPlane, name: str) -> dict[str, Any]:
    (found,) = plane.get("resourceclaims", f"--field-selector=metadata.name={name}")
    return found


def test_messages_of_pods_that_fit_nowhere_are_ours(plane: ControlPlane, decided: Any) -> None:
    plane.create(WAITING.values())
    for name in WAITING:
        release(plane, name)
    wait_for(lambda: all(is_settled(_pod(plane, name)) for name in WAITING), "the scheduler to have tried all pods")
    cluster = load(plane)
    found = SchedulingCluster(cluster).verify()
    told = {pod.key: each for each in found.pending_groups for pod in each.pods}
    assert {name: told[f"ml/{name}"].outcome for name in WAITING} == dict.fromkeys(WAITING, Match.EQUAL)
    assert [(each.theirs, each.ours) for each in found.pending_groups if each.outcome is Match.DIFFERENT] == []
    assert not found.infeasible_groups
    assert found.equal


def test_anonymised_capture_verifies_too(plane: ControlPlane, tmp_path: Path) -> None:
    reader = LiveReader(LiveContext(kubeconfig=str(plane.kubeconfig)))
    write_capture(anonymized(capture(reader, context=reader.name)), tmp_path / "anonymous")
    found = SchedulingCluster(load_engine(tmp_path / "anonymous")).verify()
    assert [(each.theirs, each.ours) for each in found.pending_groups if each.outcome is Match.DIFFERENT] == []
    assert found.equal
    assert sum(len(each.pods) for each in found.pending_groups) == len(WAITING)
    text = "".join(path.read_text() for path in (tmp_path / "anonymous").iterdir())
    assert [name for name in (DRIVER, "nic.example.com", "example.com/fpga", "bandwidth") if name in text] == []
