"""Bound volumes where the pod cannot go: empty zones, lost nodes, nodes without the driver, selectors."""

from typing import Any

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.rules.volumes import volumes_attached_elsewhere
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from tests.builders import (
    HOSTNAME,
    ZONE,
    decide,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

CSI_ZONE = "topology.ebs.csi.aws.com/zone"
MOVED = "move volume pv-data of claim data to {}: a copy of its data under the same name"


def zoned(name: str, zone: str, **fields: Any) -> Node:
    """Return a node with the zone label of the CSI driver as well."""
    return make_node(name, zone=zone, labels={CSI_ZONE: zone, **fields.pop("labels", {})}, **fields)


def disk(claim: str, **fields: Any) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    """Return a bound claim and its volume."""
    name = f"pv-{claim}"
    return make_claim(claim, bound=name), make_volume(name, claim=f"default/{claim}", **fields)


def cluster_of(nodes: list[Node], *disks: tuple[PersistentVolumeClaim, PersistentVolume], **pods: Any) -> Cluster:
    running = [make_pod(f"on-{node}", node=node, requests={"cpu": cpu}) for node, cpu in pods.items()]
    return make_cluster(nodes, running, make_storage_class(), *(obj for pair in disks for obj in pair))


A, B, C = zoned("a1", "a"), zoned("b1", "b"), zoned("c1", "c")
IN_B = disk("data", affinity={CSI_ZONE: ["b"]})


@pytest.mark.parametrize(
    ("pod", "cluster", "cause", "expected"),
    [
        pytest.param(
            make_pod(volumes=mount("data")),
            cluster_of([A, C], IN_B),
            "volume pv-data of claim data is in b, where no node is left",
            ["add a node like a1 in zone b", MOVED.format("a"), MOVED.format("c")],
            id="no node is left in the zone",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            cluster_of([make_node("a1", zone="a")], disk("data", labels={ZONE: "b"})),
            "volume pv-data of claim data is in b, where no node is left",
            ["add a node like a1 in zone b", MOVED.format("a")],
            id="the zone label of the volume",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), requests={"cpu": "8"}),
            cluster_of([A, zoned("big", "a", cpu="16"), zoned("gpu", "c", cpu="32", taints=["gpu:NoSchedule"])], IN_B),
            "volume pv-data of claim data is in b, where no node is left",
            ["add a node like big in zone b", MOVED.format("a")],
            id="the model is large enough and admits the pod",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            cluster_of([A, make_node("b1", zone="b")], IN_B),
            f"volume pv-data of claim data is in b, and b1 there lacks the label {CSI_ZONE}, which CSI driver "
            "csi.example.com sets: it is not registered there",
            ["get CSI driver csi.example.com to run on b1; it then registers the node", "add a node like a1 in zone b"],
            id="the nodes of the zone lack the label of the driver",
        ),
        pytest.param(
            make_pod("kafka-1", volumes=mount("data")),
            cluster_of([make_node("node-5"), make_node("node-6")], disk("data", affinity={HOSTNAME: ["node-7"]})),
            "volume pv-data of claim data is a local disk of node-7, which is gone",
            [
                "bring node-7 back under its name, with its disk: the data is there (untried)",
                "if node-7 is lost for good: delete claim data and the pod for a new, empty disk (untried)",
            ],
            id="local disk of a lost node",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            cluster_of(
                [make_node(name, labels={"topology.hostpath.csi/node": name}) for name in ("n1", "n2")],
                disk("data", affinity={"topology.hostpath.csi/node": ["n7"]}),
            ),
            "volume pv-data of claim data is a local disk of n7, which is gone",
            [
                "bring n7 back under its name, with its disk: the data is there (untried)",
                "if n7 is lost for good: delete claim data and the pod for a new, empty disk (untried)",
            ],
            id="node label of a CSI driver",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={ZONE: "a"}),
            cluster_of([A, B], IN_B),
            f"volume pv-data of claim data is in b, and nodeSelector {ZONE}=a leaves only nodes in zone a",
            [f"drop {ZONE}=a of nodeSelector", MOVED.format("a")],
            id="selector of another zone",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), nodeSelector={"pool": "ssd"}),
            cluster_of(
                [make_node("n1", labels={"pool": "ssd"}), make_node("n2")], disk("data", affinity={HOSTNAME: ["n2"]})
            ),
            "volume pv-data of claim data is on n2, and nodeSelector pool=ssd excludes n2",
            None,
            id="selector excludes the node of a local disk",
        ),
        pytest.param(
            make_pod(volumes=mount("data", "log")),
            cluster_of([A, B], IN_B, disk("log", affinity={CSI_ZONE: ["a"]})),
            "volume pv-data of claim data is in b and volume pv-log of claim log is in a, "
            "and no node is in all these places",
            None,
            id="two volumes in two zones",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), requests={"cpu": "2"}),
            cluster_of([A, B], IN_B, b1="3"),
            "b1 in b, where volume pv-data is, has 1 of 4 cpu free, the pod wants 2 cpu",
            None,
            id="no room in the zone",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), requests={"cpu": "2"}),
            cluster_of([A, B, zoned("b2", "b")], IN_B, b1="3", b2="3500m"),
            "no node in b, where volume pv-data is, has 2 cpu free: the most is 1, on b1",
            ["add a node like b1 in zone b"],
            id="no room on the nodes of the zone",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), requests={"cpu": "8"}),
            cluster_of([zoned("big", "a", cpu="16"), B], IN_B, big="10"),
            "b1 in b, where volume pv-data is, has 4 cpu in all, the pod wants 8 cpu",
            ["add a node like big in zone b"],
            id="the nodes of the zone are too small",
        ),
        pytest.param(
            make_pod(volumes=mount("data")),
            cluster_of([A, zoned("b1", "b", taints=["gpu=yes:NoSchedule"])], IN_B),
            "b1 in b, where volume pv-data is, has the taint gpu=yes:NoSchedule, which the pod does not tolerate",
            None,
            id="tainted nodes in the zone",
        ),
        pytest.param(
            make_pod(volumes=mount("data"), requests={"cpu": "2"}),
            cluster_of([make_node("n1"), make_node("n2")], disk("data", affinity={HOSTNAME: ["n2"]}), n2="3"),
            "n2, where volume pv-data is, has 1 of 4 cpu free, the pod wants 2 cpu",
            None,
            id="no room on the node of a local disk",
        ),
    ],
)
def test_cause(pod: Pod, cluster: Cluster, cause: str, expected: list[str] | None) -> None:
    decision = decide(pod, cluster)
    assert [one.cause for one in diagnose(decision)] == [cause]
    if expected is not None:
        assert cures(decision)[: len(expected)] == expected


