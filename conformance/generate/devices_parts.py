"""Shared and partitioned devices, and devices with binding conditions."""

import copy
from typing import Final

from conformance.generate.hardware import (
    GPUS,
    NICS,
    Result,
    claim_for,
    device_classes,
    exactly,
    first_of,
    gpus,
    grant,
    hold,
    on_node,
    publish,
    slice_of,
)  # fmt: skip
from conformance.generate.scene import Object, Scene

_POLICIES: Final[tuple[Object | None, ...]] = (
    None,
    None,
    {"default": "1Gi", "validValues": ["1Gi", "2Gi", "4Gi"]},
    {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi", "max": "8Gi"}},
    {"default": "2Gi", "validRange": {"min": "2Gi"}},
    {"default": "3Gi", "validRange": {"min": "1Gi", "step": "2Gi"}},
    {"default": "512Mi"},
)
_AMOUNTS: Final = [
    "512Mi",
    "1Gi",
    "1Gi",
    "1536Mi",
    "2Gi",
    "2Gi",
    "3Gi",
    "3Gi",
    "4Gi",
    "5Gi",
    "6Gi",
    "8Gi",
    "10Gi",
    "30Gi",
]
#: The partitions of a board: profile -> (maximum number, memory in GiB, engines).
_PARTS: Final = {"whole": (1, 80, 8), "half": (2, 40, 4), "quarter": (4, 20, 2), "tiny": (2, 20, 1)}


def _port(s: Scene, i: int) -> Object:
    bandwidth: Object = {"value": s.pick("10Gi", "10Gi", "20Gi")}
    capacity = {"bandwidth": bandwidth}
    found: Object = {"name": f"port-{i}", "attributes": {"speed": {"int": s.pick(10, 100)}, "rail": {"int": i}}}
    if s.odds(0.15):
        return found | {"capacity": capacity}
    if policy := s.pick(*_POLICIES):
        bandwidth["requestPolicy"] = copy.deepcopy(policy)
    if s.odds(0.3):
        capacity["slots"] = {"value": "4", "requestPolicy": {"default": "1", "validRange": {"min": "1"}}}
    return found | {"allowMultipleAllocations": True, "capacity": capacity}


def _share(s: Scene, name: str) -> Object:
    """Return a request for a part of a device's capacity."""
    wanted = {"bandwidth": s.pick(*_AMOUNTS)} if s.odds(0.9) else {}
    if s.odds(0.08):
        wanted["slots"] = s.pick("1", "2", "4")
    if s.odds(0.03):
        wanted["lanes"] = "1"
    where = []
    if s.odds(0.12):
        where.append(s.pick("device.allowMultipleAllocations", "!device.allowMultipleAllocations"))
    if s.odds(0.12):
        where.append(f'device.attributes["{NICS}"].speed == 100')
    more = {"capacity": {"requests": wanted}} if wanted else {}
    return exactly(name, "nic", s.weighted((8, 1), (3, 2), (1, 3)), every=s.odds(0.12), where=where, **more)


def capacity(s: Scene) -> None:
    """Add devices that several claims share by their capacity."""
    device_classes(s)
    have = {name: [_port(s, i) for i in range(s.between(1, 4))] for name in s.node_names()}
    for name, found in have.items():
        for device in found:
            if not device.get("allowMultipleAllocations"):
                if s.odds(0.1):
                    hold(s, name, exactly("r0", "nic"), Result(NICS, name, device["name"]))
                continue
            for _ in range(s.pick(0, 0, 0, 1, 2)):
                used = {"bandwidth": s.pick("1Gi", "2Gi", "4Gi", "5Gi")}
                slots = {"slots": "1"} if "slots" in device["capacity"] else {}
                more = {"shareID": s.uid(), "consumedCapacity": used | slots}
                request = exactly("r0", "nic", capacity={"requests": used})
                hold(s, name, request, Result(NICS, name, device["name"], more=more))
    publish(s, have, NICS)
    requests = [_share(s, f"r{i}") for i in range(s.weighted((7, 1), (3, 2)))]
    if s.odds(0.12):
        requests = [first_of("r0", _share(s, "a"), _share(s, "b"))]
    constraints: list[Object] = []
    if s.odds(0.3):
        for request in requests:
            for one in request.get("firstAvailable", [request.get("exactly")]):
                if one["allocationMode"] == "All":
                    one |= {"allocationMode": "ExactCount", "count": 2}
        distinct = {"distinctAttribute": s.pick(f"{NICS}/rail", f"{NICS}/speed")}
        constraints = [distinct if s.odds(0.7) else {"matchAttribute": f"{NICS}/rail"}]
    claim_for(s, requests, constraints=constraints)
    if s.odds(0.25):
        claim_for(s, [_share(s, "r0")])


def _board(s: Scene, node: str, broken: str) -> None:
    """Publish the boards of a node with their shared counters, and the partitions that consume these counters."""
    n = s.pick(1, 1, 2)
    sets = [
        {"name": f"board-{b}", "counters": {"memory": {"value": "80Gi"}, "engines": {"value": "8"}}} for b in range(n)
    ]
    found: list[Object] = []
    for b in range(n):
        for profile in s.some(_PARTS, 2, 4):
            many, memory, engines = _PARTS[profile]
            counters = {"memory": {"value": f"{memory}Gi"}, "engines": {"value": str(engines)}}
            for i in range(many):
                attributes = {"profile": {"string": profile}, "board": {"int": b}}
                device: Object = {"name": f"b{b}-{profile}-{i}", "attributes": attributes}
                device["capacity"] = {"memory": {"value": f"{memory}Gi"}}
                device["consumesCounters"] = [{"counterSet": f"board-{b}", "counters": copy.deepcopy(counters)}]
                found.append(device)
    s.random.shuffle(found)
    first = found[0]["consumesCounters"][0]
    if broken == "no set":
        first["counterSet"] = "no-such-board"
    elif broken == "no counter":
        first["counters"]["wires"] = {"value": "1"}
    count = 3 if broken in ("incomplete", "same set") else 2
    if broken == "same set":
        twice = copy.deepcopy(sets[:1])
        slice_of(s, f"{node}-boards-too", GPUS, node, None, count=count, nodeName=node, sharedCounters=twice)
    slice_of(s, f"{node}-boards", GPUS, node, None, count=count, nodeName=node, sharedCounters=sets)
    slice_of(s, f"{node}-parts", GPUS, node, found, count=count, nodeName=node)
    free = dict.fromkeys(range(n), (80, 8))
    for device in found:
        _, memory, engines = _PARTS[device["attributes"]["profile"]["string"]]
        b = device["attributes"]["board"]["int"]
        if s.odds(0.2) and free[b][0] >= memory and free[b][1] >= engines:
            free[b] = free[b][0] - memory, free[b][1] - engines
            hold(s, node, exactly("r0"), Result(GPUS, node, device["name"]), s.pick(0, 0, -10))


def partition(s: Scene) -> None:
    """Add devices that are partitions of one board: an allocated partition consumes counters that others need."""
    device_classes(s)
    kinds = ("", "no set", "no counter", "incomplete", "same set")
    broken, victim = s.weighted(*zip((12, 1, 1, 1, 1), kinds, strict=True)), s.any_node()
    for name in s.node_names():
        if s.odds(0.9):
            _board(s, name, broken if name == victim else "")

    def ask(name: str) -> Object:
        profile = f'device.attributes["{GPUS}"].profile == "{s.pick(*_PARTS)}"'
        size = f'quantity("{s.pick("20Gi", "40Gi", "80Gi")}")'
        where = s.pick([], [profile], [f'device.capacity["{GPUS}"].memory.compareTo({size}) >= 0'])
        return exactly(name, "gpu", s.pick(1, 1, 2, 3), every=s.odds(0.06), where=where)

    requests = [ask("r0"), *([ask("r1")] if s.odds(0.3) else [])]
    if s.odds(0.25):
        requests = [first_of("r0", ask("a"), ask("b"), ask("c"))]
    alike = {"matchAttribute": f"{GPUS}/board"}
    every = any("'All'" in str(request) for request in requests)
    claim_for(s, requests, constraints=[alike] if s.odds(0.2) and not every else [])


def binding(s: Scene) -> None:
    """Add devices with binding conditions, which become ready only after they are allocated."""
    device_classes(s)
    attached, failed = "gpu.example.com/attached", "gpu.example.com/attach-failed"
    conditions = {"bindingConditions": [attached], "bindingFailureConditions": [failed]}
    have = gpus(s)
    for found in have.values():
        if s.odds(0.6):
            for device in found:
                device |= {**copy.deepcopy(conditions), "bindsToNode": s.odds(0.5)}
    publish(s, have)
    kind = s.pick("new", "waiting", "late", "ready", "failed", "failed", "late", "unknown")
    if kind == "new" or not have:
        claim_for(s, [exactly("r0", "gpu", s.pick(1, 2))])
        return
    name = s.pick(*have)
    device, others = have[name][0]["name"], s.some(s.pods, 0, 1)
    users = s.weighted((4, [s.pod]), (3, []), (1, others), (1, [*others, s.pod]))
    result = Result(GPUS, name, device, more=copy.deepcopy(conditions))
    given = grant(claim_for(s, [exactly("r0")]), [result], on_node(name) if s.odds(0.8) else None, users)
    # Far in the past or future, so that the answer does not depend on the current time.
    since = "2020-01-01T00:00:00Z" if kind == "late" else "2099-01-01T00:00:00Z"
    given["status"]["allocation"]["allocationTimestamp"] = since
    if kind != "unknown":
        says = [(attached, kind == "ready")]
        if kind == "failed" or s.odds(0.2):
            says.append((failed, kind == "failed"))
        common = {"lastTransitionTime": s.time(), "reason": "Fabric", "message": ""}
        told = [{"type": kind_of, "status": "True" if value else "False", **common} for kind_of, value in says]
        given["status"]["devices"] = [{"driver": GPUS, "pool": name, "device": device, "conditions": told}]
    if s.odds(0.2):
        claim_for(s, [exactly("r0")])
