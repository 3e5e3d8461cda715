"""Device features up to 1.36: alternatives, taints, constraints, shared claims, per-device nodes, admin access."""

from typing import Final

from conformance.generate.devices_extended import extended
from conformance.generate.devices_parts import binding, capacity, partition
from conformance.generate.hardware import (
    GPUS,
    NICS,
    SELECTORS,
    Result,
    claim_for,
    device_class,
    device_classes,
    exactly,
    first_of,
    gpu,
    gpus,
    grant,
    hold,
    on_node,
    publish,
    slice_of,
)  # fmt: skip
from conformance.generate.scene import ZONE, Object, Scene
from conformance.generate.start import squeeze

_TAINTS: Final = ("example.com/unhealthy", "example.com/maintenance", "gpu.example.com/slow")
_ODD: Final = (
    "class compile", "class runtime", "no class", "no sub class", "duplicate", "all of none", "many", "compile",
    "runtime", "all in use",
)  # fmt: skip


def device_taint(s: Scene) -> Object:
    """Return a device taint."""
    effect = s.weighted((4, "NoSchedule"), (3, "NoExecute"), (1, "None"))
    value = {"value": s.pick("true", "xid79")} if s.odds(0.5) else {}
    return {"key": s.pick(*_TAINTS), "effect": effect, "timeAdded": s.time(), **value}


def device_toleration(s: Scene, seen: list[Object]) -> Object:
    """Return a toleration that is usually derived from one of the seen taints."""
    stranger = {"key": s.pick(*_TAINTS), "effect": "NoSchedule"}
    like = s.pick(*seen) if seen and s.odds(0.85) else stranger
    found: Object = {"operator": s.pick("Exists", "Equal")}
    equal = found["operator"] == "Equal"
    if equal or s.odds(0.8):
        found["key"] = like["key"]
    if equal and (like.get("value") or s.odds(0.1)):
        found["value"] = like.get("value", "other")
    if s.odds(0.6):
        found["effect"] = like["effect"] if s.odds(0.85) else s.pick("NoSchedule", "NoExecute")
    if found.get("effect") == "NoExecute" and s.odds(0.4):
        found["tolerationSeconds"] = s.pick(0, 60)
    return found


def tolerant(s: Scene, name: str, seen: list[Object], chance: float) -> Object:
    """Return a request that has one to three tolerations with probability ``chance``."""
    more: Object = {}
    if s.odds(chance):
        more["tolerations"] = [device_toleration(s, seen) for _ in range(s.pick(1, 1, 2, 3))]
    return exactly(name, s.pick("gpu", "gpu", "big-gpu"), s.pick(1, 1, 2), every=s.odds(0.2), **more)


def _tainted(s: Scene) -> None:
    device_classes(s)
    have = gpus(s)
    seen: list[Object] = []
    for found in have.values():
        for device in found:
            if s.odds(s.pick(0.3, 0.8)):
                device["taints"] = [device_taint(s) for _ in range(s.pick(1, 1, 2))]
                seen += device["taints"]
    publish(s, have)
    either = first_of("r0", tolerant(s, "a", seen, 0.7), tolerant(s, "b", seen, 0.7))
    claim_for(s, [either if s.odds(0.3) else tolerant(s, "r0", seen, 0.7)])
    nodes = [name for name, found in have.items() if found[0].get("taints")]
    if nodes and s.odds(0.2):  # taints do not affect a device that is already allocated
        name = s.pick(*nodes)
        grant(claim_for(s, [exactly("r0")]), [Result(GPUS, name, have[name][0]["name"])], on_node(name))


def _per_device(s: Scene) -> None:
    """Add a pool whose devices select their nodes individually (``perDeviceNodeSelection``)."""
    device_classes(s)
    found: list[Object] = []
    for i in range(s.between(2, 8)):
        among = {"key": ZONE, "operator": "In", "values": s.some(["z1", "z2", "z3"], 1, 2)}
        zone = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [among]}]}}
        reach: Object = s.weighted((4, {"nodeName": s.any_node()}), (3, zone), (1, {"allNodes": True}))
        found.append({"name": f"nic-{i}", "attributes": {"speed": {"int": s.pick(10, 100)}}, **reach})
    half = len(found) // 2 if s.odds(0.3) else 0
    count = 2 if half else 1
    if half:
        slice_of(s, "fabric-a", NICS, "fabric", found[:half], count=count, perDeviceNodeSelection=True)
    slice_of(s, "fabric-b", NICS, "fabric", found[half:], count=count, perDeviceNodeSelection=True)
    if s.odds(0.5):
        publish(s, gpus(s, share=0.6))
    for device in found:
        if s.odds(0.2):
            node = device.get("nodeName") or s.any_node()
            hold(s, node, exactly("r0", "nic"), Result(NICS, "fabric", device["name"]))
    where = [f'device.attributes["{NICS}"].speed == 100'] if s.odds(0.4) else []
    requests = [exactly("r0", "nic", s.pick(1, 1, 2), every=s.odds(0.15), where=where)]
    if s.odds(0.3):
        requests.append(exactly("r1"))
    claim_for(s, requests)


