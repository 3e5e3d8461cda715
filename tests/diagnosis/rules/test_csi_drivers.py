"""CSI drivers whose pod is missing, not ready or without effect on a node that would hold the pod."""

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.well_known import REGION, ZONE
from kschedctl.objects.workload import DaemonSet
from tests.builders import (
    decide,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_object,
    make_pod,
    make_volume,
    mount,
)
from tests.diagnosis.rules.cures import cures

EBS = "ebs.csi.aws.com"
LABEL = "topology.ebs.csi.aws.com/zone"
DRIVER = ("apps/v1", "DaemonSet", "ebs-csi-node")
FULL = make_node("full", zone="a", labels={LABEL: "a"}, cpu="1")
BARE = make_node("bare", zone="a")
REST = "; full has 1 cpu in all, the pod wants 2 cpu"


def driver_pod(node: str, *, ready: bool = True, name: str = "ebs-csi-node-x") -> Pod:
    status = {
        "phase": "Running",
        "conditions": []
        if ready
        else [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-20T09:12:00Z"}],
    }
    return make_pod(name, namespace="kube-system", node=node, owner=DRIVER, status=status)


def cluster_of(nodes: list[Node], pods: list[Pod], *objects: ApiObject, host: str = "") -> Cluster:
    affinity = {"topology.topolvm.io/node": [host]} if host else {LABEL: ["a"]}
    volume = make_volume(
        "pv", claim="default/data", source={"csi": {"driver": EBS, "volumeHandle": "v"}}, affinity=affinity
    )
    return make_cluster(nodes, pods, make_claim(bound="pv"), volume, *objects)


@pytest.mark.parametrize(
    ("cluster", "cause", "cure"),
    [
        pytest.param(
            cluster_of([FULL, BARE], [driver_pod("full"), driver_pod("bare", ready=False, name="ebs-csi-node-y")]),
            f"volume pv of claim data is in a, and bare there lacks the label {LABEL}, which CSI driver {EBS} sets, "
            f"whose pod kube-system/ebs-csi-node-y is not ready since 2026-11-20 09:12 UTC{REST}",
            f"repair pod kube-system/ebs-csi-node-y on bare: look at its log and its events; CSI driver {EBS} then "
            "registers the node",
            id="the driver's pod crashes",
        ),
        pytest.param(
            cluster_of([FULL, BARE], [driver_pod("bare")]),
            f"volume pv of claim data is in a, and bare there lacks the label {LABEL}, which CSI driver {EBS} sets, "
            f"although its pod kube-system/ebs-csi-node-x runs{REST}",
            f"restart pod kube-system/ebs-csi-node-x on bare; CSI driver {EBS} then registers the node",
            id="the driver's pod runs",
        ),
        pytest.param(
            cluster_of(
                [FULL, make_node("bare", zone="a", taints=["spot=true:NoExecute"])],
                [],
                make_object(DaemonSet, "ebs-csi-node", namespace="kube-system"),
            ),
            "full in a, where volume pv is, has 1 cpu in all, the pod wants 2 cpu",
            None,
            id="the pod cannot go there either way",
        ),
        pytest.param(
            cluster_of([FULL, BARE], [], make_object(DaemonSet, "ebs-csi-node", namespace="kube-system")),
            f"volume pv of claim data is in a, and bare there lacks the label {LABEL}, which CSI driver {EBS} sets, "
            f"and DaemonSet kube-system/ebs-csi-node has no pod there{REST}",
            f"get DaemonSet kube-system/ebs-csi-node to run on bare; CSI driver {EBS} then registers the node",
            id="the driver has no pod there",
        ),
        pytest.param(
            cluster_of([FULL, make_node("b", zone="b")], [driver_pod("b", ready=False)]),
            "full in a, where volume pv is, has 1 cpu in all, the pod wants 2 cpu",
            None,
            id="a node of another zone",
        ),
        pytest.param(
            cluster_of([make_node("n1"), make_node("n2")], [driver_pod("n1", ready=False)], host="n1"),
            "volume pv of claim data is on n1, and n1 there lacks the label topology.topolvm.io/node, which CSI driver "
            f"{EBS} sets, whose pod kube-system/ebs-csi-node-x is not ready since 2026-11-20 09:12 UTC",
            f"repair pod kube-system/ebs-csi-node-x on n1: look at its log and its events; CSI driver {EBS} then "
            "registers the node",
            id="a local disk",
        ),
    ],
)
def test_a_node_without_the_label_of_the_driver(cluster: Cluster, cause: str, cure: str | None) -> None:
    decision = decide(make_pod(volumes=mount("data"), requests={"cpu": "2"}), cluster)
    assert diagnose(decision)[0].cause == cause
    if cure is not None:
        assert cures(decision)[0] == cure
        assert not any("evict" in one or "delete" in one for one in cures(decision))


@pytest.mark.parametrize(
    ("driver", "label", "value", "place", "owner"),
    [
        pytest.param("pd.csi.storage.gke.io", "topology.gke.io/zone", "b", {ZONE: "b"}, "pdcsi-node", id="Google"),
        pytest.param(
            "csi.hetzner.cloud", "csi.hetzner.cloud/location", "nbg1", {REGION: "nbg1"}, "hcloud-csi-node", id="Hetzner"
        ),
        pytest.param(
            "csi.vsphere.vmware.com",
            "topology.csi.vmware.com/k8s-zone",
            "b",
            {ZONE: "b"},
            "vsphere-csi-node",
            id="vSphere",
        ),
        pytest.param(
            "disk.csi.azure.com",
            "topology.disk.csi.azure.com/zone",
            "west-1",
            {ZONE: "west-1"},
            "csi-azuredisk-node",
            id="Azure",
        ),
    ],
)
def test_drivers_of_clouds(driver: str, label: str, value: str, place: dict[str, str], owner: str) -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    agent = ("apps/v1", "DaemonSet", owner)
    sick = make_pod(f"{owner}-x", namespace="kube-system", node="bare", owner=agent, status=status)
    other = make_pod("kube-proxy-x", namespace="kube-system", node="bare", owner=("apps/v1", "DaemonSet", "kube-proxy"))
    nodes = [make_node("full", labels={label: value, **place}, cpu="1"), make_node("bare", labels=place)]
    source = {"csi": {"driver": driver, "volumeHandle": "v"}}
    volume = make_volume("pv", claim="default/data", source=source, affinity={label: [value]})
    registered = make_csi_node("full", limits={driver: None})
    cluster = make_cluster(nodes, [sick, other], make_claim(bound="pv"), volume, registered)
    decision = decide(make_pod(volumes=mount("data"), requests={"cpu": "2"}), cluster)
    assert f"whose pod kube-system/{owner}-x is not ready" in diagnose(decision)[0].cause
    assert cures(decision)[0].startswith(f"repair pod kube-system/{owner}-x on bare")
