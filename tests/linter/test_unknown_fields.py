"""Unknown fields and kinds of manifests: which are found, and which belong to tools."""

import pytest

from tests.linter.linting import lint

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80}]\n"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ("  selectors: {app: web}\n", "spec.selectors"),
        ("sops: {mac: x}\n", None),
        ("  sops: {mac: x}\n", "spec.sops"),
        ("  (type): LoadBalancer\n", None),
        ("  +(type): LoadBalancer\n", None),
        ("  $patch: replace\n", None),
        ("  $setElementOrder/ports: [{port: 80}]\n", None),
        ("  {{ .Values.key }}: x\n", None),
    ],
    ids=lambda value: value.strip() if value else "none",
)
def test_keys_of_tools_are_no_unknown_fields(more: str, field: str | None) -> None:
    found = lint(SERVICE + more, "KS904")
    assert [each.message for each in found] == ([f'unknown field "{field}"'] if field else [])


@pytest.mark.parametrize(
    ("version", "kind", "help_"),
    [
        ("apps/v1", "Deploymnet", "did you mean Deployment?"),
        ("apps/v1", "deployment", "did you mean Deployment?"),
        ("v1", "Deployment", "Deployment is in apps/v1"),
        ("apps/v1", "HorizontalPodAutoscaler", "HorizontalPodAutoscaler is in autoscaling/v1 or autoscaling/v2"),
        ("apps/v1", "Deployment", None),
        ("apps/v1", "Database", None),
        ("v1", "PodList", None),
        ("example.com/v1", "Deploymnet", None),
        # API groups: those of custom resources have a dot.
        ("app/v1", "Deployment", "did you mean apps/v1?"),
        ("apps", "Deployment", "did you mean apps/v1?"),
        ("apps/V1", "Deployment", "did you mean apps/v1?"),
        ("apps.k8s.io/v1", "Deployment", "did you mean apps/v1?"),
        ("netwrking.k8s.io/v1", "Ingress", "did you mean networking.k8s.io/v1?"),
        ("autoscalling/v2", "HorizontalPodAutoscaler", "did you mean autoscaling/v1 or autoscaling/v2?"),
        ("serving.knative.dev/v1", "Service", None),
        ("networking.internal.knative.dev/v1alpha1", "Ingress", None),
        ("scheduling.x-k8s.io/v1alpha1", "PriorityClass", None),
        ("batch.volcano.sh/v1alpha1", "Job", None),
        ("${GROUP}/v1", "Deployment", None),
        ("apps/v1", "${KIND}", None),
    ],
)
def test_a_kind_that_no_release_serves(version: str, kind: str, help_: str | None) -> None:
    found = lint(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web}}\n", "KS905")
    expected = [(f'no matches for kind "{kind}" in version "{version}"', help_)] if help_ else []
    assert [(each.message, each.help) for each in found] == expected
