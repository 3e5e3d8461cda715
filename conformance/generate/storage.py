"""Storage objects: classes, volumes, claims and CSI nodes, in the form that API server and controllers give them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.generate.chance import GI, MI
from conformance.generate.scene import HOST, ZONE, Object, Scene

CSI, CAPACITY, NO_PROVISIONER = "csi.example.com", "cap.example.com", "kubernetes.io/no-provisioner"
AWS, EBS, GCE_PD = "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "pd.csi.storage.gke.io"
MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
RWO: Final = ("ReadWriteOnce",)
LATE: Final = "WaitForFirstConsumer"


def storage_class(s: Scene, name: str, provisioner: str = CSI, mode: str = LATE, **fields: Any) -> None:
    """Add a StorageClass unless one of that name exists."""
    if name not in [found["metadata"]["name"] for found in s.find("StorageClass")]:
        header = {"provisioner": provisioner, "reclaimPolicy": "Delete", "volumeBindingMode": mode}
        s.add("storage.k8s.io/v1", "StorageClass", s.meta(name), **header, **fields)


def on_hosts(s: Scene, names: Sequence[str]) -> Object:
    """Return the node affinity of a volume that these nodes reach."""
    hosts = {node["metadata"]["name"]: node["metadata"]["labels"].get(HOST) for node in s.nodes}
    return _reach(HOST, [hosts.get(name) or name for name in names])


def in_zones(zones: Sequence[str]) -> Object:
    """Return the node affinity of a volume that these zones reach."""
    return _reach(ZONE, zones)


def _reach(key: str, values: Sequence[str]) -> Object:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def volume(s: Scene, class_name: str, size: int, labels: Mapping[str, str] | None = None, **fields: Any) -> Object:
    """Add a PersistentVolume of a size that no other has: among equal sizes the scheduler's choice is random."""
    while size in s.volume_sizes:
        size += MI
    s.volume_sizes.add(size)
    name = s.name("pv")
    spec: Object = {
        "capacity": {"storage": s.memory(size)},
        "accessModes": list(RWO),
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
        "storageClassName": class_name,
    }
    sources = ("local", "hostPath", "nfs", "csi", "gcePersistentDisk")
    if not any(source in fields for source in sources):
        spec["csi"] = {"driver": CSI, "volumeHandle": f"vol-{name}"}
    spec |= {field: value for field, value in fields.items() if value is not None}
    return s.add("v1", "PersistentVolume", s.meta(name, labels=labels), spec=spec, status={"phase": "Available"})


def claim(s: Scene, name: str, class_name: str, size: int = GI, namespace: str | None = None, **fields: Any) -> Object:
    """Add a pending PersistentVolumeClaim."""
    spec: Object = {
        "accessModes": list(RWO),
        "resources": {"requests": {"storage": s.memory(size)}},
        "volumeMode": "Filesystem",
        "storageClassName": class_name,
    }
    spec |= {field: value for field, value in fields.items() if value is not None}
    meta = s.meta(name, namespace or s.pod["metadata"]["namespace"])
    return s.add("v1", "PersistentVolumeClaim", meta, spec=spec, status={"phase": "Pending"})


def bind_to(found: Object, name: str) -> None:
    """Bind a claim to a volume on the claim's side only."""
    bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    found["metadata"].setdefault("annotations", {}).update(bound)
    found["spec"]["volumeName"] = name
    capacity = dict(found["spec"]["resources"]["requests"])
    found["status"] = {"phase": "Bound", "accessModes": found["spec"]["accessModes"], "capacity": capacity}


def bind(found: Object, pv: Object) -> None:
    """Bind a claim and a volume to each other."""
    bind_to(found, pv["metadata"]["name"])
    found["status"]["capacity"] = dict(pv["spec"]["capacity"])
    pv["spec"]["claimRef"] = reference(found)
    pv["status"]["phase"] = "Bound"


def reference(found: Object) -> Object:
    """Return a volume's reference to its claim."""
    meta = found["metadata"]
    names = {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **names}


def bound_claim(
    s: Scene, name: str, class_name: str, modes: Sequence[str] = RWO, namespace: str | None = None
) -> Object:
    """Add a claim that is bound to a volume within reach of every node."""
    found = claim(s, name, class_name, GI, namespace, accessModes=list(modes))
    bind(found, volume(s, class_name, 2 * GI, accessModes=list(modes)))
    return found


def mount(pod: Object, claim_name: str) -> None:
    """Mount a claim in a pod."""
    mount_source(pod, persistentVolumeClaim={"claimName": claim_name})


def mount_source(pod: Object, name: str | None = None, **source: Any) -> None:
    """Mount a volume of any source in a pod."""
    volumes = pod["spec"].setdefault("volumes", [])
    volumes.append({"name": name or f"v{len(volumes)}", **source})


def mount_ephemeral(pod: Object, class_name: str) -> str:
    """Mount a generic ephemeral volume in a pod; return the name of the claim that a controller creates for it."""
    spec: Object = {"accessModes": list(RWO), "storageClassName": class_name, "volumeMode": "Filesystem"}
    spec["resources"] = {"requests": {"storage": "1Gi"}}
    mount_source(pod, "scratch", ephemeral={"volumeClaimTemplate": {"spec": spec}})
    return f"{pod['metadata']['name']}-scratch"


def own(found: Object, pod: Object) -> None:
    """Make a pod the owner of an object."""
    meta = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    found["metadata"]["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]


def csi_driver(s: Scene, name: str, **fields: Any) -> None:
    """Add a CSIDriver."""
    spec = {
        "attachRequired": True,
        "podInfoOnMount": False,
        "volumeLifecycleModes": ["Persistent"],
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "requiresRepublish": False,
        "seLinuxMount": False,
    }
    spec |= {field: value for field, value in fields.items() if value is not None}
    s.add("storage.k8s.io/v1", "CSIDriver", s.meta(name), spec=spec)


def csi_nodes(s: Scene, drivers: Mapping[str, Sequence[int | None]], share: float = 0.85) -> None:
    """Add CSINodes for a share of the nodes, each driver with one of its limits (None: no limit)."""
    migrated = ("aws-ebs", "azure-disk", "azure-file", "cinder", "gce-pd", "vsphere-volume")
    for node in s.nodes:
        if not s.odds(share):
            continue
        name = node["metadata"]["name"]
        entries: list[Object] = []
        for driver, limits in drivers.items():
            if s.odds(0.92):
                entry: Object = {"name": driver, "nodeID": name, "topologyKeys": [ZONE]}
                if (limit := s.pick(*limits)) is not None:
                    entry["allocatable"] = {"count": limit}
                entries.append(entry)
        meta = s.meta(name)
        if s.odds(0.7):
            meta["annotations"] = {MIGRATED: ",".join(f"kubernetes.io/{plugin}" for plugin in migrated)}
        s.add("storage.k8s.io/v1", "CSINode", meta, spec={"drivers": entries})


def being_deleted(s: Scene, found: Object, finalizer: str) -> None:
    """Mark an object as being deleted, held by a finalizer."""
    marks = {"deletionTimestamp": s.time(), "deletionGracePeriodSeconds": 0, "finalizers": [finalizer]}
    found["metadata"] |= marks
