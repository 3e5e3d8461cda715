"""The consequences of a preemption: when the pod can start, and where its victims can be scheduled."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import nominated_to, pod_at
from kschedctl.cluster.pod_groups import grouped_pods
from kschedctl.cluster.records import PENDING
from kschedctl.controllers.workloads.claims import with_own_claims
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.meta import OwnerReference
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.ranking import SEARCH_POINTS, effect_of_copies, likeness_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.plugins.dynamic_resources.binding import with_allocated_claims
from kschedctl.scheduler.preemption.result import Candidate
from kschedctl.trials.simulate.simulated_cluster import IN_PLACE_OF
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent
from kschedctl.trials.simulate.world import grace_seconds
from kschedctl.trials.whatif.pods import move_pods, successor

#: The extension points whose plugins decide for a recreated pod, besides PreEnqueue.
_POINTS: Final = (*SEARCH_POINTS, ExtensionPoint.POST_FILTER)


class VictimFate(msgspec.Struct, frozen=True):
    """The outcome for a preemption victim."""

    #: Its index in ``Cluster.pods``.
    pod: int
    #: The seconds until the pod is gone at the latest: its grace period; for a pod that is already being deleted,
    #: the time from the snapshot to its deletion timestamp.
    wait_seconds: int
    #: The controller that recreates the pod; ``None`` if no controller does.
    owner: OwnerReference | None
    #: True if the pod belongs to a DaemonSet, whose new pod can only run on the same node.
    bound_to_node: bool
    #: The decision for the recreated pod, or one like it, with the preemptor in place; ``None`` without a controller,
    #: and for another scheduler's pod.
    replacement: Decision | None


class PreemptorOutcome(msgspec.Struct, frozen=True):
    """The outcome for a pod that evicts others, if no other pending pod is tried."""

    #: The node that the pod is bound to; empty if it stays pending.
    node: str
    #: The virtual time until the pod is bound, or until nothing more can happen.
    seconds: float
    #: The pods that it evicts after the first victims, ``namespace/name``, in order.
    evicted: tuple[str, ...]
    #: True if the pod is given up after 25 more preemptions, as the pods that it evicts are always recreated
    #: first.
    gives_up: bool
    #: The scheduler's last message for a pod that stays pending.
    message: str
    #: The nodes of the recreated pods that are scheduled before it, by the victim's ``namespace/name``.
    returns: dict[str, str]


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The consequences of taking a preemption candidate.

    Attributes
    ----------
    node : str
        The node to which the pod is nominated.
    wait_seconds : int
        The longest time that the pod waits, in seconds: until the last victim is gone.
    victims : tuple of VictimFate
        The victims, the most important first.
    outcome : PreemptorOutcome or None
        The outcome for the pod, by a simulation; ``None`` for a pod that the scheduler does not try.
    """

    node: str
    wait_seconds: int
    victims: tuple[VictimFate, ...]
    outcome: PreemptorOutcome | None


def aftermath(scheduler: Scheduler, decision: Decision, candidate: Candidate) -> Aftermath:
    """Compute the consequences of taking a preemption candidate."""
    cluster = scheduler.cluster
    preemptor = replace(decision.pod, spec=replace(decision.pod.spec, node_name=candidate.node))
    row = cluster.nodes.row[candidate.node]
    moved = move_pods(
        with_allocated_claims(cluster, decision.pod, decision.state, row),
        removed=[victim.pod for victim in candidate.victims],
    )
    after = scheduler.moved(moved.cluster.with_pods(added=[preemptor]))
    decided: dict[bytes, Decision] = {}
    fates = tuple(_fate(scheduler, after, victim.pod, cluster.taken_at, decided) for victim in candidate.victims)
    return Aftermath(
        candidate.node,
        max((fate.wait_seconds for fate in fates), default=0),
        fates,
        _simulated_outcome(scheduler, decision, candidate),
    )


def _simulated_outcome(scheduler: Scheduler, decision: Decision, candidate: Candidate) -> PreemptorOutcome | None:
    """Simulate the pod and its victims until the pod is bound or nothing more can happen.

    Return ``None`` for a pod that the scheduler does not try.
    """
    simulation = Simulation(scheduler)
    pod = nominated_to(decision.pod, candidate.node)
    victims = [pod_at(scheduler.cluster, victim.pod) for victim in candidate.victims]
    simulation.create([pod])
    for victim in victims:
        if victim.metadata.deletion_timestamp is None:
            simulation.delete(victim, preempted=True)
    evicted: list[str] = []
    node = message = ""
    tried = False
    for attempt in simulation:
        if attempt.pod == pod.key:
            tried, node, message = True, attempt.node, attempt.message
            evicted += attempt.victims
        if node:
            break
    if not tried:
        return None
    seconds = (simulation.now() - simulation.began).total_seconds()
    # The first node of each recreated pod, by the name of the pod that it replaces.
    replaced: dict[str, str] = {}
    returns: dict[str, str] = {}
    for entry in simulation.timeline:
        if entry.event is TimelineEvent.CREATED and entry.why.startswith(IN_PLACE_OF):
            replaced[entry.pod] = entry.why.removeprefix(IN_PLACE_OF)
        elif entry.event is TimelineEvent.SCHEDULED and entry.pod in replaced:
            returns.setdefault(replaced[entry.pod], entry.node)
    return PreemptorOutcome(node, seconds, tuple(evicted), pod.key in simulation.restless, message, returns)


