"""Devices in 1.38: names with and without a domain, versions, bad pools, negative amounts, devices once shared."""

import copy
from typing import Final

from conformance.generate.devices import device_taint, tolerant
from conformance.generate.hardware import (
    GPUS,
    NICS,
    Result,
    claim_for,
    device_class,
    device_classes,
    exactly,
    first_of,
    gpu,
    gpus,
    hold,
    publish,
    slice_of,
)  # fmt: skip
from conformance.generate.scene import GPU, NIC, Object, Scene
from conformance.generate.start import squeeze

_IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
_DRIVER: Final = f'device.driver == "{GPUS}"'


def _nic(s: Scene, name: str, units: str, policy: Object | None = None, capacity: str = "units") -> Object:
    """Return a device that several claims may share."""
    amount: Object = {"value": units} | ({"requestPolicy": copy.deepcopy(policy)} if policy else {})
    return {
        "name": name,
        "attributes": {"speed": {"int": s.pick(10, 100)}},
        "allowMultipleAllocations": True,
        "capacity": {capacity: amount},
    }


def _share(s: Scene, node: str, device: str, consumed: Object) -> Object:
    """Add a running pod with a share of a device."""
    more = {"shareID": s.uid(), "consumedCapacity": consumed}
    request = exactly("r0", "nic", capacity={"requests": dict(consumed)})
    return hold(s, node, request, Result(NICS, node, device, more=more))


def _units(name: str, amount: str, count: int = 1, capacity: str = "units") -> Object:
    """Return a request for a share of a device."""
    return exactly(name, "nic", count, capacity={"requests": {capacity: amount}})


def broken_pools(s: Scene) -> None:
    """Request all devices where pools are incomplete or invalid: these nodes are rejected, not the pod."""
    device_classes(s)
    for name in s.node_names():
        here = [gpu(s, f"gpu-{i}") for i in range(s.between(1, 3))]
        state = s.weighted((4, "whole"), (3, "incomplete"), (3, "invalid"), (1, "none"))
        if state == "none":
            continue
        count = 1 if state == "whole" else 2
        slice_of(s, f"{name}-gpu", GPUS, name, here, count=count, nodeName=name)
        if state == "invalid":
            slice_of(s, f"{name}-gpu-too", GPUS, name, [copy.deepcopy(here[0])], count=2, nodeName=name)
    if s.odds(0.25):
        nics: list[Object] = [{"name": "nic-0"}]
        slice_of(s, "fabric", NICS, "fabric", nics, count=s.pick(1, 2), allNodes=True)
    every = exactly("r0", s.pick("gpu", "gpu", "any"), every=True)
    requests = [every]
    if s.odds(0.25):
        requests = [first_of("r0", exactly("a", every=True), exactly("b"))]
    elif s.odds(0.3):
        requests.append(exactly("r1", s.pick("gpu", "nic")))
    claim_for(s, requests)
    if s.odds(0.3):
        s.pod["spec"]["priority"] = 100
        if s.odds(0.5):
            squeeze(s)


def qualified(s: Scene) -> None:
    """Name capacities and attributes with and without the driver's domain, which is the same."""
    device_classes(s)
    long = {"units": f"{NICS}/units", "speed": f"{NICS}/speed"}

    def spelled(name: str) -> str:
        return s.pick(name, long[name])

    for name in s.node_names():
        found: list[Object] = []
        for i in range(s.pick(1, 2, 2)):
            device = _nic(s, f"nic-{i}", s.pick("2", "4"), s.pick(None, {"default": "1"}), spelled("units"))
            device["attributes"] = {spelled("speed"): {"int": s.pick(10, 100)}}
            if s.odds(0.15):  # of both spellings the qualified one counts
                device["capacity"] = {"units": {"value": "1"}, long["units"]: {"value": "4"}}
            if s.odds(0.15):
                device["attributes"] = {"speed": {"int": 10}, long["speed"]: {"int": 100}}
            found.append(device)
            for _ in range(s.pick(0, 0, 1)):
                _share(s, name, device["name"], {spelled("units"): s.pick("1", "2")})
        publish(s, {name: found}, NICS)
    n = s.pick(1, 1, 2)
    requests = [_units(f"r{i}", s.pick("1", "2", "3"), s.pick(1, 1, 2), spelled("units")) for i in range(n)]
    if s.number % 4 == 0:  # refused on the first device that it is put to
        requests[0]["exactly"]["capacity"]["requests"] = {"units": "1", long["units"]: "1"}
    if s.odds(0.3):
        text = s.pick(f'device.attributes["{NICS}"].speed == 100', f'"speed" in device.attributes["{NICS}"]')
        requests[0]["exactly"]["selectors"] = [{"cel": {"expression": text}}]
    constraints: list[Object] = []
    if s.odds(0.4):
        constraints.append({s.pick("matchAttribute", "distinctAttribute"): long["speed"]})
    claim_for(s, requests, constraints=constraints)


