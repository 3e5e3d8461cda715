"""Rendering with the tools of the user: real ones where they are installed, and scripts for their errors.

``kubectl kustomize`` and ``helm template`` run if they are installed. A script stands for the tool only where the test
is about a tool that fails, is missing, or does not end.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kschedctl.cli.main import app
from kschedctl.linter import rendering
from kschedctl.linter.context import LintContext
from kschedctl.linter.lint_files import read_files, read_text
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.rendering import render
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import check

KUSTOMIZE = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="neither kustomize nor kubectl is installed"
)
HELM = pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""
PATCH = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {nodeName: node-1}}}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeName: a, containers: [{name: a, image: b}]}\n"
OVERLAYS = {
    "base/web.yaml": DEPLOYMENT,
    "base/kustomization.yaml": "resources: [web.yaml]\n",
    "parts/node.yaml": PATCH,
    "parts/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    "patches: [{path: node.yaml}]\n",
    "dev/kustomization.yaml": "resources: [../base]\nnamePrefix: dev-\n",
    "prod/kustomization.yaml": "resources: [../base]\ncomponents: [../parts]\nnamePrefix: prod-\n",
}
CHART = {
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    "charts/web/values.yaml": "node: node-1\n",
    "charts/web/templates/pod.yaml": "{{- if .Values.node }}\napiVersion: v1\nkind: Pod\nmetadata:\n"
    "  name: {{ .Release.Name }}\nspec:\n  nodeName: {{ .Values.node }}\n"
    "  containers: [{name: web, image: nginx}]\n{{- end }}\n",
}


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path


def tree(root: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def lint(*words: str) -> Result:
    return CliRunner().invoke(app, ["lint", *words], env={"COLUMNS": "200"})


def findings(*words: str) -> list[tuple[str, str, str]]:
    found = json.loads(lint(*words, "-o", "json").stdout)["findings"]
    return [(each["rule"], each["file"], each["object"]) for each in found]


@KUSTOMIZE
def test_overlays_are_checked_as_they_are_built(room: Path) -> None:
    tree(room, OVERLAYS)
    # The patch alone says nothing about the rest of the pod.
    patch = ("parts/node.yaml", "Deployment/web")
    assert findings(".") == [("KS908", *patch), ("KS119", *patch)]
    # The finding is at the object in its file, which has another name there, and no such field.
    assert findings(".", "--render") == [("KS119", "base/web.yaml", "Deployment/web")]
    shown = lint(".", "--render").stdout
    assert "1 warning in 1 of 3 files with 2 objects." in shown
    assert "the field is set by parts/kustomization.yaml" in " ".join(shown.split())
    assert "in 1 rendering: prod/kustomization.yaml" in " ".join(shown.split())
    (entry,) = json.loads(lint(".", "--render", "-o", "gitlab").stdout)
    assert entry["location"] == {"path": "base/web.yaml", "lines": {"begin": 8, "end": 8}}


@KUSTOMIZE
def test_names_that_a_prefix_changes_are_those_of_the_files(room: Path) -> None:
    claim = "volumes: [{name: d, persistentVolumeClaim: {claimName: data}}], containers: ["
    volume = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
    volume += "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
    tree(
        room,
        {
            "base/web.yaml": f"{DEPLOYMENT.replace('containers: [', claim)}---\n{volume}",
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "dev/kustomization.yaml": "resources: [../base]\nnamePrefix: dev-\n",
            "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\nnameSuffix: -x\n",
        },
    )
    (found,) = json.loads(lint(".", "--render", "--select", "KS204", "-o", "json").stdout)["findings"]
    assert "uses claim data, which" in found["message"]
    assert "the field is set by" not in found["help"]
    assert found["kustomizations"] == ["dev/kustomization.yaml", "prod/kustomization.yaml"]
    assert found["fix"] is not None


def test_output_for_tools_names_the_builds(room: Path) -> None:
    inline = PATCH.replace("\n", "\n    ")
    dev = {"dev/kustomization.yaml": f"resources: [../base]\npatches:\n- patch: |\n    {inline}\n"}
    tree(room, {**OVERLAYS, **dev, "prod/kustomization.yaml": "resources: [../base]\n"})
    shown = lint("base", "dev", "prod", "--select", "KS119", "-o", "concise").stdout
    assert "[Deployment/web] (in dev/kustomization.yaml)\n" in shown
    (found,) = json.loads(lint("base", "dev", "prod", "--select", "KS119", "-o", "json").stdout)["findings"]
    assert found["kustomizations"] == ["dev/kustomization.yaml"]


def test_each_rule_that_is_not_decided_has_its_own_reason(room: Path) -> None:
    replacement = "{source: {kind: ConfigMap, name: none}, targets: [{select: {kind: Deployment}, fieldPaths: [%s]}]}"
    budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
    budget += "spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}\n"
    web = DEPLOYMENT.replace("spec:\n", "spec:\n  replicas: 2\n", 1) + budget
    tree(
        room,
        {
            "web.yaml": web,
            "kustomization.yaml": f"resources: [web.yaml]\nreplacements: [{replacement % 'spec.replicas'}]\n",
        },
    )
    # Kustomize refuses a replacement without a source.
    shown = " ".join(lint(".", "--render").stdout.split())
    assert re.search(
        r"KS301[^()]* \(Deployment/web: spec.replicas is set by a kustomization, [^()]*\), KS902 \(.: ", shown
    )


@KUSTOMIZE
def test_a_finding_of_a_base_is_reported_once(room: Path) -> None:
    web = DEPLOYMENT.replace("image: nginx", "image: nginx, resources: {limits: {memory: 1m}}")
    tree(room, OVERLAYS | {"base/web.yaml": web})
    (found,) = json.loads(lint("base", "dev", "prod", "--render", "--select", "KS121", "-o", "json").stdout)["findings"]
    assert (found["file"], found["line"], found["object"]) == ("base/web.yaml", 8, "Deployment/web")
    assert found["help"] == "write 1Mi; in 2 renderings: dev/kustomization.yaml and prod/kustomization.yaml"
    assert "[Deployment/web] (2 renderings)\n" in lint(".", "--render", "--select", "KS121", "-o", "concise").stdout
    # A comment in the file of the base counts for all of them.
    (room / "base/web.yaml").write_text(web.replace("1m}}}]}", "1m}}}]}  # kschedctl: ignore KS121: as measured"))
    assert findings(".", "--render", "--select", "KS121") == []


@KUSTOMIZE
def test_other_files_are_checked_as_they_are(room: Path) -> None:
    tree(room, {**OVERLAYS, "other/pod.yaml": POD, "pkg/testdata/kustomization.yaml": "resources: [none.yaml]\n"})
    assert findings("other", "dev", "--render") == [("KS119", "other/pod.yaml", "Pod/web")]
    assert ("KS119", "other/pod.yaml", "Pod/web") in findings(".", "--render")


@KUSTOMIZE
def test_what_cannot_be_built_is_named_and_checked_as_it_is(room: Path) -> None:
    tree(room, {"web/kustomization.yaml": "resources: [pod.yaml, none.yaml]\n", "web/pod.yaml": POD})
    done = lint(".", "--render")
    assert "web was not rendered: " in done.stderr
    assert "none.yaml" in done.stderr
    assert findings(".", "--render") == [("KS119", "web/pod.yaml", "Pod/web")]
    assert lint(".", "--render", "--exit-zero").exit_code == 0
    assert lint(".", "--render", "--exit-zero", "--strict").exit_code == 3


@HELM
def test_charts_are_checked_as_they_are_rendered(room: Path) -> None:
    tree(room, {**CHART, "pod.yaml": POD})
    assert findings(".") == [("KS902", "charts/web/templates/pod.yaml", ""), ("KS119", "pod.yaml", "Pod/web")]
    (room / "pod.yaml").unlink()
    assert findings(".", "--render") == [("KS119", "charts/web/templates/pod.yaml", "Pod/web")]
    (entry,) = json.loads(lint(".", "--render", "-o", "gitlab").stdout)
    assert entry["location"]["lines"]["begin"] == 7


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (
            {},
            [
                ("charts/web", "helm is not installed"),
                ("dev", "neither kustomize nor kubectl is installed"),
                ("prod", "neither kustomize nor kubectl is installed"),
            ],
        ),
        (
            {
                "helm": "echo 'walk.go: found a link' >&2; echo 'Error: execution error: a is required' >&2; exit 1",
                "kubectl": "printf '# Warning: old\\nE11 1] \"failed\" err=<\\n\\tno base\\n >\\n' >&2; exit 1",
            },
            [
                ("charts/web", "helm template: execution error: a is required"),
                ("dev", "kubectl kustomize: no base"),
                ("prod", "kubectl kustomize: no base"),
            ],
        ),
        (
            {
                # The cause is at the end.
                "helm": "printf 'Error: a is required\n\nUse --debug flag to render out invalid YAML\n' >&2; exit 1",
                "kustomize": f"echo 'Error: {'accumulating resources: ' * 50}no base' >&2; exit 1",
            },
            [
                ("charts/web", "helm template: a is required"),
                ("dev", f"kustomize build: ... {'accumulating resources: ' * 12}no base"),
                ("prod", f"kustomize build: ... {'accumulating resources: ' * 12}no base"),
            ],
        ),
        (
            {"helm": "exit 3", "kustomize": "(while :; do :; done) & wait", "kubectl": "exit 1"},
            [
                ("charts/web", "helm template: no message"),
                ("dev", "kustomize build took more than 1 s"),
                ("prod", "kustomize build took more than 1 s"),
            ],
        ),
    ],
)
def test_tools_that_fail(
    room: Path, monkeypatch: pytest.MonkeyPatch, tools: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    tree(room, {**OVERLAYS, **CHART})
    for name, script in tools.items():
        (room / "bin").mkdir(exist_ok=True)
        (room / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (room / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(room / "bin"))
    monkeypatch.setattr(rendering, "_SECONDS", 1 if "took more" in str(expected) else 60)
    files = read_files(["."]).files
    done = render(files)
    assert sorted(done.failures) == expected
    assert [file.name for file in done.files] == [file.name for file in files]


@pytest.mark.parametrize("is_rendered", [False, True])
def test_rendering_is_recommended_unless_it_was_tried(is_rendered: bool) -> None:
    chart = [read_text(b"kind: Pod\napiVersion: v1\nname: {{ x }}\n", "web/templates/pod.yaml")]
    [found] = check(
        [rule for rule in RULES if rule.code == "KS902"], LintContext(LintManifests(chart), is_rendered=is_rendered)
    )
    assert ("--render" in found.help) is not is_rendered
    assert "helm template web | kschedctl lint -" in found.help


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("charts/web", "template web ./charts/web --include-crds"),
        ("Web_Shop", "template webshop ./Web_Shop --include-crds"),
        # The name of a folder is never an option.
        ("--post-renderer=x", "template post-rendererx ./--post-renderer=x --include-crds"),
        ("__", "template release ./__ --include-crds"),
    ],
)
def test_names_of_folders_are_no_options(
    room: Path, monkeypatch: pytest.MonkeyPatch, folder: str, expected: str
) -> None:
    tree(room, {f"{folder}/Chart.yaml": "name: web\n", "bin/helm": '#!/bin/sh\necho "$1 $2 $3 $4" >&2\nexit 1\n'})
    (room / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(room / "bin"))
    [failure] = render(read_files([folder if not folder.startswith("-") else "."]).files).failures
    assert failure.why == f"helm template: {expected}"


@pytest.mark.parametrize(
    ("minor", "shown", "hidden"),
    [
        ("1.36", ["--kube-version 1.36.0", "apps/v1", "apiregistration.k8s.io/v1/APIService"], ["lifecycle.k8s.io"]),
        ("1.38", ["--kube-version 1.38.0", "storagemigration.k8s.io/v1"], ["v1beta1", "v1alpha1"]),
        ("1.36", ["policy/v1/PodDisruptionBudget"], ["storagemigration.k8s.io/v1/StorageVersionMigration"]),
    ],
)
def test_charts_see_the_release(
    room: Path, monkeypatch: pytest.MonkeyPatch, minor: str, shown: list[str], hidden: list[str]
) -> None:
    tree(room, {"web/Chart.yaml": "name: web\n", "bin/helm": '#!/bin/sh\necho "$@" > called\nexit 1\n'})
    (room / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(room / "bin"))
    lint("web", "--render", "--kubernetes-version", minor)
    called = (room / "called").read_text()
    assert [text for text in shown if text not in called] == []
    assert [text for text in hidden if text in called] == []


def test_nothing_to_render_is_said(room: Path) -> None:
    tree(room, {"pod.yaml": POD})
    done = lint(".", "--render")
    assert "nothing was rendered: no kustomization and no chart is found" in done.stderr
    assert done.exit_code == 1
