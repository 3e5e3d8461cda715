"""Which pods a workload has made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kschedctl.api.meta import ApiObject, ObjectMeta
from kschedctl.api.well_known import POD_TEMPLATE_HASH
from kschedctl.api.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kschedctl.cluster.cluster import Cluster

#: Kinds that make pods, and the kind that they do it through, where they do not do it themselves.
MAKERS: Final[dict[type[ApiObject], type[ApiObject] | None]] = {
    Deployment: ReplicaSet,
    CronJob: Job,
    ReplicaSet: None,
    Job: None,
    StatefulSet: None,
    DaemonSet: None,
    ReplicationController: None,
}
#: A CronJob puts the minutes since 1970 behind its name.
_OF_CRON_JOB: Final = re.compile(r"(.+)-[0-9]{8,}", re.ASCII)


def pods_made_by(cluster: Cluster, kind: type[ApiObject], namespace: str, name: str) -> list[int]:
    """The pods of a workload, as indices into ``Cluster.pods``, in the order of the snapshot.

    Parameters
    ----------
    kind : type
        One of ``MAKERS``.
    namespace, name : str
        The workload.
    """
    return [i for i, found in _made(cluster, kind, only_in=namespace) if found == (namespace, name)]


def workloads(cluster: Cluster, kind: type[ApiObject]) -> set[tuple[str, str]]:
    """Namespace and name of all workloads of a kind that the cluster has, or has pods of."""
    return {(obj.namespace, obj.name) for obj in cluster.list(kind)} | {found for _, found in _made(cluster, kind)}


def between(cluster: Cluster, kind: type[ApiObject], namespace: str, name: str) -> tuple[ApiObject, ...]:
    """The objects through which a workload makes its pods: the ReplicaSets of a Deployment, the Jobs of a CronJob."""
    through = MAKERS[kind]
    if through is None:
        return ()
    objects = (obj for obj in cluster.list(through) if obj.namespace == namespace)
    return tuple(obj for obj in objects if _owner(obj.metadata, kind) == name)


def workload_of(cluster: Cluster, pod: ObjectMeta) -> tuple[str, str, str]:
    """The workload that a pod belongs to: kind, namespace and name; of a pod without a controller itself.

    Parameters
    ----------
    pod : ObjectMeta
        The pod's metadata.
    """
    owner = pod.controller
    if owner is None:
        return "Pod", pod.namespace, pod.name
    for kind, through in MAKERS.items():
        if through is not None and through.__name__ == owner.kind:
            obj = cluster.get(through, owner.name, pod.namespace)
            name = _owner(obj.metadata, kind) if obj is not None else _from_name(owner.name, pod, kind)
            if name:
                return kind.__name__, pod.namespace, name
    return owner.kind, pod.namespace, owner.name


def _made(cluster: Cluster, kind: type[ApiObject], only_in: str = "") -> Iterator[tuple[int, tuple[str, str]]]:
    """Every pod of a workload of a kind, and the workload; where a namespace is given, of that alone."""
    through = MAKERS[kind]
    known: dict[tuple[str, str], str] = {}
    for i, record in enumerate(cluster.pods.records):
        namespace = record.metadata.namespace
        if only_in and namespace != only_in:
            continue
        name = _owner(record.metadata, through or kind)
        if not name:
            continue
        if through is not None:
            key = (namespace, name)
            if key not in known:
                obj = cluster.get(through, name, namespace)
                known[key] = _owner(obj.metadata, kind) if obj is not None else _from_name(name, record.metadata, kind)
            name = known[key]
        if name:
            yield i, (namespace, name)


def _from_name(name: str, pod: ObjectMeta, kind: type[ApiObject]) -> str:
    """The Deployment of a ReplicaSet or the CronJob of a Job that the cluster does not have, by how it is named."""
    if kind is CronJob:
        match = _OF_CRON_JOB.fullmatch(name)
        return match[1] if match else ""
    template_hash = pod.labels.get(POD_TEMPLATE_HASH)
    return name.removesuffix(f"-{template_hash}") if template_hash and name.endswith(f"-{template_hash}") else ""


def _owner(metadata: ObjectMeta, kind: type[ApiObject]) -> str:
    """The name of the controller that owns an object, where it is of a kind."""
    owner = metadata.controller
    return owner.name if owner is not None and owner.kind == kind.__name__ else ""
