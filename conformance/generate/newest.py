"""Features of 1.37: storage scoring, missing CSI drivers, device taint rules, resizes, nominations, new plugins.

No case depends on the order of a Go map: at most one CSIStorageCapacity of a class reaches a node, a pod has volumes of
at most one missing driver, and at most one capacity of a device cannot be computed.
"""

from typing import Any, Final

from conformance.generate.chance import GI, MI
from conformance.generate.hardware import use_claim
from conformance.generate.images import image_volumes, images, present_images
from conformance.generate.newest_devices import counters, distinct, fractions, rules
from conformance.generate.newest_storage import drivers, provisioned, static_or_provisioned
from conformance.generate.nodeaffinity import REQUIRED, field
from conformance.generate.resources import container_status, resize_condition
from conformance.generate.scene import Object, Scene
from conformance.generate.start import squeeze
from conformance.generate.storage import NO_PROVISIONER, bind, claim, mount, on_hosts, storage_class, volume

_PORT: Final = {"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}


def _named_node(s: Scene) -> None:
    """Give the pod a ``spec.nodeName``, among other restrictions of its nodes."""
    names = s.node_names()
    mine = s.weighted((7, s.any_node()), (2, "no-such-node"))
    spec = s.pod["spec"]
    spec["nodeName"] = mine

    def near() -> str:
        return mine if mine in names and s.odds(0.6) else s.any_node()

    if s.odds(0.4):
        wanted = sorted({near(), near() if s.odds(0.4) else names[0]})
        terms = {"nodeSelectorTerms": [{"matchFields": [field(name)]} for name in wanted]}
        spec.setdefault("affinity", {})["nodeAffinity"] = {REQUIRED: terms}
    if s.odds(0.35):  # a bound volume that few nodes reach restricts the nodes too
        name = s.name("local")
        storage_class(s, "local", NO_PROVISIONER)
        reach = on_hosts(s, sorted({near(), s.any_node()}))
        pv = volume(s, "local", 2 * GI, local={"path": "/mnt/0"}, nodeAffinity=reach)
        bind(claim(s, name, "local"), pv)
        mount(s.pod, name)
    if s.odds(0.3):
        for node in s.some(s.nodes, 1, 3):
            node["spec"]["unschedulable"] = True
    if s.odds(0.3):
        s.pod["status"]["nominatedNodeName"] = near()
    for _ in range(s.pick(0, 0, 1, 2)):
        waiting = s.add_pod("waiting", "default", s.labels(), priority=s.pick(0, 100, 1000), cpu=s.pick(200, 900))
        waiting["status"]["nominatedNodeName"] = near()
    if s.odds(0.4):
        spec["priority"] = 100
        squeeze(s)
    if s.odds(0.3):
        how = s.pick("multiPoint", "filter", "preFilter", "enabled", "order")
        if how == "order":
            enabled = s.some(("DynamicResources", "VolumeBinding", "NodeAffinity"), 1)
            s.plugins("preFilter", "enabled").extend({"name": name} for name in enabled)
        elif how == "enabled":  # in older releases these do not implement this extension point
            name = s.pick("NodeName", "TaintToleration", "NodeUnschedulable")
            s.plugins("preFilter", "enabled").append({"name": name})
        else:
            s.disable(how, "NodeName")


def _promised(s: Scene) -> None:
    """Add nominated pods that are gated before they are queued: since 1.37 their nominations count all the same."""
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": s.pick("1", "1", "2"), "memory": "8Gi"}
        for pod in s.on(node["metadata"]["name"]):
            pod["spec"] |= {
                "containers": [s.container(cpu=s.pick(50, 200), memory=64 * MI)],
                "priority": s.pick(0, -10),
            }
    for _ in range(s.between(2, 5)):
        priority, cpu = s.pick(0, 0, 100, 1000), s.pick(300, 600, 900)
        held = s.add_pod("held", s.pick("default", "prod"), s.labels(), priority=priority, cpu=cpu, memory=64 * MI)
        held["status"]["nominatedNodeName"] = s.any_node()
        how = s.pick("gate", "gate", "claim", "none")
        if how == "gate":
            held["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        elif how == "claim":
            use_claim(held, "not-yet-made")
        if s.odds(0.2):
            held["spec"]["containers"][0]["ports"] = [dict(_PORT)]
    container = s.container(cpu=s.pick(200, 500, 900), memory=64 * MI)
    if s.odds(0.3):
        container["ports"] = [dict(_PORT)]
    s.pod["spec"] |= {"containers": [container], "priority": s.pick(0, 0, 50, 100)}
    if s.odds(0.2):
        s.pod["status"]["nominatedNodeName"] = s.any_node()


def _image_volumes(s: Scene) -> None:
    """Add image volumes, which raise the maximum image score as well as the score itself."""
    image_volumes(s, 8)
    if s.odds(0.4):
        factors = {name: s.pick(1, 3, 10) for name in sorted(set(present_images(s)))}
        for node in s.nodes:
            for image in node["status"].get("images", ()):
                image["sizeBytes"] *= factors[image["names"][-1]]
    if s.odds(0.2):
        most = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
        s.plugin_args("NodeResourcesFit", scoringStrategy=most)


def _resized(s: Scene) -> None:
    """Add running pods whose status differs from their spec, at the container or at the pod level."""
    s.pods = []
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": "4", "memory": "8Gi"}
        for _ in range(s.between(0, 3)):
            _sized(s, node["metadata"]["name"], s.pick(200, 400, 600), s.pick(128, 256, 512) * MI)
    spec = s.pod["spec"]
    spec["containers"] = [s.container(cpu=s.pick(500, 1000, 2000, 2600, 3200), memory=s.pick(256, 1024, 3072) * MI)]
    if s.odds(0.15):  # pod-level limits are the default of pod-level requests
        spec["containers"] = [s.container()]
        spec["resources"] = {"limits": {"cpu": s.cpu(s.pick(500, 2600)), "memory": s.memory(s.pick(1, 3) * GI)}}
    if s.odds(0.3):
        spec["priority"] = 100


def _sized(s: Scene, node: str, cpu: int, memory: int) -> None:
    pod = s.add_pod("sized", "default", s.labels(), node=node, priority=s.pick(0, 0, -10))
    spec, status = pod["spec"], pod["status"]
    sizes = ((cpu, memory), (cpu, None), (None, memory), (None, None))
    spec["containers"] = [s.container(f"c{i}", *s.pick(*sizes)) for i in range(s.pick(1, 2, 2))]
    if s.odds(0.5):
        larger = ((None, None), (cpu // 2, memory), (2 * cpu, 2 * memory), (cpu, None))
        spec["initContainers"] = [s.container(f"init{i}", *s.pick(*larger)) for i in range(s.pick(1, 1, 2))]
        for container in spec["initContainers"]:
            if s.odds(0.5):
                container["restartPolicy"] = "Always"

    def amounts(factor: int = 1) -> Object:
        more_cpu, more_memory = s.pick(-150, 0, 250, 900), s.pick(-64, 0, 0, 512) * MI
        return {"cpu": s.cpu(max(10, factor * (cpu + more_cpu))), "memory": s.memory(factor * (memory + more_memory))}

    whole = s.odds(0.35)
    if whole:
        spec["resources"] = {"requests": {"cpu": s.cpu(3 * cpu), "memory": s.memory(3 * memory)}}
        if s.odds(0.4):
            del spec["resources"]["requests"][s.pick("cpu", "memory")]
    for kind, group in (("container", spec["containers"]), ("initContainer", spec.get("initContainers", []))):
        for container in group:
            if s.odds(0.6):
                container_status(s, pod, container, **_told(s, amounts))
                if kind == "initContainer":
                    last = status["containerStatuses"].pop()
                    status.setdefault("initContainerStatuses", []).append(last)
    if (whole and s.odds(0.7)) or s.odds(0.15):
        status["resources"] = {"requests": amounts(3)} if s.odds(0.9) else {}
        if s.odds(0.7):
            status["allocatedResources"] = amounts(3)
        if status["resources"] and s.odds(0.2):
            del status["resources"]["requests"][s.pick("cpu", "memory")]
    if reason := s.weighted((3, ""), (4, "Infeasible"), (3, "Deferred")):
        resize_condition(s, pod, "PodResizePending", reason, s.weighted((9, "True"), (1, "False")))


def _told(s: Scene, amounts: Any) -> Object:
    """Return the resources in a container's status."""
    found: Object = {"allocatedResources": amounts()} if s.odds(0.7) else {}
    if s.odds(0.7):
        found["resources"] = {"requests": amounts()} if s.odds(0.85) else {}
    return found


def _configured(s: Scene) -> None:
    """Add a configuration that some releases reject, or that changes the order of plugins."""
    images(s)
    for node in s.some(s.nodes, 0, 3):
        node["spec"]["unschedulable"] = True
    if s.odds(0.5):
        s.pod["spec"]["nodeName"] = s.any_node()
    gang = s.pick("GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount")
    group = s.pick("DefaultPreemption", "DynamicResources", "NodeName", "NoSuchPlugin")
    enabled: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("multiPoint", ("DeferredPodScheduling",)),
        ("filter", ("DeferredPodScheduling",)),
        ("podGroupPostFilter", (group,)),
        ("multiPoint", ("NodeUnschedulable", "NodeName")),
        ("multiPoint", (gang,)),
    )
    disabled: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("podGroupPostFilter", ("*",)),
        ("multiPoint", ("NodeDeclaredFeatures",)),
        ("preFilter", ("TaintToleration", "NodeUnschedulable", "NodeName")),
    )
    which = s.weighted((5, "enabled"), (3, "disabled"))
    point, names = s.pick(*(enabled if which == "enabled" else disabled))
    s.plugins(point, which).extend({"name": name} for name in names)


_KINDS: Final = (
    provisioned, drivers, rules, _named_node, static_or_provisioned, fractions, _resized, _promised, provisioned,
    counters, _image_volumes, distinct, drivers, static_or_provisioned, fractions, _configured,
)  # fmt: skip


def newest(s: Scene) -> None:
    """Add the next kind in rotation; 10 % of the cases also have tainted nodes, 12 % a pod with priority 100."""
    _KINDS[s.number % len(_KINDS)](s)
    if s.odds(0.1):
        s.taint_some()
    if s.odds(0.12):
        s.pod["spec"]["priority"] = 100
        if s.odds(0.5):
            squeeze(s)
