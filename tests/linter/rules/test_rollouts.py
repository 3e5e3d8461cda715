"""Rules about claims of nodes and of several workloads, regions in place of zones, and replicas without a budget."""

import pytest

from kschedctl.linter.examples import manifests
from tests.linter.linting import lint

TERM = """affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector: {matchLabels: {app: web}}
"""
ONE_HOST = """affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]
"""


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("", ["KS204", "KS206"]),
        ("nodeSelector: {kubernetes.io/hostname: node-1}\n", []),
        ("nodeSelector: {topology.kubernetes.io/zone: a}\n", ["KS204", "KS206"]),
        ("nodeName: node-1\n", []),
        (ONE_HOST, []),
        (ONE_HOST.replace("[node-1]", "[node-1, node-2]"), ["KS204", "KS206"]),
        (ONE_HOST.replace("matchExpressions", "matchFields").replace("kubernetes.io/hostname", "metadata.name"), []),
        (TERM, []),
        (TERM.replace("app: web", "app: other"), ["KS204", "KS206"]),
        (TERM.replace("kubernetes.io/hostname", "topology.kubernetes.io/zone"), ["KS204", "KS206"]),
        # The pods of the next revision do not match the term of this one.
        (TERM + "      matchLabelKeys: [pod-template-hash]\n", ["KS204", "KS206"]),
        (TERM.replace("podAffinity", "podAntiAffinity"), ["KS204", "KS206"]),
    ],
)
def test_a_claim_of_one_node(spec: str, found: list[str]) -> None:
    text = manifests(
        f"""apps/v1 Deployment web
replicas: 2
volumes: [{{name: data, persistentVolumeClaim: {{claimName: data}}}}]
{spec}---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]
"""
    )
    assert [each.rule.code for each in lint(text, "KS204") + lint(text, "KS206")] == found


def test_a_claim_of_one_pod_is_reported_on_one_node_too() -> None:
    text = manifests(
        """apps/v1 Deployment web
replicas: 2
volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
nodeSelector: {kubernetes.io/hostname: node-1}
---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOncePod]
"""
    )
    assert [each.rule.code for each in lint(text, "KS20") if each.rule.code in ("KS205", "KS206")] == ["KS205", "KS206"]


VOLUMES = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"
NEAR_API = """affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector: {matchLabels: {app: api}}
"""
ON_NODE_1 = "nodeSelector: {kubernetes.io/hostname: node-1}\n"
BOTH = "Deployment api and Deployment worker mount the claim, which"


@pytest.mark.parametrize(
    ("mode", "api", "worker", "found"),
    [
        ("ReadWriteOnce", "", "", [f"{BOTH} the pods of one node at a time can use (ReadWriteOnce)"]),
        ("ReadWriteOncePod", "", "", [f"{BOTH} one pod at a time can use (ReadWriteOncePod)"]),
        ("ReadWriteMany", "", "", []),
        ("ReadOnlyMany", "", "", []),
        ("ReadWriteOnce", "", NEAR_API, []),
        ("ReadWriteOnce", ON_NODE_1, ON_NODE_1, []),
        (
            *("ReadWriteOnce", ON_NODE_1, ON_NODE_1.replace("node-1", "node-2")),
            [f"{BOTH} the pods of one node at a time can use (ReadWriteOnce)"],
        ),
        ("ReadWriteOncePod", "", NEAR_API, [f"{BOTH} one pod at a time can use (ReadWriteOncePod)"]),
        ("ReadWriteOnce", "replicas: 0\n", "", []),
        ("ReadWriteOnce\n- ReadWriteMany", "", "", []),
    ],
)
def test_a_claim_of_several_workloads(mode: str, api: str, worker: str, found: list[str]) -> None:
    text = manifests(
        f"v1 PersistentVolumeClaim data\naccessModes:\n- {mode}\n---\n"
        f"apps/v1 Deployment api\n{VOLUMES}{api}---\napps/v1 Deployment worker\n{VOLUMES}{worker}"
    )
    assert [each.message for each in lint(text, "KS407")] == found


@pytest.mark.parametrize("storage_class", ["nfs-client", "efs-sc"])
def test_a_shared_file_system_is_no_problem(storage_class: str) -> None:
    text = manifests(
        f"v1 PersistentVolumeClaim data\naccessModes: [ReadWriteOnce]\nstorageClassName: {storage_class}\n---\n"
        f"apps/v1 Deployment api\n{VOLUMES}---\napps/v1 Deployment worker\n{VOLUMES}"
    )
    assert lint(text, "KS407") == []


def test_workloads_of_other_folders_have_their_own_claim() -> None:
    claim = manifests("v1 PersistentVolumeClaim data\naccessModes: [ReadWriteOnce]\n")
    texts = {"claim.yaml": claim} | {
        f"{name}/{name}.yaml": manifests(f"apps/v1 Deployment {name}\n{VOLUMES}") for name in ("api", "worker")
    }
    assert lint(texts, "KS407") == []


