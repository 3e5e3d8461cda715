"""Custom resources whose pods no rule checks, and what the first line says about them."""

from collections import Counter

import pytest

from kschedctl.linter.lint_files import read_text
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files
from kschedctl.linter.settings import PodTemplateOf, Settings
from kschedctl.questions.lint.document import LintView

HEAD = "apiVersion: VERSION\nkind: KIND\nmetadata: {name: a}\n"
TEMPLATE = "spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: d}]}}}}}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: d}]}\n"


def custom(version: str, kind: str, spec: str = "") -> str:
    return HEAD.replace("VERSION", version).replace("KIND", kind) + spec


@pytest.mark.parametrize(
    ("text", "not_rendered", "unchecked"),
    [
        pytest.param(custom("example.com/v1", "Thing", TEMPLATE), "", "Thing", id="a template of a Job"),
        pytest.param(
            custom("argoproj.io/v1alpha1", "Workflow", "spec: {templates: [{name: a, container: {image: b}}]}\n"),
            *("", "Workflow"),
            id="a container of Argo",
        ),
        pytest.param(
            custom("argoproj.io/v1alpha1", "WorkflowTemplate", "spec: {templates: [{script: {image: b}}]}\n"),
            *("", "WorkflowTemplate"),
            id="a script of Argo",
        ),
        pytest.param(
            custom("tekton.dev/v1", "Task", "spec: {steps: [{image: b}]}\n"), "", "Task", id="steps of Tekton"
        ),
        pytest.param(
            custom("batch.volcano.sh/v1alpha1", "Job", TEMPLATE),
            "",
            "Job.batch.volcano.sh",
            id="a kind of Kubernetes' name",
        ),
        pytest.param(
            custom("v1", "DeploymentConfig", TEMPLATE), "", "DeploymentConfig", id="the former group of OpenShift"
        ),
        pytest.param(
            custom("helm.toolkit.fluxcd.io/v2", "HelmRelease", "spec: {$patch: replace}\n"), "", "", id="a patch"
        ),
        pytest.param(custom("example.com/v1", "Thing", "spec: {image: b}\n"), "", "", id="an image alone"),
        pytest.param(custom("kyverno.io/v1", "ClusterPolicy", TEMPLATE), "", "", id="a policy"),
        pytest.param(custom("argoproj.io/v1alpha1", "Rollout", TEMPLATE), "", "", id="a kind with a known template"),
        pytest.param(custom("v1", "ConfigMap", TEMPLATE), "", "", id="a kind of Kubernetes"),
        pytest.param(custom("helm.toolkit.fluxcd.io/v2", "HelmRelease"), "HelmRelease", "", id="a chart of Flux"),
        pytest.param(custom("argoproj.io/v1alpha1", "Application"), "Application", "", id="an application of Argo CD"),
    ],
)
def test_custom_resources_with_pods_are_counted(text: str, not_rendered: str, unchecked: str) -> None:
    linted = lint_files([read_text(text.encode(), "a.yaml")], LintRequest(rules=RULES))
    assert (linted.not_rendered, linted.unchecked) == (
        Counter([not_rendered][:1] if not_rendered else []),
        Counter([unchecked] if unchecked else []),
    )


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([POD], "No findings in 1 file with 1 object."),
        ([POD, custom("v1", "ConfigMap")], "No findings in 1 file with 2 objects, 1 with pods."),
        ([custom("v1", "ConfigMap")], "No findings in 1 file with 1 object, none with pods."),
        (
            [POD, *[custom("helm.toolkit.fluxcd.io/v2", "HelmRelease")] * 94],
            "No findings in 1 file with 95 objects, 1 with pods; 94 HelmReleases are not rendered.",
        ),
        (
            [POD, *[custom("batch.volcano.sh/v1alpha1", "Job", TEMPLATE)] * 4],
            "No findings in 1 file with 5 objects, 1 with pods; the pods of 4 Jobs.batch.volcano.sh are not checked.",
        ),
        (
            [custom("helm.cattle.io/v1", "HelmChart"), custom("example.com/v1", "Thing", TEMPLATE)],
            "No findings in 1 file with 2 objects, none with pods; 1 HelmChart is not rendered; the pods of 1 Thing "
            "are not checked.",
        ),
    ],
)
def test_the_first_line_says_how_many_objects_have_pods(texts: list[str], said: str) -> None:
    linted = lint_files([read_text("---\n".join(texts).encode(), "a.yaml")], LintRequest(rules=[]))
    assert LintView(linted=linted).headline == said


def test_patches_of_charts_are_not_counted() -> None:
    release = custom("helm.toolkit.fluxcd.io/v2", "HelmRelease")
    texts = {
        "base/kustomization.yaml": "resources: [release.yaml]\n",
        "base/release.yaml": release,
        "dev/kustomization.yaml": "resources: [../base]\npatches: [{path: release.yaml}]\n",
        "dev/release.yaml": f"{release}spec: {{interval: 1m}}\n",
    }
    linted = lint_files([read_text(text.encode(), name) for name, text in texts.items()], LintRequest(rules=RULES))
    assert linted.not_rendered == Counter({"HelmRelease": 1})


def test_a_template_that_the_settings_name_is_checked() -> None:
    template = PodTemplateOf(group="example.com", kind="Thing", template="spec.jobTemplate.spec.template")
    request = LintRequest(rules=RULES, settings=Settings(pod_templates=(template,)))
    linted = lint_files([read_text(custom("example.com/v1", "Thing", TEMPLATE).encode(), "a.yaml")], request)
    assert (linted.n_with_pods, linted.unchecked) == (1, Counter())
