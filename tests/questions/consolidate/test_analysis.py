"""``consolidate``: the decision about each node of a NodePool, in words."""

from pathlib import Path

import pytest

import kschedctl
from kschedctl.common.errors import InputError
from kschedctl.questions.consolidate.answer import Consolidated
from tests.paths import ROOT

POOLS = ROOT / "fixtures" / "pools"
TYPES = str(POOLS / "instance-types.yaml")
IDLE = ("rs/shop/checkout", "rs/shop/report", "rs/ml/train")
FIRST, SECOND, GPU = (
    "ip-10-0-1-11.eu-west-1.compute.internal",
    "ip-10-0-2-27.eu-west-1.compute.internal",
    "ip-10-0-1-42.eu-west-1.compute.internal",
)
KIND = "apiVersion: karpenter.sh/v1\nkind: NodePool\n"
SMALL = """
apiVersion: v1
kind: Pod
metadata: {{name: small, namespace: shop{annotations}}}
spec:
  nodeName: {node}
  containers: [{{name: small, image: small, resources: {{requests: {{cpu: 100m}}}}}}]
"""


@pytest.fixture(scope="module")
def idle() -> kschedctl.SchedulingCluster:
    return kschedctl.load(str(POOLS / "cluster")).what_if(delete=IDLE)


def test_pending_pods_keep_nodes() -> None:
    answer = kschedctl.load(str(POOLS / "cluster")).consolidate()
    assert answer.summary == "Karpenter would keep all 3 nodes"
    assert {each.reason for each in answer.nodes} == {"2 new nodes would be needed, 1 of them for pending pods alone"}


def test_an_empty_node_is_deleted_and_prices_decide_about_others(idle: kschedctl.SchedulingCluster) -> None:
    answer = idle.consolidate()
    assert answer.summary == "Karpenter would delete 1 empty node; it keeps 2"
    decisions = {each.node: (each.decision, each.reason, each.certain) for each in answer.nodes}
    assert decisions[GPU] == ("delete", "", True)
    assert decisions[FIRST] == ("keep", "no smaller known instance type would do", False)
    assert answer.names() == (f"node/{GPU}",)
    priced = {each.node: (each.decision, each.said) for each in idle.consolidate(instance_types=TYPES).nodes}
    assert priced[FIRST] == ("keep", "Can't replace with a cheaper node")


def small(idle: kschedctl.SchedulingCluster, folder: Path, more: str = "", **what_if: str) -> Consolidated:
    """Return the answer for a cluster in which one small pod is all that runs in the pool."""
    file = folder / "pod.yaml"
    file.write_text(SMALL.format(node=FIRST, annotations=more))
    apply = [str(file), *filter(None, (what_if.pop("apply", ""),))]
    return idle.what_if(delete=("rs/shop/search", f"node/{SECOND}"), apply=apply, **what_if).consolidate([FIRST])


@pytest.mark.parametrize(
    ("annotations", "decision", "reason"),
    [
        ("", "delete", ""),
        (
            ", annotations: {karpenter.sh/do-not-disrupt: 'true'}",
            "keep",
            "pod shop/small has the annotation karpenter.sh/do-not-disrupt",
        ),
    ],
)
def test_pods_that_fit_elsewhere(
    idle: kschedctl.SchedulingCluster, tmp_path: Path, annotations: str, decision: str, reason: str
) -> None:
    answer = small(idle, tmp_path, annotations)
    (node,) = answer.nodes
    assert (node.decision, node.reason) == (decision, reason)
    assert set(node.moves) == ({"shop/small"} if decision == "delete" else set())
    assert node.lost == (("shop/small",) if decision == "delete" else ())
    assert answer.outcome.yes is (decision == "delete")


def test_the_destination_of_pods_is_no_node_that_goes_first(idle: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(SMALL.format(node=FIRST, annotations=""))
    answer = idle.what_if(delete="rs/shop/search", apply=str(file)).consolidate()
    decisions = {each.node: (each.decision, each.now) for each in answer.nodes}
    assert decisions == {SECOND: ("delete", True), GPU: ("delete", True), FIRST: ("delete", False)}
    (first,) = [each for each in answer.nodes if each.node == FIRST]
    assert not {SECOND, GPU} & set(first.moves.values())
    assert "counts as disrupted" in first.reason
    assert set(answer.names()) == {f"node/{SECOND}", f"node/{GPU}"}


def test_without_a_pool_that_launches_nodes_nothing_but_empty_nodes_goes(
    idle: kschedctl.SchedulingCluster, tmp_path: Path
) -> None:
    pool = tmp_path / "pool.yaml"
    status = "status: {conditions: [{type: Ready, status: 'False', reason: NodeClassNotReady}]}"
    spec = "spec: {template: {spec: {nodeClassRef: {group: g, kind: K, name: default}}}}"
    pools = (f"{KIND}metadata: {{name: {name}}}\n{spec}\n{status}\n" for name in ("general", "gpu"))
    pool.write_text("---\n".join(pools))
    (node,) = small(idle, tmp_path, apply=str(pool)).nodes
    assert (node.decision, node.moves) == ("keep", {})
    assert node.reason.startswith("no NodePool launches nodes")


BUDGET = """
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: small, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: small}}}
"""


def test_the_status_of_a_disruption_budget_is_computed_where_it_is_missing(
    idle: kschedctl.SchedulingCluster, tmp_path: Path
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(SMALL.format(node=FIRST, annotations=", labels: {app: small}") + BUDGET)
    (node,) = idle.what_if(delete="rs/shop/search", apply=str(file)).consolidate([FIRST]).nodes
    assert node.reason == "PodDisruptionBudget shop/small does not let pod shop/small go now"
    assert node.said == "Pdb prevents pod evictions (PodDisruptionBudget=[shop/small])"


def test_budgets_of_pools_with_nodes_that_go(idle: kschedctl.SchedulingCluster) -> None:
    answer = idle.consolidate()
    assert [(each.pool, each.nodes, each.empty, each.underutilized) for each in answer.budgets] == [("gpu", 1, 1, 0)]


def test_nodes_are_chosen_by_pattern(idle: kschedctl.SchedulingCluster) -> None:
    assert {each.node for each in idle.consolidate(["ip-10-0-1-*"]).nodes} == {FIRST, GPU}
    (unmanaged,) = idle.consolidate(["ip-10-0-3-8*"]).nodes
    assert (unmanaged.decision, unmanaged.pool) == ("keep", "")
    with pytest.raises(InputError, match="no node that matches"):
        idle.consolidate(["gke-*"])


def test_optimum_tells_what_karpenter_does_by_itself(idle: kschedctl.SchedulingCluster, tmp_path: Path) -> None:
    owner = "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: small, uid: small, controller: true}]"
    file = tmp_path / "pod.yaml"
    file.write_text(SMALL.format(node=FIRST, annotations=f", {owner}"))
    answer = idle.what_if(delete="rs/shop/search", apply=str(file), cordon="ip-10-0-3-8*").optimum(
        minimize=kschedctl.Minimized.NODES
    )
    told = {FIRST: "delete", "ip-10-0-3-8.eu-west-1.compute.internal": "keep: Karpenter does not manage it"}
    assert isinstance(answer, kschedctl.Emptied)
    assert answer.karpenter
    assert answer.karpenter.items() <= told.items()
