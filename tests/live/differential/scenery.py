"""Random clusters and workloads, as users would create them; a seed gives the same ones on every machine."""

from collections.abc import Iterator
from typing import Any, Final

from conformance.generate.chance import Chance
from tests.live.conftest import node

Object = dict[str, Any]

HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
NAMESPACES: Final = ("shop", "data")
APPS: Final = ("web", "api", "db", "cache", "batch")
#: The scheduling gate that holds back every pod until its turn.
GATE: Final = "example.com/turn"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_DEDICATED: Final = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
_SOFT: Final = {"key": "spot", "value": "yes", "effect": "PreferNoSchedule"}


class Scenery(Chance):
    """A random cluster and its workloads.

    Parameters
    ----------
    seed : int
        The seed.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(f"live/{seed}")
        self.zones = [f"zone-{letter}" for letter in "abc"[: self.between(2, 3)]]
        self.nodes = [self._node(i) for i in range(self.between(3, 6))]
        self.objects = [*self._surroundings(), *self._volumes()]
        self.workloads = list(self._workloads())

    def _node(self, number: int) -> Object:
        taints = self.weighted((5, []), (2, [_DEDICATED]), (2, [_SOFT]), (1, [_DEDICATED, _SOFT]))
        made = node(
            f"node-{number}", zone=self.zones[number % len(self.zones)], cpu=self.pick("1", "1500m", "2"), taints=taints
        )
        made["metadata"]["labels"]["disk"] = self.pick("ssd", "hdd")
        if self.odds(0.1):
            made["spec"]["unschedulable"] = True
        room = {"pods": self.pick("4", "6", "10"), "memory": self.pick("2Gi", "4Gi")}
        for kind in ("capacity", "allocatable"):
            made["status"][kind] = {**made["status"][kind], **room}
        images = [f"registry.example.com/{app}:1" for app in self.some(APPS, 0, 3)]
        made["status"]["images"] = [{"names": [name], "sizeBytes": 400_000_000} for name in images]
        return made

    def _surroundings(self) -> Iterator[Object]:
        for name in NAMESPACES:
            yield _made("v1", "Namespace", name, labels={"team": name})
        yield _made("scheduling.k8s.io/v1", "PriorityClass", "urgent", value=1000)
        yield _made("scheduling.k8s.io/v1", "PriorityClass", "patient", value=500, preemptionPolicy="Never")
        limit = {"type": "Container", "defaultRequest": {"cpu": "150m", "memory": "64Mi"}}
        yield _made("v1", "LimitRange", "defaults", "data", spec={"limits": [limit]})
        for app in self.some(APPS, 0, 3):
            budget = {"minAvailable": self.between(1, 2), "selector": {"matchLabels": {"app": app}}}
            yield _made("policy/v1", "PodDisruptionBudget", app, self.pick(*NAMESPACES), spec=budget)
        for app in self.some(APPS, 1, 3):
            ports = [{"port": 80}]
            yield _made("v1", "Service", app, self.pick(*NAMESPACES), spec={"selector": {"app": app}, "ports": ports})

    def _volumes(self) -> Iterator[Object]:
        """Yield claims that are bound before a pod uses them, and their volumes, which only some nodes reach."""
        for i in range(self.between(1, 3)):
            key, value = self.pick((HOST, f"node-{i}"), (ZONE, self.pick(*self.zones)))
            term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
            both = {"accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand"}
            yield _made(
                "v1",
                "PersistentVolume",
                f"disk-{i}",
                spec={
                    **both,
                    "capacity": {"storage": f"{i + 1}Gi"},
                    "local": {"path": "/data"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                },
            )
            asked = {"resources": {"requests": {"storage": f"{i + 1}Gi"}}}
            yield _made("v1", "PersistentVolumeClaim", f"disk-{i}", "shop", spec={**both, **asked})

    def claims(self) -> list[str]:
        """Return the names of the claims."""
        return [each["metadata"]["name"] for each in self.objects if each["kind"] == "PersistentVolumeClaim"]

    def _workloads(self) -> Iterator[Object]:
        for i in range(self.between(5, 9)):
            app, namespace = self.pick(*APPS), self.pick(*NAMESPACES)
            name, kind = (
                f"{app}-{i}",
                self.weighted((5, "Deployment"), (2, "StatefulSet"), (2, "Job"), (1, "DaemonSet")),
            )
            template = {"metadata": {"labels": {"app": app}}, "spec": self._pod_spec(app, namespace)}
            selector = {"selector": {"matchLabels": {"app": app}}}
            replicas = self.between(1, 5)
            if kind == "Job":
                template["spec"]["restartPolicy"] = "Never"
                spec: Object = {"parallelism": replicas, "completions": replicas, "template": template}
                yield _made("batch/v1", kind, name, namespace, spec=spec)
                continue
            spec = {**selector, "template": template}
            # By default a StatefulSet creates a pod only after the last one is ready, and no pod here ever is.
            if kind == "StatefulSet":
                spec |= {"serviceName": app, "podManagementPolicy": "Parallel"}
            if kind != "DaemonSet":
                spec["replicas"] = replicas
            yield _made("apps/v1", kind, name, namespace, spec=spec)

    def _pod_spec(self, app: str, namespace: str) -> Object:
        container: Object = {"name": "c", "image": f"registry.example.com/{app}:1"}
        if self.odds(0.85):
            requests = {"cpu": self.pick("100m", "400m", "700m", "900m"), "memory": self.pick("64Mi", "500Mi", "1Gi")}
            container["resources"] = {"requests": requests}
        if self.odds(0.15):
            container["ports"] = [{"containerPort": 80, "hostPort": self.pick(8080, 9090)}]
        spec: Object = {"containers": [container], "schedulingGates": [{"name": GATE}]}
        if self.odds(0.45):
            spec["priorityClassName"] = self.pick("urgent", "urgent", "patient")
        if self.odds(0.35):
            spec["tolerations"] = [self.pick({"key": "dedicated", "operator": "Exists"}, {"operator": "Exists"})]
        if self.odds(0.12):
            spec["nodeSelector"] = self.pick({"disk": self.pick("ssd", "hdd")}, {ZONE: self.pick(*self.zones)})
        affinity = self._affinity(app)
        if affinity:
            spec["affinity"] = affinity
        if self.odds(0.4):
            spec["topologySpreadConstraints"] = [self._spread(app, key) for key in self.some((HOST, ZONE), 1)]
        if namespace == "shop" and self.odds(0.2):
            claim = {"claimName": self.pick("disk-0", "disk-0", "gone")}
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
        return spec

    def _affinity(self, app: str) -> Object:
        affinity: Object = {}
        if self.odds(0.25):
            term = {"matchExpressions": [{"key": "disk", "operator": self.pick("In", "NotIn"), "values": ["ssd"]}]}
            wanted = {"nodeSelectorTerms": [term]}
            affinity["nodeAffinity"] = self.pick(
                {REQUIRED: wanted}, {PREFERRED: [{"weight": self.between(1, 100), "preference": term}]}
            )
        if self.odds(0.3):
            affinity["podAntiAffinity"] = self._pod_terms(self.pick(app, *APPS))
        if self.odds(0.15):
            affinity["podAffinity"] = self._pod_terms(self.pick(*APPS))
        return affinity

    def _pod_terms(self, app: str) -> Object:
        term: Object = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": self.pick(HOST, HOST, ZONE)}
        if self.odds(0.3):
            term["namespaceSelector"] = self.pick({}, {"matchLabels": {"team": "data"}})
        return self.pick({REQUIRED: [term]}, {PREFERRED: [{"weight": self.between(1, 100), "podAffinityTerm": term}]})

    def _spread(self, app: str, key: str) -> Object:
        constraint = {
            "maxSkew": self.between(1, 2),
            "topologyKey": key,
            "whenUnsatisfiable": self.pick("DoNotSchedule", "ScheduleAnyway"),
            "labelSelector": {"matchLabels": {"app": app}},
        }
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self.odds(0.2):
            constraint["minDomains"] = self.between(1, 4)
        if self.odds(0.2):
            constraint["nodeTaintsPolicy"] = "Honor"
        return constraint


def _made(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if "labels" in fields:
        metadata["labels"] = fields.pop("labels")
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
