"""Features of 1.35 and 1.36: declared features, pod-level resources, nominations, image volumes, balance, Portworx."""

from typing import Final

from conformance.generate.chance import GI, MI
from conformance.generate.images import image_volumes
from conformance.generate.interpod import anti
from conformance.generate.resources import container_status, resize_condition
from conformance.generate.scene import APPS, GPU, HOST, ZONE, Object, Scene
from conformance.generate.start import squeeze
from conformance.generate.storage import MIGRATED, mount_source, storage_class

_DECLARED: Final = (
    "ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits", "SomeFutureFeature",
)  # fmt: skip


def declared(s: Scene) -> None:
    """Let nodes declare features, and usually let the pod need one of them."""
    for node in s.nodes:
        if s.odds(0.85):
            node["status"]["declaredFeatures"] = sorted(s.some(_DECLARED, 1))
    if s.odds(0.2):
        return
    spec = s.pod["spec"]
    where = s.pick("container", "container", "init", "sidecar", "restart only")
    container = spec["containers"][0]
    if where in ("init", "sidecar"):
        container = s.container("setup", 50, 32 * MI)
        spec.setdefault("initContainers", []).append(container)
    actions = ["Restart" if where == "restart only" else "RestartAllContainers", *s.pick([], [], ["Restart"])]
    codes = [{"operator": s.pick("In", "NotIn"), "values": sorted(s.random.sample(range(1, 100), 2))} for _ in actions]
    rules = [{"action": action, "exitCodes": code} for action, code in zip(actions, codes, strict=True)]
    container["restartPolicy"] = "Always" if where == "sidecar" else s.pick("Never", "OnFailure")
    container["restartPolicyRules"] = rules
    if s.odds(0.25):
        spec["priority"] = 100
        squeeze(s)


