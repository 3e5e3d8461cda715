"""A small cluster with a connected object of every kind that kschedctl decodes, and commands about it."""

from typing import Any, Final

_AGO: Final = "2026-01-01T00:00:00Z"


def _object(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"{kind}-{name}",
        "creationTimestamp": _AGO,
        **fields.pop("metadata", {}),
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _owned(kind: str, name: str, version: str, app: str) -> dict[str, Any]:
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}
    return {"ownerReferences": [owner], "labels": {"app": app}}


def _spec(**fields: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}
    return {"containers": [container], "tolerations": [{"operator": "Exists"}], **fields}


def _template(app: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}}, "spec": _spec(**fields)}


def _workload(app: str, **fields: Any) -> dict[str, Any]:
    return {"selector": {"matchLabels": {"app": app}}, "template": _template(app), **fields}


def _pod(name: str, node: str = "", metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    spec = _spec(**fields, **({"nodeName": node} if node else {}))
    status = {"phase": "Running", "startTime": _AGO} if node else {"phase": "Pending"}
    return _object("v1", "Pod", name, "a", metadata=metadata or {}, spec=spec, status=status)


_CLAIM: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_TERM: Final = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
_ALLOCATED: Final = {"results": [{"request": "r", "driver": "d.example.com", "pool": "n1", "device": "gpu-0"}]}
_DEVICES: Final = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}

