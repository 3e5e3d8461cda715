"""Other schedulers: pods that belong to them, and nodes that they share with kube-scheduler."""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.wording import counted, listed, time_span
from kschedctl.controllers.workloads.pods import untolerated_taints
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation
from kschedctl.diagnosis.evidence.events import events_about, one_line, said
from kschedctl.diagnosis.evidence.origin import is_added_scheduler
from kschedctl.diagnosis.node_health import condition_of_pod, since
from kschedctl.objects.coordination import NODE_LEASES, Lease
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import meant_profile
from kschedctl.scheduler.framework.remedy import add_operation
from kschedctl.scheduler.framework.risk import Risk

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
    if is_added_scheduler(situation.cluster, situation.pod):
        why += (
            f"; the template of {situation.owner_text} does not name it: admission set it, or the template has changed"
        )
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
    from kschedctl.diagnosis.rules.gangs import waiting_other_gang

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


class RivalScheduler(msgspec.Struct, frozen=True):
    """Another scheduler that can put new pods on the place of the pods that preemption evicts from a node."""

    name: str
    #: The pod or Lease of it.
    seen: str
    node: str
    #: Its victims that controllers recreate, or its pending pods, as indices into ``Cluster.pods``.
    pods: tuple[int, ...]
    #: True for victims, false for pending pods.
    recreated: bool


def rival_scheduler(decision: Decision) -> RivalScheduler | None:
    """Return the other scheduler that competes for the place that preemption frees for a pod; ``None`` for none.

    A profile of kube-scheduler has no pod and no Lease of its own, and respects nominations.
    """
    preemption = decision.preemption
    if preemption is None or not preemption.nominated:
        return None
    found = preemption.candidate(preemption.nominated[0])
    pods, known = decision.cluster.pods, decision.framework.handle.scheduler_names
    row = decision.cluster.nodes.row[found.node]
    victims = [victim.pod for victim in found.victims if pods.owner(victim.pod) is not None]
    beside = {pods.records[index].spec.scheduler_name for index in pods.on_node(row).tolist()}.difference(known)
    taints = decision.cluster.nodes.objects[row].spec.taints
    pending = [
        index
        for index in pending_pods(decision.cluster)
        if (spec := pods.records[index].spec).scheduler_name in beside
        and nodes_matching_pod(decision.cluster.nodes, spec)[row]
        and not untolerated_taints(spec, taints)
    ]
    for every, recreated in ((victims, True), (pending, False)):
        for name in dict.fromkeys(pods.records[index].spec.scheduler_name for index in every):
            seen = next((what for what, _ in _running(decision.cluster, name)), "") if name not in known else ""
            if seen:
                own = tuple(index for index in every if pods.records[index].spec.scheduler_name == name)
                return RivalScheduler(name, seen, found.node, own, recreated)
    return None


def two_schedulers(situation: Situation) -> Iterator[Diagnosis]:
    """Another scheduler works on the node that preemption frees for the pod, and can take the place first.

    A nominated pod waits until its victims are gone, and is tried again afterwards. Other schedulers do not know of the
    nomination: the controller of a victim creates a new pod, and its scheduler puts it on the place that was freed. The pod
    then evicts it again, without end. Two schedulers on the same nodes do not respect each other.

    Operators make the other scheduler a profile of the one kube-scheduler, or keep the nodes of both apart.
    """
    # Yield the scheduler that takes the place, with the victim that it placed after the pod was created.
    rival = rival_scheduler(situation.decision)
    if rival is None:
        return
    pods, name = situation.cluster.pods, rival.name
    keys = listed([pods.key(index) for index in rival.pods], most=2)
    what = f"the new pod for {keys}" if rival.recreated else f"its pending {keys}"
    cause = f"{name} ({rival.seen}) does not know of the nomination and can put {what} on the same node first"
    created = situation.pod.metadata.creation_timestamp
    times = ((pods.records[index].metadata.creation_timestamp, index) for index in rival.pods)
    last = max(((time, index) for time, index in times if time is not None), default=None)
    evidence: tuple[str, ...] = ()
    if rival.recreated and created is not None and last is not None and last[0] > created:
        after = time_span((last[0] - created).total_seconds())
        evidence = (
            f"{pods.key(last[1])} was created {after} after {situation.pod.key}, on the same node {rival.node}",
        )
    own = situation.decision.framework.profile.scheduler_name
    workloads = listed(list(dict.fromkeys(situation.owner_of(index) for index in rival.pods)), most=2)
    untried = "the snapshot does not show what the other scheduler is needed for"
    yield Diagnosis(
        rule="two-schedulers",
        cause=cause,
        evidence=evidence,
        advice=(
            Advice(
                summary=f"make {name} a profile of the same kube-scheduler as {own}: profiles of one scheduler respect "
                "nominations",
                risk=Risk.MISTAKE,
                untried=untried,
                command=f"# add a profile {name} to the KubeSchedulerConfiguration, and stop the other scheduler",
            ),
            Advice(
                summary=f"give {name} separate nodes: a taint or label for the pods of each scheduler",
                risk=Risk.MISTAKE,
                untried=untried,
            ),
            Advice(
                summary=f"set schedulerName: {own} in the template of {workloads}", risk=Risk.SHARED, untried=untried
            ),
        ),
    )
