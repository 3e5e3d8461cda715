"""Resources: requests close to a node's free capacity, in every field of a pod that can request them."""

from collections.abc import Mapping

from conformance.generate.chance import GI, MI
from conformance.generate.scene import FPGA, GPU, NIC, Object, Scene

_OTHERS = (GPU, FPGA, NIC, "hugepages-2Mi", "hugepages-1Gi", "ephemeral-storage")
_UNITS = {"hugepages-1Gi": GI, "hugepages-2Mi": 2 * MI, "ephemeral-storage": MI}


def demand(s: Scene, pod: Object, cpu: int, memory: int, others: Mapping[str, int] | None = None) -> None:
    """Set a pod's requests, spread over containers, init containers, sidecars, overhead and pod-level resources."""
    spec = pod["spec"]
    n = s.weighted((5, 1), (2, 2), (1, 3))
    spec["containers"] = [_container(s, f"c{i}", cpu // n, memory // n) for i in range(n)]
    resources = spec["containers"][0]["resources"]
    for name, amount in (others or {}).items():
        quantity = s.memory(amount) if name in _UNITS else s.count(amount)
        resources.setdefault("requests", {})[name] = quantity
        if name != "ephemeral-storage":
            resources.setdefault("limits", {})[name] = quantity
        if name.startswith("hugepages-") and not {"cpu", "memory"} & set(resources["requests"]):
            resources["requests"]["memory"] = s.memory(64 * MI)
    if s.odds(0.2):
        spec["initContainers"] = [_init_container(s, f"init{i}", cpu, memory) for i in range(s.between(1, 3))]
    if s.odds(0.1):
        overhead = {"cpu": s.cpu(s.pick(10, 100, 250)), "memory": s.memory(s.pick(16, 120, 512) * MI)}
        if s.odds(0.3):
            del overhead[s.pick("cpu", "memory")]
        spec |= {"overhead": overhead, "runtimeClassName": "kata"}
    elif s.odds(0.1) and not others and "initContainers" not in spec:
        total = {"cpu": s.cpu(cpu + s.pick(0, 100, 500)), "memory": s.memory(memory + s.pick(0, 64, 512) * MI)}
        spec["resources"] = {"requests": total, **({"limits": dict(total)} if s.odds(0.3) else {})}
        if s.odds(0.3):
            spec["containers"] = [s.container(f"c{i}") for i in range(n)]


def _container(s: Scene, name: str, cpu: int, memory: int) -> Object:
    if cpu == memory == 0:
        return s.container(name, 0, 0) if s.odds(0.5) else s.container(name)
    kind = s.weighted((12, "both"), (1, "cpu"), (1, "memory"), (1, "none"), (2, "limits"))
    container = s.container(
        name,
        cpu if kind in ("both", "cpu", "limits") else None,
        memory if kind in ("both", "memory", "limits") else None,
    )
    if kind == "limits":  # the API server has defaulted the requests from the limits
        container["resources"]["limits"] = dict(container["resources"]["requests"])
    return container


def _init_container(s: Scene, name: str, cpu: int, memory: int) -> Object:
    container = s.container(
        name, s.pick(None, cpu // 2, cpu, cpu * 3 // 2 + 10, 50), s.pick(None, memory // 2, memory, memory + 64 * MI)
    )
    if s.odds(0.4):
        container["restartPolicy"] = "Always"
    if s.odds(0.1):
        for kind in ("requests", "limits"):
            container["resources"].setdefault(kind, {})[GPU] = "1"
    return container


def container_status(s: Scene, pod: Object, container: Object, **fields: Object) -> None:
    """Add a status of a container to a running pod."""
    running = {"state": {"running": {"startedAt": pod["status"]["startTime"]}}}
    status = {"name": container["name"], "image": container["image"], "imageID": "", "ready": True, "restartCount": 0}
    pod["status"].setdefault("containerStatuses", []).append({**status, "started": True, **running, **fields})


def resize_condition(s: Scene, pod: Object, kind: str, reason: str | None, status: str = "True") -> None:
    """Add a resize condition to a pod's status."""
    condition = {"type": kind, "status": status, "lastTransitionTime": s.time()}
    pod["status"]["conditions"].append(condition | ({"reason": reason} if reason else {}))


def _resize(s: Scene, pod: Object, cpu: int, memory: int) -> None:
    """Set the status of a running pod in the middle of an in-place resize."""
    now = {
        "cpu": s.cpu(max(10, cpu + s.pick(-cpu // 2, 0, 250, 500))),
        "memory": s.memory(max(MI, memory + s.pick(-memory // 2, 0, 256 * MI))),
    }
    allocated = now if s.odds(0.5) else {"cpu": s.cpu(max(10, cpu + s.pick(0, 100, 750))), "memory": s.memory(memory)}
    fields: Object = {"resources": {"requests": now}}
    if s.odds(0.85):
        fields["allocatedResources"] = allocated
    container_status(s, pod, pod["spec"]["containers"][0], **fields)
    pending = s.pick(
        None, ("PodResizePending", "Infeasible"), ("PodResizePending", "Deferred"), ("PodResizeInProgress", None)
    )
    if pending:
        resize_condition(s, pod, *pending)


def _capacity(s: Scene, node: Object, uses: list[str], like: dict[str, int] | None) -> dict[str, int]:
    """Set a node's allocatable resources; return the amounts."""
    have = like or {
        "cpu": s.pick(500, 1000, 1930, 2000, 3920, 4000, 8000),
        "memory": s.pick(1, 2, 4, 8) * GI - s.pick(0, 0, 100 * MI),
        "ephemeral-storage": s.pick(5, 10, 50) * GI,
    }
    have = dict(have)
    for name, amount in have.items():
        node["status"]["allocatable"][name] = s.cpu(amount) if name == "cpu" else s.memory(amount)
    for name in uses:
        if name != "ephemeral-storage" and s.odds(0.7):
            size = s.pick(1, 2, 4) * GI if name == "hugepages-1Gi" else s.pick(64, 256, 1024) * MI
            have[name] = size if name in _UNITS else s.pick(0, 1, 2, 4, 8, 8, 1000)
            s.offer(node, name, s.memory(size) if name in _UNITS else s.count(have[name]))
    return have


def resources(s: Scene) -> None:
    """Fill the nodes to some degree, and let the pod request about the free capacity of a node."""
    uses = s.some(_OTHERS, 0, 3)
    level = s.weighted((3, (0.0, 0.5)), (4, (0.1, 1.0)), (2, (0.6, 1.0)), (1, (1.0, 1.0)))
    if s.gentle:
        level = (0.0, 0.6)
    else:
        s.pods = []
    alike, few_pods = s.odds(0.2), s.odds(0.2)
    free: list[dict[str, int]] = []
    first: dict[str, int] | None = None
    for node in s.nodes:
        have = _capacity(s, node, uses, first if alike else None)
        first = first or {name: have[name] for name in ("cpu", "memory", "ephemeral-storage")}
        _fill(s, node, have, uses, s.share(*level))
        if few_pods or s.odds(0.01):
            live = [pod for pod in s.on(node["metadata"]["name"]) if pod["status"]["phase"] == "Running"]
            node["status"]["allocatable"]["pods"] = str(max(0, len(live) + s.pick(-1, 0, 0, 1, 2)))
        free.append(have)
    if not free:
        return
    left = s.pick(*free)
    scale = s.weighted((3, 1.0), (6, s.share(0.05, 0.9)), (1, s.share(1.0, 1.3)), (1, s.share(1.3, 5)))
    if s.gentle:
        scale = s.share(0.02, 0.4)
    cpu = s.pick(0, 1, 10, 20000) if s.odds(0.08) else max(0, int(left["cpu"] * scale))
    memory = s.pick(0, MI, 100 * GI) if s.odds(0.08) else max(0, int(left["memory"] * scale) // MI * MI)
    if s.odds(0.07):
        cpu = memory = 0
    others = {}
    for name in uses:
        if s.odds(0.16 if s.gentle else 0.4):
            unit = _UNITS.get(name, 1)
            others[name] = max(unit, int(left.get(name, 0) * min(scale, 2) * s.pick(1, 0.5)) // unit * unit)
    if s.odds(0.05):
        others[s.pick(GPU, FPGA, NIC)] = 1
    demand(s, s.pod, cpu, memory, others)
    if s.odds(0.15) and not s.gentle:
        s.pod["spec"]["priority"] = 100
    if s.odds(0.1):
        s.add_pod("orphan", "default", s.labels(), node="gone-node")


def _fill(s: Scene, node: Object, have: dict[str, int], uses: list[str], share: float) -> None:
    """Add pods that use a share of a node, and subtract their requests from ``have``."""
    n = 2 if s.n_nodes else s.between(0, 4)
    size = {name: int(amount * share / max(n, 1)) for name, amount in have.items()}
    for _ in range(n):
        cpu, memory = size["cpu"] // 10 * 10, size["memory"] // MI * MI
        if s.odds(0.1):
            cpu = memory = 0
        others = {}
        for name in uses:
            unit = _UNITS.get(name, 1)
            if name in have and size[name] >= unit and s.odds(0.5):
                others[name] = size[name] // unit * unit
        pod = s.add_pod("filler", "default", s.labels(), node=node["metadata"]["name"])
        demand(s, pod, cpu, memory, others)
        if cpu and s.odds(0.1):
            _resize(s, pod, cpu, memory)
        what = s.weighted((20, "runs"), (2, "finished"), (1, "terminating"))
        if what == "finished":
            s.finish(pod)
            continue
        if what == "terminating":
            s.terminate(pod)
        for name, amount in {"cpu": cpu, "memory": memory, **others}.items():
            have[name] -= amount