def fractions(s: Scene) -> None:
    """Consume capacity in fractions of a unit, by ranges that are computed in thousandths."""
    device_classes(s)
    steps: tuple[Object, ...] = (
        {"default": "250m", "validRange": {"min": "250m", "step": "250m", "max": "4"}},
        {"default": "300m", "validRange": {"min": "300m", "step": "300m"}},
        {"default": "1", "validRange": {"min": "0", "step": "500m"}},
    )
    others: tuple[Object, ...] = (
        {"default": "1", "validRange": {"min": "100m", "max": "2500m"}},
        {"default": "250m", "validValues": ["250m", "500m", "1500m"]},
        {"default": "1", "validRange": {"min": "1", "step": "1500u"}},
    )
    policy = s.pick(*(steps if s.odds(0.75) else others))
    for name in s.node_names():
        found = [_nic(s, f"nic-{i}", s.pick("1", "1250m", "1500m"), policy) for i in range(s.pick(1, 1, 1, 2))]
        for device in found:
            for _ in range(s.pick(0, 1, 1, 2)):
                _share(s, name, device["name"], {"units": s.pick("250m", "300m", "500m")})
        publish(s, {name: found}, NICS)
    amounts = ("0.3", "400m", "500m", "600m", "600m", "750m", "1", "1100m")
    requests = [
        _units(f"r{i}", s.weighted((12, s.pick(*amounts)), (1, "1500u"), (1, "100P")), s.pick(1, 1, 1, 2))
        for i in range(s.pick(1, 1, 1, 2))
    ]
    if s.odds(0.15):
        del requests[0]["exactly"]["capacity"]
    claim_for(s, requests)


def negative(s: Scene) -> None:
    """Request a negative amount, or let a running pod's claim have consumed one."""
    device_classes(s)
    policy = s.pick(None, {"default": "1"}, {"default": "1", "validRange": {"min": "1", "step": "1"}})
    for name in s.node_names():
        publish(s, {name: [_nic(s, "nic-0", "4", policy)]}, NICS)
        if s.odds(0.4):
            _share(s, name, "nic-0", {"units": "1"})
    how = s.pick("asked", "asked", "consumed", "consumed twice", "elsewhere")
    if how == "asked":
        claim_for(s, [_units("r0", s.pick("-1", "-1", "-500m"))])
        return
    wrong = s.some(s.node_names(), 1, 1) if how != "consumed twice" else s.some(s.node_names(), 2, 3)
    for name in wrong:
        _share(s, name, "nic-0", {"units": "-1"})
    if how != "elsewhere":
        claim_for(s, [_units("r0", "1")])
    elif s.odds(0.5):  # a claim that is allocated needs nothing more
        user = s.pick(*[found for found in s.find("ResourceClaim") if found["status"]])
        s.pod["metadata"]["namespace"] = user["metadata"]["namespace"]
        s.pod["spec"]["resourceClaims"] = [{"name": "dev0", "resourceClaimName": user["metadata"]["name"]}]


def unshared(s: Scene) -> None:
    """Add devices that no longer allow several allocations, while claims still have shares of them."""
    device_classes(s)
    s.pod["metadata"]["namespace"] = "default"
    for name in s.node_names():
        found: list[Object] = []
        for i in range(s.pick(1, 1, 1, 2)):
            device = _nic(s, f"nic-{i}", "4")
            if s.odds(0.75):
                del device["allowMultipleAllocations"]
                if s.odds(0.3):
                    device["allowMultipleAllocations"] = False
            if s.odds(0.3):
                del device["capacity"]
            found.append(device)
            for _ in range(s.pick(0, 1, 1, 1, 2)):
                _share(s, name, device["name"], {"units": "1"} if "capacity" in device else {})
        publish(s, {name: found}, NICS)
    more: Object = {"adminAccess": True} if s.odds(0.25) else {}
    claim_for(s, [exactly("r0", "nic", s.pick(1, 1, 2), every=s.odds(0.2), **more)])


