"""A case under construction: its objects, in the form in which an API server returns them."""

import datetime
from collections.abc import Mapping
from typing import Any, Final

from conformance.generate.chance import GI, MI, Chance
from kschedctl.objects.releases.release import LATEST

#: A Kubernetes object, or a part of one.
Object = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
HOST: Final = "kubernetes.io/hostname"
GPU, FPGA, NIC = "example.com/gpu", "example.com/fpga", "vendor.io/nic"
APPS: Final = ("web", "api", "db", "cache")
NAMESPACES: Final = ("default", "prod", "team-a")

_EPOCH: Final = datetime.datetime(2026, 1, 1)


class Scene(Chance):
    """A case under construction.

    Random choices of the scheduler are avoided, so that whole answers can be compared: start times differ between the
    pods of a node, PersistentVolumes differ in size, and an image has the same size on every node.

    Parameters
    ----------
    theme : str
        The theme.
    seed, number : int
        The seed and the number of the case within the theme.
    n_nodes : int
        The number of nodes; 0 for the theme's default (at most 14).
    release : str
        The release whose API a theme uses that differs between releases.
    """

    def __init__(self, theme: str, seed: int, number: int, n_nodes: int = 0, release: str = LATEST.version) -> None:
        super().__init__(f"{theme}/{seed}/{number}/{n_nodes}")
        self.id = f"{theme}-{seed}-{number:04d}"
        self.theme, self.number, self.n_nodes, self.release = theme, number, n_nodes, release
        self.nodes: list[Object] = []
        self.pods: list[Object] = []
        self.others: list[Object] = []
        self.pod: Object = {}
        self.sequence: list[Object] | None = None
        self.then: list[Object] = []
        self.gates: dict[str, bool] = {}
        self.profiles: list[Object] = []
        self.gentle = theme == "mixed"  # combined themes must not reject every node on their own
        self.volume_sizes: set[int] = set()
        self._clock = self._counter = 0

    # Objects in general

    def time(self, offset: int | None = None) -> str:
        """Return a time later than all before, or ``offset`` seconds after the start of 2026."""
        if offset is None:
            self._clock += self.between(1, 90)
            offset = self._clock
        return (_EPOCH + datetime.timedelta(seconds=offset)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def name(self, stem: str) -> str:
        """Return a name that no other object has."""
        self._counter += 1
        return f"{stem}-{self._counter}"

    def meta(self, name: str, namespace: str | None = None, labels: Mapping[str, str] | None = None) -> Object:
        """Return the metadata of an object."""
        meta: Object = {"name": name, "uid": self.uid(), "creationTimestamp": self.time()}
        meta["resourceVersion"] = str(1000 + self._clock)
        if namespace is not None:
            meta["namespace"] = namespace
        if labels:
            meta["labels"] = dict(labels)
        return meta

    def add(self, api_version: str, kind: str, meta: Object, **fields: Any) -> Object:
        """Add an object that is neither a node nor a pod."""
        found = {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}
        self.others.append(found)
        return found

    def find(self, kind: str) -> list[Object]:
        """Return the added objects of a kind."""
        return [found for found in self.others if found["kind"] == kind]

    def namespace(self, name: str, labels: Mapping[str, str] | None = None) -> Object:
        """Return a namespace, and add it if it does not exist."""
        for found in self.find("Namespace"):
            if found["metadata"]["name"] == name:
                return found
        meta = self.meta(name, labels={"kubernetes.io/metadata.name": name, **(labels or {})})
        return self.add("v1", "Namespace", meta, spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})

    # Nodes

    def node(self, name: str, cpu: int = 4000, memory: int = 8 * GI, labels: Mapping[str, str] | None = None) -> Object:
        """Add a node; ``cpu`` is in milli-CPU, ``memory`` in bytes."""
        architecture = self.weighted((4, "amd64"), (1, "arm64"))
        meta = self.meta(
            name, labels={"kubernetes.io/os": "linux", "kubernetes.io/arch": architecture, **(labels or {})}
        )
        room = {"pods": "110", "ephemeral-storage": "100Gi"}
        allocatable = {"cpu": self.cpu(cpu), "memory": self.memory(memory), **room}
        capacity = {"cpu": str(-(-cpu // 1000)), "memory": self.memory(memory + 256 * MI), **room}
        beat = {"lastHeartbeatTime": self.time(0), "lastTransitionTime": self.time(0)}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", **beat}
        address = {"type": "InternalIP", "address": f"10.0.0.{len(self.nodes) % 250 + 1}"}
        status = {"capacity": capacity, "allocatable": allocatable, "conditions": [ready], "addresses": [address]}
        found: Object = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}, "status": status}
        self.nodes.append(found)
        return found

    def offer(self, node: Object, resource: str, quantity: str) -> None:
        """Set a node's capacity and allocatable amount of a resource."""
        node["status"]["allocatable"][resource] = node["status"]["capacity"][resource] = quantity

    def node_names(self) -> list[str]:
        """Return the names of all nodes."""
        return [node["metadata"]["name"] for node in self.nodes]

    def any_node(self) -> str:
        """Return the name of a random node."""
        return self.pick(*self.node_names())

    def taint_some(self, key: str = "dedicated", effect: str = "NoSchedule") -> None:
        """Taint one to three nodes, as another reason to reject them."""
        for node in self.some(self.nodes, 1, 3):
            taints = [taint for taint in node["spec"].get("taints", ()) if taint["key"] != key]
            node["spec"]["taints"] = [*taints, {"key": key, "effect": effect}]

    # Pods

    def container(
        self, name: str = "c", cpu: int | None = None, memory: int | None = None, image: str | None = None
    ) -> Object:
        """Return a container; ``cpu`` is its request in milli-CPU, ``memory`` in bytes."""
        requests = {} if cpu is None else {"cpu": self.cpu(cpu)}
        if memory is not None:
            requests["memory"] = self.memory(memory)
        return {
            "name": name,
            "image": image or f"registry.example.com/{name}:v1",
            "imagePullPolicy": "IfNotPresent",
            "resources": {"requests": requests} if requests else {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }

    def new_pod(
        self,
        name: str,
        namespace: str = "default",
        labels: Mapping[str, str] | None = None,
        *,
        node: str | None = None,
        priority: int = 0,
        containers: list[Object] | None = None,
    ) -> Object:
        """Return a pod, running if ``node`` is given, otherwise pending."""
        seconds = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        spec: Object = {
            "containers": containers or [self.container()],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "schedulerName": "default-scheduler",
            "enableServiceLinks": True,
            "securityContext": {},
            "priority": priority,
            "preemptionPolicy": "PreemptLowerPriority",
            "tolerations": [{"key": f"node.kubernetes.io/{key}", **seconds} for key in ("not-ready", "unreachable")],
        }
        status: Object = {"phase": "Running" if node else "Pending", "qosClass": "Burstable"}
        meta = self.meta(name, namespace, labels)
        if node:
            spec["nodeName"] = node
            status["startTime"] = since = self.time()
            conditions = [
                (kind, {"lastProbeTime": None, "lastTransitionTime": since}) for kind in ("PodScheduled", "Ready")
            ]
            status["conditions"] = [{"type": kind, "status": "True", **times} for kind, times in conditions]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}

    def add_pod(
        self,
        stem: str,
        namespace: str = "default",
        labels: Mapping[str, str] | None = None,
        *,
        node: str | None = None,
        priority: int = 0,
        cpu: int | None = 50,
        memory: int | None = 32 * MI,
    ) -> Object:
        """Add a pod other than the one to schedule; ``cpu`` is in milli-CPU, ``memory`` in bytes."""
        containers = [self.container(cpu=cpu, memory=memory)]
        pod = self.new_pod(self.name(stem), namespace, labels, node=node, priority=priority, containers=containers)
        self.namespace(namespace)
        self.pods.append(pod)
        return pod

    def on(self, node: str) -> list[Object]:
        """Return the pods on a node."""
        return [pod for pod in self.pods if pod["spec"].get("nodeName") == node]

    def terminate(self, pod: Object, *, preempted: bool = False) -> None:
        """Mark a pod as terminating, with ``preempted`` as a victim of preemption."""
        pod["metadata"] |= {"deletionTimestamp": self.time(), "deletionGracePeriodSeconds": 30}
        if preempted:
            pod["status"].setdefault("conditions", []).append(
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "PreemptionByScheduler",
                    "message": "default-scheduler: preempting to accommodate a higher priority pod",
                    "lastTransitionTime": self.time(),
                }
            )

    def finish(self, pod: Object) -> None:
        """Mark a pod as succeeded or failed."""
        pod["status"]["phase"] = self.pick("Succeeded", "Failed")

    def labels(self) -> dict[str, str]:
        """Return random labels of a pod, seldom none."""
        labels = {"app": self.pick(*APPS)}
        for chance, key, values in (
            (0.5, "tier", "front back"),
            (0.4, "version", "v1 v2"),
            (0.3, "pod-template-hash", "aaa bbb"),
        ):
            if self.odds(chance):
                labels[key] = self.pick(*values.split())
        return {} if self.odds(0.03) else labels

    # Configuration

    def profile(self, name: str | None = None) -> Object:
        """Return a profile of the configuration, and add it if missing; the default is the pod's own profile."""
        name = name or self.pod["spec"]["schedulerName"]
        for profile in self.profiles:
            if profile["schedulerName"] == name:
                return profile
        profile = {"schedulerName": name}
        self.profiles.append(profile)
        return profile

    def plugin_args(self, plugin: str, **args: Any) -> None:
        """Set arguments of a plugin."""
        entries = self.profile().setdefault("pluginConfig", [])
        for entry in entries:
            if entry["name"] == plugin:
                entry["args"].update(args)
                return
        entries.append({"name": plugin, "args": args})

    def plugins(self, point: str, which: str) -> list[Object]:
        """Return the list of enabled or disabled plugins at an extension point."""
        found: list[Object] = self.profile().setdefault("plugins", {}).setdefault(point, {}).setdefault(which, [])
        return found

    def disable(self, point: str, *names: str) -> None:
        """Disable plugins at an extension point."""
        disabled = self.plugins(point, "disabled")
        disabled += [{"name": name} for name in names if {"name": name} not in disabled]

    def case(self) -> Object:
        """Return the finished case."""
        self.namespace(self.pod["metadata"]["namespace"])
        if any("runtimeClassName" in pod["spec"] for pod in [*self.pods, self.pod, *(self.sequence or ())]):
            self.add("node.k8s.io/v1", "RuntimeClass", self.meta("kata"), handler="kata")
        objects = [*self.nodes, *self.pods, *self.others]
        # A feature that runs twice may add an object of the same name again; the last one wins.
        named = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o for o in objects}
        case: Object = {"id": self.id, "objects": list(named.values())}
        case |= {"pod": self.pod} if self.sequence is None else {"pods": self.sequence}
        if self.then:
            case["then"] = self.then
        if self.gates:
            case["featureGates"] = self.gates
        if self.profiles:
            header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
            case["config"] = {**header, "profiles": self.profiles}
        return case
