"""The number of replicas of the workloads that have one."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.objects.workload import Deployment, ReplicaSet, ReplicationController, StatefulSet

Scalable = Deployment | ReplicaSet | ReplicationController | StatefulSet

#: The kinds with ``spec.replicas``.
SCALABLE: Final = (Deployment, ReplicaSet, StatefulSet, ReplicationController)


def wanted_replicas(obj: Scalable) -> int:
    """Return the desired number of replicas, by default 1."""
    return 1 if obj.spec.replicas is None else obj.spec.replicas


def with_replicas(obj: Scalable, replicas: int) -> Scalable:
    """Return the workload with another number of replicas."""
    return replace(obj, spec=replace(obj.spec, replicas=replicas))
