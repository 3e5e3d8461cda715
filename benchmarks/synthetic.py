"""A synthetic cluster of any size, as an API server would list it or as columns.

Nodes are spread over zones in turn. Pods belong to applications of ``PODS_PER_APP`` replicas in ``N_NAMESPACES``
namespaces; some applications prefer anti-affinity between their replicas, as many charts do. The same sizes give the
same cluster.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.pod import Pod

Object = dict[str, Any]

PODS_PER_APP: Final = 50
N_NAMESPACES: Final = 100
ZONES: Final = ("zone-a", "zone-b", "zone-c")
_CPU: Final = ("50m", "100m", "200m", "250m")
_MEMORY: Final = ("64Mi", "128Mi", "256Mi", "512Mi")
#: The name of the pod of the kind ``preempt``.
PENDING: Final = "new-preempt"
#: Every tenth application has a preferred anti-affinity between its replicas.
_WITH_ANTI_AFFINITY: Final = 10


def namespaces() -> Iterator[Object]:
    """Yield the namespaces of the pods."""
    for i in range(N_NAMESPACES):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"namespace-{i}"}}


def nodes(n_nodes: int) -> Iterator[Object]:
    """Yield the nodes of a cluster."""
    for i in range(n_nodes):
        name = f"node-{i}"
        labels = {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": f"m6i.{8 + i % 3}xlarge",
            "topology.kubernetes.io/region": "region-1",
            "topology.kubernetes.io/zone": ZONES[i % len(ZONES)],
        }
        amounts = {"cpu": f"{31 + 16 * (i % 3)}", "memory": f"{120 + 64 * (i % 3)}Gi", "pods": "110"}
        images = [{"names": [_image(i * 7 + k)], "sizeBytes": 50_000_000 + 1_000_000 * k} for k in range(20)]
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": {
                "allocatable": amounts,
                "capacity": amounts,
                "images": images,
                "nodeInfo": {"kubeletVersion": "v1.36.1"},
            },
        }


def pods(n_pods: int, n_nodes: int, *, full: bool = False) -> Iterator[Object]:
    """Yield the pods of a cluster, all running.

    Parameters
    ----------
    n_pods, n_nodes : int
        The numbers of pods and nodes.
    full : bool
        True to include the fields that an API server lists and scheduling ignores: about 17 KB per pod.
    """
    for i in range(n_pods):
        app = i // PODS_PER_APP
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": _metadata(i, app),
            "spec": _spec(app, f"node-{i % n_nodes}"),
            "status": {"phase": "Running", "startTime": f"2026-05-04T{app % 24:02}:{i % 60:02}:00Z"},
        }
        yield _with_the_rest(pod, i) if full else pod


#: Reasons, types and messages of Events, one quarter of them Warnings.
_EVENTS: Final = (
    ("Normal", "Scheduled", "Successfully assigned {pod} to {node}", "default-scheduler"),
    ("Normal", "Pulled", 'Container image "registry.example/app:v1" already present on machine', "kubelet"),
    ("Normal", "Started", "Started container app", "kubelet"),
    ("Warning", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", "kubelet"),
)


def events(n_events: int, n_pods: int, n_nodes: int) -> Iterator[Object]:
    """Yield Events about the pods of a cluster, as kubectl writes them: about 1 KB each."""
    for i in range(n_events):
        type_, reason, message, component = _EVENTS[i % len(_EVENTS)]
        pod, node, time = f"pod-{i % n_pods}", f"node-{i % n_nodes}", f"2026-05-04T{i % 24:02}:{i % 60:02}:00Z"
        uid = f"{i:08x}-3b1c-4b6d-b8a4-1d2f3c4b5a69"
        yield {
            "apiVersion": "v1",
            "count": 1 + i % 40,
            "eventTime": None,
            "firstTimestamp": time,
            "involvedObject": {
                "apiVersion": "v1",
                "fieldPath": "spec.containers{app}",
                "kind": "Pod",
                "name": pod,
                "namespace": "default",
                "resourceVersion": str(i),
                "uid": uid,
            },
            "kind": "Event",
            "lastTimestamp": time,
            "message": message.format(pod=pod, node=node),
            "metadata": {"creationTimestamp": time, "name": f"{pod}.{i:016x}", "namespace": "default", "uid": uid},
            "reason": reason,
            "reportingComponent": component,
            "reportingInstance": node,
            "source": {"component": component, "host": node},
            "type": type_,
        }


def pod_to_place(kind: str, app: int = 7 * _WITH_ANTI_AFFINITY + 1) -> Pod:
    """Return a pod to explain.

    Parameters
    ----------
    kind : str
        ``plain``, ``spread`` (two hard constraints), ``anti`` (a preferred anti-affinity) or ``preempt`` (fits on no
        node and may evict any pod).
    app : int
        The number of the application that the pod belongs to.
    """
    spec = _spec(app, "")
    selector = {"matchLabels": {"app": f"app-{app}"}}
    if kind == "spread":
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 5, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
            for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
        ]
    elif kind == "anti":
        spec["affinity"] = _anti_affinity(app)
    elif kind == "preempt":
        spec["priority"] = 1000
        spec["containers"][0]["resources"] = {"requests": {"cpu": "62"}}
    metadata = _metadata(0, app) | {"name": f"new-{kind}"}
    return default_pod(msgspec.convert({"metadata": metadata, "spec": spec}, Pod))


def cluster(n_nodes: int, n_pods: int) -> Cluster:
    """Return a cluster as columns."""
    builder = ClusterBuilder()
    for namespace in namespaces():
        builder.add(msgspec.convert(namespace, Namespace))
    for node in nodes(n_nodes):
        builder.add(msgspec.convert(node, Node))
    for pod in pods(n_pods, n_nodes):
        builder.add(msgspec.convert(pod, Pod))
    return builder.build()


def write_list(path: Path, items: Iterable[Object], *, indent: bool = True) -> None:
    """Write objects as ``kubectl get -o json`` prints them, or without its indentation."""
    with path.open("wb") as file:
        file.write(b'{\n    "apiVersion": "v1",\n    "items": [\n')
        for i, item in enumerate(items):
            text = msgspec.json.encode(item)
            file.write((b",\n" if i else b"") + (msgspec.json.format(text, indent=4) if indent else text))
        file.write(b'\n    ],\n    "kind": "List"\n}\n')


def write_snapshot(folder: Path, n_nodes: int) -> Path:
    """Write a cluster with three pods per node, and return its file; the pod `PENDING` fits on the largest nodes."""
    pending = msgspec.to_builtins(pod_to_place("preempt"))
    path = folder / "snapshot.json"
    with path.open("wb") as file:
        for each in chain(nodes(n_nodes), pods(3 * n_nodes, n_nodes), [{"apiVersion": "v1", "kind": "Pod"} | pending]):
            file.write(msgspec.json.encode(each) + b"\n")
    return path


def _image(number: int) -> str:
    return f"registry.example/team-{number % 40}/app-{number % 3000}:1.{number % 17}.0"


def _metadata(i: int, app: int) -> Object:
    return {
        "name": f"app-{app}-7c9d64f5b6-{i:06}",
        "namespace": f"namespace-{app % N_NAMESPACES}",
        "uid": f"00000000-0000-4000-8000-{i:012}",
        "creationTimestamp": f"2026-05-04T{app % 24:02}:{i % 60:02}:00Z",
        "labels": {"app": f"app-{app}", "pod-template-hash": "7c9d64f5b6", "tier": f"tier-{app % 5}"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": f"app-{app}-7c9d64f5b6",
                "uid": f"00000000-0000-4000-9000-{app:012}",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def _spec(app: int, node_name: str) -> Object:
    requests = {"cpu": _CPU[app % 4], "memory": _MEMORY[app % 3]}
    spec: Object = {
        "containers": [
            {
                "name": "app",
                "image": _image(app),
                "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "resources": {"requests": requests, "limits": {"memory": "1Gi"}},
            }
        ],
        "priority": 0,
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
    }
    if node_name:
        spec["nodeName"] = node_name
    if app % _WITH_ANTI_AFFINITY == 0:
        spec["affinity"] = _anti_affinity(app)
    return spec


def _anti_affinity(app: int) -> Object:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": f"app-{app}"}}}
    weighted = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def _with_the_rest(pod: Object, i: int) -> Object:
    """Add the fields that scheduling ignores: field owners, environment, mounts, probes and container statuses."""
    container = pod["spec"]["containers"][0]
    mounts = [{"name": f"config-{k}", "mountPath": f"/etc/app/{k}", "readOnly": True} for k in range(6)]
    environment = [{"name": f"SETTING_{k}", "value": f"value of the setting number {k}"} for k in range(30)]
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "failureThreshold": 3,
    }
    container |= {"env": environment, "volumeMounts": mounts, "livenessProbe": probe, "readinessProbe": probe}
    volumes = [{"name": f"config-{k}", "configMap": {"name": f"config-{k}", "defaultMode": 420}} for k in range(6)]
    pod["spec"] |= {"volumes": volumes, "serviceAccountName": "default", "dnsPolicy": "ClusterFirst"}
    owned: Object = {f"f:SETTING_{k}": {".": {}, "f:name": {}, "f:value": {}} for k in range(13)}
    pod["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": owned}}
        for manager in ("kube-controller-manager", "kubelet")
    ]
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    started = pod["status"]["startTime"]
    pod["status"] |= {
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": started} for kind in kinds],
        "podIP": f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}",
        "qosClass": "Burstable",
        "containerStatuses": [
            {
                "name": "app",
                "image": container["image"],
                "imageID": f"sha256:{i:064x}",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": started}},
            }
        ],
    }
    return pod
