"""Rules about nodes report nothing that the nodes of a snapshot, or of a dump, contradict."""

from typing import Final

import pytest

from kschedctl.linter.examples import manifests, node, snapshot
from tests.linter.linting import lint

SPREAD: Final = manifests("""apps/v1 Deployment web
namespace: shop
replicas: 4
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: web}
""")
OF_WEB: Final = "labelSelector:\n          matchLabels: {app: web}"
OTHERS: Final = SPREAD.replace(OF_WEB, "labelSelector: {matchLabels: {app: db}}")
REPELLING: Final = manifests("""apps/v1 Deployment web
namespace: shop
replicas: 3
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: topology.kubernetes.io/zone
      labelSelector:
        matchLabels: {app: web}
""")
SYSTEM: Final = manifests("v1 Pod web\nnamespace: shop\npriorityClassName: system-cluster-critical\n")
TOLERATING: Final = SPREAD.replace("      topologySpread", "      tolerations: [{key: gpu}]\n      topologySpread")
PLAIN: Final = (node("a"), node("b"))
TAINTED: Final = (*PLAIN, node("c", taint="gpu"))
IN_ZONES: Final = (node("a", zone="a"), node("b"))
EKS: Final = (node("a", pool="web").replace("pool:", "eks.amazonaws.com/nodegroup:"),)
GKE: Final = (node("a", pool="web").replace("pool:", "cloud.google.com/gke-nodepool:"),)


@pytest.mark.parametrize(
    ("rule", "manifest", "nodes", "in_dump", "in_snapshot"),
    [
        ("KS113", SPREAD, (), True, True),
        ("KS113", SPREAD, TAINTED, True, False),
        ("KS510", SPREAD, TAINTED, False, True),
        ("KS113", SPREAD, PLAIN, False, False),
        ("KS113", TOLERATING, TAINTED, False, False),
        ("KS510", TOLERATING, TAINTED, False, False),
        ("KS113", OTHERS, (), False, False),
        ("KS113", OTHERS, TAINTED, False, False),
        ("KS201", REPELLING, (), True, True),
        ("KS201", REPELLING, IN_ZONES, True, True),
        ("KS201", REPELLING, PLAIN, False, False),
        ("KS207", REPELLING.replace("replicas: 3", "replicas: 4"), (), True, True),
        ("KS207", REPELLING.replace("replicas: 3", "replicas: 4"), PLAIN, False, False),
        ("KS309", SYSTEM, (), True, True),
        ("KS309", SYSTEM, EKS, False, False),
        ("KS309", SYSTEM, GKE, True, True),
    ],
)
def test_nodes_decide(rule: str, manifest: str, nodes: tuple[str, ...], in_dump: bool, in_snapshot: bool) -> None:
    assert bool(lint("---\n".join([manifest, *nodes]), rule)) == in_dump
    if nodes:
        assert bool(lint(manifest, rule, snapshot=snapshot(*nodes))) == in_snapshot


def test_nodes_that_somebody_writes_decide_nothing() -> None:
    without_status = [each.partition("status:")[0] for each in PLAIN]
    assert lint("---\n".join([REPELLING, *PLAIN]), "KS201") == []
    assert lint("---\n".join([REPELLING, *without_status]), "KS201") != []


@pytest.mark.parametrize(
    ("manifest", "others", "stop"),
    [
        (OTHERS, "", None),
        (OTHERS, "v1 Pod db\nnamespace: test\nlabels: {app: db}\n", None),
        (OTHERS, "v1 Pod db\nnamespace: shop\nlabels: {app: db}\n", "C"),
        (OTHERS.replace("DoNotSchedule", "ScheduleAnyway"), "v1 Pod db\nnamespace: shop\nlabels: {app: db}\n", None),
    ],
)
def test_a_constraint_that_counts_no_pods_keeps_none_pending(manifest: str, others: str, stop: str | None) -> None:
    [found] = lint(f"{manifest}---\n{manifests(others)}", "KS110")
    assert found.stop == stop
    [found] = lint(manifest, "KS110", snapshot=snapshot(*PLAIN, *([others] if others else [])))
    assert found.stop == stop


@pytest.mark.parametrize("more", ["operator: Exists", 'operator: Equal, value: "true"', ""])
def test_the_repair_tolerates_the_taint_of_kubeadm_which_has_no_value(more: str) -> None:
    toleration = f"{{key: node-role.kubernetes.io/master, effect: NoSchedule, {more}}}"
    (found,) = lint(manifests(f"v1 Pod web\ntolerations: [{toleration}]\n"), "KS106")
    assert found.fix is not None
    assert [change.value for change in found.fix.changes] == [
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
    ]
