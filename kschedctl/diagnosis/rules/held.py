"""Jobs and pods that a queue or a gate holds back before a scheduler sees them."""

from collections.abc import Iterator

from kschedctl.common.wording import counted
from kschedctl.diagnosis.diagnosis import Advice, ClusterDiagnosis, ClusterSituation, Diagnosis, Situation
from kschedctl.diagnosis.evidence.queues import GROUP, kueue_hold
from kschedctl.objects.custom_resources import JobSet, KueueWorkload
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Job
from kschedctl.scheduler.framework.risk import Risk


def scheduling_gates(situation: Situation) -> Iterator[Diagnosis]:
    """Scheduling gates, and the controller that removes them.

    A pod with gates is not tried, whatever capacity is free. The gate is removed by the controller that it is named after:
    Kueue, for example, does so when a queue has quota for the workload. Operators look at that controller, and at its
    object for the pod. They remove a gate by hand only if its controller is gone for good.
    """
    # Yield the controller of the pod's first gate.
    gates = situation.pod.spec.scheduling_gates
    if not gates:
        return
    name, pod = gates[0].name, situation.pod
    domain = name.partition("/")[0]
    if name.startswith(f"{GROUP}/"):
        owners = (
            (Pod.__name__, pod.namespace, pod.name),
            *((each.kind, pod.namespace, each.name) for each in pod.metadata.owner_references),
        )
        hold = kueue_hold(situation.cluster, pod.metadata.labels, owners, pod.namespace)
        command = f"kubectl describe workloads.{GROUP} -n {pod.namespace}"
        if hold is not None and (situation.cluster.list(KueueWorkload) or hold.evidence):
            yield Diagnosis(
                rule="scheduling-gates", cause=hold.cause, evidence=hold.evidence, advice=hold.advice, checks=(command,)
            )
            return
        cause = "Kueue removes the gate when a queue has quota for the workload"
        summary = "get the workload admitted by Kueue: its ClusterQueue needs free quota, or the LocalQueue is missing"
    else:
        cause = f"the gate {name} waits for its controller"
        summary = f"get the controller of {domain} to remove its gate"
        command = f"# find the controller of {domain}, and look at its log"
    yield Diagnosis(
        rule="scheduling-gates",
        cause=cause,
        advice=(
            Advice(
                summary=summary,
                risk=Risk.MISTAKE,
                untried="the controller removes the gate, not the scheduler",
                command=command,
            ),
        ),
        checks=(command,) if name.startswith(f"{GROUP}/") else (),
    )


def held_jobs(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Jobs that Kueue holds back: a suspended Job has no pods, and so no Event of a scheduler.

    Kueue suspends a job until its ClusterQueue has quota for it. The reason is in the conditions of Kueue's Workload, and
    in those of the queues: a queue that is inactive or stopped admits nothing.

    Operators repair the queue, wait for quota, or raise it. They do not resume the job by hand: that goes round the quota,
    and Kueue suspends it again.
    """
    # Yield the jobs that Kueue has not admitted, with its own reason.
    cluster = situation.cluster
    held: dict[tuple[str, str, str], tuple[int, dict[str, str]]] = {}
    for workload in cluster.list(KueueWorkload):
        done = any(
            each.status == "True" and each.type in ("Finished", "Admitted") for each in workload.status.conditions
        )
        n_pods = sum(each.count for each in workload.spec.pod_sets)
        for owner in () if done else workload.metadata.owner_references[:1]:
            if owner.kind != Pod.__name__:
                held[owner.kind, workload.namespace, owner.name] = n_pods, workload.metadata.labels
    kinds: tuple[type[Job | JobSet], ...] = (Job, JobSet)
    for kind in kinds:
        for obj in cluster.list(kind):
            own = kind.__name__, obj.namespace, obj.name
            made = obj.metadata.controller is not None and obj.metadata.controller.kind == JobSet.__name__
            if obj.spec.suspend and not made:
                parallel = (obj.spec.parallelism or 1) if isinstance(obj, Job) else 0
                held[own] = held.get(own, (parallel, {}))[0], obj.metadata.labels
    for own, (n_pods, labels) in held.items():
        kind_name, namespace, name = own
        hold = kueue_hold(cluster, labels, [own], namespace) if situation.concerns(own) else None
        if hold is not None:
            job = cluster.get(Job, name, namespace) if kind_name == Job.__name__ else None
            since = hold.since or (job.metadata.creation_timestamp if job is not None else None)
            yield ClusterDiagnosis(
                rule="held-by-queue",
                cause=hold.cause,
                evidence=hold.evidence,
                advice=hold.advice,
                checks=(f"kubectl describe workloads.{GROUP} -n {namespace}",),
                kind=kind_name,
                namespace=namespace,
                name=name,
                state=f"is suspended, without its {counted(n_pods, 'pod')}" if n_pods else "is suspended",
                missing=max(n_pods, 1),
                since=since,
            )
