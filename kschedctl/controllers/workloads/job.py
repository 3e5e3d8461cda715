"""The pods of Jobs, and of CronJobs, which create their pods through a Job (pkg/controller/job and cronjob)."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.controllers.workloads.created_pods import MadePod
from kschedctl.controllers.workloads.template import controller_reference, pod_from_template, uid_of
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.workload import CronJob, Job, PodTemplateSpec

_INDEXED: Final = "Indexed"
_COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_MAX_PREFIX_LENGTH: Final = 58
#: A stand-in for the minutes since 1970 that the CronJob controller puts into the names of Jobs.
_TIME: Final = "xxxxxxxx"


def pods_of_job(job: Job, template: PodTemplateSpec) -> tuple[MadePod, ...]:
    """Return the pod of a Job; for an indexed Job, the pod of index 0, since the others differ only in the index."""
    added: dict[str, str] = {}
    if not job.spec.manual_selector:
        added = dict.fromkeys(_NAME_LABELS, job.name) | dict.fromkeys(_UID_LABELS, uid_of(job))
    labels = {key: value for key, value in added.items() if key not in template.metadata.labels}
    if job.spec.completion_mode != _INDEXED:
        return (MadePod(pod_from_template(template, job, labels=labels), _wanted(job)),)
    index = {_COMPLETION_INDEX: "0"}
    ending = "-0-"
    prefix = f"{job.name[: _MAX_PREFIX_LENGTH - len(ending)]}{ending}"
    pod = pod_from_template(template, job, prefix=prefix, labels={**labels, **index}, annotations=index)
    return (MadePod(pod, _wanted(job)),)


def job_of_cron_job(cron_job: CronJob) -> Job:
    """Return the next Job of a CronJob, with a stand-in for the scheduled time in its name."""
    template = cron_job.spec.job_template
    return Job(
        metadata=ObjectMeta(
            name=f"{cron_job.name}-{_TIME}",
            namespace=cron_job.namespace,
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            owner_references=(controller_reference(cron_job),),
        ),
        spec=replace(template.spec, suspend=template.spec.suspend or cron_job.spec.suspend),
    )


def _wanted(job: Job) -> int:
    """Return the number of pods that run at once."""
    if job.spec.suspend:
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    completions = job.spec.completions
    if completions is None and job.spec.parallelism is None:
        completions = 1
    if completions is None:
        return 0 if job.status.succeeded else parallelism
    return max(min(parallelism, completions - job.status.succeeded), 0)