def _fate(
    scheduler: Scheduler, after: Scheduler, index: int, now: datetime | None, decided: dict[bytes, Decision]
) -> VictimFate:
    """Return the fate of a victim.

    Args:
        after: The scheduler over the cluster with the preemptor in place of all victims.
        decided: The decisions that pods which are alike share, by what is equal for these; it is updated.
    """
    pods = scheduler.cluster.pods
    owner = pods.owner(index)
    pod = pods.pod(index)
    replacement = None
    if owner is not None and scheduler.knows(pod):
        made = with_own_claims(MadePod(successor(pod, scheduler.cluster, release=scheduler.release)), after.cluster)
        if made.objects:
            # Claims of its own: no other pod is like it.
            replacement = scheduler.moved(after.cluster.with_added(made.objects)).decide(made.pod)
        else:
            replacement = _decision_for(after, made.pod, decided)
    record = pods.records[index]
    ends = record.metadata.deletion_timestamp
    return VictimFate(
        index,
        (grace_seconds(record.spec) if ends is None or now is None else max(int((ends - now).total_seconds()), 0)),
        owner,
        owner is not None and owner.kind == "DaemonSet",
        replacement,
    )


def _decision_for(scheduler: Scheduler, pod: Pod, decided: dict[bytes, Decision]) -> Decision:
    """Return the decision for a recreated pod, or the one for a pod like it."""
    key = msgspec.msgpack.encode(likeness_of(pod))
    # PreEnqueue plugins, and others that state no reach, may depend on the pod's name.
    is_tried = scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod).code is Code.SUCCESS
    if is_tried and key in decided:
        return decided[key]
    decision = scheduler.decide(pod)
    if is_tried and effect_of_copies(decision, _POINTS) is not None:
        decided[key] = decision
    return decision


# The pod groups that lose members in a simulation.
#
# The Eviction API and controllers end single pods: ``disruptionMode`` holds for preemption only, and ``minCount`` only
# while pods are scheduled. The other members run on, with fewer pods than the group was scheduled with.

_LEAVING: Final = frozenset({TimelineEvent.EVICTED, TimelineEvent.PREEMPTED, TimelineEvent.DELETED})


class GroupLoss(msgspec.Struct):
    """A pod group that loses members."""

    #: The namespace and name of the PodGroup.
    namespace: str
    name: str
    #: The PodGroup; ``None`` if it does not exist.
    pod_group: PodGroup | None
    #: The number of members on nodes at first, without those that are being deleted.
    before: int
    #: The members that are evicted or deleted, and those that are preempted, ``namespace/name`` in order.
    evicted: list[str] = msgspec.field(default_factory=list)
    preempted: list[str] = msgspec.field(default_factory=list)
    #: The members on nodes at the end.
    on_nodes: set[str] = msgspec.field(default_factory=set)
    #: The smallest number of members on nodes at any time.
    fewest: int = 0


def group_losses(
    before: Cluster, after: Cluster, timeline: Iterable[TimelineEntry], release: Release
) -> tuple[GroupLoss, ...]:
    """Return the groups that lose members, by namespace and name.

    Args:
        before, after: The cluster at the start and at the end of the timeline.
    """
    if release.pod_groups is None:
        return ()
    groups = {**_groups_of_pods(after), **_groups_of_pods(before)}
    losses = {
        (namespace, name): GroupLoss(namespace, name, before.get(PodGroup, name, namespace), 0)
        for namespace, name in groups.values()
    }
    for pod in _on_nodes(before):
        losses[groups[pod]].on_nodes.add(pod)
    for loss in losses.values():
        loss.before = loss.fewest = len(loss.on_nodes)
    for entry in timeline:
        if entry.why.startswith(IN_PLACE_OF) and (group := groups.get(entry.why.removeprefix(IN_PLACE_OF))):
            groups[entry.pod] = group
        if entry.pod not in groups:
            continue
        loss = losses[groups[entry.pod]]
        if entry.event is TimelineEvent.SCHEDULED:
            loss.on_nodes.add(entry.pod)
        elif entry.event in _LEAVING and entry.pod in loss.on_nodes:
            loss.on_nodes.remove(entry.pod)
            (loss.preempted if entry.event is TimelineEvent.PREEMPTED else loss.evicted).append(entry.pod)
            loss.fewest = min(loss.fewest, len(loss.on_nodes))
    return tuple(losses[key] for key in sorted(losses) if losses[key].evicted or losses[key].preempted)


def _groups_of_pods(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Return the namespace and name of the group of each member, by the member's ``namespace/name``."""
    records = cluster.pods.records
    return {
        cluster.pods.key(index): (records[index].metadata.namespace, records[index].spec.pod_group_name)
        for index in grouped_pods(cluster).tolist()
    }


def _on_nodes(cluster: Cluster) -> Iterable[str]:
    pods = cluster.pods
    for index in grouped_pods(cluster).tolist():
        if pods.node_row[index] != PENDING and pods.records[index].metadata.deletion_timestamp is None:
            yield pods.key(index)
