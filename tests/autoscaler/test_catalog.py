"""Instance types as the nodes and NodeClaims of a cluster show them."""

from typing import Any

import pytest

from kschedctl.autoscaler.catalog import seen_types
from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, InstanceType, allocatable
from kschedctl.objects.core import Node, NodeStatus, ResourceList
from kschedctl.objects.karpenter import (
    MinValuesRequirement,
    NodeClaim,
    NodeClaimSpec,
    NodeClaimStatus,
    NodeClaimTemplate,
    NodePool,
    NodePoolSpec,
)
from kschedctl.objects.quantity import NANO
from kschedctl.objects.well_known import INSTANCE_TYPE, ZONE
from tests.builders import make_cluster, make_object

SIZE: ResourceList = {"cpu": "4", "memory": "16Gi"}
LEFT: ResourceList = {"cpu": "3920m", "memory": "15Gi"}


def machine(name: str, kind: str, zone: str, **labels: str) -> Node:
    own = {INSTANCE_TYPE: kind, ZONE: zone, **labels}
    return make_object(Node, name, labels=own, status=NodeStatus(capacity=SIZE, allocatable=LEFT))


def by_name(*objects: Any, nodes: tuple[Node, ...] = ()) -> dict[str, InstanceType]:
    return {each.name: each for each in seen_types(make_cluster(nodes, (), *objects))}


def test_a_node_shows_its_type() -> None:
    (kind,) = by_name(nodes=(machine("n", "m7g.xlarge", "a", **{"kubernetes.io/arch": "arm64"}),)).values()
    assert (kind.name, kind.arch, kind.capacity) == ("m7g.xlarge", "arm64", SIZE)
    assert allocatable(kind) == {"cpu": 3_920 * NANO // 1000, "memory": 15 * 2**30 * NANO}


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("m7g.xlarge", {"category": "m", "family": "m7g", "generation": "7", "size": "xlarge", "cpu": "4"}),
        ("u-6tb1.metal", {}),
        ("Standard_D4s_v5", {}),
    ],
)
def test_names_of_aws_tell_labels(name: str, labels: dict[str, str]) -> None:
    kind = by_name(nodes=(machine("n", name, "a"),))[name]
    found = {key.removeprefix("karpenter.k8s.aws/instance-"): value for key, value in kind.labels.items()}
    found.pop("memory", None)
    assert found == labels


def test_labels_of_the_node_count_more_than_its_name() -> None:
    key = "karpenter.k8s.aws/instance-family"
    kind = by_name(nodes=(machine("n", "m7g.xlarge", "a", **{key: "other", "team": "x"}),))["m7g.xlarge"]
    assert kind.labels[key] == "other"
    assert "team" not in kind.labels


def test_a_claim_shows_a_type_that_no_node_has_yet() -> None:
    status = NodeClaimStatus(capacity=SIZE, allocatable=LEFT, provider_id="x")
    claim = make_object(NodeClaim, "c", labels={INSTANCE_TYPE: "c7g.xlarge", ZONE: "b"}, status=status)
    assert set(by_name(claim, nodes=(machine("n", "m7g.xlarge", "a"),))) == {"m7g.xlarge", "c7g.xlarge"}


def test_each_type_is_offered_in_all_zones_and_capacity_types_that_the_cluster_uses() -> None:
    wanted = (
        MinValuesRequirement(key=ZONE, operator="In", values=("c",)),
        MinValuesRequirement(key=CAPACITY_TYPE, operator="In", values=("spot", "reserved")),
    )
    template = NodeClaimTemplate(spec=NodeClaimSpec(requirements=wanted))
    pool = make_object(NodePool, "general", spec=NodePoolSpec(template=template))
    found = by_name(pool, nodes=(machine("n1", "m7g.xlarge", "a"), machine("n2", "m7g.large", "b")))
    assert {(each.zone, each.capacity_type) for each in found["m7g.large"].offerings} == {
        (zone, kind) for zone in "abc" for kind in ("on-demand", "spot")
    }
