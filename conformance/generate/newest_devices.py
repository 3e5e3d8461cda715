"""Devices in 1.37: taint rules, fractional units, counters over drivers and nodes, choices that need backtracking."""

import copy
from typing import Final

from conformance.generate.devices import device_taint, tolerant
from conformance.generate.hardware import (
    GPUS,
    NICS,
    Result,
    claim_for,
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

_POLICIES: Final[tuple[Object, ...]] = (
    {"default": "500m", "validRange": {"min": "500m", "step": "250m", "max": "4"}},
    {"default": "500m", "validRange": {"min": "250m", "step": "500m", "max": "2250m"}},
    {"default": "1", "validRange": {"min": "100m", "step": "300m"}},
    {"default": "1", "validRange": {"min": "1", "step": "1", "max": "3500m"}},
    {"default": "100m", "validRange": {"min": "100m", "max": "2500m"}},
    {"default": "250m", "validValues": ["250m", "500m", "1500m"]},
    {"default": "1", "validRange": {"min": "1", "step": "1"}},
    {"default": "1", "validRange": {"min": "0", "step": "500m"}},
    {"default": "1", "validRange": {"min": "1", "step": "1500u"}},
    {"default": "200m"},
)
_AMOUNTS: Final = [
    "100m",
    "300m",
    "0.5",
    "0.5",
    "750m",
    "750m",
    "1",
    "1100m",
    "1.25",
    "1250m",
    "1500m",
    "2",
    "2.6",
    "3500m",
]
_SPEED: Final = f'device.attributes["{NICS}"].speed == 100'


def _rule_selector(s: Scene) -> Object | None:
    """Return the device selector of a taint rule; an empty or absent selector matches every device."""
    driver, pool, device = s.pick(GPUS, GPUS, NICS), s.any_node(), f"gpu-{s.pick(0, 0, 1, 2)}"
    also: Object = {"driver": GPUS} if s.odds(0.5) else {}
    elsewhere: tuple[Object, ...] = (
        {"driver": "other.example.com"}, {"pool": "no-such-pool"}, {"driver": GPUS, "device": "gpu-99"},
    )  # fmt: skip
    one = {"driver": driver, "pool": pool, "device": device}
    choices: tuple[tuple[float, Object | None], ...] = (
        (1, None), (1, {}), (2, {"driver": driver}), (4, {"pool": pool} | also), (3, {"device": device} | also),
        (3, one), (1, s.pick(*elsewhere)),
    )  # fmt: skip
    return s.weighted(*choices)


def rules(s: Scene) -> None:
    """Add DeviceTaintRules, by which an administrator taints devices; older releases do not know the kind."""
    device_classes(s)
    have = gpus(s)
    seen: list[Object] = []
    for found in have.values():
        for device in found:
            if s.odds(0.12):
                device["taints"] = [device_taint(s)]
                seen += device["taints"]
    publish(s, have)
    if s.odds(0.4):
        nics = [{"name": "nic-0", "attributes": {"speed": {"int": 100}}}]
        publish(s, {name: nics for name in s.node_names() if s.odds(0.8)}, NICS)
    for i in range(s.weighted((4, 1), (3, 2), (2, 3))):
        spec: Object = {"taint": device_taint(s)}
        seen.append(spec["taint"])
        if (selector := _rule_selector(s)) is not None:
            spec["deviceSelector"] = selector
        s.add("resource.k8s.io/v1", "DeviceTaintRule", s.meta(f"rule-{i}"), spec=spec)
    either = first_of("r0", tolerant(s, "a", seen, 0.5), tolerant(s, "b", seen, 0.5))
    claim_for(s, [either if s.odds(0.3) else tolerant(s, "r0", seen, 0.5)])
    if have and s.odds(0.15):  # a device that is already allocated stays allocated
        name = s.pick(*have)
        grant(claim_for(s, [exactly("r0")]), [Result(GPUS, name, have[name][0]["name"])], on_node(name))


def fractions(s: Scene) -> None:
    """Add shared devices whose capacity is consumed in fractions of a unit, and requests that overflow."""
    device_classes(s)
    policies = s.some(_POLICIES, 1, 3)
    have: dict[str, list[Object]] = {}
    for name in s.node_names():
        have[name] = []
        for i in range(s.pick(1, 1, 2)):
            units: Object = {"value": s.pick("4", "2500m", "1500m", "2", "1", "10")}
            if s.odds(0.9):
                units["requestPolicy"] = copy.deepcopy(s.pick(*policies))
            device: Object = {"name": f"nic-{i}", "attributes": {"speed": {"int": s.pick(10, 100)}}}
            device |= {"allowMultipleAllocations": s.odds(0.93), "capacity": {"units": units}}
            if s.odds(0.2):
                device["capacity"]["lanes"] = {"value": "4"}
            have[name].append(device)
            for _ in range(s.pick(0, 0, 1, 1, 2)):
                if device["allowMultipleAllocations"] and "lanes" not in device["capacity"]:
                    used = {"units": s.pick("100m", "250m", "500m", "0.75", "1")}
                    more = {"shareID": s.uid(), "consumedCapacity": used}
                    request = exactly("r0", "nic", capacity={"requests": used})
                    hold(s, name, request, Result(NICS, name, device["name"], more=more))
    publish(s, have, NICS)

    def ask(name: str) -> Object:
        amount = s.weighted((12, s.pick(*_AMOUNTS)), (0.5, "1500u"), (0.3, "100P"), (1.2, "9300P"))
        more = {"capacity": {"requests": {"units": amount}}} if s.odds(0.9) else {}
        where = [_SPEED] if s.odds(0.12) else []
        return exactly(name, "nic", s.weighted((6, 1), (2, 2)), every=s.odds(0.2), where=where, **more)

    requests = [ask("r0"), *([ask("r1")] if s.odds(0.35) else [])]
    claim_for(s, [first_of("r0", ask("a"), ask("b"))] if s.odds(0.15) else requests)
    if s.odds(0.2):
        claim_for(s, [ask("r0")])


def _board(i: int) -> Object:
    return {"name": f"board-{i}", "counters": {"memory": {"value": "40Gi"}}}


def _part(board: int, name: str, size: int) -> Object:
    counters = [{"counterSet": f"board-{board}", "counters": {"memory": {"value": f"{size}Gi"}}}]
    return {"name": f"part-{board}-{name}", "attributes": {"board": {"int": board}}, "consumesCounters": counters}


def _sizes(s: Scene) -> list[int]:
    return [s.pick(10, 20, 20, 40) for _ in range(s.between(1, 3))]


def counters(s: Scene) -> None:
    """Add shared counters: two drivers with equal names, a pool over several nodes, or multi-allocatable devices."""
    device_classes(s)
    kind = s.pick("alike", "reach", "shares")
    if kind == "reach":
        _reaching(s)
        return
    shares = kind == "shares"
    for node in s.node_names():
        for driver in (NICS,) if shares else (GPUS, NICS):
            found = [_part(0, str(i), size) for i, size in enumerate(_sizes(s))]
            for device in found if shares else ():
                device["allowMultipleAllocations"] = s.odds(0.8)
                if device["allowMultipleAllocations"] and s.odds(0.5):
                    device["capacity"] = {"units": {"value": "4"}}
            stem = f"{node}-{driver.split('.')[0]}"
            slice_of(s, f"{stem}-boards", driver, node, None, count=2, nodeName=node, sharedCounters=[_board(0)])
            slice_of(s, f"{stem}-parts", driver, node, found, count=2, nodeName=node)
            _holders(s, node, driver, found)

    def ask(name: str, class_name: str) -> Object:
        units: Object = {"capacity": {"requests": {"units": s.pick("1", "2")}}} if shares and s.odds(0.4) else {}
        return exactly(name, class_name, s.pick(1, 1, 2), **units)

    requests = [ask("r0", "nic" if shares else s.pick("gpu", "nic", "any"))]
    if s.odds(0.7):
        requests.append(ask("r1", "nic" if shares else s.pick("gpu", "nic")))
    claim_for(s, requests)


def _holders(s: Scene, node: str, driver: str, found: list[Object]) -> None:
    """Allocate partitions to running pods as long as the board's 40 GiB suffice."""
    free = 40
    for device in found:
        size = int(device["consumesCounters"][0]["counters"]["memory"]["value"].removesuffix("Gi"))
        if not s.odds(0.35) or free < size:
            continue
        free -= size
        shared = device.get("allowMultipleAllocations", False)
        for _ in range(s.pick(1, 1, 2) if shared else 1):
            consumed = {"consumedCapacity": {"units": "1"}} if "capacity" in device else {}
            more = {"shareID": s.uid(), **consumed} if shared else {}
            request = exactly("r0", "nic" if driver == NICS else "gpu")
            hold(s, node, request, Result(driver, node, device["name"], more=more))


def _reaching(s: Scene) -> None:
    """Add one pool over several nodes whose counters are published to only some of them."""
    zone = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}
    selector: Object = {"nodeSelector": {"nodeSelectorTerms": [zone]}}
    reach: Object = s.pick({"allNodes": True}, {"nodeName": s.any_node()}, selector)
    homes = s.some(s.node_names(), 1, 4)
    broken = s.weighted((5, ""), (1, "no set"), (1, "twice"), (1, "short"))
    count = len(homes) + 1 + (broken in ("twice", "short"))
    boards = [_board(0), _board(1)]
    slice_of(s, "rack-boards", GPUS, "rack", None, count=count, sharedCounters=boards, **reach)
    if broken == "twice":
        slice_of(s, "rack-boards-too", GPUS, "rack", None, count=count, sharedCounters=[_board(0)], **reach)
    for i, node in enumerate(homes):
        found = [_part(s.pick(0, 1), f"{i}{j}", size) for j, size in enumerate(_sizes(s))]
        if broken == "no set" and i == 0:
            found[0]["consumesCounters"][0]["counterSet"] = "no-such-board"
        slice_of(s, f"rack-{i}", GPUS, "rack", found, count=count, nodeName=node)
        if s.odds(0.3):
            hold(s, node, exactly("r0"), Result(GPUS, "rack", found[0]["name"]))
    publish(s, {name: [gpu(s, "gpu-0")] for name in s.node_names() if s.odds(0.3)})
    claim_for(s, [exactly("r0", "gpu", s.pick(1, 1, 2), every=s.odds(0.15))])