def pod_resources(s: Scene) -> None:
    """Add pods with pod-level resources, some of them being resized."""
    s.pods = []
    left = []
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": "4", "memory": "8Gi"}
        cpu_left, memory_left = 4000, 8 * GI
        for _ in range(s.between(0, 3)):
            cpu, memory = s.pick(500, 800, 1000), s.pick(256, 512, 1024) * MI
            _sized(s, node["metadata"]["name"], cpu, memory)
            cpu_left, memory_left = cpu_left - cpu, memory_left - memory
        left.append((cpu_left, memory_left))
    cpu_left, memory_left = s.pick(*left)
    cpu = max(50, int(cpu_left * s.pick(0.5, 0.8, 1.0, 1.0, 1.1)))
    memory = max(64 * MI, int(memory_left * s.pick(0.2, 0.5)) // MI * MI)
    spec = s.pod["spec"]
    spec["containers"] = [s.container(cpu=cpu, memory=memory)]
    if s.odds(0.5):
        spec["containers"] = [s.container(f"c{i}", cpu // 4, memory // 4) for i in range(s.pick(1, 2))]
        spec["resources"] = {"requests": {"cpu": s.cpu(cpu), "memory": s.memory(memory)}}
        if s.odds(0.3):
            _huge_pages(s)
    if s.odds(0.2):
        spec["priority"] = 100


def _sized(s: Scene, node: str, cpu: int, memory: int) -> None:
    pod = s.add_pod("sized", "default", s.labels(), node=node, priority=s.pick(0, 0, -10))
    spec, status = pod["spec"], pod["status"]
    n = s.pick(1, 2)
    spec["containers"] = [s.container(f"c{i}", s.pick(None, cpu // 4), s.pick(None, memory // 4)) for i in range(n)]
    total = {"cpu": s.cpu(cpu), "memory": s.memory(memory)}
    spec["resources"] = {"requests": dict(total)} | ({"limits": dict(total)} if s.odds(0.4) else {})
    if s.odds(0.75):
        more_cpu, more_memory = s.pick(-250, 0, 250, 500, 1500), s.pick(-128, 0, 0, 512) * MI
        now = {"cpu": s.cpu(max(100, cpu + more_cpu)), "memory": s.memory(memory + more_memory)}
        status["resources"] = {"requests": now}
        other = {"cpu": s.cpu(cpu + s.pick(0, 100, 700)), "memory": s.memory(memory)}
        if s.odds(0.8):
            status["allocatedResources"] = dict(now) if s.odds(0.5) else other
        if s.odds(0.2):
            del now[s.pick("cpu", "memory")]
        if s.odds(0.5):
            reason = s.pick("Infeasible", "Deferred", None)
            resize_condition(s, pod, "PodResizePending" if reason else "PodResizeInProgress", reason)
    if s.odds(0.25):
        allocated = {"cpu": s.cpu(cpu // 4), "memory": s.memory(memory // 4)}
        now = {"cpu": s.cpu(cpu // 2), "memory": s.memory(memory // 4)}
        container_status(s, pod, spec["containers"][0], allocatedResources=allocated, resources={"requests": now})


def _huge_pages(s: Scene) -> None:
    """Request huge pages at the pod level."""
    for node in s.nodes:
        if s.odds(0.7):
            s.offer(node, "hugepages-2Mi", s.pick("32Mi", "64Mi", "256Mi"))
    spec = s.pod["spec"]
    spec["resources"]["requests"]["hugepages-2Mi"] = "64Mi"
    spec["resources"]["limits"] = {"hugepages-2Mi": "64Mi"}
    if s.odds(0.5):
        for kind in ("requests", "limits"):
            spec["containers"][0]["resources"].setdefault(kind, {})["hugepages-2Mi"] = "16Mi"


def nominations(s: Scene) -> None:
    """Add nominations of the pod itself and of other pods."""
    for node in s.nodes:
        node["status"]["allocatable"] |= {"cpu": s.pick("1", "2", "4"), "memory": "8Gi"}
        for pod in s.on(node["metadata"]["name"]):
            pod["spec"]["containers"] = [s.container(cpu=s.pick(100, 200), memory=64 * MI)]
    spec = s.pod["spec"]
    spec["containers"] = [s.container(cpu=s.pick(300, 600, 900, 1500), memory=128 * MI)]
    spec["priority"] = s.pick(0, 0, 100)
    if s.odds(0.7):
        s.pod["status"]["nominatedNodeName"] = s.any_node() if s.odds(0.9) else "gone-node"
    for _ in range(s.between(0, 4)):
        priority, cpu = s.pick(0, 0, 99, 100, 1000), s.pick(200, 500, 900)
        pod = s.add_pod("waiting", s.pick("default", "prod"), s.labels(), priority=priority, cpu=cpu, memory=64 * MI)
        pod["status"]["nominatedNodeName"] = s.any_node()
        if s.odds(0.25):
            pod["spec"]["affinity"] = anti(s.pick(HOST, ZONE), {"app": s.pick(*APPS)})
    if s.odds(0.3):
        labels = s.pod["metadata"]["labels"] = {"app": s.pick(*APPS)}
        constraint: Object = {"maxSkew": 1, "topologyKey": s.pick(HOST, ZONE), "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [constraint | {"labelSelector": {"matchLabels": labels}}]
    if s.odds(0.2):
        for node in s.some(s.nodes, 1, 2):
            node["spec"]["unschedulable"] = True


def balance(s: Scene) -> None:
    """Unbalance the nodes, so that a lopsided pod improves or worsens them."""
    for node in s.nodes:
        cpu, memory = s.pick(2000, 4000, 8000), s.pick(4, 8, 16) * GI
        node["status"]["allocatable"] |= {"cpu": s.cpu(cpu), "memory": s.memory(memory)}
        shares = s.pick((0.0, 0.0), (0.7, 0.1), (0.1, 0.7), (0.4, 0.4), (s.share(), s.share()))
        if any(shares):
            size = int(cpu * shares[0]), int(memory * shares[1]) // MI * MI
            s.add_pod("ballast", node=node["metadata"]["name"], cpu=size[0], memory=size[1])
    cpu, memory = s.pick((1500, 128), (100, 3000), (500, 1000), (0, 0), (0, 2048), (800, 0))
    container = s.container(cpu=cpu or None, memory=memory * MI or None)
    s.pod["spec"]["containers"] = [container]
    if s.odds(0.3):
        for node in s.nodes:
            if s.odds(0.7):
                s.offer(node, GPU, s.pick("2", "4"))
        count = s.pick("1", "2")
        for kind in ("requests", "limits"):
            container["resources"].setdefault(kind, {})[GPU] = count
        entries = [{"name": name, "weight": 1} for name in s.some(("cpu", "memory", GPU), 2, 3)]
        s.plugin_args("NodeResourcesBalancedAllocation", resources=entries)


def portworx(s: Scene) -> None:
    """Add volumes of Portworx, the last plugin migrated to CSI: before 1.36 a node had to declare the migration."""
    in_tree, driver = "kubernetes.io/portworx-volume", "pxd.portworx.com"
    storage_class(s, "px", in_tree, "Immediate")

    def give(pod: Object) -> None:
        mount_source(pod, s.name("data"), portworxVolume={"volumeID": s.name("px"), "fsType": "ext4"})

    for node in s.nodes:
        name = node["metadata"]["name"]
        if s.odds(0.85):
            meta = s.meta(name)
            if s.odds(0.7):
                aws = "kubernetes.io/aws-ebs"
                meta["annotations"] = {MIGRATED: s.pick(in_tree, f"{aws},{in_tree}", aws)}
            entry: Object = {"name": driver, "nodeID": name, "topologyKeys": []}
            if (limit := s.pick(0, 1, 1, 2, None)) is not None:
                entry["allocatable"] = {"count": limit}
            s.add("storage.k8s.io/v1", "CSINode", meta, spec={"drivers": [entry]})
        for _ in range(s.pick(0, 1, 1, 2)):
            namespace = s.pod["metadata"]["namespace"]
            give(s.add_pod("mounter", namespace, s.labels(), node=name, priority=s.pick(0, 0, -5)))
    for _ in range(s.pick(1, 1, 2)):
        give(s.pod)
    if s.odds(0.3):
        s.pod["spec"]["priority"] = 100


_KINDS: Final = (declared, pod_resources, nominations, image_volumes, balance, portworx)


def features(s: Scene) -> None:
    """Add the next kind in rotation, in a quarter of the cases with a second one that is compatible."""
    first = _KINDS[s.number % len(_KINDS)]
    first(s)
    if s.odds(0.25):
        second = s.pick(*[kind for kind in (declared, image_volumes) if kind is not first])
        second(s)
