"""Disruption budgets whose pods the disruption controller cannot count."""

import pytest

from tests.linter.linting import lint

BUDGET = """apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: bare, labels: {app: web}}
spec: {containers: [{name: c, image: nginx}]}
---
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}
---
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {metadata: {labels: {app: web}}, spec: {restartPolicy: Never, containers: [{name: c, image: nginx}]}}}
---
"""


@pytest.mark.parametrize(
    ("objects", "kinds"),
    [
        pytest.param(POD, ["Pod bare"], id="no pod has a controller"),
        pytest.param(POD + DEPLOYMENT, [], id="a pod without a controller beside others is not counted"),
        pytest.param(JOB + DEPLOYMENT, ["Job once"], id="the controller fails for one that has no scale"),
        pytest.param(JOB + POD, ["Job once"], id="a bare pod is not the reason"),
    ],
)
def test_pods_that_cannot_be_counted(objects: str, kinds: list[str]) -> None:
    found = lint(BUDGET + objects, "KS307")
    assert [each.message.split(" for ")[1].split(": ")[0] for each in found] == kinds
