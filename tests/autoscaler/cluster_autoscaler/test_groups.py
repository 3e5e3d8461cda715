"""The nodes of a node group, by the labels, annotations and names that each platform gives them."""

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.autoscaler.cluster_autoscaler.groups import NodeGroup, node_groups
from kschedctl.autoscaler.cluster_autoscaler.status import GroupStatus, Health, Status
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.cluster_autoscaler import MachineDeployment, MachineSet
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ObjectMeta, OwnerReference
from tests.builders import make_cluster, make_node, make_object

UUID = "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f"
URL = "https://compute.example/projects/p/zones/z-{}/instanceGroups/gke-shop-{}-grp"


def groups(cluster: Cluster, *names: str) -> tuple[NodeGroup, ...]:
    """Return the groups of a status with these names."""
    found = tuple(GroupStatus(name, Health(max_size=3)) for name in names)
    return node_groups(cluster, Status(found, GroupStatus(), None))


def annotated(name: str, **annotations: str) -> Node:
    node = make_node(name)
    return replace(node, metadata=replace(node.metadata, annotations=annotations))


EKS, GKE, AKS = "eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool"
#: By platform: the nodes, and each group's name with its words and its nodes.
CASES: dict[str, tuple[list[Node], dict[str, tuple[str, str]]]] = {
    "EKS": (
        [make_node("a", labels={EKS: "web"}), make_node("b", labels={EKS: "web-spot"})],
        {f"eks-web-{UUID}": ("nodegroup web", "a"), f"eks-web-spot-{UUID}": ("nodegroup web-spot", "b")},
    ),
    "EKS, no node": ([], {f"eks-web-{UUID}": ("nodegroup web", "")}),
    "eksctl": (
        [make_node("a", labels={"alpha.eksctl.io/nodegroup-name": "ng-1"})],
        {"eksctl-shop-nodegroup-ng-1-NodeGroup-1ABC": ("nodegroup ng-1", "a")},
    ),
    "kops": (
        [make_node("i-1", labels={"kops.k8s.io/instancegroup": "nodes-1a"})],
        {
            "nodes-1a.shop.example": ("instance group nodes-1a", "i-1"),
            "nodes-1b.shop.example": ("node group nodes-1b.shop.example", ""),
        },
    ),
    "GKE": (
        [
            make_node("gke-shop-web-0a1b2c3d-x1y2", zone="z-a", labels={GKE: "web"}),
            make_node("gke-shop-web-1a1b2c3d-x1y3", zone="z-b", labels={GKE: "web"}),
        ],
        {
            URL.format("a", "web-0a1b2c3d"): ("node pool web in zone z-a", "gke-shop-web-0a1b2c3d-x1y2"),
            URL.format("b", "web-1a1b2c3d"): ("node pool web in zone z-b", "gke-shop-web-1a1b2c3d-x1y3"),
            URL.format("c", "web-2a1b2c3d"): ("node pool web in zone z-c", ""),
        },
    ),
    "AKS": (
        [
            make_node("aks-web-123-vmss000001", labels={AKS: "web", "agentpool": "web"}),
            make_node("aks-web2-123-vmss00000a", labels={AKS: "web2"}),
        ],
        {
            "aks-web-123-vmss": ("agent pool web", "aks-web-123-vmss000001"),
            "aks-web2-123-vmss": ("agent pool web2", "aks-web2-123-vmss00000a"),
        },
    ),
    "Cluster API": (
        [annotated("a", **{"cluster.x-k8s.io/owner-name": "md-web-7f8d"})],
        {
            "MachineDeployment/default/md-web": ("node group md-web", "a"),
            "MachineDeployment/default/md": ("node group md", ""),
        },
    ),
    "OpenShift": (
        [annotated("a", **{"machine.openshift.io/machine": "openshift-machine-api/shop-worker-a-x7k2p"})],
        {"MachineSet/openshift-machine-api/shop-worker-a": ("node group shop-worker-a", "a")},
    ),
    "names of nodes": (
        [make_node("shoot--shop-web-z1-abcde-fghij")],
        {"shoot--shop-web-z1": ("node group shoot--shop-web-z1", "shoot--shop-web-z1-abcde-fghij")},
    ),
    "the name of the pool": ([make_node("a", labels={"hcloud/node-group": "web"})], {"web": ("node group web", "a")}),
    "another cloud": ([make_node("a")], {"web": ("node group web", "")}),
}


@pytest.mark.parametrize(("nodes", "expected"), CASES.values(), ids=CASES)
def test_the_nodes_of_groups(nodes: list[Node], expected: dict[str, tuple[str, str]]) -> None:
    found = groups(make_cluster(nodes), *expected)
    assert {each.name: (each.words, " ".join(nodes[row].name for row in each.rows)) for each in found} == expected


SIZES = {
    f"cluster.x-k8s.io/cluster-api-autoscaler-node-group-{key}": value
    for key, value in {"min-size": "1", "max-size": "4"}.items()
}


def machines(kind: type[Any], name: str, replicas: int | None = 2, **metadata: Any) -> Any:
    spec = {} if replicas is None else {"replicas": replicas}
    return replace(
        make_object(kind, name, spec=spec),
        metadata=ObjectMeta(name=name, namespace="machines", **{"annotations": SIZES, **metadata}),
    )


def test_sets_of_machines_are_groups_without_a_status() -> None:
    owner = OwnerReference("MachineDeployment", "md-web", controller=True)
    cluster = make_cluster(
        [annotated("a", **{"cluster.x-k8s.io/owner-name": "renamed"})],
        [],
        machines(MachineDeployment, "md-web"),
        machines(MachineSet, "renamed", owner_references=(owner,)),
        machines(MachineSet, "alone", replicas=None),
        machines(MachineSet, "not-scaled", annotations={}),
    )
    found = [(each.words, each.rows, each.minimum, each.maximum, each.target) for each in node_groups(cluster, None)]
    assert found == [("MachineDeployment md-web", (0,), 1, 4, 2), ("MachineSet alone", (), 1, 4, 1)]


def test_the_status_of_a_set_of_machines_has_its_sizes() -> None:
    cluster = make_cluster([], [], machines(MachineDeployment, "md-web"))
    (found,) = groups(cluster, "MachineDeployment/machines/md-web")
    assert (found.words, found.maximum, found.target) == ("MachineDeployment md-web", 3, 0)
    assert found.scalable is not None
