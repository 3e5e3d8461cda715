"""Data missing in a snapshot is reported if the answer depends on it, and otherwise not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.common.findings import ObjectRef, Severity
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.policies import PriorityClass, RuntimeClass
from kschedctl.objects.volume import StorageClass
from kschedctl.objects.workload import ReplicaSet
from kschedctl.trials.completeness.missing import find_missing, missing_for_any
from tests.builders import make_claim, make_cluster, make_namespace, make_node, make_object, make_pod, mount
from tests.scheduler.devices.builders import claiming_pod, make_class, make_slice
from tests.scheduler.devices.builders import make_claim as make_device_claim

SELECTS_NAMESPACES = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}}
        ]
    }
}
GANG = {"podGroupName": "gang"}
OWNER = ("apps/v1", "ReplicaSet", "web")


def unadmitted(**spec: Any) -> Pod:
    pod = make_pod(**spec)
    return replace(pod, spec=replace(pod.spec, priority=None))


@pytest.mark.parametrize(
    ("pod", "objects", "kinds"),
    [
        (make_pod(), [], []),
        (unadmitted(priorityClassName="high"), [], ["PriorityClass"]),
        (unadmitted(priorityClassName="system-node-critical"), [], []),
        (unadmitted(priorityClassName="high"), [make_object(PriorityClass, "high", value=1)], []),
        (make_pod(priorityClassName="high", priority=5), [], []),
        (make_pod(runtimeClassName="gvisor"), [], ["RuntimeClass"]),
        (make_pod(runtimeClassName="gvisor"), [make_object(RuntimeClass, "gvisor")], []),
        (make_pod(runtimeClassName="gvisor", overhead={"cpu": "1"}), [], []),
        (make_pod(volumes=mount("data")), [], ["PersistentVolumeClaim"]),
        (make_pod(volumes=mount("data")), [make_claim("other")], []),
        (claiming_pod("gpu"), [], ["ResourceClaim"]),
        (claiming_pod("gpu"), [make_device_claim("other")], []),
        (claiming_pod("gpu"), [make_device_claim("gpu")], ["ResourceSlice", "DeviceClass"]),
        (claiming_pod("gpu"), [make_device_claim("gpu"), make_class(), make_slice()], []),
        (claiming_pod("gpu"), [make_device_claim("gpu", holds=["a/gpu-0"])], []),
        (make_pod(schedulingGroup=GANG), [], ["PodGroup"]),
        (make_pod(schedulingGroup=GANG), [make_object(PodGroup, "other")], []),
        (make_pod(affinity=SELECTS_NAMESPACES), [], ["Namespace"]),
        (make_pod(affinity=SELECTS_NAMESPACES), [make_namespace("default")], []),
        (make_pod(owner=OWNER), [], ["ReplicaSet"]),
        (make_pod(owner=OWNER), [make_object(ReplicaSet, "other")], []),
        (make_pod(owner=("batch/v1", "Job", "once")), [], []),
    ],
)
def test_finds(pod: Pod, objects: list[ApiObject], kinds: list[str]) -> None:
    cluster = make_cluster([make_node("a")], [make_pod("other", node="a")], *objects)
    assert [missing.kind for missing in find_missing(cluster, pod)] == kinds
    # A kind that was listed is known, even if it is empty.
    cluster.listed = {kind: "" for _, kind in KINDS}
    assert find_missing(cluster, pod) == ()


def test_groups_are_needed_only_where_their_gate_is_on() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("other", node="a")])
    assert find_missing(cluster, make_pod(schedulingGroup=GANG), groups=False) == ()


def test_groups_that_could_not_be_listed_matter_where_a_pod_has_one() -> None:
    for group, expected in ((GANG, ["PodGroup"]), (None, [])):
        pods = [make_pod("a", schedulingGroup=group) if group else make_pod("a")]
        cluster = make_cluster([make_node("a")], pods)
        cluster.not_listed = frozenset({"PodGroup"})
        assert [missing.kind for missing in missing_for_any(cluster, preempts=True)] == expected


def test_waiting_claim_needs_a_storage_class() -> None:
    pod, claim = make_pod(volumes=mount("data")), make_claim("data")
    others = [make_pod("other", node="a")]
    found = find_missing(make_cluster([make_node("a")], others, claim), pod)
    assert [missing.kind for missing in found] == ["StorageClass"]
    assert not find_missing(make_cluster([make_node("a")], others, claim, make_object(StorageClass, "s")), pod)


def test_terms_of_other_pods_need_namespaces_too() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("other", node="a", affinity=SELECTS_NAMESPACES)])
    (missing,) = find_missing(cluster, make_pod())
    assert str(missing) == (
        "pods select namespaces by label in their affinity and the snapshot has no namespaces: "
        "it is unknown if they select this pod"
    )


def test_cluster_without_nodes_or_pods() -> None:
    assert [missing.kind for missing in find_missing(make_cluster(), make_pod())] == ["Node"]
    assert [missing.kind for missing in find_missing(make_cluster([make_node("a")]), make_pod())] == ["Pod"]


def test_what_is_missing_is_a_finding_that_warns() -> None:
    (missing,) = find_missing(make_cluster(), make_pod())
    assert (missing.object, missing.severity) == (ObjectRef("Node"), Severity.WARNING)
    assert (missing.kind, missing.needed_for, missing.effect) == (
        "Node",
        "the snapshot has no nodes",
        "no pod fits on any node",
    )
    assert missing.problem == missing.needed_for
