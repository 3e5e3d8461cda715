"""Objects that a controller has created, as a dump of a cluster contains them, are no second workload beside it."""

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml

from kschedctl.linter.examples import node
from kschedctl.linter.lint_files import read_text
from kschedctl.linter.lint_finding import LintFinding
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES
from kschedctl.linter.values import TEMPLATES, at
from tests.linter.linting import lint

HASH: Final = "5d8f7c"
#: The kinds that create pods through another kind, with that kind and the label of the hash in its name.
THROUGH: Final = {
    "apps/Deployment": ("apps/v1", "ReplicaSet", "pod-template-hash"),
    "argoproj.io/Rollout": ("apps/v1", "ReplicaSet", "rollouts-pod-template-hash"),
    "batch/CronJob": ("batch/v1", "Job", ""),
}
#: The rule that reports each object that was read from a cluster.
LIVE: Final = "KS909"


def owned_by(owner: dict[str, Any], api_version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """Return an object that a controller has created, as a cluster has it."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
    metadata = {"name": name, "uid": f"uid-{name}", "ownerReferences": [{**reference, "uid": "1", "controller": True}]}
    if "namespace" in owner["metadata"]:
        metadata["namespace"] = owner["metadata"]["namespace"]
    return {"apiVersion": api_version, "kind": kind, "metadata": {**metadata, **fields.pop("metadata", {})}, **fields}


def created_by(obj: LintObject) -> Iterator[dict[str, Any]]:
    """Yield the objects that controllers have created for an object: the intermediate object, and two pods."""
    raw: dict[str, Any] = copy.deepcopy(obj.raw)
    if obj.type == "keda.sh/ScaledObject":
        target = {"apiVersion": "apps/v1", "kind": "Deployment", **raw["spec"]["scaleTargetRef"]}
        spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": raw["spec"].get("maxReplicaCount", 100)}
        yield owned_by(raw, "autoscaling/v2", "HorizontalPodAutoscaler", f"keda-hpa-{obj.name}", spec=spec)
        return
    if obj.type not in TEMPLATES or obj.type in ("Pod", "PodTemplate"):
        return
    template = copy.deepcopy(at(raw, *TEMPLATES[obj.type]) or {})
    labels = (template.get("metadata") or {}).get("labels") or {}
    maker = raw
    if obj.type in THROUGH:
        api_version, kind, label = THROUGH[obj.type]
        suffix = HASH if label else "29384760"
        labels = {**labels, **({label: HASH} if label else {})}
        spec = {**raw["spec"], "template": {**template, "metadata": {**template.get("metadata", {}), "labels": labels}}}
        if kind == "Job":
            spec = {**at(raw, "spec", "jobTemplate", "spec"), "template": template}
        selector = {"matchLabels": labels} if kind == "ReplicaSet" else None
        fields = ("replicas", "template", "parallelism", "completions")
        made: dict[str, Any] = {key: spec[key] for key in fields if key in spec}
        spec = {**made, **({"selector": selector} if selector else {})}
        annotations = raw["metadata"].get("annotations", {})
        metadata = {"labels": labels, "annotations": annotations}
        maker = owned_by(raw, api_version, kind, f"{obj.name}-{suffix}", metadata=metadata, spec=spec)
        yield maker
    for number in range(2):
        name = f"{maker['metadata']['name']}-{number}"
        metadata = {**(template.get("metadata") or {}), "labels": labels}
        spec = {**template.get("spec", {}), "nodeName": "a"}
        status = {"phase": "Running"}
        yield owned_by(maker, "v1", "Pod", name, metadata=metadata, spec=spec, status=status)


def owned_objects(text: str) -> list[dict[str, Any]]:
    given = LintManifests([read_text(text.encode(), "manifest.yaml")])
    return [made for obj in given.whole if at(obj.raw, "metadata", "name") for made in created_by(obj)]


def places(found: list[LintFinding]) -> list[tuple[int, str, str]]:
    return [(each.region.line, each.rule.code, each.message) for each in found if each.rule.code != LIVE]


def in_deployments(text: str) -> str:
    """Return an example with its bare pods as Deployments; a document that is no object is left out."""
    found = [copy.deepcopy(obj.raw) for obj in LintManifests([read_text(text.encode(), "manifest.yaml")]).objects]
    for raw in found:
        if raw["kind"] == "Pod" and "name" in raw["metadata"]:
            labels = {"app": raw["metadata"]["name"], **raw["metadata"].get("labels", {})}
            template = {"metadata": {**raw["metadata"], "labels": labels}, "spec": raw["spec"]}
            raw |= {"apiVersion": "apps/v1", "kind": "Deployment"}
            raw["spec"] = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return yaml.safe_dump_all(found)


WITH_OWNED: Final = [
    pytest.param(rule, text, how, id=f"{rule.code} {name} {how}")
    for rule in RULES
    for example, text_of_rule in (("fails", rule.failing_manifests), ("passes", rule.passing_manifests))
    for name, text in ((example, text_of_rule), (f"{example} in Deployments", in_deployments(text_of_rule)))
    for how in ("with intermediate objects", "pods alone", "owned first")
    if owned_objects(text)
]


@pytest.mark.parametrize(("rule", "example", "how"), WITH_OWNED)
def test_owned_objects_change_no_finding(rule: Rule, example: str, how: str) -> None:
    owned = owned_objects(example)
    if how == "pods alone":
        owned = [each for each in owned if each["kind"] not in ("ReplicaSet", "Job")]
    dump = yaml.safe_dump_all(owned)
    options = rule.options
    before = places(lint(example, [rule], **options))
    if how == "owned first":
        n_lines = dump.count("\n") + 1
        found = places(lint(f"{dump}---\n{example}", [rule], **options))
        assert [(line - n_lines, *rest) for line, *rest in found] == before
    else:
        assert places(lint(f"{example}---\n{dump}", [rule], **options)) == before


def test_most_rules_have_examples_with_owned_objects() -> None:
    assert len({param.values[0] for param in WITH_OWNED}) >= 80


SCALED_OBJECT: Final = """apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {name: web}, maxReplicaCount: 5}
"""


def test_the_autoscaler_that_keda_creates_is_no_second_one() -> None:
    created = yaml.safe_dump_all(owned_objects(SCALED_OBJECT))
    assert lint(f"{SCALED_OBJECT}---\n{created}", "KS214") == []
    by_hand = created.replace("controller: true", "controller: false")
    assert len(lint(f"{SCALED_OBJECT}---\n{by_hand}", "KS214")) == 1


POD: Final = """apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: shop, labels: {pod-template-hash: 5d8f}, ownerReferences: [OWNER]}
spec: {nodeName: a, containers: [{name: web, image: nginx}]}
"""


def pod(name: str, owner: str, kind: str = "ReplicaSet") -> str:
    """Return a pod that a controller created; its nodeName is a finding of KS119."""
    reference = f"{{apiVersion: apps/v1, kind: {kind}, name: {owner}, controller: true}}"
    return POD.replace("NAME", name).replace("OWNER", reference)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        # An owner that is not in the files does not stand for its pods.
        ([pod("web-1", "web-5d8f"), pod("web-2", "web-5d8f")], ["web-1", "web-2"]),
        ([pod("web-1", "web", "Deployment"), pod("web", "db", "StatefulSet")], ["web-1", "web"]),
        # Objects that own themselves or each other are checked: nothing hides that way.
        ([pod("web", "web", "Pod").replace("apps/v1", "v1")], ["web"]),
        ([pod("a", "b", "Pod").replace("apps/v1", "v1"), pod("b", "a", "Pod").replace("apps/v1", "v1")], ["a", "b"]),
        ([pod("a", "b", "Pod").replace("apps/v1", "v1"), pod("b", "b", "Pod").replace("apps/v1", "v1")], ["b"]),
        # An owner in another namespace is another object.
        ([pod("a", "b", "Pod").replace("apps/v1", "v1"), pod("b", "c").replace("shop", "test")], ["a", "b"]),
    ],
)
def test_only_owners_in_the_files_stand_for_pods(pods: list[str], expected: list[str]) -> None:
    found = lint("---\n".join(pods), "KS119")
    assert [each.object.name for each in found if each.object is not None] == expected


@pytest.mark.parametrize("n", [2, 3])
def test_pods_of_a_dump_are_not_counted_again_in_the_cluster(n: int) -> None:
    member = "spec: {schedulingGroup: {podGroupName: train}, containers"
    pods = [pod(f"web-{i}", "web-5d8f").replace("spec: {nodeName: a, containers", member) for i in range(n)]
    group = """apiVersion: scheduling.k8s.io/v1alpha3
kind: PodGroup
metadata: {name: train, namespace: shop}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
"""
    gates = {"GenericWorkload": True}
    found = lint("---\n".join([group, *pods]), "KS701", snapshot="---\n".join([node("a"), *pods]), feature_gates=gates)
    assert len(found) == (n < 3)
