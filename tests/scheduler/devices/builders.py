"""Builders of ResourceSlices, DeviceClasses and ResourceClaims, in the style of ``tests.builders``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kschedctl.objects.defaults import default_object
from kschedctl.objects.device import Device, DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.objects.pod import Pod
from tests.builders import make_pod

DRIVER = "gpu.example.com"


def make_device(name: str = "gpu-0", memory: str = "", **fields: Any) -> dict[str, Any]:
    """Return a device in manifest form; attributes are plain values such as ``model="a100"``, or in manifest form."""
    known = _DEVICE_FIELDS
    attributes = {key: _value(value) for key, value in fields.items() if key not in known}
    own = {key: value for key, value in fields.items() if key in known}
    capacity = {"memory": {"value": memory}} if memory else {}
    return {"name": name, "attributes": attributes, "capacity": capacity, **own}


_DEVICE_FIELDS = {field.encode_name for field in msgspec.structs.fields(Device)} - {"name", "attributes"}


def _value(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return {kind: value}


def make_slice(
    name: str = "slice",
    *devices: Mapping[str, Any],
    node: str = "node",
    pool: str = "",
    driver: str = DRIVER,
    generation: int = 1,
    slices: int = 1,
    **spec: Any,
) -> ResourceSlice:
    """Return the only slice of a node's pool, by default with one device.

    Parameters
    ----------
    name : str
        The slice's name.
    *devices : mapping
        The devices, from ``make_device``.
    node : str
        The slice's node; ignored if ``spec`` has another node selection.
    pool : str
        The pool; the default is the node's name.
    driver : str
        The driver.
    generation, slices : int
        The pool's generation and its number of slices.
    **spec
        Further fields of the spec.
    """
    selection = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & spec.keys() else {"nodeName": node}
    own = {
        "driver": driver,
        "pool": {"name": pool or node, "generation": generation, "resourceSliceCount": slices},
        "devices": [] if "sharedCounters" in spec else list(devices or [make_device()]),
    }
    data = {"metadata": {"name": name}, "spec": {**own, **selection, **spec}}
    return msgspec.convert(data, ResourceSlice)


def make_class(name: str = "gpu", *expressions: str, resource: str = "", created: str | None = None) -> DeviceClass:
    """Return a DeviceClass with selectors."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    spec = {"selectors": selectors, "extendedResourceName": resource}
    return msgspec.convert({"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}, DeviceClass)


def request(
    name: str = "r",
    count: int = 1,
    *expressions: str,
    of: str = "gpu",
    every: bool = False,
    tolerations: Sequence[Mapping[str, Any]] = (),
    capacity: Mapping[str, str] | None = None,
    **exactly: Any,
) -> dict[str, Any]:
    """Return a request in manifest form: ``count`` devices of a class, or all of them."""
    own = {
        "deviceClassName": of,
        "allocationMode": "All" if every else "ExactCount",
        "count": 0 if every else count,
        "selectors": [{"cel": {"expression": expression}} for expression in expressions],
        "tolerations": list(tolerations),
        "capacity": None if capacity is None else {"requests": dict(capacity)},
    }
    return {"name": name, "exactly": {**own, **exactly}}


def either(name: str, *alternatives: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with alternatives, each from ``request``."""
    return {"name": name, "firstAvailable": [{"name": a["name"], **a["exactly"]} for a in alternatives]}


def make_claim(
    name: str = "claim",
    *requests: Mapping[str, Any],
    holds: Iterable[str] = (),
    node: str = "",
    reserved: Iterable[str] = (),
    owner: str = "",
    match: str = "",
    distinct: str = "",
    result: Mapping[str, Any] | None = None,
    allocation: Mapping[str, Any] | None = None,
    **fields: Any,
) -> ResourceClaim:
    """Return a ResourceClaim as an API server stores it, by default for one device of class ``gpu``.

    Parameters
    ----------
    name : str
        The claim's name, in namespace ``default``.
    *requests : mapping
        The requests, from ``request`` or ``either``.
    holds : iterable of str
        ``pool/device`` of the allocated devices; empty for an unallocated claim.
    node : str
        The node on which the allocation is available.
    reserved : iterable of str
        The names of the pods for which the claim is reserved.
    owner : str
        The pod for which the claim was created.
    match, distinct : str
        The attribute of a matchAttribute or distinctAttribute constraint over all requests.
    result, allocation : mapping
        Further fields of each result, and of the allocation.
    **fields
        Further fields of the status.
    """
    constraints = [{"matchAttribute": match}] if match else []
    constraints += [{"distinctAttribute": distinct}] if distinct else []
    spec = {"devices": {"requests": list(requests or [request()]), "constraints": constraints}}
    status: dict[str, Any] = {
        "reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-default-{pod}"} for pod in reserved]
    }
    held = [device.split("/") for device in holds]
    if held or allocation is not None:
        results = [{"request": "r", "driver": DRIVER, "pool": p, "device": d, **(result or {})} for p, d in held]
        status["allocation"] = {"devices": {"results": results}, **(allocation or {})}
        if node:
            field = {"key": "metadata.name", "operator": "In", "values": [node]}
            status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if owner:
        reference = {"kind": "Pod", "name": owner, "uid": f"uid-default-{owner}", "controller": True}
        metadata["ownerReferences"] = [reference]
    data = {"metadata": metadata, "spec": spec, "status": {**status, **fields}}
    return default_object(msgspec.convert(data, ResourceClaim))


def claiming_pod(*claims: str, **fields: Any) -> Pod:
    """Return a pod that uses claims by their names."""
    entries = [{"name": f"c{i}", "resourceClaimName": claim} for i, claim in enumerate(claims)]
    return make_pod(resourceClaims=entries, **fields)
