"""Resource claims as of 1.34: allocated, reserved, from templates, missing, and invalid in every way."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from conformance.generate.devices import devices
from conformance.generate.hardware import (
    GPUS,
    NICS,
    SELECTORS,
    Result,
    device_classes,
    exactly,
    first_of,
    gpu,
    grant,
    hold,
    new_claim,
    on_node,
    slice_of,
    use_claim,
)  # fmt: skip
from conformance.generate.scene import ZONE, Object, Scene
from conformance.generate.start import squeeze
from conformance.generate.storage import being_deleted, own

_RARE: Final = (
    "template pending", "missing", "deleting", "foreign", "full", "full", "not needed", "no class", "compile",
    "runtime", "too many", "all updating", "all invalid", "invalid", "conflict",
)  # fmt: skip


class _Pool(NamedTuple):
    driver: str
    name: str
    node: str | None
    devices: list[str]


def dra(s: Scene) -> None:
    """Add 1.34 claims to even cases, in every fourth case a rare state; add later device features to odd cases."""
    if s.number % 2:
        devices(s)
    else:
        claims(s)


def claims(s: Scene) -> None:
    """Add pools of devices, some of them in use, and one or two claims of the pod."""
    device_classes(s)
    pools = _pools(s)
    taken: set[tuple[str, str]] = set()
    busy = s.pick(0.1, 0.4, 0.8)
    for pool in pools:
        if pool.node and s.odds(busy):
            taken.add((pool.name, pool.devices[0]))
            hold(s, pool.node, exactly("r0"), Result(pool.driver, pool.name, pool.devices[0]), s.pick(0, 0, -10))
    for turn in range(s.weighted((5, 1), (3, 2))):
        kind = s.weighted((10, "new"), (4, "allocated"), (2, "template"), (2, "idle"), (1, "pool wide"))
        if turn == 0 and s.theme == "dra" and s.number % 4 == 0:
            kind = _RARE[s.number // 4 % len(_RARE)]
        _use(s, kind, pools, taken)
    if s.odds(0.2):
        s.taint_some()
    if s.odds(0.25):
        s.pod["spec"]["priority"] = 100
        if s.odds(0.5):
            squeeze(s)


def _pools(s: Scene) -> list[_Pool]:
    """Publish a pool for most nodes, seldom in an inconsistent state, and sometimes a pool that several nodes reach."""
    found = []
    for name in s.node_names():
        if not s.odds(0.85):
            continue
        here = [gpu(s, f"gpu-{i}") for i in range(s.between(1, 4))]
        state = s.weighted((20, "whole"), (1, "incomplete"), (1, "outdated"), (0.2, "duplicate"), (1, "two slices"))
        if state == "duplicate" and s.theme != "dra":
            state = "whole"
        if state == "outdated":
            slice_of(s, f"{name}-old", GPUS, name, [gpu(s, f"gpu-{i}") for i in range(4)], nodeName=name)
        count, generation = (2 if state in ("incomplete", "duplicate", "two slices") else 1), 1 + (state == "outdated")
        slice_of(s, f"{name}-gpu", GPUS, name, here, count=count, generation=generation, nodeName=name)
        if state == "duplicate":
            slice_of(s, f"{name}-gpu2", GPUS, name, [gpu(s, "gpu-0")], count=2, nodeName=name)
        elif state == "two slices":
            more = [gpu(s, f"gpu-{i}") for i in (10, 11)]
            slice_of(s, f"{name}-gpu2", GPUS, name, more, count=2, nodeName=name)
            here = here + more
        if state in ("whole", "two slices"):
            found.append(_Pool(GPUS, name, name, [one["name"] for one in here]))
    if s.odds(0.4):
        here = [{"name": f"nic-{i}", "attributes": {"speed": {"int": 100}}} for i in range(s.between(1, 3))]
        among = {"key": ZONE, "operator": "In", "values": s.some(["z1", "z2", "z3"], 1, 2)}
        selector: Object = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [among]}]}}
        slice_of(s, "nics", NICS, "fabric", here, **s.pick({"allNodes": True}, selector))
        found.append(_Pool(NICS, "fabric", None, [one["name"] for one in here]))
    return found


def _request(s: Scene, name: str, *, admin: bool, within: bool = False) -> Object:
    class_name = s.weighted((9, "gpu"), (3, "big-gpu"), (1, "nic"), (1, "any"), (0.1, "no-such-class"))
    where: Sequence[str] = ()
    if s.odds(0.3):
        class_name = "gpu" if class_name in ("nic", "any") else class_name
        where = [s.pick(*SELECTORS) for _ in range(s.pick(1, 1, 2))]
    if not within and s.odds(0.15):
        subs = [_request(s, f"sub{i}", admin=False, within=True) for i in range(s.between(1, 3))]
        return first_of(name, *subs)
    count = s.weighted((8, 1), (3, 2), (0.7, 4), (0.06, 33))
    more = {"adminAccess": True} if admin and s.odds(0.1) else {}
    return exactly(name, class_name, count, every=s.odds(0.11), where=where, **more)


def _new(s: Scene, name: str) -> Object:
    """Add a claim with one or two requests and, seldom, a constraint."""
    namespace = s.pod["metadata"]["namespace"]
    n = s.weighted((6, 1), (2, 2))
    requests = [_request(s, f"r{i}", admin=namespace == "default") for i in range(n)]
    constraints: list[Object] = []
    if s.odds(0.2):
        names = (f"{GPUS}/model", f"{GPUS}/driverVersion", f"{GPUS}/index", "example.org/numa")
        constraints = [{"matchAttribute": s.pick(*names)}]
        if s.odds(0.4):
            constraints[0]["requests"] = [s.pick(*requests)["name"]]
        for request in requests:  # before 1.36 the order of pools decides which of all devices breaks a constraint
            for one in request.get("firstAvailable", [request.get("exactly")]):
                if one["allocationMode"] == "All":
                    one |= {"allocationMode": "ExactCount", "count": 1}
    return new_claim(s, name, namespace, requests, constraints)


def _use(s: Scene, kind: str, pools: list[_Pool], taken: set[tuple[str, str]]) -> None:
    """Let the pod use a claim of the given kind."""
    name = s.name("claim")
    if kind in ("template", "template pending", "foreign", "not needed"):
        entry = use_claim(s.pod, template="tmpl")
        statuses = s.pod["status"].setdefault("resourceClaimStatuses", [])
        if kind == "not needed":
            statuses.append({"name": entry})
        elif kind == "template pending":
            s.pod["status"] = {key: value for key, value in s.pod["status"].items() if value != []}
        else:
            statuses.append({"name": entry, "resourceClaimName": name})
            found = _new(s, name)
            if kind == "template":
                own(found, s.pod)
                found["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "dev"}
        return
    use_claim(s.pod, name)
    if kind == "missing":
        return
    found = _new(s, name)
    if kind in ("no class", "compile", "runtime", "too many", "all updating", "all invalid", "invalid", "conflict"):
        found["spec"]["devices"] = _wrong(s, kind)
    elif kind == "deleting":
        being_deleted(s, found, "resource.kubernetes.io/delete-protection")
    elif kind in ("allocated", "idle", "full", "pool wide"):
        _allocate(s, found, kind, pools, taken)


def _allocate(s: Scene, found: Object, kind: str, pools: list[_Pool], taken: set[tuple[str, str]]) -> None:
    """Allocate a free device to a claim, and reserve the claim for pods."""
    free = [(pool, name) for pool in pools for name in pool.devices if (pool.name, name) not in taken]
    if not free:
        return
    pool, device = s.pick(*free)
    taken.add((pool.name, device))
    users = [] if kind == "idle" else s.some(s.pods, 0, 2)
    if kind == "allocated" and s.odds(0.4):
        users = [s.pod]
    request = found["spec"]["devices"]["requests"][0]["name"]
    where = on_node(pool.node) if pool.node and kind != "pool wide" else None
    grant(found, [Result(pool.driver, pool.name, device, request)], where, users)
    if kind == "full":
        reserved = [{"resource": "pods", "name": f"user-{i}", "uid": s.uid()} for i in range(256)]
        if s.odds(0.3):
            reserved[7] = {"resource": "pods", "name": "incoming", "uid": s.pod["metadata"]["uid"]}
        found["status"]["reservedFor"] = reserved


def _wrong(s: Scene, kind: str) -> Object:
    """Return the devices of a claim that cannot be satisfied."""
    where = {"compile": ["device.nosuchfield"], "runtime": [f'device.attributes["{GPUS}"].missing == "x"']}
    count = 33 if kind == "too many" else 1
    every = kind in ("all updating", "all invalid", "conflict")
    class_name = "no-such-class" if kind == "no class" else "gpu"
    request = exactly("r0", class_name, count, every=every, where=where.get(kind, ()))
    if kind in ("all updating", "all invalid", "invalid", "conflict"):
        _spoil(s, s.any_node(), kind)
    constraints = {"constraints": [{"matchAttribute": f"{GPUS}/model"}]} if kind == "conflict" else {}
    return {"requests": [request], **constraints}


def _spoil(s: Scene, node: str, kind: str) -> None:
    """Put a node's pool into a bad state: being updated, invalid, or with devices that no constraint can combine."""
    gone = [found for found in s.find("ResourceSlice") if found["spec"].get("nodeName") == node]
    if kind == "conflict":  # older releases visit several slices in random order
        gone += [found for found in s.find("ResourceSlice") if found["metadata"]["name"].endswith("-gpu2")]
    s.others = [found for found in s.others if not any(found is other for other in gone)]
    if kind == "conflict":
        for found in s.find("ResourceSlice"):
            found["spec"]["pool"]["resourceSliceCount"] = 1
    pair = [gpu(s, "gpu-0"), gpu(s, "gpu-1")]
    for device, model in zip(pair, ("a100", "t4"), strict=True):
        device["attributes"]["model"] = {"string": model}
    slice_of(s, f"{node}-gpu", GPUS, node, pair, count=1 if kind == "conflict" else 2, nodeName=node)
    if kind in ("all invalid", "invalid"):
        slice_of(s, f"{node}-gpu2", GPUS, node, pair[:1], count=2, nodeName=node)
