"""The ownership of pods: the workload that a pod belongs to, and the pods of a workload."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    cron_job_of,
    deployment_of,
)

#: The kinds that own pods, each with the intermediate kind through which it creates them, or ``None``.
MAKERS: Final[dict[type[ApiObject], type[ApiObject] | None]] = {
    Deployment: ReplicaSet,
    CronJob: Job,
    ReplicaSet: None,
    Job: None,
    StatefulSet: None,
    DaemonSet: None,
    ReplicationController: None,
}


def pods_made_by(cluster: Cluster, kind: type[ApiObject], namespace: str, name: str) -> list[int]:
    """Return the pods of a workload, as indices into ``Cluster.pods``, in the order of the snapshot.

    Args:
        kind: The workload's kind, a key of ``MAKERS``.
    """
    found = (members for members, workload in _made(cluster, kind, only_in=namespace) if workload == (namespace, name))
    return sorted(index for members in found for index in members)


def workloads(cluster: Cluster, kind: type[ApiObject]) -> set[tuple[str, str]]:
    """Return the namespace and name of every workload of a kind that the cluster contains, or contains pods of."""
    return {(obj.namespace, obj.name) for obj in cluster.list(kind)} | {found for _, found in _made(cluster, kind)}


def intermediate_owners(cluster: Cluster, kind: type[ApiObject], namespace: str, name: str) -> tuple[ApiObject, ...]:
    """Return the intermediate owners of a workload's pods: a Deployment's ReplicaSets, a CronJob's Jobs."""
    through = MAKERS[kind]
    if through is None:
        return ()
    objects = (obj for obj in cluster.list(through) if obj.namespace == namespace)
    return tuple(obj for obj in objects if _owner_of(obj.metadata, kind) == name)


def workload_of(cluster: Cluster, pod: ObjectMeta) -> tuple[str, str, str]:
    """Return kind, namespace and name of the workload that a pod belongs to, or of the pod if it has no controller."""
    owner = pod.controller
    if owner is None:
        return "Pod", pod.namespace, pod.name
    for kind, through in MAKERS.items():
        if through is not None and through.__name__ == owner.kind:
            obj = cluster.get(through, owner.name, pod.namespace)
            name = _owner_of(obj.metadata, kind) if obj is not None else _from_name(owner.name, pod, kind)
            if name:
                return kind.__name__, pod.namespace, name
    return owner.kind, pod.namespace, owner.name


def _made(
    cluster: Cluster, kind: type[ApiObject], only_in: str = ""
) -> Iterator[tuple[Sequence[int], tuple[str, str]]]:
    """Yield the pods of every controller whose workload is of a kind, with the workload; of all namespaces or one."""
    through = MAKERS[kind]
    controller = (through or kind).__name__
    for (of, namespace, name), members in cluster.pods.by_controller.items():
        if of != controller or only_in not in ("", namespace):
            continue
        workload = name
        if through is not None:
            obj = cluster.get(through, name, namespace)
            metadata = cluster.pods.records[members[0]].metadata
            workload = _owner_of(obj.metadata, kind) if obj is not None else _from_name(name, metadata, kind)
        if workload:
            yield members, (namespace, workload)


def _from_name(name: str, pod: ObjectMeta, kind: type[ApiObject]) -> str:
    """Derive the Deployment of a missing ReplicaSet, or the CronJob of a missing Job, from its name; empty if none."""
    return cron_job_of(name) if kind is CronJob else deployment_of(name, pod.labels)


def _owner_of(metadata: ObjectMeta, kind: type[ApiObject]) -> str:
    """Return the name of the controller that owns an object, if the controller is of a kind; else empty."""
    owner = metadata.controller
    return owner.name if owner is not None and owner.kind == kind.__name__ else ""


# The number of replicas of the workloads that have one.

Scalable = Deployment | ReplicaSet | ReplicationController | StatefulSet

#: The kinds with ``spec.replicas``.
SCALABLE: Final = (Deployment, ReplicaSet, StatefulSet, ReplicationController)


def wanted_replicas(obj: Scalable) -> int:
    """Return the desired number of replicas, by default 1."""
    return 1 if obj.spec.replicas is None else obj.spec.replicas


def with_replicas(obj: Scalable, replicas: int) -> Scalable:
    """Return the workload with another number of replicas."""
    return replace(obj, spec=replace(obj.spec, replicas=replicas))
