"""The objects of a manifest set, lookups between them, and objects that a controller has created."""

import copy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kschedctl.common.text.yaml import yaml_value
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node
from kschedctl.linter.kustomization import kustomizations, value_in_build
from kschedctl.linter.lint_files import read_files, read_text
from kschedctl.linter.lint_finding import LintFinding
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.rule import Rule
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files
from kschedctl.linter.settings import PodTemplateOf, Settings
from kschedctl.linter.values import TEMPLATES, at
from tests.linter.linting import lint

CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce]}\n"
BUDGET = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {minAvailable: 1}\n"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
"""


def given(**texts: str) -> LintManifests:
    return LintManifests([read_text(text.encode(), name.replace("__", "/") + ".yaml") for name, text in texts.items()])


@pytest.mark.parametrize(
    ("files", "seen_in"),
    [
        ({"web": DEPLOYMENT, "claim": CLAIM}, "claim.yaml"),
        # Variants: nobody knows which of them is applied.
        ({"web": DEPLOYMENT, "claim": CLAIM, "other": CLAIM}, None),
        # The same file, then the same folder, then all others.
        ({"web": f"{DEPLOYMENT}---\n{CLAIM}", "claim": CLAIM, "other": CLAIM}, "web.yaml"),
        ({"a__web": DEPLOYMENT, "a__claim": CLAIM, "b__claim": CLAIM}, "a/claim.yaml"),
        ({"a__web": DEPLOYMENT, "b__claim": CLAIM}, "b/claim.yaml"),
        ({"a__web": DEPLOYMENT, "b__claim": CLAIM, "c__claim": CLAIM}, None),
        # A namespace that is not given meets no other.
        ({"web": DEPLOYMENT, "claim": CLAIM.replace("name: data", "name: data, namespace: shop")}, None),
    ],
)
def test_a_relation_looks_at_the_same_file_then_the_folder_then_one_other_file(
    files: dict[str, str], seen_in: str | None
) -> None:
    found = given(**files)
    [web] = found.by_type["apps/Deployment"]
    claim = found.named(web, "PersistentVolumeClaim", "data")
    assert (claim.file.name if claim is not None else None) == seen_in


@pytest.mark.parametrize(
    ("text", "partial"),
    [
        (DEPLOYMENT, ""),
        (DEPLOYMENT.replace("selector: {matchLabels: {app: web}}", "replicas: 2"), "it has no selector"),
        (DEPLOYMENT.replace("metadata: {labels: {app: web}}", ""), "its template has no labels"),
        (DEPLOYMENT.replace(", image: nginx", ""), "a container has no image"),
        (DEPLOYMENT.replace("[{name: web, image: nginx}]", "[]"), "it has no containers"),
        (DEPLOYMENT.replace("metadata: {name: web}", ""), "it has no name"),
        (DEPLOYMENT.replace("{name: web, ", "{$patch: delete, name: web, "), "it has a patch directive"),
        # Before apps/v1 the selector had a default.
        (DEPLOYMENT.replace("apps/v1", "apps/v1beta1").replace("selector: {matchLabels: {app: web}}", ""), ""),
        (CLAIM, ""),
        (CLAIM.replace("{accessModes: [ReadWriteOnce]}", "{storageClassName: fast}"), "it has no access modes"),
        (BUDGET, "it has one field only"),
        (BUDGET.replace("1}", "1, selector: }"), ""),
        # A configuration has no name.
        ("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", ""),
    ],
)
def test_patches_are_no_objects_of_their_own(text: str, partial: str) -> None:
    [obj] = given(manifest=text).objects
    assert obj.partial == partial


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("", False),
        ("status: {}", False),
        ("status: {loadBalancer: {}, conditions: [], storedVersions: [{kind: ''}]}", False),
        ("status: {phase: Running}", True),
        ("metadata: {uid: 4f5a}", True),
        ("metadata: {resourceVersion: '12', creationTimestamp: null}", True),
        ("metadata: {creationTimestamp: null}", False),
    ],
)
def test_dumps_of_a_cluster_are_told_by_what_only_a_cluster_writes(text: str, live: bool) -> None:
    [obj] = given(manifest=f"apiVersion: v1\nkind: Service\n{text}\n").objects
    assert obj.live is live


def test_items_of_lists_are_objects_with_their_own_places() -> None:
    found = given(
        manifest="apiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\n"
    )
    a, b = found.objects
    assert [a.name, b.name] == ["a", "b"]
    assert b.region(("metadata", "name")) == (10, 11, 10, 12)
    assert str(b.location) == "manifest.yaml, document 1, item 2"


def test_kinds_of_other_groups_are_foreign() -> None:
    [job] = given(manifest="apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n").objects
    assert job.foreign
    assert job.type == "batch.volcano.sh/Job"


def test_kinds_of_the_settings_make_pods() -> None:
    text = DEPLOYMENT.replace("apps/v1", "example.com/v1").replace("Deployment", "App")
    settings = Settings(pod_templates=(PodTemplateOf(group="example.com", kind="App"),))
    context = LintContext(given(manifest=text), pod_templates=settings.ways_to_templates)
    [pods] = context.pods
    assert pods.labels.known == {"app": "web"}
    assert LintContext(given(manifest=text)).pods == []


def test_a_broken_document_hides_none_of_the_others() -> None:
    found = given(manifest=f"{DEPLOYMENT}---\na: [\n---\n{CLAIM}")
    assert [obj.kind for obj in found.objects] == ["Deployment", "PersistentVolumeClaim"]
    [broken] = [document for document in found.files[0].documents if document.broken is not None]
    assert (broken.number, broken.before) == (2, 9)


KUSTOMIZE_DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {pool: web}
      containers: [{name: web, image: nginx}]
"""
WITH = [
    # Placeholders of vars, replacements and of people.
    ("replicas: 2", "replicas: $(REPLICAS)"),
    ("name: web, labels", "name: $(NAME), labels"),
    ("pool: web", "pool: __POOL__"),
    ("image: nginx", "image: nginx, resources: {requests: {cpu: __CPU__}}"),
    # Scalars that the build quotes.
    ("pool: web", "pool: yes"),
    ("labels: {app: web}}\nspec", "labels: {app: web, a: n}}\nspec"),
    ("labels: {app: web}}\nspec", "annotations: {a: true, b: 12, c: 1.50, d: On, e: 2026-01-01, f: text}}\nspec"),
    ("labels: {app: web}}\nspec", "annotations: {a: 0x1F, b: 1e3, c: no}}\nspec"),
]


