"""Jobs that are suspended (``spec.suspend``), so that no pod of them is created.

The Job controller deletes the pods of a suspended Job and creates none until it is resumed. Operators resume it. Kueue
suspends the Jobs of its queues on purpose, and resumes a Job once its queue has quota: there they look at Kueue's
Workload.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.api.workload import Job
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.cluster_rules.refused_pods import has_ended, parallel_pods
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.framework.remedy import Risk

_QUEUE: Final = "kueue.x-k8s.io/queue-name"
_SUSPENDED: Final = "Suspended"
_RESUME: Final = """'{"spec":{"suspend":false}}'"""


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the suspended Jobs that have pods to run."""
    for job in situation.cluster.list(Job):
        missing = parallel_pods(job)
        # The Job controller confirms a suspension in the status: a Job without it is new, or a manifest.
        known = next(
            (each for each in job.status.conditions if each.type == _SUSPENDED and each.status == "True"), None
        )
        if not job.spec.suspend or known is None or not missing or has_ended(job):
            continue
        queue = job.metadata.labels.get(_QUEUE, "")
        yield ClusterDiagnosis(
            rule="suspended-job",
            cause=f"Kueue suspends it until queue {queue} has quota for it" if queue else "spec.suspend is true",
            advice=(_admission(job) if queue else _resumption(job),),
            kind=Job.__name__,
            namespace=job.namespace,
            name=job.name,
            state="is suspended, so that no pod is created",
            missing=missing,
            since=known.last_transition_time,
        )


def _resumption(job: Job) -> Advice:
    return Advice(
        summary=f"resume Job {job.namespace}/{job.name}",
        risk=Risk.MISTAKE,
        untried="the Job controller creates the pods",
        command=f"kubectl patch job {job.name} -n {job.namespace} -p {_RESUME}",
    )


def _admission(job: Job) -> Advice:
    return Advice(
        summary="get the workload admitted by Kueue: its ClusterQueue needs free quota, or the LocalQueue is missing",
        risk=Risk.MISTAKE,
        untried="Kueue resumes the Job",
        command=f"kubectl describe workloads.kueue.x-k8s.io -n {job.namespace}",
    )
