"""Pods that kube-scheduler does not try, that wait for others to end, or that have a node and do not start."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import ManifestError
from kschedctl.common.wording import counted, duration, listed
from kschedctl.controllers.workloads.ownership import intermediate_owners, pods_made_by
from kschedctl.controllers.workloads.pods import revision
from kschedctl.controllers.workloads.update_strategy import deployment_rolling
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation
from kschedctl.diagnosis.evidence.events import events_about, one_line, said
from kschedctl.diagnosis.node_health import condition_of_pod, since
from kschedctl.diagnosis.rules.cluster import SCHEDULER, idle_component
from kschedctl.diagnosis.rules.gangs import waiting_other_gang
from kschedctl.objects.coordination import NODE_LEASES, Lease
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Deployment, ReplicaSet
from kschedctl.scheduler.cycle.scheduler import meant_profile
from kschedctl.scheduler.framework.remedy import add_operation
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.preemption.result import TERMINATING

_RULE: Final = "other-scheduler"
_WORD: Final = "scheduler"
_PROFILE_HINT: Final = "if {} is a profile of kube-scheduler, give its configuration: --config"
#: A Lease that was not renewed for this number of its durations before the snapshot has no living holder.
_DURATIONS: Final = 4


def other_scheduler(situation: Situation) -> Iterator[Diagnosis]:
    """No profile has the pod's ``schedulerName``: kube-scheduler ignores the pod, and another scheduler must place it.

    The API server accepts any name. If no scheduler of that name runs, the pod stays pending without a single event, which
    is why people find nothing in ``kubectl describe``. A scheduler shows in the cluster by its pod, by its Lease, or by the
    pods that it has placed. A profile of kube-scheduler itself shows by the pods that it has placed only.

    Operators install or start the scheduler, or remove the name from the pod template; a mistyped name is corrected.
    """
    # Yield the scheduler that is responsible, and whether it runs.
    name = situation.pod.spec.scheduler_name
    own = situation.decision.framework.profile.scheduler_name
    close = meant_profile(name, situation.decision.framework.handle.scheduler_names)
    running = list(_running(situation.cluster, name)) if not close else []
    pods = situation.cluster.pods
    specs = {id(record.spec) for record in pods.records if record.spec.scheduler_name == name}
    rows = np.flatnonzero(pods.node_row >= 0).tolist() if specs else []
    placed = [pods.key(index) for index in rows if id(pods.records[index].spec) in specs]
    if running or placed:
        yield _runs(situation, running, placed)
        return
    why = f"; did you mean {close}?" if close else " (no pod or Lease of that name)"
    advice = [
        Advice(
            summary=f"install or start the scheduler {name}",
            risk=Risk.SHARED,
            untried=f"{name} makes its own decisions",
            command=f"# install the scheduler {name}, or start it again",
        )
    ]
    statuses, fits = situation.decision.statuses, []
    if statuses is not None:
        n_nodes = counted(situation.n_nodes, "node")
        fits = [f"with {own}, it would fit on {len(statuses.feasible) or 'none'} of {n_nodes}"]
    yield Diagnosis(
        rule=_RULE,
        cause=f"its schedulerName is {name}, and no such scheduler runs here{why}",
        evidence=(*fits, *([] if close else [_PROFILE_HINT.format(name)])),
        remedies=(
            situation.context().pod_patch(
                f"correct schedulerName: {own} instead of {name}"
                if close
                else f"remove schedulerName {name}, so that {own} schedules the pod",
                add_operation(own, "spec", "schedulerName"),
                risk=Risk.MISTAKE if close else Risk.POD,
                family="schedulerName",
            ),
        ),
        advice=tuple(advice if not close else ()),
        checks=(f"kubectl get pods,leases -A | grep {name}",),
    )


def _runs(situation: Situation, running: list[tuple[str, str]], placed: list[str]) -> Diagnosis:
    """Return the diagnosis for a scheduler that runs, or has run: what it waits for, or what it says."""
    name = situation.pod.spec.scheduler_name
    ill = [f"{what} {problem}" for what, problem in running if problem]
    seen = listed([what for what, _ in running], most=2) or f"it placed {listed(placed, most=2)}"
    runs = f"its schedulerName is {name}, a scheduler that runs here ({seen})"
    logs = tuple(
        f"kubectl logs -n {what.partition('/')[0].removeprefix('Pod ')} {what.partition('/')[2]}"
        for what, _ in running
        if what.startswith("Pod ")
    )[:1]
    if ill and len(ill) == len(running):
        repair = Advice(
            summary=f"repair or start the scheduler {name}",
            risk=Risk.MISTAKE,
            untried=f"{name} makes its own decisions",
            command=f"# repair the scheduler {name}: {listed([what for what, _ in running], most=2)}",
        )
        cause = f"its schedulerName is {name}, and that scheduler is not working: {listed(ill, most=2)}"
        return Diagnosis(rule=_RULE, cause=cause, evidence=(_PROFILE_HINT.format(name),), advice=(repair,), checks=logs)
    waits = next(waiting_other_gang(situation), None)
    if waits is not None:
        return replace(waits, cause=f"{waits.cause}; {runs}", checks=logs)
    events = events_about(situation.cluster, Pod.__name__, situation.pod.namespace, situation.pod.name)
    condition = next((each for each in situation.pod.status.conditions if each.type == "PodScheduled"), None)
    if condition is not None and condition.message:
        words = f"it says{since(condition.last_transition_time)}: {one_line(condition.message)}"
    elif events:
        words = f"{said(events[0])}"
    else:
        words = "the snapshot has no condition or Event of it that says why the pod waits"
    return Diagnosis(rule=_RULE, cause=f"{runs}; {words}", evidence=(_PROFILE_HINT.format(name),), checks=logs)


def _running(cluster: Cluster, name: str) -> Iterator[tuple[str, str]]:
    """Yield the pods and Leases of a scheduler, each with its problem; the problem is empty for a healthy one."""
    stem = name.removesuffix(f"-{_WORD}")
    for index, record in enumerate(cluster.pods.records):
        pod_name = record.metadata.name
        if not pod_name.startswith(stem) or record.spec.scheduler_name == name:
            continue
        if (pod_name.startswith(f"{name}-") and _WORD in name) or _WORD in pod_name.removeprefix(stem):
            ready = condition_of_pod(record, "Ready")
            ill = ready is not None and ready.status == "False"
            problem = f"is not ready{since(ready.last_transition_time)}" if ready is not None and ill else ""
            yield f"Pod {cluster.pods.key(index)}", "has no node" if cluster.pods.node_row[index] < 0 else problem
    taken = cluster.taken_at
    for lease in cluster.list(Lease):
        if lease.namespace != NODE_LEASES and lease.name in (name, stem, f"{stem}-{_WORD}"):
            renewed = lease.spec.renew_time
            lasts = _DURATIONS * max(lease.spec.lease_duration_seconds, 15)
            old = renewed is not None and taken is not None and (taken - renewed).total_seconds() > lasts
            problem = f"was last renewed{since(renewed).removeprefix(' since')}" if old else ""
            yield f"Lease {lease.namespace}/{lease.name}", problem


def idle_scheduler(situation: Situation) -> Iterator[Diagnosis]:
    """A pod of the snapshot fits and is pending nevertheless, because no kube-scheduler is running.

    The Lease of kube-scheduler shows that: its holder renews it every two seconds. A pod that fits while a scheduler runs
    has no such cause: kube-scheduler tries it within seconds, or after the next event.

    Operators start kube-scheduler again.
    """
    # Yield the age of the scheduler's Lease, if it is no longer renewed and the pod is pending in the snapshot.
    pod, pods = situation.pod, situation.cluster.pods
    index = pods.index.get((pod.metadata.namespace, pod.metadata.name))
    if index is None or pods.node_row[index] != PENDING:
        return
    found = idle_component(situation.cluster, SCHEDULER)
    if found is not None:
        yield found


def nominated_waits(situation: Situation) -> Iterator[Diagnosis]:
    """Preemption has chosen a node for the pod, and the pods that were evicted for it are still ending there.

    kube-scheduler preempts no further pods meanwhile. A victim ends within its grace period, which ``deletionTimestamp``
    already includes. A victim that is still there afterwards has a finalizer, or a kubelet that does not answer.

    Operators wait, or look at the victim and its node if it is overdue. Nobody needs to delete further pods.
    """
    from kschedctl.scheduler.preemption.evaluator import evicted_by_scheduler

    # Yield the victims that are still ending on the pod's nominated node.
    preemption = situation.decision.preemption
    if preemption is None or preemption.status.reasons != (TERMINATING,):
        return
    cluster = situation.cluster
    node = situation.pod.status.nominated_node_name
    row = cluster.nodes.row.get(node)
    if row is None:
        return
    priority = situation.pod.spec.priority or 0
    records = cluster.pods.records
    victims = [
        index
        for index in cluster.pods.on_node(row).tolist()
        if records[index].metadata.deletion_timestamp is not None
        and records[index].priority < priority
        and evicted_by_scheduler(records[index].status)
    ]
    if not victims:
        return
    names = listed([cluster.pods.key(index) for index in victims], most=3)
    last = max(end for index in victims if (end := records[index].metadata.deletion_timestamp) is not None)
    does, has, verb = ("does", "has", "is") if len(victims) == 1 else ("do", "have", "are")
    when, now = f", until {last:%H:%M:%S} UTC at the latest", cluster.taken_at
    if now is not None and now > last:
        when = f", overdue by {duration(int((now - last).total_seconds()))}"
        first = records[victims[0]].metadata
        advice = Advice(
            summary=f"find out why {names} {does} not end on {node}: its kubelet, or a finalizer",
            risk=Risk.MISTAKE,
            untried="the kubelet ends pods",
            command=f"kubectl get pod -n {first.namespace} {first.name} -o jsonpath='{{.metadata.finalizers}}'",
        )
    else:
        advice = Advice(summary=f"wait until {names} {has} ended on {node}", risk=Risk.WAIT, untried="it takes time")
    yield Diagnosis(
        rule="nominated-waits",
        cause=f"preemption chose {node} for it, and {names}, evicted for it, {verb} still ending there{when}",
        advice=(advice,),
    )


#: The places of at most 10 old pods are tried.
_MOST: Final = 10
_ONE_FIRST: Final = '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}'


def rolling_update(situation: Situation) -> Iterator[Diagnosis]:
    """A new pod of a rolling update that waits for a place that an old pod of the same Deployment holds.

    With ``maxUnavailable`` 0, also as 25 % of less than 4 replicas, the controller stops no old pod before a new one is
    ready, so that the update needs room for one pod more: another node for a host port or anti-affinity, or free resources.
    Operators let an old pod go first, with ``maxSurge`` 0 and ``maxUnavailable`` 1, or add a node. They do not delete an
    old pod: its ReplicaSet creates it again.
    """
    # Yield the old pods, if the pod fits where one of them is, and none may leave before a new pod is ready.
    kind, namespace, name = situation.workload
    if kind != Deployment.__name__ or not situation.filtered:
        return
    deployment = situation.cluster.get(Deployment, name, namespace)
    if deployment is None:
        return
    replicas = deployment.spec.replicas
    try:
        rolling = deployment_rolling(deployment, 1 if replicas is None else replicas)
    except ManifestError:
        return
    if rolling.recreate or rolling.max_unavailable > 0:
        return
    node = next(_nodes_once_replaced(situation), "")
    if node:
        from kschedctl.diagnosis.rules.obstacles import obstacles

        base = next(obstacles(situation))
        yield Diagnosis(
            rule="rolling-update",
            cause=f"{base.cause}; the old pods of Deployment {namespace}/{name} keep their places until a new one is "
            "ready (maxUnavailable 0)",
            evidence=(f"the pod fits on {node} without the old pod there", *base.evidence),
            advice=(
                Advice(
                    summary=f"maxSurge 0 and maxUnavailable 1 for Deployment {namespace}/{name}, so that an old pod "
                    "leaves first",
                    risk=Risk.POD,
                    untried=f"kschedctl rollout deployment/{name} -n {namespace} shows the whole update",
                    command=f"kubectl patch deployment {name} -n {namespace} -p '{_ONE_FIRST}'",
                ),
            ),
        )


def _nodes_once_replaced(situation: Situation) -> Iterator[str]:
    """Yield the nodes on which the pod fits if one old pod of its Deployment is gone."""
    cluster, (_, namespace, name), controller = situation.cluster, situation.workload, situation.pod.metadata.controller
    own = cluster.get(ReplicaSet, controller.name, namespace) if controller is not None else None
    if own is None:
        return
    found = (each for each in intermediate_owners(cluster, Deployment, namespace, name) if isinstance(each, ReplicaSet))
    older = {each.name for each in found if revision(each) < revision(own) and each.spec.replicas != 0}
    old = (
        (index, record.node_name)
        for index in pods_made_by(cluster, Deployment, namespace, name)
        if (record := cluster.pods.records[index]).node_name
        and (owner := record.metadata.controller) is not None
        and owner.name in older
    )
    for index, node in islice(old, _MOST):
        if situation.decision.framework.status_without(situation.pod, node, [index]).code is Code.SUCCESS:
            yield node
