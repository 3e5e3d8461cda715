"""Manifests: rejections by an API server, and fields that are still to be filled in."""

import pytest

from tests.linter.linting import lint

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "", []),
        ("replicas: 3", "replicas: -1", ["5:13 KS906 error"]),
        ("replicas: 3", 'replicas: "3"', ["5:13 KS906 error"]),
        ("replicas: 3", "replicas: ${REPLICAS}", []),
        ("selector: {matchLabels: {app: web}}", "selector: {matchLabels: {app: db}}", ["8:16 KS906 error"]),
        ("labels: {app: web}", "labels: {app: $APP}", []),
        ("- name: web", "- name: Web", ["11:15 KS906 error"]),
        ("- name: web", '- name: "{{ .Values.name }}"', []),
        ("    spec:\n", "    spec:\n      restartPolicy: Never\n", ["10:22 KS906 error"]),
        # The workload is taken, its pods are not.
        ("    spec:\n", "    spec:\n      overhead: {cpu: 1}\n", ["10:7 KS907 error"]),
        # What KS310 says is not said twice.
        ("    spec:\n", "    spec:\n      priority: 7\n", []),
    ],
)
def test_refusals_have_places(before: str, after: str, told: list[str]) -> None:
    found = [each for each in lint(DEPLOYMENT.replace(before, after)) if each.rule.code in ("KS906", "KS907")]
    assert [f"{each.region.line}:{each.region.column} {each.rule.code} {each.severity}" for each in found] == told


def test_the_message_is_that_of_the_api_server() -> None:
    [found] = lint(DEPLOYMENT.replace("replicas: 3", "replicas: -1"), "KS906")
    assert found.message == "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    assert (found.stop, found.finding.field) == ("A", "spec.replicas")