def distinct(s: Scene) -> None:
    """Add devices that must differ in an attribute, so that the allocator must undo a first choice."""
    device_classes(s)
    have: dict[str, list[Object]] = {}
    for name in s.node_names():
        rails = s.pick((0, 0, 1, 2), (0, 1, 0, 2), (0, 1, 0, 1), (0, 1, 0), (1, 1, 1), (0, 1, 2, 3), (2, 2, 0))
        have[name] = []
        for i, rail in enumerate(rails):
            attributes: Object = {"rail": {"int": rail}, "model": {"string": s.pick("a100", "h100")}}
            memory = {"memory": {"value": s.pick("40Gi", "80Gi")}}
            have[name].append({"name": f"gpu-{i}", "attributes": attributes, "capacity": memory})
        if s.odds(0.2):
            del have[name][0]["attributes"]["rail"]
    publish(s, have)
    for name, found in have.items():
        if s.odds(0.15):
            hold(s, name, exactly("r0"), Result(GPUS, name, found[-1]["name"]))

    def ask(name: str, count: int = 1, *, every: bool = False) -> Object:
        where = [f'device.attributes["{GPUS}"].model == "a100"'] if s.odds(0.2) else []
        return exactly(name, count=count, every=every, where=where)

    requests = [ask(f"r{i}", s.pick(1, 2, 3, 3)) for i in range(s.pick(1, 1, 1, 2))]
    if s.odds(0.25):
        requests[0] = first_of("r0", ask("a", 3), ask("b", 2), exactly("c"))
    elif s.odds(0.1):
        requests[0] = ask("r0", every=True)
    constraints: list[Object] = [{"distinctAttribute": f"{GPUS}/rail"}]
    if s.odds(0.3):
        constraints[0]["requests"] = [one["name"] for one in s.some(requests, 1, 2)]
    if s.odds(0.2):
        constraints.append({s.pick("matchAttribute", "matchAttribute", "distinctAttribute"): f"{GPUS}/model"})
    if s.odds(0.15):
        s.random.shuffle(constraints)
    claim_for(s, requests, constraints=constraints)