def changed(old: str, new: str) -> str:
    assert old in KUSTOMIZE_DEPLOYMENT
    return KUSTOMIZE_DEPLOYMENT.replace(old, new)


@pytest.mark.parametrize(("old", "new"), WITH)
def test_values_that_the_build_fills_in_or_quotes_are_accepted(old: str, new: str) -> None:
    assert refused({"web.yaml": changed(old, new), "kustomization.yaml": "resources: [web.yaml]\n"}) == []


@pytest.mark.parametrize(
    ("old", "new", "kustomization"),
    [
        # The build does not quote these.
        ("pool: web", "pool: true", "resources: [web.yaml]\n"),
        ("pool: web", "pool: 1", "resources: [web.yaml]\n"),
        ("replicas: 2", "replicas: yes", "resources: [web.yaml]\n"),
        # A file that no kustomization reads is applied as it is.
        ("pool: web", "pool: yes", "resources: [other.yaml]\n"),
        ("labels: {app: web}}\nspec", "annotations: {a: true}}\nspec", "namespace: web\n"),
    ],
)
def test_other_values_are_refused(old: str, new: str, kustomization: str) -> None:
    assert refused({"web.yaml": changed(old, new), "kustomization.yaml": kustomization}) == ["KS906"]


def refused(files: dict[str, str]) -> list[str]:
    read = [read_text(text.encode(), name) for name, text in files.items()]
    rules = [rule for rule in RULES if rule.code == "KS906"]
    return [each.rule.code for each in lint_files(read, LintRequest(rules=rules)).found]


def build(folder: Path) -> Any:
    """Return what Kustomize makes of a folder, read as kubectl does; skip the test if it is not installed."""
    tool = [name for name in ("kustomize", "kubectl") if shutil.which(name)]
    if not tool:
        pytest.skip("neither kustomize nor kubectl is installed")
    words = [tool[0], "build" if tool[0] == "kustomize" else "kustomize", str(folder)]
    return yaml_value(subprocess.run(words, check=True, capture_output=True).stdout, "built")[0]


@pytest.mark.parametrize(("old", "new"), [pair for pair in WITH if "__" not in pair[1]])
def test_kustomize_reads_values_so(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "web.yaml").write_text(changed(old, new))
    (tmp_path / "kustomization.yaml").write_text("resources: [web.yaml]\n")
    (web,) = [file for file in read_files([tmp_path]).files if file.name.endswith("web.yaml")]
    assert web.name in kustomizations([web]).read
    assert value_in_build(web.documents[0]) == build(tmp_path)


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