def _alternatives(s: Scene, name: str) -> Object:
    subs = []
    for _ in range(s.between(2, 8)):
        class_name = s.weighted((6, "gpu"), (2, "big-gpu"), (2, "nic"))
        model = f'device.attributes["{GPUS}"].model == "{s.pick("a100", "h100", "t4")}"'
        where = [model] if class_name == "gpu" and s.odds(0.8) else []
        subs.append(exactly("sub", class_name, s.pick(1, 1, 2), where=where))
    return first_of(name, *subs)


def _prioritized(s: Scene) -> None:
    """Add lists of alternatives: a node with a better alternative available scores higher."""
    device_classes(s)
    have = gpus(s, 1, 3)
    publish(s, have)
    if s.odds(0.5):
        nics = [{"name": f"nic-{i}", "attributes": {"speed": {"int": 100}}} for i in range(s.pick(1, 2))]
        publish(s, {name: nics for name in s.node_names() if s.odds(0.6)}, NICS)
    for name, found in have.items():
        if s.odds(0.3):
            hold(s, name, exactly("r0"), Result(GPUS, name, found[0]["name"]))
    requests = [_alternatives(s, "r0")]
    requests += [_alternatives(s, "r1")] if s.odds(0.4) else []
    requests += [exactly("r2")] if s.odds(0.2) else []
    constraints: list[Object] = []
    if s.odds(0.25):
        constraints.append({"matchAttribute": s.pick(f"{GPUS}/model", f"{GPUS}/driverVersion")})
        if s.odds(0.6):
            one = s.pick(*requests)
            subs = one.get("firstAvailable", ())
            sub = f"{one['name']}/{s.pick(*subs)['name']}" if subs and s.odds(0.5) else one["name"]
            constraints[0]["requests"] = [sub]
    claim_for(s, requests, constraints=constraints)
    kind = s.weighted((4, "one"), (2, "second"), (2, "allocated"))
    if kind == "second":
        claim_for(s, [_alternatives(s, "r0")])
    elif kind == "allocated" and have:  # since 1.36 an allocated claim contributes to the score; 1.35 fails on it
        name = s.pick(*have)
        one = _alternatives(s, "r0")
        result = Result(GPUS, name, have[name][-1]["name"], f"r0/{s.pick(*one['firstAvailable'])['name']}")
        grant(claim_for(s, [one]), [result], s.pick(None, on_node(name)), s.some(s.pods, 0, 1))


def _admin(s: Scene) -> None:
    """Add requests with admin access, which does not count as use of a device."""
    device_classes(s)
    s.pod["metadata"]["namespace"] = "default"
    have = gpus(s)
    publish(s, have)
    for name, found in have.items():
        for device in found:
            if s.odds(0.6):
                hold(s, name, exactly("r0"), Result(GPUS, name, device["name"]))
            elif s.odds(0.3):
                result = Result(GPUS, name, device["name"], more={"adminAccess": True})
                hold(s, name, exactly("r0", adminAccess=True), result)
    requests = [exactly("r0", "gpu", s.pick(1, 2, 3), every=s.odds(0.4), adminAccess=True)]
    claim_for(s, requests + ([exactly("r1")] if s.odds(0.3) else []))
    if s.odds(0.2):
        claim_for(s, [exactly("r0", adminAccess=s.odds(0.5))])


def _constraints(s: Scene) -> None:
    """Add requests and claims under ``matchAttribute`` and ``distinctAttribute`` constraints."""
    device_classes(s)
    have = gpus(s, 3, 6)
    publish(s, have)
    for name, found in have.items():
        if s.odds(0.2):
            hold(s, name, exactly("r0"), Result(GPUS, name, found[0]["name"]))
    attributes = {f"{GPUS}/{name}": weight for name, weight in
                  {"model": 4, "driverVersion": 4, "index": 3, "healthy": 2, "nosuch": 0.5}.items()}  # fmt: skip
    pairs = [*((weight, name) for name, weight in attributes.items()), (1, "example.org/numa")]
    for _ in range(s.weighted((4, 1), (1, 2))):
        requests = []
        for i in range(s.pick(1, 2, 2, 3)):
            where = [s.pick(*SELECTORS)] if s.odds(0.1) else []
            count = s.weighted((7, 1), (3, 2), (1, 3))
            requests.append(exactly(f"r{i}", s.pick("gpu", "gpu", "gpu", "big-gpu"), count, where=where))
        constraints: list[Object] = []
        for _ in range(s.pick(1, 1, 1, 2)):
            constraints.append({s.weighted((3, "matchAttribute"), (2, "distinctAttribute")): s.weighted(*pairs)})
            if s.odds(0.4):
                constraints[-1]["requests"] = [one["name"] for one in s.some(requests, 1, 2)]
        claim_for(s, requests, constraints=constraints)


