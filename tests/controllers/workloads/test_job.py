"""Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.workload import CronJob, Job
from tests.builders import make_cluster, make_container, make_object

TEMPLATE = {"metadata": {"labels": {"app": "report"}}, "spec": {"containers": [make_container()]}}


def job(*, succeeded: int = 0, **spec: Any) -> Job:
    return make_object(
        Job, "report", namespace="shop", spec={"template": TEMPLATE, **spec}, status={"succeeded": succeeded}
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(job(), 1, id="one by default"),
        pytest.param(job(succeeded=1), 0, id="done"),
        pytest.param(job(parallelism=3), 3, id="a work queue"),
        pytest.param(job(parallelism=3, succeeded=1), 0, id="a work queue that is empty"),
        pytest.param(job(completions=5), 1, id="one after the other"),
        pytest.param(job(completions=5, parallelism=3), 3, id="three at once"),
        pytest.param(job(completions=5, parallelism=3, succeeded=4), 1, id="the last one"),
        pytest.param(job(parallelism=0), 0, id="paused"),
        pytest.param(job(suspend=True), 0, id="suspended"),
    ],
)
def test_replicas(given: Job, expected: int) -> None:
    (made,) = pods_of(given, make_cluster())
    assert made.replicas == expected


def test_labels_and_owner() -> None:
    given = job()
    (made,) = pods_of(given, make_cluster())
    uid = uid_of(given)
    assert made.pod.metadata.name == "report-xxxxx"
    assert made.pod.metadata.labels == {
        "app": "report",
        "job-name": "report",
        "batch.kubernetes.io/job-name": "report",
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
    }
    (reference,) = made.pod.metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name, reference.uid) == ("batch/v1", "Job", "report", uid)


def test_labels_that_a_stored_job_has_stay() -> None:
    labels = {"job-name": "report", "controller-uid": "7"}
    template = {**TEMPLATE, "metadata": {"labels": labels}}
    (made,) = pods_of(job(template=template), make_cluster())
    assert made.pod.metadata.labels["controller-uid"] == "7"


def test_a_manual_selector_adds_no_labels() -> None:
    (made,) = pods_of(job(manualSelector=True), make_cluster())
    assert made.pod.metadata.labels == {"app": "report"}


def test_an_indexed_job_is_told_by_its_first_index() -> None:
    (made,) = pods_of(job(completionMode="Indexed", completions=4, parallelism=2), make_cluster())
    index = {"batch.kubernetes.io/job-completion-index": "0"}
    assert made.replicas == 2
    assert made.pod.metadata.name == "report-0-xxxxx"
    assert made.pod.metadata.labels.items() >= index.items()
    assert made.pod.metadata.annotations == index


@pytest.mark.parametrize(
    ("spec", "replicas"), [pytest.param({}, 1, id="runs"), pytest.param({"suspend": True}, 0, id="suspended")]
)
def test_a_cron_job_runs_its_pods_through_a_job(spec: dict[str, Any], replicas: int) -> None:
    job_template = {"metadata": {"labels": {"team": "a"}}, "spec": {"template": TEMPLATE}}
    given = make_object(CronJob, "nightly", namespace="shop", spec={"jobTemplate": job_template, **spec})
    (made,) = pods_of(given, make_cluster())
    assert made.replicas == replicas
    assert made.pod.metadata.name == "nightly-xxxxxxxx-xxxxx"
    assert made.pod.metadata.labels["job-name"] == "nightly-xxxxxxxx"
    (reference,) = made.pod.metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("batch/v1", "Job", "nightly-xxxxxxxx")
