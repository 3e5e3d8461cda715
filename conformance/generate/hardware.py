"""Objects of dynamic resource allocation: classes, slices, requests, claims, and allocations of earlier cycles."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from conformance.generate.scene import Object, Scene
from conformance.generate.storage import own

GPUS, NICS = "gpu.example.com", "net.example.com"
_API: Final = "resource.k8s.io/v1"
_LARGE: Final = f'device.capacity["{GPUS}"].memory.compareTo(quantity("40Gi")) >= 0'

SELECTORS: Final = (
    f'device.driver == "{GPUS}"',
    f'device.attributes["{GPUS}"].model == "a100"',
    f'device.attributes["{GPUS}"].model in ["a100", "h100"]',
    _LARGE,
    f'device.attributes["{GPUS}"].healthy',
    f'"index" in device.attributes["{GPUS}"] && device.attributes["{GPUS}"].index < 2',
    f'device.attributes["{GPUS}"].driverVersion.isGreaterThan(semver("1.5.0"))',
)


class Result(NamedTuple):
    """A device that is allocated to a claim."""

    driver: str
    pool: str
    device: str
    request: str = "r0"
    more: Mapping[str, Any] = {}


def gpu(s: Scene, name: str) -> Object:
    """Return a device with attributes of every type."""
    attributes: Object = {
        "model": {"string": s.pick("a100", "h100", "t4")},
        "index": {"int": s.between(0, 3)},
        "healthy": {"bool": s.odds(0.9)},
        "driverVersion": {"version": s.pick("1.0.0", "2.1.0")},
    }
    if s.odds(0.3):
        attributes["example.org/numa"] = {"int": s.pick(0, 1)}
    if s.odds(0.2):
        del attributes["index"]
    return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": s.pick("16Gi", "40Gi", "80Gi")}}}


def gpus(s: Scene, low: int = 1, high: int = 4, share: float = 0.9) -> dict[str, list[Object]]:
    """Return ``low`` to ``high`` devices for a share of the nodes, by node."""
    names = [name for name in s.node_names() if s.odds(share)]
    return {name: [gpu(s, f"gpu-{i}") for i in range(s.between(low, high))] for name in names}


def publish(s: Scene, devices: Mapping[str, list[Object]], driver: str = GPUS) -> None:
    """Add a ResourceSlice for each node with its devices."""
    for name, found in devices.items():
        slice_of(s, f"{name}-{driver.split('.')[0]}", driver, name, found, nodeName=name)


def slice_of(
    s: Scene, name: str, driver: str, pool: str, devices: list[Object] | None, *, count: int = 1, generation: int = 1,
    **fields: Any,
) -> None:  # fmt: skip
    """Add a ResourceSlice."""
    spec: Object = {"driver": driver, "pool": {"name": pool, "generation": generation, "resourceSliceCount": count}}
    if devices is not None:
        spec["devices"] = devices
    s.add(_API, "ResourceSlice", s.meta(name), spec=spec | fields)


def device_class(s: Scene, name: str, *expressions: str, **fields: Any) -> None:
    """Add a DeviceClass with selectors."""
    spec: Object = {"selectors": [{"cel": {"expression": text}} for text in expressions]} if expressions else {}
    s.add(_API, "DeviceClass", s.meta(name), spec=spec | fields)


def device_classes(s: Scene, extended: Mapping[str, str] | None = None) -> None:
    """Add the usual classes; ``extended`` gives the extended resource names of some of them."""
    labels = s.namespace("default")["metadata"].setdefault("labels", {})
    labels["resource.kubernetes.io/admin-access"] = "true"
    driver = f'device.driver == "{GPUS}"'
    classes = {
        "gpu": (driver,),
        "big-gpu": (f"{driver} && {_LARGE}",),
        "nic": (f'device.driver == "{NICS}"',),
        "any": (),
    }
    for name, expressions in classes.items():
        fields = {"extendedResourceName": extended[name]} if extended and name in extended else {}
        device_class(s, name, *expressions, **fields)


def exactly(
    name: str, class_name: str = "gpu", count: int = 1, *, every: bool = False, where: Sequence[str] = (), **fields: Any
) -> Object:
    """Return a request for ``count`` devices of a class, or with ``every`` for all of them."""
    found: Object = {"deviceClassName": class_name, "allocationMode": "All" if every else "ExactCount"}
    if not every:
        found["count"] = count
    if where:
        found["selectors"] = [{"cel": {"expression": text}} for text in where]
    return {"name": name, "exactly": found | fields}


def first_of(name: str, *requests: Object) -> Object:
    """Return a request for the first alternative that is available."""
    return {"name": name, "firstAvailable": [{"name": f"sub{i}", **r["exactly"]} for i, r in enumerate(requests)]}


def new_claim(
    s: Scene, name: str, namespace: str, requests: list[Object], constraints: Sequence[Object] = ()
) -> Object:
    """Add a ResourceClaim without an allocation."""
    devices: Object = {"requests": requests}
    if constraints:
        devices["constraints"] = list(constraints)
    return s.add(_API, "ResourceClaim", s.meta(name, namespace), spec={"devices": devices}, status={})


def claim_for(
    s: Scene, requests: list[Object], pod: Object | None = None, constraints: Sequence[Object] = ()
) -> Object:
    """Add a claim that a pod uses; the default is the pod to schedule."""
    pod = pod or s.pod
    name = s.name("claim")
    use_claim(pod, name)
    return new_claim(s, name, pod["metadata"]["namespace"], requests, constraints)


def use_claim(pod: Object, claim_name: str | None = None, template: str | None = None) -> str:
    """Let a pod use a claim or a claim template, and return the name of the pod's entry."""
    entries = pod["spec"].setdefault("resourceClaims", [])
    name = f"dev{len(entries)}"
    source = {"resourceClaimName": claim_name} if template is None else {"resourceClaimTemplateName": template}
    entries.append({"name": name, **source})
    pod["spec"]["containers"][0]["resources"].setdefault("claims", []).append({"name": name})
    return name


def on_node(name: str) -> Object:
    """Return the node selector of an allocation that is available on one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def grant(
    found: Object, results: Sequence[Result], where: Object | None = None, users: Sequence[Object] = ()
) -> Object:
    """Write an allocation, and the pods for which it is reserved, into a claim; return the claim."""
    devices = [
        {"request": r.request, "driver": r.driver, "pool": r.pool, "device": r.device, **r.more} for r in results
    ]
    allocation: Object = {"devices": {"results": devices}}
    if where:
        allocation["nodeSelector"] = where
    found["status"] = {"allocation": allocation}
    if users:
        reserved = [{"resource": "pods", "name": p["metadata"]["name"], "uid": p["metadata"]["uid"]} for p in users]
        found["status"]["reservedFor"] = reserved
    found["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    return found


def hold(s: Scene, node: str, request: Object, result: Result, priority: int = 0) -> Object:
    """Add a running pod to which a device of its node is allocated; return the claim."""
    pod = s.add_pod("holder", "default", s.labels(), node=node, priority=priority)
    return grant(claim_for(s, [request], pod), [result], on_node(node), [pod])


def extended_claim(s: Scene, name: str, pod: Object) -> Object:
    """Add a claim as the scheduler creates it for a pod that requests a class's extended resource."""
    found = new_claim(s, name, pod["metadata"]["namespace"], [exactly("container-0-request-0")])
    found["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    own(found, pod)
    del found["metadata"]["ownerReferences"][0]["blockOwnerDeletion"]
    return found