def test_a_new_node_in_another_zone_has_all_its_labels_there() -> None:
    (found,) = diagnose(decide(make_pod(volumes=mount("data")), cluster_of([A, C], IN_B)))
    node = found.remedies[0].changes[0].create  # type: ignore[union-attr]
    assert node["metadata"]["labels"] == {HOSTNAME: "a1-1", ZONE: "b", CSI_ZONE: "b"}


def test_a_registered_driver_is_not_accused() -> None:
    nodes, csi = [A, make_node("b1", zone="b")], make_csi_node("b1", limits={"csi.example.com": None})
    cluster = make_cluster(nodes, (), make_storage_class(), *IN_B, csi)
    (found,) = diagnose(decide(make_pod(volumes=mount("data")), cluster))
    assert found.cause.endswith(f"b1 there lacks the label {CSI_ZONE}, which CSI driver csi.example.com sets")


UNREACHABLE = ["node.kubernetes.io/unreachable:NoExecute"]
NODES = [make_node("a"), make_node("b"), make_node("lost", taints=UNREACHABLE)]
START = "volume pv of its claim data is ReadWriteOnce and attached to "
OLD = ("apps/v1", "StatefulSet", "old")


def attached(node: str) -> VolumeAttachment:
    spec = {"attacher": "csi.example.com", "nodeName": node, "source": {"persistentVolumeName": "pv"}}
    return make_object(VolumeAttachment, "va", spec=spec)


def user(node: str, **own: Any) -> Pod:
    return make_pod("user", node=node, volumes=mount("data"), **own)


@pytest.mark.parametrize(
    ("node", "pods", "modes", "cause", "cures"),
    [
        pytest.param(
            "lost",
            [user("lost")],
            ["ReadWriteOnce"],
            START + "lost, which is unreachable: taint node.kubernetes.io/unreachable; pod default/user there uses it",
            [
                "get lost back; its kubelet then ends the old pods, and pv is detached",
                "once the machine of lost is certainly off: taint it as out of service, which detaches pv",
            ],
            id="the other node is unreachable",
        ),
        pytest.param(
            "gone",
            [],
            ["ReadWriteOnce"],
            START + "gone, which no longer exists",
            ["delete VolumeAttachment va, as its node gone no longer exists"],
            id="the other node is gone",
        ),
        pytest.param(
            "b",
            [user("b", owner=OLD)],
            ["ReadWriteOnce"],
            START + "b; pod default/user there uses it",
            ["if both pods need the data: run them on b, or move it to a claim with ReadWriteMany"],
            id="another workload uses it",
        ),
        pytest.param(
            "b",
            [],
            ["ReadWriteOnce"],
            START + "b",
            ["look at the log of CSI driver csi.example.com, which has not detached pv"],
            id="not detached",
        ),
        pytest.param("a", [], ["ReadWriteOnce"], None, [], id="attached to the pod's node"),
        pytest.param("b", [], ["ReadWriteMany"], None, [], id="several nodes can use it"),
    ],
)
def test_attached_elsewhere_cause(
    node: str, pods: list[Pod], modes: list[str], cause: str | None, cures: list[str]
) -> None:
    pod = make_pod("new", node="a", volumes=mount("data"), status={"phase": "Pending"})
    volume = make_volume(claim="default/data", modes=modes)
    cluster = make_cluster(NODES, [pod, *pods], make_claim(bound="pv"), volume, attached(node))
    found = list(volumes_attached_elsewhere(cluster, pod, "a"))
    assert [one.cause for one in found] == ([cause] if cause else [])
    assert [advice.summary for one in found for advice in one.advice] == cures
