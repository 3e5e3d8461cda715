"""Sample clusters and pods that exercise most plugins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Namespace, Node, Service
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kschedctl.objects.well_known import HOSTNAME, ZONE

_GPU: Final = "example.com/gpu"


@dataclass(frozen=True)
class SampleChange:
    """A change of the pods on one node of a sample.

    Attributes
    ----------
    node : str
        The name of the node.
    removed : frozenset of str
        The keys (``namespace/name``) of pods that are removed.
    added : frozenset of str
        The keys of pending pods that are bound to the node.
    """

    node: str = ""
    removed: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class SampleObjects:
    """A set of objects from which sample clusters are built.

    Attributes
    ----------
    objects : tuple of ApiObject
        The nodes, the running pods, the pending pods that changes can add, and all other objects.
    """

    objects: tuple[ApiObject, ...]
    _clusters: dict[SampleChange, Cluster] = field(default_factory=dict, repr=False)

    def cluster(self, change: SampleChange | None = None) -> Cluster:
        """Return the cluster of the objects, or a cluster in which one node has other pods; clusters are cached."""
        change = change or SampleChange()
        found = self._clusters.get(change)
        if found is None:
            found = self._clusters[change] = self.new_cluster(change)
        return found

    def new_cluster(self, change: SampleChange | None = None) -> Cluster:
        """Return a newly built cluster, as ``cluster`` without the cache."""
        builder = ClusterBuilder()
        for obj in self.objects if change is None else self._changed_objects(change):
            builder.add(obj)
        return builder.build()

    def reversed(self) -> "SampleObjects":
        """Return the same objects with the nodes in reverse order."""
        nodes = [obj for obj in self.objects if isinstance(obj, Node)]
        return SampleObjects((*nodes[::-1], *(obj for obj in self.objects if not isinstance(obj, Node))))

    def _changed_objects(self, change: SampleChange) -> Iterable[ApiObject]:
        for obj in self.objects:
            if isinstance(obj, Pod) and obj.key in change.removed:
                continue
            if isinstance(obj, Pod) and obj.key in change.added:
                yield msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, node_name=change.node))
            else:
                yield obj


@dataclass(frozen=True)
class Sample:
    """A pod to place in a world.

    Attributes
    ----------
    id : str
        The name of the sample, for messages of failed checks.
    pod : Pod
        The pod, defaulted.
    world : SampleObjects
        The objects of the cluster to place the pod in.
    """

    id: str
    pod: Pod
    world: SampleObjects


def _make(kind: type[ApiObject], name: str, *, namespace: str = "", labels: Any = None, **fields: Any) -> ApiObject:
    annotations = fields.pop("annotations", {})
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}, "annotations": annotations}
    return msgspec.convert({"metadata": metadata, **fields}, kind)


def _make_node(name: str, *, zone: str, taints: Iterable[Mapping[str, str]] = (), **fields: Any) -> ApiObject:
    labels = {HOSTNAME: name, **({ZONE: zone} if zone else {}), "disk": "ssd" if name < "n3" else "hdd"}
    images = [{"names": ["registry.example/app:1"], "sizeBytes": 400 << 20}] if name < "n2" else []
    status = {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "6", **({_GPU: 2} if name in ("n0", "n4") else {})},
        "images": images,
        "declaredFeatures": ["RestartAllContainersOnContainerExits"] if name < "n4" else [],
    }
    return _make(Node, name, labels=labels, spec={"taints": list(taints), **fields}, status=status)


def _make_pod(name: str, app: str, node: str = "", *, namespace: str = "default", **spec: Any) -> Pod:
    container: dict[str, Any] = {
        "name": "c",
        "image": "registry.example/app:1",
        "resources": {"requests": spec.pop("requests", {"cpu": "500m", "memory": "1Gi"})},
        "ports": spec.pop("ports", []),
    }
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "labels": {"app": app}}
    written = {"containers": [container], "nodeName": node, **spec}
    return default_pod(msgspec.convert({"metadata": metadata, "spec": written}, Pod))


def _term(app: str, key: str = ZONE, **fields: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **fields}


def _affinity(kind: str, *required: dict[str, Any], preferred: Iterable[tuple[int, dict[str, Any]]] = ()) -> Any:
    return {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": list(required),
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "podAffinityTerm": term} for weight, term in preferred
            ],
        }
    }


def _claim_volume(name: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}


def _spread(key: str, action: str, **fields: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    return {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": action, "labelSelector": selector, **fields}


_PORT: Final = {"containerPort": 80, "hostPort": 8080}
_DISK: Final = {"name": "disk", "gcePersistentDisk": {"pdName": "shared"}}
_GUARDED: Final = {"key": "guarded", "effect": "NoSchedule"}
_SLOW: Final = {"key": "slow", "effect": "PreferNoSchedule"}

_NODES: Final = (
    _make_node("n0", zone="a"),
    _make_node("n1", zone="a", taints=[_SLOW]),
    _make_node("n2", zone="b", taints=[_GUARDED]),
    _make_node("n3", zone="b"),
    _make_node("n4", zone="c", unschedulable=True),
    _make_node("n5", zone=""),
)
_RUNNING: Final = (
    _make_pod("web-0", "web", "n0", requests={"cpu": "3", "memory": "2Gi", _GPU: 1}),
    _make_pod("web-1", "web", "n1", ports=[_PORT]),
    _make_pod("web-2", "web", "n3", requests={}, volumes=[_claim_volume("once")]),
    _make_pod("db-0", "db", "n1", affinity=_affinity("podAntiAffinity", _term("cache"))),
    _make_pod("db-1", "db", "n2", volumes=[_DISK], affinity=_affinity("podAffinity", _term("db"))),
    _make_pod(
        "cache-0", "cache", "n3", namespace="shop", affinity=_affinity("podAffinity", preferred=[(10, _term("web"))])
    ),
    _make_pod("cache-1", "cache", "n5", volumes=[_claim_volume("data")]),
    _make_pod("solo", "solo", "n3"),
)
_PENDING: Final = (
    _make_pod("more-web", "web", requests={"cpu": "2"}, ports=[_PORT]),
    _make_pod("more-db", "db", volumes=[_DISK, _claim_volume("data")]),
    _make_pod("more-cache", "cache", affinity=_affinity("podAntiAffinity", _term("web", HOSTNAME))),
)
_INZONE_A: Final = {"key": ZONE, "operator": "In", "values": ["a"]}
_CSI: Final = {"driver": "csi.example", "volumeHandle": "data"}
_OTHERS: Final = (
    _make(Namespace, "default", labels={"team": "a"}),
    _make(Namespace, "shop", labels={"team": "b"}),
    _make(Service, "cache", namespace="default", spec={"selector": {"app": "cache"}}),
    _make(StorageClass, "waits", provisioner="csi.example", volumeBindingMode="WaitForFirstConsumer"),
    _make(StorageClass, "measured", provisioner="stores.example", volumeBindingMode="WaitForFirstConsumer"),
    _make(CSIDriver, "stores.example", spec={"storageCapacity": True, "preventPodSchedulingIfMissing": True}),
    *(
        _make(
            CSIStorageCapacity,
            f"store-{zone}",
            namespace="default",
            storageClassName="measured",
            capacity=capacity,
            nodeTopology={"matchLabels": {ZONE: zone}},
        )
        for zone, capacity in (("a", "2Gi"), ("b", "8Gi"), ("c", "3Gi"))
    ),
    _make(
        PersistentVolume,
        "data",
        labels={ZONE: "a"},
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": _CSI,
            "claimRef": {"namespace": "default", "name": "data"},
            "storageClassName": "waits",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [_INZONE_A]}]}},
        },
        status={"phase": "Bound"},
    ),
    *(
        _make(
            PersistentVolumeClaim,
            name,
            namespace="default",
            annotations={"pv.kubernetes.io/bind-completed": "yes"} if name == "data" else {},
            spec={
                "accessModes": [mode],
                "storageClassName": "measured" if name == "measured" else "waits",
                "resources": {"requests": {"storage": "1Gi"}},
                **({"volumeName": "data"} if name == "data" else {}),
            },
        )
        for name, mode in (
            ("data", "ReadWriteOnce"),
            ("once", "ReadWriteOncePod"),
            ("later", "ReadWriteOnce"),
            ("measured", "ReadWriteOnce"),
        )
    ),
    *(
        _make(
            CSINode,
            f"n{i}",
            spec={
                "drivers": [
                    {"name": "csi.example", "nodeID": f"n{i}", "allocatable": {"count": i}},
                    *([{"name": "stores.example", "nodeID": f"n{i}"}] if i else []),
                ]
            },
        )
        for i in range(6)
    ),
)

#: A world with six nodes (five in three zones, one without a zone), pods on five of them, and three pending pods.
WORLD: Final = SampleObjects((*_NODES, *_RUNNING, *_PENDING, *_OTHERS))

_PREFERS: Final = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 7, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}
        ]
    }
}
_REQUIRES: Final = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["a"]}]}]
        }
    }
}
_RESTARTING: Final = {"name": "all", "restartPolicyRules": [{"action": "RestartAllContainers"}]}

SAMPLES: Final = tuple(
    Sample(id, pod, WORLD)
    for id, pod in {  # noqa: A001
        "bare": _make_pod("bare", "", requests={}),
        "gated": _make_pod("gated", "", schedulingGates=[{"name": "example.com/gate"}]),
        "large": _make_pod("large", "web", requests={"cpu": "2", "memory": "7Gi", _GPU: 1}, overhead={"cpu": "250m"}),
        "named": _make_pod("named", "", "n3"),
        "tolerant": _make_pod("tolerant", "", tolerations=[{"key": "guarded", "operator": "Exists"}, {"key": "slow"}]),
        "choosy": _make_pod("choosy", "", nodeSelector={"disk": "hdd"}, affinity=_REQUIRES),
        "hopeful": _make_pod("hopeful", "", affinity=_PREFERS),
        "ports": _make_pod("ports", "", ports=[_PORT]),
        "restarting": _make_pod("restarting", "", initContainers=[_RESTARTING]),
        "spread": _make_pod("spread", "web", topologySpreadConstraints=[_spread(ZONE, "DoNotSchedule", minDomains=3)]),
        "spread-softly": _make_pod(
            "spread-softly",
            "web",
            topologySpreadConstraints=[_spread(ZONE, "ScheduleAnyway"), _spread(HOSTNAME, "ScheduleAnyway")],
        ),
        "spread-by-default": _make_pod("spread-by-default", "cache"),
        "near": _make_pod("near", "web", affinity=_affinity("podAffinity", _term("db"), preferred=[(3, _term("web"))])),
        "near-itself": _make_pod("near-itself", "solo", affinity=_affinity("podAffinity", _term("solo"))),
        "first": _make_pod("first", "new", affinity=_affinity("podAffinity", _term("new"))),
        "far": _make_pod(
            "far", "cache", affinity=_affinity("podAntiAffinity", _term("web"), preferred=[(4, _term("db"))])
        ),
        "mounts": _make_pod("mounts", "", volumes=[_claim_volume("data")]),
        "mounts-once": _make_pod("mounts-once", "", volumes=[_claim_volume("once")]),
        "mounts-later": _make_pod("mounts-later", "", volumes=[_claim_volume("later")]),
        "mounts-measured": _make_pod("mounts-measured", "", volumes=[_claim_volume("measured")]),
        "mounts-disk": _make_pod("mounts-disk", "", volumes=[_DISK]),
    }.items()
)