@pytest.mark.parametrize(
    ("zone", "cloud"),
    [
        ("us-east-1", "AWS"),
        ("eu-central-1", "AWS"),
        ("ap-southeast-2", "AWS"),
        ("us-gov-west-1", "AWS"),
        ("us-central1", "Google Cloud"),
        ("europe-west4", "Google Cloud"),
        ("eastus2", "Azure"),
        ("westeurope", "Azure"),
        ("us-east-1a", None),
        ("us-central1-a", None),
        ("eastus-1", None),
        # Zones of IBM Cloud, Alibaba Cloud, Hetzner and of people.
        ("us-south-1", None),
        ("eu-de-1", None),
        ("cn-hangzhou-b", None),
        ("fsn1-dc14", None),
        ("zone-1", None),
        ("${REGION}", None),
    ],
)
def test_a_region_in_place_of_a_zone(zone: str, cloud: str | None) -> None:
    message = [f"{zone} is a region of {cloud}, and no node has it as its zone"] if cloud else []
    for key in ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"):
        text = manifests(f"v1 Pod web\nnodeSelector: {{{key}: {zone!r}}}\n")
        assert [each.message for each in lint(text, "KS128")] == message
    text = manifests(f"v1 Pod web\nnodeSelector: {{topology.kubernetes.io/region: {zone!r}}}\n")
    assert lint(text, "KS128") == []


@pytest.mark.parametrize(
    ("operator", "values", "found"),
    [("In", "[us-east-1]", 1), ("In", "[us-east-1, us-east-1b]", 0), ("NotIn", "[us-east-1]", 0)],
)
def test_a_region_in_a_term(operator: str, values: str, found: int) -> None:
    expression = f"{{key: topology.kubernetes.io/zone, operator: {operator}, values: {values}}}"
    text = manifests(
        "v1 Pod web\naffinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
        f"      nodeSelectorTerms:\n      - matchExpressions:\n        - {expression}\n"
    )
    places = [each.region for each in lint(text, "KS128")]
    lines = text.splitlines()
    assert [lines[each.line - 1][each.column - 1 :].startswith("us-east-1") for each in places] == [True] * found


BUDGET = "---\npolicy/v1 PodDisruptionBudget web\nmaxUnavailable: 1\n"


@pytest.mark.parametrize(
    ("kind", "replicas", "more", "found"),
    [
        ("Deployment", 3, "", True),
        ("StatefulSet", 2, "", True),
        ("Deployment", 1, "", False),
        ("Deployment", 3, BUDGET, False),
        ("Deployment", 3, f"{BUDGET}selector: {{matchLabels: {{app: other}}}}\n", True),
        ("Deployment", 3, f"{BUDGET}selector: {{}}\n", False),
        ("Deployment", 3, f"{BUDGET}namespace: other\n", True),
        ("Deployment", 1, "---\nautoscaling/v2 HorizontalPodAutoscaler web\nminReplicas: 2\nmaxReplicas: 3\n", True),
    ],
)
def test_replicas_without_a_budget(kind: str, replicas: int, more: str, found: bool) -> None:
    text = manifests(f"apps/v1 {kind} web\nreplicas: {replicas}\n{more}")
    assert bool(lint(text, "KS314")) is found


REPELLING = """      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: web}}
            matchLabelKeys: KEYS
"""
TEMPLATE = """apiVersion: VERSION
kind: KIND
metadata: {name: web}
spec:
  replicas: 2
  selector: {app: web}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
"""


@pytest.mark.parametrize(
    ("version", "kind", "label"),
    [
        ("apps/v1", "Deployment", "pod-template-hash"),
        ("argoproj.io/v1alpha1", "Rollout", "rollouts-pod-template-hash"),
        ("apps.openshift.io/v1", "DeploymentConfig", "deployment"),
    ],
)
@pytest.mark.parametrize("other", ["pod-template-hash", "controller-revision-hash", "rollouts-pod-template-hash"])
def test_the_label_of_a_revision_is_that_of_the_kind(version: str, kind: str, label: str, other: str) -> None:
    text = (
        TEMPLATE.replace("VERSION", version).replace("KIND", kind).replace("{app: web}", "{matchLabels: {app: web}}", 1)
    )
    (found,) = lint(text + REPELLING.replace("KEYS", "[]"), "KS201")
    assert found.help == f"set maxSurge 0 and maxUnavailable 1, or matchLabelKeys: [{label}] in this term"
    assert lint(text + REPELLING.replace("KEYS", f"[{label}]"), "KS201") == []
    # A key that the pods lack is ignored.
    assert len(lint(text + REPELLING.replace("KEYS", f"[{other}]"), "KS201")) == (other != label)