def _shared(s: Scene) -> None:
    """Add claims that are unallocated or allocated to a node, a zone or any node, and reserved for various pods."""
    device_classes(s)
    have = gpus(s, 2, 4, 1.0)
    publish(s, have)
    free = {name: [device["name"] for device in found] for name, found in have.items()}
    for _ in range(s.pick(1, 2, 2, 3)):
        kind = s.weighted((2, "new"), (3, "node"), (2, "zone"), (1, "anywhere"))
        found = claim_for(s, [exactly("r0")])
        if kind == "new":
            continue
        near = [name for name in sorted(free)[: 1 + s.pick(0, 0, 1, 9)] if free[name]]
        name = s.pick(*(near or [name for name in free if free[name]]))
        among = {"key": ZONE, "operator": "In", "values": s.some(["z1", "z2", "z3"], 1, 2)}
        zone: Object = {"nodeSelectorTerms": [{"matchExpressions": [among]}]}
        where = {"node": on_node(name), "zone": zone}.get(kind)
        others = s.some(s.pods, 1, 3)
        users = s.weighted((3, []), (2, [s.pod]), (2, others), (1, [*others, s.pod]))
        grant(found, [Result(GPUS, name, free[name].pop())], where, users)


def _odd(s: Scene) -> None:
    """Add one malformed class or pool, or a request that cannot be satisfied."""
    device_classes(s)
    have = gpus(s, 2, 4)
    kind = _ODD[s.number // 2 // len(KINDS) % len(_ODD)]
    name = s.any_node()
    have[name] = [gpu(s, f"gpu-{i}") for i in range(3)]
    if kind == "duplicate":
        slice_of(s, f"{name}-gpu-a", GPUS, name, have.pop(name), count=2, nodeName=name)
        slice_of(s, f"{name}-gpu-b", GPUS, name, [gpu(s, "gpu-0")], count=2, nodeName=name)
    publish(s, have)
    right, missing = f'device.driver == "{GPUS}"', f'device.attributes["{GPUS}"].missing == "x"'
    if kind.startswith("class"):
        device_class(s, "odd", *(["device.nosuchfield"] if kind == "class compile" else [right, missing]))
    many = first_of("r0", exactly("a", "gpu", 40), exactly("b", "gpu", 33))
    requests = {
        "class compile": exactly("r0", "odd"),
        "class runtime": exactly("r0", "odd"),
        "no class": exactly("r0", "absent"),
        "no sub class": first_of("r0", exactly("a"), exactly("b", "absent")),
        "duplicate": exactly("r0", every=s.odds(0.6)),
        "all of none": exactly("r0", "nic", every=True),
        "many": s.pick(exactly("r0", "gpu", 40), many),
        "compile": exactly("r0", where=[right, "device.nosuchfield"]),
        "runtime": exactly("r0", where=[missing]),
        "all in use": exactly("r0", every=True),
    }
    if kind == "all in use":
        for node, found in have.items():
            if s.odds(0.7):
                hold(s, node, exactly("r0"), Result(GPUS, node, found[0]["name"]))
    claim_for(s, [requests[kind]])


#: The kinds of cases; they rotate in this order.
KINDS: Final = (
    extended, _prioritized, _tainted, capacity, partition, extended, binding, _constraints, _shared, _per_device,
    _admin, _odd,
)  # fmt: skip


def devices(s: Scene) -> None:
    """Add the next kind in rotation; 10 % of the cases also have tainted nodes, 10 % a pod with priority 100."""
    KINDS[s.number // 2 % len(KINDS)](s)
    if s.odds(0.1):
        s.taint_some()
    if s.odds(0.1):
        s.pod["spec"]["priority"] = 100
        if s.odds(0.5):
            squeeze(s)


def one_kind(s: Scene) -> None:
    """Add a random kind among those that only add to a case."""
    s.pick(_tainted, capacity, partition, _per_device, _prioritized, binding, _constraints, _shared)(s)
