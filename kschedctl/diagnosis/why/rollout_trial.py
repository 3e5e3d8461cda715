"""The rollout that a suggestion starts, tried to its end: a change of a pod template replaces all pods of the workload.

A suggestion does not help if its rollout leaves no more pods available than before: it gets stuck, as under a quota, or
the new pods only take the places of old ones. Where a rollout stands still already, taking these places helps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import KschedctlError
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import wanted_replicas, with_replicas, workload_of
from kschedctl.controllers.workloads.pods import REVISION_HASH, update_revision
from kschedctl.controllers.workloads.update_strategy import ON_DELETE, PARALLEL, ROLLED
from kschedctl.diagnosis.why.proof import Suggestion, recreation_consequences
from kschedctl.diagnosis.why.template import through_templates
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.resources import CPU, MEMORY
from kschedctl.objects.workload import ReplicaSet, StatefulSet
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.remedy import Patch, Remedy
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.trials.whatif.patches import make_changes
from kschedctl.trials.whatif.pods import workload_pods

if TYPE_CHECKING:
    from kschedctl.trials.simulate.rollout import Rollout

#: Rollouts of up to 100 pods are tried, to bound the running time.
MOST_REPLICAS: Final = 100
_ROLLED: Final = tuple(kind.__name__ for kind in ROLLED)


def to_the_end(suggestion: Suggestion) -> Suggestion | None:
    """Return a suggestion with the rollout that it starts; ``None`` if it does not help in the end."""
    before = suggestion.before
    rollout = try_rollout(before, suggestion.remedies, suggestion.decision.pod)
    if rollout is not None:
        helps = rollout.finished or rollout.available > rollout.before or _gets_on(before, rollout)
        return dataclasses.replace(suggestion, rollout=rollout) if helps else None
    # Without a rollout, a pod that evicts another one of its workload only changes which of them is pending.
    waits = all(remedy.risk is Risk.WAIT for remedy in suggestion.remedies)
    own = workload_of(before.cluster, before.pod.metadata)
    return (
        None
        if own[0] != Pod.__name__
        and not waits
        and any(_workload_of(suggestion.before.cluster, key) == own for key in suggestion.evicts)
        else suggestion
    )


def _gets_on(before: Decision, rollout: Rollout) -> bool:
    """Report whether a rollout that stands still gets on: more pods of the newest revision run.

    No fewer pods are available in all than before, or than the strategy promises.
    """
    pods, owner = before.cluster.pods, before.pod.metadata.controller
    running = _running(before.cluster, before.pod)
    new = sum(pods.owner(index) == owner for index in pods.assigned.tolist()) if owner is not None else running
    placed = sum(bool(node) for node in rollout.new.values())
    return new < running and min(running, rollout.promised) <= rollout.available and new < placed


def _workload_of(cluster: Cluster, key: str) -> tuple[str, str, str] | None:
    """Return the workload of a pod of the cluster, given as ``namespace/name``; ``None`` without such a pod."""
    namespace, _, name = key.partition("/")
    index = cluster.pods.index.get((namespace, name))
    return workload_of(cluster, cluster.pods.records[index].metadata) if index is not None else None


def try_rollout(before: Decision, remedies: Sequence[Remedy], changed: Pod) -> Rollout | None:
    """Roll out the change that remedies make in the pod template of a workload.

    Args:
        before: The decision for a pod of the workload without the remedies.
        changed: The pod with the remedies, after admission.

    Returns: ``None`` if the remedies start no rollout, or one that is not modelled or of more than 100 pods.
    """
    cluster, pod = before.cluster, before.pod
    through = _template_patches(before, remedies)
    kind = kind_by_name(through[0].kind) if through else None
    if kind is None:
        return None
    from kschedctl.trials.simulate.rollout import roll_out

    changes = [change for remedy in remedies for change in (*remedy.changes, *remedy.follows)]
    others = [change for change in changes if not (isinstance(change, Patch) and change.kind == Pod.__name__)]
    try:
        workload = make_changes(cluster, pod, through).cluster.get(kind, through[0].name, through[0].namespace)
        cluster = make_changes(cluster, Pod(), others).cluster
        if not isinstance(workload, ROLLED) or wanted_replicas(workload) > MOST_REPLICAS:
            return None
        index = cluster.pods.index.get((pod.namespace, pod.name))
        if index is None:
            if not _is_of_stored_template(cluster, pod):
                return None
            found = workload_pods(cluster, workload, new=True)
            n_pods = len(found.running) + len(found.pending) + 1
            workload = with_replicas(workload, max(wanted_replicas(workload), n_pods))
        elif _is_replaced_by_hand(workload):
            cluster = cluster.with_pods(removed=[index])
        scheduler = Scheduler.of(before.framework.moved(cluster))
        found_out = roll_out(scheduler, workload, admit=partial(_like, changed))
    except KschedctlError:
        return None
    return None if found_out.stopped and _is_replaced_by_hand(workload) else found_out


def _template_patches(before: Decision, remedies: Sequence[Remedy]) -> tuple[Patch, ...]:
    """Return the patches of a workload whose rollout is modelled; empty if remedies change no such workload."""
    if group_of(before) is not None:
        return ()
    through = through_templates(before.cluster, before.pod, tuple(remedies))
    return through if through and through[0].kind in _ROLLED else ()


def starts_rollout(suggestion: Suggestion) -> bool:
    """Report whether a suggestion changes the pod template of a workload whose rollout is modelled."""
    return bool(_template_patches(suggestion.before, suggestion.remedies))


def _is_of_stored_template(cluster: Cluster, pod: Pod) -> bool:
    """Report whether a future pod is one of the stored workload, and not of a manifest with another template."""
    owner = pod.metadata.controller
    if owner is None:
        return False
    if owner.kind == StatefulSet.__name__:
        stored = cluster.get(StatefulSet, owner.name, pod.namespace)
        template = stored.spec.template if stored is not None else None
        if stored is None or template is None:
            return False
        return pod.metadata.labels.get(REVISION_HASH) == update_revision(stored, template, cluster)
    siblings = (record.metadata for record in cluster.pods.records if record.metadata.namespace == pod.namespace)
    owners = {each.controller.name for each in siblings if each.controller is not None}
    return owner.name in owners or cluster.get(ReplicaSet, owner.name, pod.namespace) is not None


def _like(changed: Pod, pod: Pod) -> Pod:
    """Return a new pod of the workload with the spec of the changed pod and with volumes of its own."""
    own = {volume.name: volume for volume in pod.spec.volumes if volume.persistent_volume_claim is not None}
    volumes = tuple(own.get(volume.name, volume) for volume in changed.spec.volumes)
    return replace(pod, spec=replace(changed.spec, volumes=volumes, node_name=""))


def _is_replaced_by_hand(workload: object) -> bool:
    """Report whether the controller of a workload leaves a pending pod of an old revision as it is."""
    if not isinstance(workload, StatefulSet):
        return False
    return workload.spec.update_strategy.type == ON_DELETE or workload.spec.pod_management_policy != PARALLEL


def pod_to_delete(suggestion: Suggestion, through: Sequence[Patch]) -> str:
    """Return the pending pod that has to be deleted once its template is changed, ``namespace/name``; else empty."""
    cluster, pod = suggestion.before.cluster, suggestion.before.pod
    if (pod.namespace, pod.name) not in cluster.pods.index:
        return ""
    stateful_sets = (cluster.get(StatefulSet, each.name, each.namespace) for each in through)
    return pod.key if any(map(_is_replaced_by_hand, stateful_sets)) else ""


def rollout_in_words(suggestion: Suggestion) -> Iterator[str]:
    """Yield the side effects of the rollout that a suggestion starts, as clauses."""
    rollout = suggestion.rollout
    if rollout is None:
        return
    cluster, pod = suggestion.before.cluster, suggestion.before.pod
    own = workload_of(cluster, pod.metadata)
    victims = dict.fromkeys(victim for attempt in rollout.attempts for victim in attempt.victims)
    others = (key for key in victims if key not in suggestion.evicts)
    more = [key for key in others if _workload_of(cluster, key) not in (None, own)]
    if more:
        yield f"its rollout evicts {listed(more, most=3)} as well"
    if not rollout.finished:
        n_pending = sum(len(group.new) + len(group.old) for group in rollout.waiting)
        what = f": {counted(n_pending, 'pod')} {'stays' if n_pending == 1 else 'stay'} pending" if n_pending else ""
        yield f"its rollout does not finish{what}"


#: The kinds whose controllers replace the running pods when the template changes.
_RESTARTED: Final = ("Deployment", "StatefulSet", "DaemonSet")


def consequences(suggestion: Suggestion, through: Sequence[Patch]) -> Iterator[str]:
    """Yield the side effects of a suggestion as clauses, some of them twice.

    Args:
        through: The patches of a workload's template that replace those of its pods.
    """
    before = suggestion.before
    for patch in through:
        running = _running(before.cluster, before.pod)
        if patch.kind in _RESTARTED and running:
            yield f"restarts {counted(running, 'running pod')} of {patch.kind} {patch.name}"
        kind = kind_by_name(patch.kind)
        workload = before.cluster.get(kind, patch.name, patch.namespace) if kind is not None else None
        if isinstance(workload, ROLLED) and wanted_replicas(workload) > MOST_REPLICAS:
            yield f"its rollout of {counted(wanted_replicas(workload), 'pod')} is not tried"
    yield from rollout_in_words(suggestion)
    deleted = pod_to_delete(suggestion, through)
    if deleted:
        yield f"{deleted} has to be deleted then: its StatefulSet does not replace a pending pod"
    classes = qos_class(before.pod), qos_class(suggestion.decision.pod)
    if classes[0] != classes[1]:
        yield f"QoS class {classes[1]} instead of {classes[0]}"
    for remedy in suggestion.remedies:
        if remedy.risk is Risk.DATA:
            yield "the data must be copied"
        if isinstance(remedy.family, tuple) and remedy.family[0] == "untaint":
            yield "opens the node to all pods"
    yield from recreation_consequences(suggestion)


def _running(cluster: Cluster, pod: Pod) -> int:
    """Return the number of pods of a pod's workload that have a node."""
    workload, pods = workload_of(cluster, pod.metadata), cluster.pods
    if workload[0] == Pod.__name__:
        return 0
    return sum(
        workload_of(cluster, pods.records[index].metadata) == workload
        for index in pods.assigned.tolist()
        if pods.records[index].metadata.namespace == pod.namespace
    )


def qos_class(pod: Pod) -> str:
    """Return a pod's QoS class from its containers (v1qos.ComputePodQOS); pod-level resources are not considered."""
    containers: tuple[Container, ...] = (*pod.spec.containers, *pod.spec.init_containers)
    if not any(one.resources.requests or one.resources.limits for one in containers):
        return "BestEffort"

    def guaranteed(one: Container) -> bool:
        limits, requests = one.resources.limits, one.resources.requests
        return all(name in limits and requests.get(name, limits[name]) == limits[name] for name in (CPU, MEMORY))

    return "Guaranteed" if all(map(guaranteed, containers)) else "Burstable"
