"""Pods that wait for their turn: for kube-scheduler, for the end of victims, or for an old pod of a rolling update."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import ManifestError
from kschedctl.common.wording import duration, listed
from kschedctl.controllers.workloads.ownership import intermediate_owners, pods_made_by
from kschedctl.controllers.workloads.pods import revision
from kschedctl.controllers.workloads.update_strategy import deployment_rolling
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation
from kschedctl.diagnosis.evidence.events import last_attempt
from kschedctl.diagnosis.rules.cluster import SCHEDULER, idle_component
from kschedctl.objects.coordination import Lease
from kschedctl.objects.event import Event
from kschedctl.objects.workload import Deployment, ReplicaSet
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.volumes.claims import SELECTED_NODE, group_claims, pod_claims

#: kube-scheduler looks again at a pod that it could not place after 5 minutes, and at most 30 seconds later.
_LOOKS_AGAIN: Final = 360


def idle_scheduler(situation: Situation) -> Iterator[Diagnosis]:
    """A pod of the snapshot fits and is pending nevertheless: kube-scheduler does not run, or has not tried it for long.

    The Lease of kube-scheduler shows whether it runs: its holder renews it every two seconds. A pod that fits while a
    scheduler runs is tried within seconds, after the next event, or within 5 minutes. If its last Event or condition is
    older than that, the scheduler is stuck, has too much to do, or its leader is not the one that people look at.

    Operators start kube-scheduler again, or look at the log of its leader and restart it.
    """
    # Yield the age of the scheduler's Lease or of its last attempt, if the pod is pending in the snapshot.
    pod, cluster = situation.pod, situation.cluster
    index = cluster.pods.index.get((pod.metadata.namespace, pod.metadata.name))
    if index is None or cluster.pods.node_row[index] != PENDING:
        return
    found = idle_component(cluster, SCHEDULER)
    if found is not None:
        yield found
        return
    if any(
        SELECTED_NODE in claim.metadata.annotations for claim in group_claims(cluster, pod_claims(cluster, pod)).delayed
    ):
        # It has chosen a node, and waits for the volume.
        return
    now, created = cluster.taken_at, pod.metadata.creation_timestamp
    tried = last_attempt(cluster, pod)
    last, lease = tried or created, cluster.get(Lease, SCHEDULER, "kube-system")
    # Without Events, the snapshot may lack what a scheduler notes.
    if now is None or last is None or not cluster.is_as_read or (tried is None and not cluster.list(Event)):
        return
    if (now - last).total_seconds() <= _LOOKS_AGAIN:
        return
    from kschedctl.diagnosis.rules.unbound_claims import provisioning

    if next(provisioning(situation), None) is not None:
        # Its scheduler has chosen a node, and tries the pod again when the volume is created.
        return
    age = duration(int((now - last).total_seconds()))
    what = f"is not known to have tried it for {age}" if tried else f"has not tried it since it was created {age} ago"
    leader = lease.spec.holder_identity.partition("_")[0] if lease is not None else ""
    who = f" ({leader} leads)" if leader else ""
    yield Diagnosis(
        rule="idle-scheduler",
        cause=f"kube-scheduler{who} {what}, although it looks again within 5 minutes",
        advice=(
            Advice(
                summary=f"look at the log of kube-scheduler{f' on {leader}' if leader else ''}, and restart it if it is "
                "stuck",
                risk=Risk.MISTAKE,
                untried="it runs on the control plane",
                command=f"kubectl logs -n kube-system kube-scheduler-{leader or 'NODE'} --tail=100",
            ),
        ),
        checks=("kubectl get events -A --field-selector reason=FailedScheduling",),
    )


def nominated_waits(situation: Situation) -> Iterator[Diagnosis]:
    """Preemption has chosen a node for the pod, and the pods that were evicted for it are still ending there.

    kube-scheduler preempts no further pods meanwhile. A victim ends within its grace period, which ``deletionTimestamp``
    already includes. A victim that is still there afterwards has a finalizer, or a kubelet that does not answer.

    Operators wait, or look at the victim and its node if it is overdue. Nobody needs to delete further pods.
    """
    # Yield the victims that are still ending on the pod's nominated node.
    preemption = situation.decision.preemption
    if preemption is None:
        return
    from kschedctl.scheduler.preemption.evaluator import evicted_by_scheduler
    from kschedctl.scheduler.preemption.result import TERMINATING

    if preemption.status.reasons != (TERMINATING,):
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
