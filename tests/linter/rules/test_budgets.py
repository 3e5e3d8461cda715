"""Disruption budgets whose pods cannot be counted, that count pods of Jobs, and that miss pods by one label."""

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


CRON_JOB = """apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 2 * * *"
  jobTemplate:
    spec:
      parallelism: 2
      template:
        metadata: {labels: {app: web}}
        spec: {restartPolicy: Never, containers: [{name: c, image: nginx}]}
---
"""
TWO_REPLICAS = DEPLOYMENT.replace("spec:\n  selector", "spec:\n  replicas: 2\n  selector")


@pytest.mark.parametrize(
    ("limit", "objects", "told"),
    [
        pytest.param("minAvailable: 1", JOB, "0 of 1 pod can be evicted", id="one pod of a Job"),
        pytest.param("minAvailable: 2", CRON_JOB, "0 of 2 pods can be evicted", id="the pods of one run"),
        pytest.param("minAvailable: 1", CRON_JOB, "", id="one of two pods may go"),
        pytest.param("minAvailable: 3", JOB + TWO_REPLICAS, "0 of 3 pods can be evicted", id="beside a Deployment"),
        pytest.param("maxUnavailable: 1", JOB, "", id="a number that cannot be computed is KS307"),
        pytest.param("minAvailable: 50%", JOB, "", id="and so is a percentage"),
        pytest.param("maxUnavailable: 0", JOB, "maxUnavailable 0 allows no eviction", id="none of a Job"),
        pytest.param("maxUnavailable: 0%", CRON_JOB + TWO_REPLICAS, "0% allows no eviction", id="none of several"),
        pytest.param("minAvailable: 100%", CRON_JOB, "minAvailable 100% allows no eviction", id="all of a CronJob"),
    ],
)
def test_pods_of_jobs_count_for_a_number_of_pods(limit: str, objects: str, told: str) -> None:
    found = lint(BUDGET.replace("maxUnavailable: 1", limit) + objects, "KS301")
    assert [told in each.message for each in found] == ([True] if told else [])
    # maxUnavailable cannot be computed for them.
    assert all(each.fix is None and "maxUnavailable" not in each.help for each in found)
    assert all(each.message.endswith("until the Job ends") is ("Deployment" not in objects) for each in found)


def test_the_repair_for_pods_with_a_scale_is_one_that_may_go() -> None:
    (found,) = lint(BUDGET.replace("maxUnavailable: 1", "minAvailable: 2") + TWO_REPLICAS, "KS301")
    assert (found.help, found.fix is not None) == ("set maxUnavailable: 1", True)


@pytest.mark.parametrize(
    ("selector", "labels", "told"),
    [
        pytest.param("app: web, version: v2", "app: web", "which have no label version", id="a label that is missing"),
        pytest.param("app: web, tier: fronted", "app: web, tier: frontend", "whose tier is frontend", id="a mistake"),
        pytest.param("app: web, tier: webhook", "app: web, tier: controller", "", id="another component"),
        pytest.param("app: web, tier: a, version: v2", "app: web", "", id="two labels are missing"),
        pytest.param("app: web, component: database", "app: web", "", id="another component, of pods without one"),
        pytest.param("app: web, app.kubernetes.io/component: db", "app: web", "", id="and in the recommended domain"),
        pytest.param("app: web, strimzi.io/cluster: x", "app: web", "", id="a label of an operator"),
        pytest.param("app: web, a.b/c: x", "app: web, a.b/d: x", "no label a.b/c", id="a label of the same domain"),
        pytest.param("app: web, app.kubernetes.io/name: web", "app: web", "app.kubernetes.io/name", id="recommended"),
        pytest.param("app: wbe", "app: web", "", id="the only label"),
        pytest.param("app: web, version: v2", "app: web, version: $VERSION", "", id="a value that is not known"),
        pytest.param("app: web, version: v2", "app: web, $KEY: a", "", id="a key that is not known"),
        pytest.param("app: web, version: v2", "app: web, version: v2", "", id="all labels"),
    ],
)
def test_a_budget_beside_a_workload_misses_its_pods_by_one_label(selector: str, labels: str, told: str) -> None:
    budget = BUDGET.replace("{app: web}", f"{{{selector}}}")
    workload = DEPLOYMENT.replace("labels: {app: web}", f"labels: {{{labels}}}")
    for files in ({"a.yaml": budget + workload}, {"a.yaml": budget, "b.yaml": workload}):
        assert [told in each.message for each in lint(files, "KS316")] == ([True] if told else [])
    # Another folder, or pods that the budget does select.
    assert not lint({"a/a.yaml": budget, "b/b.yaml": workload}, "KS316")
    assert not lint(budget + workload + POD.replace("{app: web}", f"{{{selector}}}"), "KS316")
