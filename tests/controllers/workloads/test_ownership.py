"""Pods that belong to a workload, even if the owners in between are not in the snapshot."""

import pytest
from msgspec.structs import replace

from kschedctl.controllers.workloads.ownership import intermediate_owners, pods_made_by, workloads
from kschedctl.objects.meta import ApiObject, OwnerReference
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import CronJob, DaemonSet, Deployment, Job, ReplicaSet
from tests.builders import make_cluster, make_object, make_pod


def made_by(obj: ApiObject, kind: str, name: str) -> ApiObject:
    owner = OwnerReference(kind=kind, name=name, controller=True)
    return replace(obj, metadata=replace(obj.metadata, owner_references=(owner,)))


HASHED = make_pod("x", labels={"pod-template-hash": "abc"}, owner=("apps/v1", "ReplicaSet", "web-abc"))
UNHASHED = make_pod("x", owner=("apps/v1", "ReplicaSet", "web-abc"))
OF_JOB = make_pod("x", owner=("batch/v1", "Job", "report-29112233"))
OF_OTHER_JOB = make_pod("x", owner=("batch/v1", "Job", "report-2"))
DAEMON = make_pod("x", owner=("apps/v1", "DaemonSet", "web"))
REPLICA_SET = made_by(make_object(ReplicaSet, "web-abc", namespace="default"), "Deployment", "shop")
BARE_REPLICA_SET = make_object(ReplicaSet, "web-abc", namespace="default")
JOB = made_by(make_object(Job, "report-2", namespace="default"), "CronJob", "nightly")

CASES: dict[str, tuple[type[ApiObject], str | None, Pod, list[ApiObject]]] = {
    "Deployment, by the hash in the name": (Deployment, "web", HASHED, []),
    "no Deployment without the hash": (Deployment, None, UNHASHED, []),
    "Deployment, by the owner of the ReplicaSet": (Deployment, "shop", UNHASHED, [REPLICA_SET]),
    "no Deployment, as the ReplicaSet has no owner": (Deployment, None, HASHED, [BARE_REPLICA_SET]),
    "ReplicaSet": (ReplicaSet, "web-abc", HASHED, []),
    "CronJob, by the minutes in the name": (CronJob, "report", OF_JOB, []),
    "no CronJob, as the number is no time": (CronJob, None, OF_OTHER_JOB, []),
    "CronJob, by the owner of the Job": (CronJob, "nightly", OF_OTHER_JOB, [JOB]),
    "DaemonSet": (DaemonSet, "web", DAEMON, []),
    "another kind": (ReplicaSet, None, DAEMON, []),
}


@pytest.mark.parametrize("case", CASES)
def test_workload_of_a_pod(case: str) -> None:
    kind, name, pod, objects = CASES[case]
    cluster = make_cluster([], [pod], *objects)
    through = {("default", obj.name) for obj in objects if isinstance(obj, kind)}
    assert workloads(cluster, kind) - through == ({("default", name)} if name else set())
    assert pods_made_by(cluster, kind, "default", name or "web") == ([0] if name else [])


def test_what_a_workload_makes_its_pods_through() -> None:
    cluster = make_cluster([], [], REPLICA_SET, JOB)
    assert intermediate_owners(cluster, Deployment, "default", "shop") == (REPLICA_SET,)
    assert intermediate_owners(cluster, CronJob, "default", "nightly") == (JOB,)
    assert intermediate_owners(cluster, Deployment, "default", "web") == ()
    assert intermediate_owners(cluster, ReplicaSet, "default", "web-abc") == ()
