"""Sources of Kustomize: values that the build fills in or quotes are no mistakes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kschedctl.common.text.yaml import yaml_value
from kschedctl.linter.kustomize import kustomizations, value_in_build
from kschedctl.linter.lint_files import read_files, read_text
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files

DEPLOYMENT = """apiVersion: apps/v1
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
    assert old in DEPLOYMENT
    return DEPLOYMENT.replace(old, new)


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
