"""Karpenter's answer for one pod: the node that it would launch, or the reason of each pool, and tried changes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

import kschedctl
from kschedctl.autoscaler.expansion import Expansion
from kschedctl.autoscaler.karpenter.expansion import expansion
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Condition, ResourceList, Taint
from kschedctl.objects.karpenter import MinValuesRequirement, NodeClaim, NodeClaimStatus, NodePool, NodePoolStatus
from kschedctl.objects.pod import DEFAULT_TOLERATIONS, Pod, Toleration
from tests.builders import make_object, make_pod
from tests.paths import ROOT

ZONE = "topology.kubernetes.io/zone"
GPU = Toleration(key="nvidia.com/gpu", operator="Exists")


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return kschedctl.load(str(ROOT / "fixtures" / "pools" / "cluster")).engine.cluster


def asked(cluster: Cluster, pod: Pod) -> Expansion:
    found = expansion(cluster, pod)
    assert found is not None
    return found


def with_pool(cluster: Cluster, name: str, change: Callable[[NodePool], NodePool]) -> Cluster:
    pools = [change(each) if each.name == name else each for each in cluster.list(NodePool)]
    return cluster.with_objects(NodePool, pools)


def limited(**limits: str) -> Callable[[NodePool], NodePool]:
    return lambda pool: replace(pool, spec=replace(pool.spec, limits=dict(limits)))


def with_template(**fields: Any) -> Callable[[NodePool], NodePool]:
    def change(pool: NodePool) -> NodePool:
        template = pool.spec.template
        spec = replace(template.spec, **fields)
        return replace(pool, spec=replace(pool.spec, template=replace(template, spec=spec)))

    return change


def small(**fields: Any) -> Pod:
    return make_pod("web", namespace="shop", requests={"cpu": "3", "memory": "4Gi"}, **fields)


def test_a_pool_that_takes_the_pod_launches_a_node(cluster: Cluster) -> None:
    found = asked(cluster, small())
    assert found.offer is not None
    assert found.words.startswith("Karpenter would add a node of NodePool general (m7g.")
    labels = found.offer.node.metadata.labels
    assert (labels["karpenter.sh/nodepool"], labels["kubernetes.io/arch"]) == ("general", "arm64")
    assert found.changes == ()


@pytest.mark.parametrize(
    ("change", "pod", "reason", "summaries"),
    [
        pytest.param(
            limited(cpu="12"),
            small(),
            "NodePool general is at its limit of 12 cpu (12 used)",
            ["raise the limit of NodePool general for cpu from 12 to 16 or more"],
            id="the limit is used up",
        ),
        pytest.param(
            limited(nodes="2"),
            small(),
            "NodePool general is at its limit of 2 nodes (2 used)",
            ["raise the limit of NodePool general for nodes from 2 to 3 or more"],
            id="the number of nodes is used up",
        ),
        pytest.param(
            limited(),
            small(nodeSelector={ZONE: "eu-west-1c"}),
            f"NodePool general allows {ZONE} eu-west-1a and eu-west-1b, and the pod wants eu-west-1c",
            [f"add eu-west-1c to {ZONE} in the requirements of NodePool general"],
            id="another zone",
        ),
        pytest.param(
            limited(),
            small(nodeSelector={"team": "search"}),
            "NodePool general gives its nodes no label team, and the pod wants search",
            ["add the label team=search to the nodes of NodePool general"],
            id="a label that no pool gives",
        ),
        pytest.param(
            with_template(requirements=(MinValuesRequirement(key=ZONE, operator="NotIn", values=("eu-west-1c",)),)),
            small(nodeSelector={ZONE: "eu-west-1c"}),
            f"NodePool general allows {ZONE} other than eu-west-1c, and the pod wants eu-west-1c",
            [f"no longer exclude eu-west-1c of {ZONE} in the requirements of NodePool general"],
            id="a zone that is excluded",
        ),
        pytest.param(
            with_template(taints=(Taint(key="dedicated", value="db", effect="NoSchedule"),)),
            small(),
            "NodePool general has the taint dedicated=db:NoSchedule, which the pod does not tolerate",
            [],
            id="a taint",
        ),
        pytest.param(
            limited(),
            make_pod("big", namespace="shop", requests={"cpu": "64"}),
            "NodePool general has no known instance type with 64 cpu to spare (the largest, m7g.2xlarge, leaves "
            "7.93 cpu and 31.22Gi memory to pods)",
            [],
            id="too large",
        ),
        pytest.param(
            with_template(
                requirements=(
                    MinValuesRequirement(key="karpenter.k8s.aws/instance-family", operator="In", values=("c7i",)),
                )
            ),
            small(),
            "NodePool general admits the pod, and the nodes of the cluster show none of its instance types",
            [],
            id="instance types that nobody has seen",
        ),
        pytest.param(
            with_template(
                requirements=(
                    MinValuesRequirement(key="karpenter.k8s.aws/instance-family", operator="Exists", min_values=3),
                )
            ),
            small(),
            "NodePool general has too few known instance types for the minValues of its requirements",
            [],
            id="too few instance types",
        ),
        pytest.param(
            lambda pool: replace(
                pool,
                status=replace(
                    pool.status,
                    conditions=(
                        Condition(type="Ready", status="False", reason="NodeClassNotReady", message="no subnets"),
                    ),
                ),
            ),
            small(),
            "NodePool general is not ready: no subnets",
            [],
            id="not ready",
        ),
        pytest.param(
            lambda pool: replace(pool, spec=replace(pool.spec, replicas=2)),
            small(),
            "NodePool general is static: it always has 2 nodes, whatever is pending",
            [],
            id="static",
        ),
    ],
)
def test_reasons_and_tried_changes(
    cluster: Cluster, change: Callable[[NodePool], NodePool], pod: Pod, reason: str, summaries: list[str]
) -> None:
    found = asked(with_pool(cluster, "general", change), pod)
    assert found.offer is None
    assert reason in [f"{each.group} {each.reason}" for each in found.refusals]
    assert [each.summary for each in found.changes] == summaries


def test_a_device_of_a_pool_at_its_limit(cluster: Cluster) -> None:
    pod = make_pod("train", namespace="ml", requests={"cpu": "3", "nvidia.com/gpu": "1"}, tolerations=[GPU])
    found = asked(cluster, pod)
    assert found.words.startswith("Karpenter adds no node: NodePool gpu is at its limit of 1 nvidia.com/gpu (1 used); ")
    assert [each.summary for each in found.changes] == [
        "raise the limit of NodePool gpu for nvidia.com/gpu from 1 to 2 or more"
    ]


def test_other_pending_pods_use_up_the_limit(cluster: Cluster) -> None:
    """Alone, each of the pods gets a node below the limit of 20 cpu; the two of checkout take the last one."""
    found = asked(with_pool(cluster, "general", limited(cpu="20")), small(labels={"app": "late"}))
    assert found.held == "nodes for other pending pods use up the limits of NodePool general"
    (change,) = found.changes
    assert change.summary == "raise the limit of NodePool general for cpu from 20 to 24 or more"
    assert change.offer.group == "NodePool general"


def test_nothing_is_decided_while_a_claim_is_not_launched(cluster: Cluster) -> None:
    failed = Condition(type="Launched", status="Unknown", reason="LaunchFailed", message="UnauthorizedOperation")
    claim = make_object(NodeClaim, "general-x7k2p", status=NodeClaimStatus(conditions=(failed,)))
    found = asked(cluster.with_objects(NodeClaim, [claim]), small())
    assert found.words == (
        "Karpenter adds no node: it decides for no pod as long as NodeClaim general-x7k2p has not been launched "
        "(LaunchFailed: UnauthorizedOperation)"
    )
    assert [each.summary for each in found.repairs] == [
        "find out why NodeClaim general-x7k2p is not launched, and repair that or delete it"
    ]


def test_a_claim_that_was_made_now_is_waited_for(cluster: Cluster) -> None:
    claim = make_object(NodeClaim, "general-x7k2p")
    now = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    claim = replace(claim, metadata=replace(claim.metadata, creation_timestamp=now - timedelta(seconds=20)))
    found = asked(cluster.with_objects(NodeClaim, [claim]).at(now), small())
    assert [(each.summary, each.waits) for each in found.repairs] == [
        ("wait until NodeClaim general-x7k2p is launched", True)
    ]


def test_a_pod_is_counted_on_a_node_that_starts(cluster: Cluster) -> None:
    amounts: ResourceList = {"cpu": "32", "memory": "64Gi", "pods": "58"}
    labels = {"karpenter.sh/nodepool": "general", ZONE: "eu-west-1a", "kubernetes.io/arch": "arm64"}
    status = NodeClaimStatus(provider_id="aws:///eu-west-1a/i-new", capacity=amounts, allocatable=amounts)
    claim = make_object(NodeClaim, "general-x7k2p", labels=labels, status=status)
    found = asked(cluster.with_objects(NodeClaim, [claim]), small())
    assert found.words == ("Karpenter adds no node: it counts the pod on NodeClaim general-x7k2p, which is starting")
    assert [each.summary for each in found.repairs] == ["wait until NodeClaim general-x7k2p is ready"]


def test_a_gated_pod_gets_no_node(cluster: Cluster) -> None:
    assert "gates" in asked(cluster, small(schedulingGates=[{"name": "example.com/quota"}])).held


def test_a_pool_without_a_status_counts(cluster: Cluster) -> None:
    by_hand = with_pool(cluster, "general", lambda pool: replace(pool, status=NodePoolStatus()))
    assert asked(by_hand, small()).words == asked(cluster, small()).words


def test_the_round_for_a_pod_of_the_cluster_is_run_once(cluster: Cluster) -> None:
    (own,) = [pod for pod in map(cluster.pods.pod, range(len(cluster.pods))) if pod.name == "report-1"]
    # As admission completes it.
    pod = replace(own, spec=replace(own.spec, priority=0, tolerations=(*own.spec.tolerations, *DEFAULT_TOLERATIONS)))
    assert expansion(cluster, pod) is expansion(cluster, own)
    larger = replace(own, spec=replace(own.spec, node_selector={"team": "search"}))
    assert expansion(cluster, larger) != expansion(cluster, own)


def test_pods_of_daemon_sets_get_no_node(cluster: Cluster) -> None:
    assert "DaemonSets" in asked(cluster, small(owner=("apps/v1", "DaemonSet", "agent"))).held


def test_without_node_pools_there_is_no_answer(cluster: Cluster) -> None:
    assert expansion(cluster.with_objects(NodePool, []), small()) is None


def test_an_answer_counts_the_pods_of_a_controller_that_get_a_node(cluster: Cluster) -> None:
    owner = ("apps/v1", "ReplicaSet", "many")
    requests = {"cpu": "3", "memory": "4Gi"}
    pods = [make_pod(f"many-{i}", namespace="shop", requests=requests, owner=owner) for i in range(9)]
    larger = with_pool(cluster, "general", limited(cpu="40"))
    found = asked(larger.with_pods(added=pods), pods[0])
    assert 0 < found.served < found.alike == 9
    assert found.words.endswith(f"for {found.served} of 9 such pods")
    assert found.words.startswith(f"Karpenter would add {len(found.nodes)} nodes of NodePool general (")