#: The objects, in the form of manifests.
EVERY_KIND: Final[tuple[dict[str, Any], ...]] = (
    *(
        _object(
            *("v1", "Node", name),
            metadata={"labels": {"zone": zone, "kubernetes.io/hostname": name}},
            spec={"taints": [{"key": "t", "effect": "NoSchedule"}]},
            status={
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"},
                "nodeInfo": {"kubeletVersion": "v1.36.1"},
            },
        )
        for name, zone in (("n1", "x"), ("n2", "y"))
    ),
    _object("v1", "Namespace", "a"),
    _pod("running", "n1", {"labels": {"app": "single"}}),
    _pod(
        *("pending", "", {"labels": {"app": "web"}}),
        priorityClassName="high",
        priority=9,
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}},
        topologySpreadConstraints=[{**_TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data-db-0"}}],
        resourceClaims=[{"name": "r", "resourceClaimName": "free"}],
    ),
    _pod("member", "", {"labels": {"app": "gang"}}, schedulingGroup={"podGroupName": "gang"}),
    _pod("web-1", "n1", _owned("ReplicaSet", "web-1", "apps/v1", "web")),
    _pod("web-2", "n2", _owned("ReplicaSet", "web-1", "apps/v1", "web")),
    _pod("db-0", "n2", _owned("StatefulSet", "db", "apps/v1", "db")),
    _pod("agent-1", "n1", _owned("DaemonSet", "agent", "apps/v1", "agent")),
    _pod("job-1", "n1", _owned("Job", "job", "batch/v1", "job")),
    _object("v1", "Service", "web", "a", spec={"selector": {"app": "web"}}),
    _object(
        *("v1", "ReplicationController", "old", "a"),
        spec={"selector": {"app": "old"}, "replicas": 1, "template": _template("old")},
    ),
    _object("v1", "PodTemplate", "template", "a", template=_template("template")),
    _object(
        *("v1", "LimitRange", "limits", "a"),
        spec={"limits": [{"type": "Container", "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "8"}}]},
    ),
    _object("v1", "ResourceQuota", "quota", "a", spec={"hard": {"cpu": "40"}}, status={"used": {"cpu": "3"}}),
    _object(
        *("v1", "PersistentVolume", "volume"),
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "claimRef": {"namespace": "a", "name": "data-db-0"},
            "csi": {"driver": "csi.example.com", "volumeHandle": "volume"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["y"]}]}]
                }
            },
        },
        status={"phase": "Bound"},
    ),
    _object(
        *("v1", "PersistentVolumeClaim", "data-db-0", "a"),
        metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        spec={**_CLAIM, "storageClassName": "fast", "volumeName": "volume"},
        status={"phase": "Bound"},
    ),
    _object("v1", "PersistentVolumeClaim", "later", "a", spec={**_CLAIM, "storageClassName": "fast"}),
    _object(
        *("apps/v1", "Deployment", "web", "a"),
        spec=_workload("web", replicas=3, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "50%"}}),
        status={"replicas": 2},
    ),
    _object(
        *("apps/v1", "ReplicaSet", "web-1", "a"),
        metadata=_owned("Deployment", "web", "apps/v1", "web"),
        spec=_workload("web", replicas=3),
        status={"replicas": 2},
    ),
    _object(
        *("apps/v1", "StatefulSet", "db", "a"),
        spec=_workload(
            "db",
            replicas=2,
            volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {**_CLAIM, "storageClassName": "fast"}}],
            updateStrategy={"rollingUpdate": {"maxUnavailable": 1}},
        ),
        status={"replicas": 1},
    ),
    _object("apps/v1", "DaemonSet", "agent", "a", spec=_workload("agent")),
    _object("batch/v1", "Job", "job", "a", spec=_workload("job", parallelism=2, completions=4), status={"active": 1}),
    _object(
        *("batch/v1", "CronJob", "cron", "a"),
        spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _template("cron", restartPolicy="Never")}}},
    ),
    _object(
        *("policy/v1", "PodDisruptionBudget", "web", "a"),
        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    ),
    _object("scheduling.k8s.io/v1", "PriorityClass", "high", value=9),
    _object(
        *("scheduling.k8s.io/v1beta1", "PodGroup", "gang", "a"),
        spec={"schedulingPolicy": {"gang": {"minCount": 1}}, "disruptionMode": {"single": {}}},
    ),
    _object(
        *("scheduling.k8s.io/v1beta1", "Workload", "gang", "a"),
        spec={"podGroupTemplates": [{"name": "w", "schedulingPolicy": {"basic": {}}}]},
    ),
    _object("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "gangs", "a", spec={"schedulingPolicy": {"basic": {}}}),
    _object("node.k8s.io/v1", "RuntimeClass", "kata", handler="kata", overhead={"podFixed": {"cpu": "100m"}}),
    _object(
        *("storage.k8s.io/v1", "StorageClass", "fast"),
        provisioner="csi.example.com",
        volumeBindingMode="WaitForFirstConsumer",
        allowedTopologies=[{"matchLabelExpressions": [{"key": "zone", "values": ["x", "y"]}]}],
    ),
    _object(
        *("storage.k8s.io/v1", "CSINode", "n1"),
        spec={"drivers": [{"name": "csi.example.com", "nodeID": "n1", "allocatable": {"count": 5}}]},
    ),
    _object("storage.k8s.io/v1", "CSIDriver", "csi.example.com", spec={"storageCapacity": True}),
    _object(
        *("storage.k8s.io/v1", "CSIStorageCapacity", "c", "a"),
        storageClassName="fast",
        capacity="5Gi",
        nodeTopology={"matchLabels": {"zone": "x"}},
    ),
    _object(
        *("storage.k8s.io/v1", "VolumeAttachment", "volume-n2"),
        spec={"attacher": "csi.example.com", "nodeName": "n2", "source": {"persistentVolumeName": "volume"}},
        status={"attached": True},
    ),
    _object("storage.k8s.io/v1", "VolumeAttributesClass", "gold", driverName="csi.example.com"),
    _object("resource.k8s.io/v1", "ResourceClaim", "free", "a", spec={"devices": _DEVICES}),
    _object(
        *("resource.k8s.io/v1", "ResourceClaim", "held", "a"),
        spec={"devices": _DEVICES},
        status={"allocation": {"devices": _ALLOCATED}, "reservedFor": [{"resource": "pods", "name": "running"}]},
    ),
    _object("resource.k8s.io/v1", "ResourceClaimTemplate", "each", "a", spec={"spec": {"devices": _DEVICES}}),
    _object(
        *("resource.k8s.io/v1", "ResourceSlice", "n1-gpu"),
        spec={
            "driver": "d.example.com",
            "pool": {"name": "n1", "resourceSliceCount": 1},
            "nodeName": "n1",
            "devices": [{"name": f"gpu-{i}", "capacity": {"memory": {"value": "4Gi"}}} for i in range(3)],
        },
    ),
    _object(
        *("resource.k8s.io/v1", "DeviceClass", "gpu"),
        spec={"selectors": [{"cel": {"expression": 'device.driver == "d.example.com"'}}]},
    ),
    _object(
        *("resource.k8s.io/v1beta2", "DeviceTaintRule", "bad"),
        spec={"deviceSelector": {"device": "gpu-2"}, "taint": {"key": "bad", "effect": "NoSchedule"}},
    ),
    _object(
        *("coordination.k8s.io/v1", "Lease", "lock", "a"),
        spec={"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"},
    ),
    _object(
        *("coordination.k8s.io/v1beta1", "LeaseCandidate", "one", "a"),
        spec={"leaseName": "lock", "strategy": "OldestEmulationVersion", "binaryVersion": "1.36.0"},
    ),
    *(
        _object(
            *("v1", kind, "lock", "a"),
            metadata={"annotations": {"control-plane.alpha.kubernetes.io/leader": '{"holderIdentity": "one"}'}},
        )
        for kind in ("ConfigMap", "Endpoints")
    ),
    _object(
        *("metrics.k8s.io/v1beta1", "PodMetrics", "web-1", "a"),
        containers=[{"name": "c", "usage": {"cpu": "10m", "memory": "8Mi"}}],
    ),
)

#: Commands whose ``--snapshot`` is the cluster, and whose manifest is one of its objects.
COMMANDS: Final = (
    "pending",
    "pending -o html",
    "pending --kubernetes-version 1.37",
    "pending --apply manifest.json",
    "pending --fail-zone x",
    "explain -A",
    "explain -A -o json",
    "explain -f manifest.json",
    "explain sts/db -n a",
    "explain job/job -n a",
    "preempt a/pending",
    "nodes",
    "volumes -A",
    "devices",
    "devices claim/free -n a",
    "simulate",
    "optimum",
    "optimum --kubernetes-version 1.37 --feature-gates GenericWorkload=true",
    "capacity a/pending",
    "capacity a/pending --max 20",
    "capacity sts/db -n a",
    "drain n1 n2 --force --ignore-daemonsets --delete-emptydir-data",
    "rollout deploy/web -n a --set-request cpu=1",
    "rollout sts/db -n a --set-request cpu=1",
    "diff -A --fail-zone x",
    "verify",
    "leader",
    "lint manifest.json",
    "snapshot -o copy.tar.gz --force",
    "snapshot --anonymize -o copy.tar.gz --force",
)
