"""Jobs and pods that a queue or a gate holds back before a scheduler sees them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted
from kschedctl.diagnosis.components import component_repair, ill_component
from kschedctl.diagnosis.diagnosis import Advice, ClusterDiagnosis, ClusterSituation, Diagnosis, Situation
from kschedctl.diagnosis.evidence.gangs import OtherGang, other_gangs
from kschedctl.diagnosis.evidence.queues import CONTROLLER, GROUP, Hold, kueue_hold
from kschedctl.diagnosis.rules.gangs import queue_problem
from kschedctl.objects.custom_resources import JobSet, KueueWorkload, LocalQueue, VolcanoPodGroup
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
        hold = _hold(situation.cluster, pod.metadata.labels, owners, pod.namespace)
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


def _hold(
    cluster: Cluster, labels: Mapping[str, str], owners: Sequence[tuple[str, str, str]], namespace: str
) -> Hold | None:
    """Return why Kueue holds back a job, or a pod, as ``kueue_hold``; the state of its controller where Kueue is silent."""
    hold = kueue_hold(cluster, labels, owners, namespace)
    ill = ill_component(cluster, lambda key: CONTROLLER in key) if hold is not None and hold.unanswered else None
    if hold is None or ill is None:
        return hold
    (kind, space, name), state = ill
    repair = component_repair(ill[0], "Kueue decides when the job starts, not the scheduler")
    cause = f"{hold.cause.removesuffix(': its controller may not run')}: {kind} {space}/{name} {state}"
    return replace(hold, cause=cause, advice=(repair,))


def held_jobs(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Jobs that are suspended, or that a queue of Kueue or Volcano holds back: they have no pods, and so no Events.

    Kueue suspends a job until its ClusterQueue has quota for it. The reason is in the conditions of Kueue's Workload, and
    in those of the queues: a queue that is inactive or stopped admits nothing. Volcano creates no pods of a job before its
    queue has let in the PodGroup.

    Operators repair the queue, wait for quota, or raise it. They do not resume the job by hand: that goes round the quota,
    and Kueue suspends it again. A job that no queue holds was suspended by hand: it is resumed, or given to a queue.
    """
    # Yield the jobs that Kueue has not admitted, with its own reason, those of nobody, then the groups of Volcano.
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
        if not situation.concerns(own):
            continue
        kind_name, namespace, name = own
        found = cluster.get(Job if kind_name == Job.__name__ else JobSet, name, namespace)
        hold = _hold(cluster, labels, [own], namespace)
        checks = (f"kubectl describe workloads.{GROUP} -n {namespace}",) if hold is not None else ()
        if hold is None and found is not None and found.metadata.controller is None:
            hold = _hold_of_nobody(situation, own)
        if hold is not None:
            created = found.metadata.creation_timestamp if found is not None else None
            yield ClusterDiagnosis(
                rule="held-by-queue",
                cause=hold.cause,
                evidence=hold.evidence,
                advice=hold.advice,
                checks=checks,
                kind=kind_name,
                namespace=namespace,
                name=name,
                state=f"is suspended, without its {counted(n_pods, 'pod')}" if n_pods else "is suspended",
                missing=max(n_pods, 1),
                since=hold.since or created,
            )
    yield from _held_groups(situation)


def _hold_of_nobody(situation: ClusterSituation, job: tuple[str, str, str]) -> Hold | None:
    """Return the reason for a job that is suspended although no queue holds it, and its cures.

    A job that was suspended by hand is no problem of the cluster, unless it is in a namespace with queues.
    """
    cluster, (kind, namespace, name) = situation.cluster, job
    resource, label = kind.lower(), f"{GROUP}/queue-name"
    queues = [each.name for each in cluster.list(LocalQueue) if each.namespace == namespace]
    resume = Advice(
        summary=f"resume {kind} {namespace}/{name} (suspend: false), if the reason for which it was suspended is gone",
        risk=Risk.POD if queues else Risk.MISTAKE,
        untried="the snapshot does not show who suspended it",
        command=f'kubectl patch {resource} -n {namespace} {name} --type=merge -p \'{{"spec":{{"suspend":false}}}}\'',
    )
    if not queues and not situation.of_one_workload:
        return None
    if not queues:
        return Hold("spec.suspend is true, and no queue of Kueue resumes it", advice=(resume,))
    queued = Advice(
        summary=f"give {kind} {namespace}/{name} the label {label}={queues[0]}, if Kueue is to start it",
        risk=Risk.MISTAKE,
        untried="Kueue decides when the job starts, not the scheduler",
        command=f"kubectl label {resource} -n {namespace} {name} {label}={queues[0]}",
    )
    cause = f"spec.suspend is true, and without the label {label} no queue of Kueue resumes it"
    return Hold(cause, advice=(queued, resume))


def _held_groups(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the PodGroups that Volcano has not let into their queues, so that they have no pods yet."""
    cluster = situation.cluster
    waiting = [each for each in cluster.list(VolcanoPodGroup) if each.status.phase == "Pending"]
    known = {(each.namespace, each.name) for each in other_gangs(cluster)} if waiting else set()
    for group in waiting:
        owner = group.metadata.controller
        kind, name = (owner.kind, owner.name) if owner is not None else ("PodGroup", group.name)
        if (group.namespace, group.name) in known or not situation.concerns((kind, group.namespace, name)):
            continue
        gang = OtherGang(group.namespace, group.name, group, (), ())
        problem = queue_problem(cluster, gang)
        in_queue = f" in queue {group.spec.queue}" if group.spec.queue else ""
        says = f"Volcano has not let PodGroup {group.name} start{in_queue}{gang.said and f': {gang.said}'}"
        wait = Advice(
            summary=f"wait until pods{in_queue} end, or raise what the queue may use",
            risk=Risk.WAIT,
            untried="Volcano decides when the group starts",
            command=f"kubectl describe queues.scheduling.volcano.sh {group.spec.queue}".strip(),
        )
        yield ClusterDiagnosis(
            rule="held-by-queue",
            cause=f"PodGroup {group.name} {problem[0]}" if problem is not None else says,
            evidence=(gang.said,) if problem is not None and gang.said else (),
            advice=(problem[1] if problem is not None else wait,),
            checks=(f"kubectl describe podgroups.scheduling.volcano.sh -n {group.namespace} {group.name}",),
            kind=kind,
            namespace=group.namespace,
            name=name,
            state=f"has no pods yet; {counted(group.spec.min_member, 'pod')} must start together",
            missing=max(group.spec.min_member, 1),
            since=group.metadata.creation_timestamp,
        )
