"""``provision``: the plan of Karpenter, and kube-scheduler on the nodes of the plan."""

from pathlib import Path

import pytest

import kschedctl
from kschedctl.common.errors import ClusterError, InputError
from tests.paths import ROOT

POOLS = ROOT / "fixtures" / "pools"


@pytest.fixture(scope="module")
def cluster() -> kschedctl.SchedulingCluster:
    return kschedctl.load(str(POOLS / "cluster"))


def test_the_plan_of_the_fixture(cluster: kschedctl.SchedulingCluster) -> None:
    answer = cluster.provision()
    assert [(each.pool, each.planned, each.placed) for each in answer.nodes] == [
        ("general", ("shop/checkout-1", "shop/checkout-2"), ("shop/checkout-1", "shop/checkout-2"))
    ]
    assert [each.pod for each in answer.waiting] == ["shop/report-1", "ml/train-2"]
    assert (answer.pending, answer.fitting, answer.price, answer.outcome.yes) == (4, {}, None, False)


def test_prices_come_from_the_catalog(cluster: kschedctl.SchedulingCluster) -> None:
    answer = cluster.provision(instance_types=str(POOLS / "instance-types.yaml"))
    (node,) = answer.nodes
    assert node.instance_types[0] == "c7g.2xlarge"
    assert node.price == answer.price == pytest.approx(0.2904)


@pytest.mark.parametrize("replicas", [1, 3, 4, 6, 9])
def test_the_nodes_of_a_plan_hold_as_many_pods_as_planned(cluster: kschedctl.SchedulingCluster, replicas: int) -> None:
    """The pods are alike, so that kube-scheduler finds as many places as Karpenter has made."""
    scaled = cluster.what_if(set_replicas=f"replicaset/shop/checkout={replicas}")
    answer = scaled.provision(until_settled=True)
    assert sum(len(each.planned) for each in answer.nodes) == sum(len(each.placed) for each in answer.nodes)
    assert answer.pending == len(answer.fitting) + sum(len(each.placed) for each in answer.nodes) + len(answer.waiting)


def test_a_pool_is_tried_before_it_exists(cluster: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    pool = tmp_path / "pool.yaml"
    pool.write_text(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: more}\n"
        "spec: {weight: 50, template: {spec: {nodeClassRef: {group: g, kind: K, name: default}}}}\n"
    )
    answer = cluster.what_if(apply=str(pool)).provision()
    assert {each.pool for each in answer.nodes} == {"more"}


def test_a_pool_that_is_deleted_launches_nothing(cluster: kschedctl.SchedulingCluster) -> None:
    answer = cluster.what_if(delete="nodepool/general").provision()
    assert answer.nodes == ()
    told = "NodePool general is deleted; 2 nodes of it stay in this answer, which Karpenter would drain"
    assert told in " ".join(answer.to_text().split())


def test_nothing_is_launched_in_a_zone_that_fails(cluster: kschedctl.SchedulingCluster) -> None:
    assert {each.zones for each in cluster.provision().nodes} == {("eu-west-1a", "eu-west-1b")}
    answer = cluster.what_if(fail_zone="eu-west-1a").provision()
    assert {each.zones for each in answer.nodes if each.pool == "general"} == {("eu-west-1b",)}
    assert "eu-west-1a" not in {zone for each in answer.nodes for zone in each.zones}


def test_an_instance_type_outlives_the_nodes_that_showed_it(cluster: kschedctl.SchedulingCluster) -> None:
    """The zone that fails has the only node with a GPU; the pod that waited gets the next one, not the new pod."""
    nodes = cluster.what_if(fail_zone="eu-west-1a").provision().nodes
    assert [(each.instance_types, each.planned) for each in nodes if each.pool == "gpu"] == [
        (("g5.xlarge",), ("ml/train-2",))
    ]


CLAIM = """
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: claim, labels: {karpenter.sh/nodepool: general, topology.kubernetes.io/zone: eu-west-1a}}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
status:
  providerID: aws:///eu-west-1a/i-ip-10-0-1-11.eu-west-1.compute.internal
  capacity: {cpu: "8", memory: 32Gi, pods: "58"}
  allocatable: {cpu: 7930m, memory: 31Gi, pods: "58"}
"""


@pytest.mark.parametrize("lost", ["fail_zone", "delete"])
def test_the_claim_of_a_node_that_is_gone_is_no_node_on_its_way(
    cluster: kschedctl.SchedulingCluster, tmp_path: Path, lost: str
) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM)
    node = "node/ip-10-0-1-11.eu-west-1.compute.internal"
    answer = cluster.what_if(apply=str(file), **{lost: "eu-west-1a" if lost == "fail_zone" else node}).provision()
    assert "shop/search" in str([each.planned for each in answer.nodes])


AGENT = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: agent, image: agent, resources: {requests: {cpu: "2"}}}]
"""
URGENT = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: v1
kind: Pod
metadata: {name: urgent, namespace: shop}
spec:
  priorityClassName: urgent
  containers: [{name: urgent, image: urgent, resources: {requests: {cpu: "3"}}}]
"""


def test_a_new_node_has_the_pods_of_daemon_sets(cluster: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(AGENT)
    for what_if, n_placed in (({}, 2), ({"apply": str(file)}, 1)):
        answer = cluster.what_if(set_replicas="replicaset/shop/checkout=9", **what_if).provision()
        # A checkout pod needs 3 cpu, the agent 2, and the node has 7930m.
        assert max(len([pod for pod in each.placed if "checkout" in pod]) for each in answer.nodes) == n_placed


def test_pods_that_the_scheduler_evicts_are_told(cluster: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    file = tmp_path / "urgent.yaml"
    file.write_text(URGENT)
    answer = cluster.what_if(apply=str(file)).provision()
    assert answer.fitting.keys() == {"shop/urgent"}
    assert {each.by for each in answer.evicted} == {"shop/urgent"}
    assert "fits on existing nodes after kube-scheduler evicts" in answer.summary


def test_a_cluster_without_node_pools_is_an_error() -> None:
    with pytest.raises(InputError, match="has no NodePool"):
        kschedctl.load(str(ROOT / "fixtures" / "shop" / "cluster")).provision()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "has no instance types"),
        ("- {name: a, capacity: {cpu: 1x}}", '"1x" is not a quantity'),
        ("- {capacity: {cpu: 1}}", "missing required field `name`"),
        ("{", "expected"),
    ],
)
def test_catalogs_that_are_none(cluster: kschedctl.SchedulingCluster, tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "types.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=problem):
        cluster.provision(instance_types=str(file))


def test_node_pools_that_are_not_in_the_snapshot_are_told() -> None:
    files = [str(POOLS / "cluster" / f"{name}.yaml") for name in ("nodes", "pods", "workloads")]
    cluster = kschedctl.load(*files)
    answer = " ".join(cluster.explain("shop/checkout-1").to_text().split())
    assert "nodes of Karpenter and no NodePools: what Karpenter would add is not known" in answer
    with pytest.raises(InputError, match="has no NodePool"):
        cluster.provision()


def test_node_pools_that_cannot_be_listed_are_told() -> None:
    cluster = kschedctl.load(str(POOLS / "cluster" / "nodes.yaml"))
    cluster.engine.cluster.not_listed = frozenset({"NodePool"})
    with pytest.raises(ClusterError, match=r"nodepools.karpenter.sh cannot be listed by this user"):
        cluster.provision()