def versions(s: Scene) -> None:
    """Compare versions by their numbers; a version whose numbers exceed 64 bits has no value."""
    device_classes(s)
    known = ("1.0.0+a", "1.0.0+b", "1.0.0", "1.0.0-rc.1", "2.1.0")
    large = "1.99999999999999999999.0"
    have = gpus(s, 2, 4)
    bad = s.odds(0.4)
    for found in have.values():
        for device in found:
            text = large if bad and s.odds(0.4) else s.pick(*known)
            device["attributes"]["driverVersion"] = {"version": text}
    publish(s, have)
    attribute = f'device.attributes["{GPUS}"]'
    text = s.pick(
        f'{attribute}.model in ["a100", "h100"]',
        f'{attribute}.driverVersion.isGreaterThan(semver("1.0.0-rc.1"))',
        f'{attribute}.model == "a100" && {attribute}.driverVersion.major() == 1',
        f'"driverVersion" in {attribute}',
    )
    where = [text] if s.odds(0.6) else []
    requests = [exactly("r0", count=s.pick(1, 2, 2, 3), where=where)]
    if s.odds(0.3):
        requests.append(exactly("r1"))
    constraints: list[Object] = []
    if s.odds(0.7):
        constraints.append({s.pick("matchAttribute", "matchAttribute", "distinctAttribute"): f"{GPUS}/driverVersion"})
    claim_for(s, requests, constraints=constraints)


def resource_names(s: Scene) -> None:
    """Back one extended resource by several classes: the newest has the name, and each its own implicit one."""
    models = ("a100", "h100", "t4")
    n = s.pick(2, 2, 3)
    for model in models[:n]:
        text = f'{_DRIVER} && device.attributes["{GPUS}"].model == "{model}"'
        device_class(s, f"class-{model}", text, extendedResourceName=GPU if s.odds(0.9) else NIC)
    classes = s.find("DeviceClass")
    if s.odds(0.4):  # of equally old ones the lower name has it
        for found in classes[1:]:
            found["metadata"]["creationTimestamp"] = classes[0]["metadata"]["creationTimestamp"]
    if s.odds(0.5):
        s.random.shuffle(s.others)
    have = gpus(s, 1, 3)
    for devices in have.values():
        for device in devices:
            device["attributes"]["model"] = {"string": s.pick(*models[:n])}
    publish(s, have)
    for node, devices in have.items():
        if s.odds(0.2):
            hold(s, node, exactly("r0", "class-a100"), Result(GPUS, node, devices[0]["name"]))
    resource = s.weighted((4, GPU), (1, NIC), *((3, f"{_IMPLICIT}class-{model}") for model in models[:n]))
    amount = s.pick("1", "1", "2")
    for kind in ("requests", "limits"):
        s.pod["spec"]["containers"][0]["resources"].setdefault(kind, {})[resource] = amount


def rules(s: Scene) -> None:
    """Taint devices by rules with an empty selector, which is every device, or without one, which is none."""
    device_classes(s)
    have = gpus(s)
    publish(s, have)
    seen: list[Object] = []
    for i in range(s.pick(1, 1, 2)):
        spec: Object = {"taint": device_taint(s)}
        seen.append(spec["taint"])
        choices: tuple[tuple[float, Object | None], ...] = ((4, None), (3, {}), (1, {"pool": s.any_node()}))
        if (selector := s.weighted(*choices)) is not None:
            spec["deviceSelector"] = selector
        s.add("resource.k8s.io/v1", "DeviceTaintRule", s.meta(f"rule-{i}"), spec=spec)
    claim_for(s, [tolerant(s, "r0", seen, 0.4)])


def counted(s: Scene) -> None:
    """Request more devices than a claim may have, in sum or by alternatives."""
    device_classes(s)
    have = {name: [gpu(s, f"gpu-{i}") for i in range(s.pick(2, 34))] for name in s.node_names()[:3]}
    publish(s, have)
    huge = 9223372036854775807
    first, second = s.pick((20, 20), (33, 1), (1, 32), (16, 16), (huge, 1), (huge, huge))
    requests = [exactly("r0", count=first), exactly("r1", count=second)]
    if s.odds(0.35):
        requests[1] = first_of("r1", exactly("a", count=second), exactly("b", count=s.pick(1, 40)))
    if s.odds(0.2):
        requests[0] = exactly("r0", every=True)
    claim_for(s, requests)
