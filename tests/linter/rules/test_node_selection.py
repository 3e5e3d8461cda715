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


ON_CONTROL_PLANE: Final = manifests("""v1 Pod web
nodeSelector: {node-role.kubernetes.io/control-plane: ""}
tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Equal, value: "true", effect: NoSchedule}]
""")
OF_KUBEADM: Final = node("a", taint="node-role.kubernetes.io/control-plane")
OF_RKE2: Final = OF_KUBEADM.replace("effect: NoSchedule", 'effect: NoSchedule, value: "true"')


@pytest.mark.parametrize(
    ("manifest", "nodes", "told"),
    [
        (ON_CONTROL_PLANE, (), ['value "true" matches only']),
        (ON_CONTROL_PLANE, (OF_KUBEADM,), ['value "true" matches only']),
        (ON_CONTROL_PLANE, (OF_RKE2,), []),
        (ON_CONTROL_PLANE, PLAIN, []),
        (ON_CONTROL_PLANE.replace(', value: "true"', ""), (), []),
        (ON_CONTROL_PLANE.replace('Equal, value: "true"', "Exists"), (), []),
        (ON_CONTROL_PLANE.replace('"true"', "${VALUE}"), (), []),
        (ON_CONTROL_PLANE.replace("effect: NoSchedule", "effect: NoExecute"), (), ["does not tolerate their taint"]),
    ],
)
def test_the_taint_of_the_control_plane_has_no_value_unless_a_node_has_one(
    manifest: str, nodes: tuple[str, ...], told: list[str]
) -> None:
    found = lint(manifest, "KS107", **({"snapshot": snapshot(*nodes)} if nodes else {}))
    assert len(found) == len(told)
    assert all(text in each.message for text, each in zip(told, found, strict=True))


@pytest.mark.parametrize("value", ["{arch}", "[ARCH]", "${ARCH}", "true", "amd64"])
def test_a_placeholder_in_a_node_selector_is_no_impossible_value(value: str) -> None:
    assert lint(manifests(f"v1 Pod web\nnodeSelector: {{kubernetes.io/arch: {value}}}\n"), "KS103") == []


@pytest.mark.parametrize("more", ["operator: Exists", 'operator: Equal, value: "true"', ""])
def test_the_repair_tolerates_the_taint_of_kubeadm_which_has_no_value(more: str) -> None:
    toleration = f"{{key: node-role.kubernetes.io/master, effect: NoSchedule, {more}}}"
    (found,) = lint(manifests(f"v1 Pod web\ntolerations: [{toleration}]\n"), "KS106")
    assert found.fix is not None
    assert [change.value for change in found.fix.changes] == [
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
    ]
