"""The objects of a manifest set, and lookups from one object to another."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.text.yaml import yaml_value
from kschedctl.linter.context import LintContext
from kschedctl.linter.lint_files import read_files, read_text
from kschedctl.linter.manifest_set import LintManifests, kustomizations, value_in_build
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files
from kschedctl.linter.settings import PodTemplateOf, Settings

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
