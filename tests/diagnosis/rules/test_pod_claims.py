"""Claims that cannot be used: missing, being deleted, of another pod, or without their volume."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import CSIDriver, CSIStorageCapacity, PersistentVolumeClaimStatus
from kschedctl.objects.workload import Deployment, ReplicaSet, StatefulSet
from tests.builders import (
    HOSTNAME,
    LONG_AGO,
    ZONE,
    decide,
    make_claim,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

OF_SET = ("apps/v1", "StatefulSet", "db")
TEMPLATES = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
SET = make_object(StatefulSet, "db", namespace="default", spec=TEMPLATES)
CREATE = "create claim uploads in namespace default (untried)"


def deleted(claim: ApiObject) -> ApiObject:
    """Return an object that is being deleted."""
    data = msgspec.to_builtins(claim)
    data["metadata"]["deletionTimestamp"] = LONG_AGO
    return msgspec.convert(data, type(claim))


@pytest.mark.parametrize(
    ("pod", "objects", "cause", "expected"),
    [
        pytest.param(
            make_pod(volumes=mount("uploads")),
            [make_claim("upload")],
            "claim uploads does not exist in namespace default; did you mean upload",
            ["use claim upload instead of uploads, which does not exist", CREATE],
            id="typing error",
        ),
        pytest.param(
            make_pod(volumes=mount("uploads")),
            [make_claim("uploads", namespace="files")],
            "claim uploads does not exist in namespace default; a claim of that name is in namespace files, where the "
            "pod cannot use it",
            [CREATE],
            id="another namespace",
        ),
        pytest.param(
            make_pod(volumes=mount("uploads")),
            [],
            "claim uploads does not exist in namespace default: the snapshot has no claims at all",
            [CREATE],
            id="no claims at all",
        ),
        pytest.param(
            make_pod("db-0", volumes=mount("data-db-0"), owner=OF_SET),
            [SET, make_claim("data-db-1")],
            "claim data-db-0 does not exist in namespace default: StatefulSet db has not created it",
            ["look at the events of StatefulSet db, which creates claim data-db-0 (untried)"],
            id="claim of a StatefulSet",
        ),
        pytest.param(
            make_pod(volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}]),
            [],
            "claim pod-tmp of the pod's ephemeral volume tmp is not created yet",
            ["look at the pod's events, and at kube-controller-manager (untried)"],
            id="claim of an ephemeral volume",
        ),
        pytest.param(
            make_pod(volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}]),
            [make_claim("pod-tmp")],
            "claim pod-tmp has the name that the pod's ephemeral volume tmp needs, but was not created for this pod",
            ["rename the pod or its volume tmp, or remove claim pod-tmp if nobody needs it (untried)"],
            id="name of an ephemeral volume's claim is taken",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim()), make_pod("old", node="node", volumes=mount("data"))],
            "claim data is being deleted: pod default/old still uses it",
            ["let pod default/old end: only then claim data is gone; then create it again (untried)"],
            id="being deleted, and kept by a pod",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim()), make_pod("old", node="node", volumes=mount("data"), owner=("v1", "Foo", "db"))],
            "claim data is being deleted: pod default/old still uses it",
            [
                "let pod default/old end, or scale Foo default/db down: only then claim data is gone; then create it "
                "again (untried)"
            ],
            id="being deleted, and kept by the pod of a workload",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim()), make_pod("old", node="node", volumes=mount("data"), terminating=True)],
            "claim data is being deleted: pod default/old still uses it",
            ["wait until claim data is gone; then create it again (untried)"],
            id="being deleted, and kept by a pod that ends",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [deleted(make_claim(bound="pv-1")), make_volume("pv-1", persistentVolumeReclaimPolicy="Delete")],
            "claim data is being deleted",
            [
                "if the data is needed: set reclaim policy Retain in volume pv-1 at once (untried)",
                "wait until claim data is gone; then create it again (untried)",
            ],
            id="being deleted together with its volume",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [make_claim(bound="pv-1"), make_volume("pv-2")],
            "claim data is bound to volume pv-1, which does not exist",
            [
                "if the disk still exists: create PersistentVolume pv-1 for it again, with its claimRef (untried)",
                "else recreate claim data and restore a backup (untried)",
            ],
            id="lost volume",
        ),
    ],
)
def test_cause(pod: Pod, objects: list[ApiObject], cause: str, expected: list[str]) -> None:
    decision = decide(pod, make_cluster([make_node()], (), make_storage_class(), *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision)[: len(expected)] == expected


def test_volumes_that_the_snapshot_does_not_have_are_not_called_lost() -> None:
    cluster = make_cluster([make_node()], (), make_storage_class(), make_claim(bound="pv-1"))
    (found,) = diagnose(decide(make_pod(volumes=mount("data")), cluster))
    assert found.rule == "pre-filter"


SHARE = "if both pods need the data: move it to a claim with ReadWriteMany, in a class that offers it (untried)"
START = "claim data is ReadWriteOncePod, for one pod at a time, and pod old"


def of_set(name: str) -> dict[str, Any]:
    return {"owner": ("apps/v1", "ReplicaSet", name)}


def replica_set(name: str) -> ApiObject:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    found = make_object(ReplicaSet, name, namespace="default")
    data = msgspec.to_builtins(found)
    data["metadata"]["ownerReferences"] = [owner]
    return msgspec.convert(data, ReplicaSet)


@pytest.mark.parametrize(
    ("pod", "user", "cause", "expected"),
    [
        pytest.param(
            make_pod(volumes=mount("data")),
            make_pod("old", node="n1", volumes=mount("data")),
            f"{START} on n1 uses it",
            ["let pod default/old end first (untried)", "delete pod default/old", SHARE],
            id="a single pod",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            make_pod("old", node="n1", volumes=mount("data"), terminating=True),
            f"{START} on n1 is terminating and still uses it",
            ["wait until pod default/old has ended on n1 (untried)"],
            id="a terminating pod",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), **of_set("web-2")),
            make_pod("old", node="n1", volumes=mount("data"), **of_set("web-1")),
            f"{START} (Deployment default/web) on n1 uses it",
            ["set strategy Recreate in Deployment web: the old pod then ends first (untried)", SHARE],
            id="the old pod of a rollout",
        ),
    ],
)
def test_claim_in_use_cause(pod: Pod, user: Pod, cause: str, expected: list[str]) -> None:
    claim, volume = make_claim(bound="pv", modes=["ReadWriteOncePod"]), make_volume(claim="default/data")
    objects = [claim, volume, make_storage_class(), make_object(Deployment, "web", namespace="default")]
    sets = [replica_set("web-1"), replica_set("web-2")]
    decision = decide(pod, make_cluster([make_node("n1"), make_node("n2")], [user], *objects, *sets))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision)[: len(expected)] == expected


SELECTED = "volume.kubernetes.io/selected-node"
STATIC = make_storage_class("local", provisioner="kubernetes.io/no-provisioner")
LOCAL: dict[str, Any] = {"storage_class": "local"}
WANTS_LOCAL = "claim data wants a volume of class local, which has no provisioner, and "
N1, N2 = make_node("n1", zone="a"), make_node("n2", zone="b")


def on(node: str, **fields: Any) -> ApiObject:
    """Return a local volume of a node."""
    return make_volume(f"pv-{node}", storage_class="local", affinity={HOSTNAME: [node]}, **fields)


def allowed(zone: str) -> ApiObject:
    """Return a class that provisions in one zone only."""
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}]
    return make_storage_class("zonal", allowedTopologies=terms)


def capacity(zone: str, size: str) -> ApiObject:
    """Return the storage that a driver has left in a zone."""
    topology = {"matchLabels": {ZONE: zone}}
    return make_object(
        CSIStorageCapacity, f"in-{zone}", namespace="s", nodeTopology=topology, storageClassName="late", capacity=size
    )


@pytest.mark.parametrize(
    ("pod", "nodes", "objects", "cause", "expected"),
    [
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(annotations={SELECTED: "n9"}), make_storage_class()],
            f"claim data waits for its volume on node n9, which is gone (annotation {SELECTED})",
            [f"remove annotation {SELECTED} of claim data"],
            id="stale annotation",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}),
            [N1, N2],
            [make_claim(annotations={SELECTED: "n2"}), make_storage_class()],
            f"claim data waits for its volume on node n2, which nodeSelector {ZONE}=a excludes (annotation {SELECTED})",
            None,
            id="the selector has changed since",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL), STATIC],
            f"{WANTS_LOCAL}the cluster has no volume",
            ["create a volume of 1Gi with class local for claim data on n1"],
            id="no local volume at all",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL, size="10Gi"), STATIC, on("n1", size="5Gi"), on("n2", size="20Gi", claim="default/x")],
            f"{WANTS_LOCAL}no volume of class local matches it: pv-n1 has 5Gi of the 10Gi; pv-n2 is bound to claim "
            "default/x",
            ["create a volume of 10Gi with class local for claim data on n1"],
            id="no local volume matches",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}),
            [N1, N2],
            [make_claim(**LOCAL), STATIC, on("n2")],
            f"{WANTS_LOCAL}the free volumes are on n2, which nodeSelector {ZONE}=a excludes",
            None,
            id="free volumes elsewhere",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL), STATIC, on("n9")],
            f"{WANTS_LOCAL}no node that is left can use pv-n9, which would match",
            None,
            id="free volume of a lost node",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [
                make_claim(**LOCAL),
                STATIC,
                on("n1", phase="Released", claimRef={"namespace": "default", "name": "data", "uid": "old"}),
            ],
            f"{WANTS_LOCAL}no volume of class local matches it: pv-n1 is Released: it still names a deleted claim of "
            "the same name",
            ["free volume pv-n1 for claim data: remove the uid of the deleted claim from its claimRef"],
            id="volume of the deleted claim of that name",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(**LOCAL, selector={"matchLabels": {"disk": "fast"}}), STATIC, on("n1")],
            f"{WANTS_LOCAL}no volume of class local matches it: pv-n1 does not match the claim's selector disk=fast",
            ["if volume pv-n1 is meant for claim data: give it the label disk=fast (untried)"],
            id="a volume without the label of the selector",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [make_claim(storage_class="zonal"), allowed("c")],
            f"class zonal provisions the volume of claim data only for {ZONE}=c, and no node has that",
            [
                "recreate claim data with a class that provisions where the nodes are (untried)",
                f"add a node with {ZONE}=c (untried)",
            ],
            id="allowed topologies without nodes",
        ),
        pytest.param(
            make_pod(volumes=mount("data-db-0")),
            [N1, N2],
            [
                make_claim("data-db-0", storage_class="zonal"),
                allowed("c"),
                make_object(StatefulSet, "db", namespace="default", spec=TEMPLATES),
            ],
            f"class zonal provisions the volume of claim data-db-0 only for {ZONE}=c, and no node has that",
            [
                "change volumeClaimTemplates of StatefulSet default/db (recreate it with --cascade=orphan), then "
                "recreate claim data-db-0 with a class that provisions where the nodes are (untried)"
            ],
            id="allowed topologies without nodes, for a claim of a StatefulSet",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}),
            [N1, N2],
            [make_claim(storage_class="zonal"), allowed("b")],
            f"class zonal provisions the volume of claim data only for {ZONE}=b, and nodeSelector {ZONE}=a excludes n2",
            None,
            id="allowed topologies against the selector",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [
                make_claim(size="100Gi"),
                make_storage_class(),
                make_object(CSIDriver, "csi.example.com", spec={"storageCapacity": True}),
                capacity("a", "40Gi"),
                capacity("b", "20Gi"),
            ],
            "claim data wants 100Gi, class late can provision at most 40Gi anywhere, and no node has as much",
            [
                "add storage for class late on a node, or delete volumes there that nobody needs (untried)",
                "recreate claim data with a request of 40Gi or less (untried)",
            ],
            id="storage capacity",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            [N1, N2],
            [
                make_claim(size="100Gi"),
                make_storage_class(),
                make_object(CSIDriver, "csi.example.com", spec={"storageCapacity": True}),
                capacity("a", "40Gi"),
            ],
            "claim data wants 100Gi, class late can provision at most 40Gi anywhere, and no node has as much; CSI "
            "driver csi.example.com tracks capacity, and there is no CSIStorageCapacity of class late for n2",
            [
                "get CSI driver csi.example.com to report the capacity of class late (CSIStorageCapacity): look at its "
                "settings and the log of its provisioner (untried)"
            ],
            id="storage capacity, and one node without",
        ),
    ],
)
def test_waiting_claim_cause(
    pod: Pod, nodes: list[Node], objects: list[ApiObject], cause: str, expected: list[str] | None
) -> None:
    decision = decide(pod, make_cluster(nodes, (), *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    if expected is not None:
        assert cures(decision)[: len(expected)] == expected


def test_a_free_volume_on_a_full_node_is_a_matter_of_the_node() -> None:
    pods = [make_pod("x", node="n1", requests={"cpu": "3"})]
    cluster = make_cluster([N1, N2], pods, make_claim(**LOCAL), STATIC, on("n1"))
    (found,) = diagnose(decide(make_pod(volumes=mount("data"), requests={"cpu": "2"}), cluster))
    assert found.rule == "obstacles"
    assert found.cause == "n1 where its volumes can be used has 1 of 4 cpu free, the pod wants 2 cpu"


def test_a_lost_claim_whose_volume_names_an_earlier_claim() -> None:
    lost = msgspec.structs.replace(make_claim(bound="pv-1"), status=PersistentVolumeClaimStatus(phase="Lost"))
    reference = {"namespace": "default", "name": "data", "uid": "uid-of-the-deleted-claim"}
    volume = make_volume("pv-1", storage_class="late", phase="Released", claimRef=reference)
    decision = decide(make_pod(volumes=mount("data")), make_cluster([make_node()], (), lost, volume))
    assert diagnose(decision)[0].cause.endswith("it still names a deleted claim of the same name")
    assert cures(decision) == [
        "free volume pv-1 for claim data: remove the uid of the deleted claim from its claimRef (untried)"
    ]


def test_a_deleted_claim_that_no_pod_keeps() -> None:
    cluster = make_cluster([make_node()], (), deleted(make_claim()))
    cluster.taken_at = datetime(2026, 11, 20, 10, tzinfo=UTC)
    decision = decide(make_pod(volumes=mount("data")), cluster)
    assert diagnose(decision)[0].cause.endswith("although no pod on a node uses it: a finalizer keeps it")
    assert cures(decision)[0].startswith("look at the finalizers of claim data: a snapshot or clone of it")


def test_a_claim_that_a_pod_on_a_lost_node_keeps() -> None:
    lost = make_node("lost", taints=["node.kubernetes.io/unreachable:NoExecute"])
    user = make_pod("old", node="lost", volumes=mount("data"), terminating=True)
    cluster = make_cluster([make_node("a"), lost], [user], deleted(make_claim()))
    decision = decide(make_pod(volumes=mount("data")), cluster)
    assert diagnose(decision)[0].cause == "claim data is being deleted: pod default/old still uses it"
    assert cures(decision) == [
        "get lost back; its pods then end, and claim data is gone (untried)",
        "once the machine of lost is certainly off: taint it as out of service (untried)",
    ]
