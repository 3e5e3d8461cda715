"""The threats to a pod: the pending pods that would evict it."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from kschedctl.questions.analyses.preempt.answer import possible_victims_of
from kschedctl.questions.analyses.provenance import Provenance, envelope, provenance
from kschedctl.questions.answers.preempt import TakerData, Threat
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from kschedctl.sources.snapshot.pod_choice import find_pod
from kschedctl.trials.completeness import missing_for_any, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.simulated_cluster import pending_pods


@dataclass(frozen=True, slots=True)
class Taker:
    """A pending pod that would evict a given pod.

    Attributes
    ----------
    decision : Decision
        The decision for the pending pod.
    node : str
        The node to which the pending pod would be nominated.
    certain : bool
        True if chance does not matter: the pod's node is the only one that may be chosen, and the pod is a victim in
        every order of the pods that tie.
    """

    decision: Decision
    node: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Exposure:
    """The pending pods that would evict a pod, and the priority that would keep it safe.

    Attributes
    ----------
    takers : tuple of Taker
        The pending pods that would evict the pod, highest priority first.
    safe_priority : int or None
        The lowest priority with which none of them would evict the pod; ``None`` if there are none.
    safe_class : str
        The lowest PriorityClass with at least this priority; empty if there is none.
    """

    takers: tuple[Taker, ...]
    safe_priority: int | None
    safe_class: str


def exposure(scheduler: Scheduler, victim: int) -> Exposure:
    """Find the pending pods that would evict a pod, each decided for in the unchanged snapshot.

    Parameters
    ----------
    victim : int
        The index of the pod in ``Cluster.pods``.
    """
    pods = scheduler.cluster.pods
    takers = []
    for index in pending_pods(scheduler.cluster):
        pod = pods.pod(index)
        if pods.priority[index] <= pods.priority[victim] or not scheduler.knows(pod):
            continue
        decision = scheduler.decide(pod)
        # A pod with a gate is not tried, so it evicts nobody.
        if decision.preemption is None or decision.pre_enqueue.code is not Code.SUCCESS:
            continue
        nodes = decision.preemption.nominated
        node = pods.records[victim].node_name
        possible = possible_victims_of(decision, node) if node in nodes else None
        if possible is not None and victim in possible.possible:
            takers.append(Taker(decision, node, len(nodes) == 1 and victim in possible.certain))
    if not takers:
        return Exposure((), None, "")
    # A pod is evicted only for one of higher priority.
    safe = max(taker.decision.pod.spec.priority or 0 for taker in takers)
    classes = [c for c in scheduler.cluster.list(PriorityClass) if c.value >= safe]
    return Exposure(tuple(takers), safe, min(classes, key=lambda c: c.value).name if classes else "")


def threat(cluster: LoadedCluster, pod: str) -> Threat:
    """Report the pending pods that would evict a pod of the cluster, given as ``namespace/name``.

    Raises
    ------
    ManifestError
        If there is no such pod.
    """
    namespace, _, name = pod.rpartition("/")
    require_listed(cluster.cluster, "Pod")
    cluster.require_nodes()
    stored = find_pod(cluster.pods, name, namespace or DEFAULT_NAMESPACE)
    key = stored.metadata.namespace, stored.metadata.name
    victim, scheduler = cluster.find(stored), cluster.scheduler
    if cluster.pod_edits:
        scheduler = scheduler.moved(cluster.cluster.with_pods(removed=[cluster.pods.index[key]], added=[victim]))
    found = exposure(scheduler, scheduler.cluster.pods.index[key])
    rests_on = provenance(cluster, missing_for_any(cluster.cluster, preempts=True), pod=stored, evicts=True)
    return threat_answer(found, victim, rests_on, cluster.cluster, node_name=cluster.node_name(victim))


def threat_answer(found: Exposure, victim: Pod, provenance: Provenance, cluster: Cluster, *, node_name: str) -> Threat:
    """Return the pods that would evict a pod as data.

    Parameters
    ----------
    found : Exposure
        The pods that would evict it.
    victim : Pod
        The pod.
    provenance : Provenance
        The provenance of the answer.
    node_name : str
        The node that the pod runs on; empty if it is pending.
    """
    takers = tuple(_taker(taker, victim) for taker in found.takers)
    return Threat(
        victim=victim.key,
        priority=victim.spec.priority or 0,
        priority_class_name=victim.spec.priority_class_name,
        node=node_name,
        summary=_summary(found, victim, node_name, takers),
        takers=takers,
        safe_priority=found.safe_priority,
        safe_class=found.safe_class,
        pending=len(pending_pods(cluster)),
        **envelope(cluster, provenance),
    )


def _taker(taker: Taker, victim: Pod) -> TakerData:
    pod, preemption = taker.decision.pod, taker.decision.preemption
    pods = taker.decision.cluster.pods
    candidates = preemption.candidates if preemption is not None else ()
    violates = any(
        other.violates and pods.key(other.pod) == victim.key
        for candidate in candidates
        if candidate.node == taker.node
        for other in candidate.victims
    )
    return TakerData(pod.key, pod.spec.priority or 0, pod.spec.priority_class_name, taker.node, taker.certain, violates)


def _summary(found: Exposure, victim: Pod, node: str, takers: tuple[TakerData, ...]) -> str:
    if not node:
        return f"{victim.key} is on no node: no pod would evict it."
    if not takers:
        return f"{victim.key} is safe: no pending pod would evict it from {node}."
    whom = takers[0].name if len(takers) == 1 else f"{len(takers)} pending pods"
    may = "would" if any(taker.certain for taker in takers) else "may"
    return f"{victim.key} {may} be evicted from {node} by {whom}."
