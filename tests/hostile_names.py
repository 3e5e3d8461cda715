"""A cluster with a hostile text in every field that takes one."""

from typing import Any

#: Terminal escapes (colours, titles, links, clipboard), line breaks, text direction and invisible characters.
NASTY = (
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x1b]8;;mailto:x\x1b\\",
    "\x1b]52;c;eA==\x07",
    "\r",
    "\n",
    "\n  ",
    "\t",
    "\x00",
    "\x7f",
    "\x9b2J",
    "\x85",
    "\u2028",
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    *"\u200b\u200d\u00ad\u2060\ufeff\u3164\ufe0f\U000e0041",
)
#: Text that means something in HTML, in its attributes, scripts and styles, and in templates.
MARKUP = (
    "<script>alert(1)</script>",
    "</script>",
    "</style>",
    "</title>",
    "</svg>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&lt;",
    "&#60;",
    '"',
    "'",
    "`",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "{% raw %}",
    "{# x #}",
    "\\",
    "web",
)
#: Stands for the namespace until the name is known. A namespace has no slash, as readers check.
NAMESPACE = "NAMESPACE"
#: Admission refuses such names; the pods of a snapshot have them all the same.
AS_IT_IS = "--no-admission"


def _object(kind: str, name: str, api: str = "v1", **fields: Any) -> dict[str, Any]:
    cluster_wide = ("Node", "PersistentVolume", "StorageClass", "PriorityClass")
    metadata = {"name": name, "uid": f"{kind}-{name}", "labels": {name: name}, "annotations": {name: name}}
    if kind not in cluster_wide:
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": api, "kind": kind, "metadata": metadata | fields.pop("metadata", {}), **fields}


def _pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": name, "image": name, "resources": {"requests": {"cpu": cpu}}}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": name}
    return _object("Pod", name, spec={"containers": [container], **spec}, status={"conditions": [condition]})


def _node(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    status = {
        "allocatable": {"cpu": cpu, "memory": "4Gi", "pods": "9"},
        "conditions": [{"type": name, "status": "True", "reason": name, "message": name}],
        "nodeInfo": {"kubeletVersion": "v1.36.0"},
    }
    labels = {"topology.kubernetes.io/zone": name, "kubernetes.io/hostname": name}
    return _object("Node", name, metadata={"labels": labels}, spec=spec, status=status)


def snapshot(x: str) -> dict[str, Any]:
    """Return a cluster with a text in every field that takes one."""
    namespace = f"ns{x}".replace("/", "")
    spread = {"maxSkew": 1, "topologyKey": x, "whenUnsatisfiable": "DoNotSchedule"}
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": x, "resources": {"requests": {"storage": "1Gi"}}}
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": x,
        "claimRef": {"namespace": namespace, "name": x, "uid": f"PersistentVolumeClaim-{x}"},
        "hostPath": {"path": x},
    }
    mounts = [{"name": x, "persistentVolumeClaim": {"claimName": x}}]
    pool = {"name": x, "generation": 1, "resourceSliceCount": 1}
    devices = {"driver": x, "nodeName": f"{x}3", "pool": pool, "devices": [{"name": x}]}
    wanted = {"devices": {"requests": [{"name": x, "exactly": {"deviceClassName": x}}]}}
    held = {
        "allocation": {"devices": {"results": [{"request": x, "driver": x, "pool": x, "device": x}]}},
        "reservedFor": [{"resource": "pods", "name": x, "uid": x}],
    }
    items = [
        _node(x, "1", taints=[{"key": x, "value": x, "effect": "NoSchedule"}]),
        _node(f"{x}2", "1", unschedulable=True),
        _node(f"{x}3", "1"),
        _pod(f"{x}high", "1", priority=10, priorityClassName=x),
        _pod(f"{x}big", "9", nodeSelector={x: x}, topologySpreadConstraints=[spread]),
        _pod(f"{x}gated", "1", schedulingGates=[{"name": x}]),
        _pod(f"{x}other", "1", schedulerName=x),
        _pod(f"{x}claims", "0", volumes=mounts),
        _pod(f"{x}low", "1", nodeName=f"{x}3", priority=1),
        _object("PersistentVolumeClaim", x, spec=claim),
        _object("PersistentVolumeClaim", f"{x}lost", spec=claim | {"volumeName": x}),
        _object("PersistentVolume", x, spec=volume),
        _object("StorageClass", x, "storage.k8s.io/v1", provisioner=x),
        _object("PriorityClass", x, "scheduling.k8s.io/v1", value=10),
        _object("ConfigMap", x),
        _object("DeviceClass", x, "resource.k8s.io/v1"),
        _object("ResourceSlice", x, "resource.k8s.io/v1", spec=devices),
        _object("ResourceClaim", x, "resource.k8s.io/v1", spec=wanted, status=held),
        _object("ResourceClaim", f"{x}2", "resource.k8s.io/v1", spec=wanted),
    ]
    for item in items:
        if item["metadata"].get("namespace"):
            item["metadata"]["namespace"] = namespace
    return {"apiVersion": "v1", "kind": "List", "items": items}
