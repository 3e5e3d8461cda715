"""Rules about claims of one node are silent about pods that can be on one node only."""

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
