"""The controllers of Deployments and StatefulSets during a rollout, and the pods of their revisions."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.placed_pods import age, pod_at
from kschedctl.controllers.admission.resource_quota import quota_refusals
from kschedctl.controllers.disruption import is_unready
from kschedctl.controllers.workloads.update_strategy import DeploymentRolling, StatefulSetRolling
from kschedctl.objects.pod import DELETION_COST, Pod
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.resources import RequestRules
from kschedctl.objects.selectors import parse_int64
from kschedctl.scheduler.volumes.attach_once import AttachedElsewhere, attached_elsewhere
from kschedctl.trials.simulate.rollout_steps import RolloutStep, Side
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEvent
from kschedctl.trials.simulate.world import replacement
from kschedctl.trials.whatif.pods import successor

# The pods of a workload during a rollout: old and new, present and available; creation and deletion.

#: Returns the pod of an ordinal or number, as its controller creates it and admission changes it.
MakePod = Callable[[int], Pod]
_GOING: Final = frozenset({TimelineEvent.PREEMPTED, TimelineEvent.EVICTED, TimelineEvent.DELETED})
_LONG_AGO: Final = float("-inf")


class Revisions:
    """The pods of one workload in a simulation, by revision.

    steps: The steps done so far.
    lowest: The smallest number of pods that were available at any time.
    attaching: The pods that wait for a volume that is attached to another node, by name.
    refused: The message of the quota that refused the last new pod; empty if it was created.

    Args:
        sides: The revision of each existing pod, by name.
        min_ready_seconds: The seconds that a new pod must be ready before it is available; 0 by default.
    """

    def __init__(
        self, simulation: Simulation, namespace: str, sides: Mapping[str, Side], min_ready_seconds: int = 0
    ) -> None:
        self.simulation = simulation
        self.namespace = namespace
        self.steps: list[RolloutStep] = []
        self.attaching: dict[str, AttachedElsewhere] = {}
        self.refused = ""
        self._sides = dict(sides)
        self._min_ready_seconds = min_ready_seconds
        self._seen = len(simulation.timeline)
        self._has_quota = any(quota.namespace == namespace for quota in simulation.cluster.list(ResourceQuota))
        #: The time since which each pod is ready, in seconds of the virtual clock.
        self._ready = {pod.name: _LONG_AGO for pod in self.pods() if pod.spec.node_name}
        self.lowest = len(self.available())

    def side(self, name: str) -> Side:
        """Return the revision of a pod."""
        return self._sides[name]

    def pods(self, side: Side | None = None) -> list[Pod]:
        """Return the existing pods of both revisions or of one, terminating pods included."""
        index = self.simulation.cluster.pods.index
        return [
            pod_at(self.simulation.cluster, index[self.namespace, name])
            for name, own in self._sides.items()
            if (side is None or own is side) and (self.namespace, name) in index
        ]

    def active(self, side: Side | None = None) -> list[Pod]:
        """Return the pods of both revisions or of one that are not terminating."""
        return [pod for pod in self.pods(side) if pod.metadata.deletion_timestamp is None]

    def available(self, side: Side | None = None) -> list[Pod]:
        """Return the pods of both revisions or of one that are available."""
        return [pod for pod in self.active(side) if self.is_available(pod)]

    def is_available(self, pod: Pod) -> bool:
        """Report whether a pod is available: not terminating, and ready for at least ``min_ready_seconds``."""
        since = self._ready.get(pod.name)
        if since is None or pod.metadata.deletion_timestamp is not None:
            return False
        # A pod that was bound in the snapshot and is still Pending has not been started: it may never run.
        if is_unready(pod) or pod.status.phase == "Pending":
            return False
        return self.simulation.clock.now() >= since + self._min_ready_seconds

    def observe(self) -> None:
        """Record what happened in the simulation since the last call."""
        timeline = self.simulation.timeline
        fewer = False
        for entry in timeline[self._seen :]:
            namespace, _, name = entry.pod.partition("/")
            if namespace != self.namespace or name not in self._sides:
                continue
            fewer = fewer or entry.event in _GOING
            if entry.event is TimelineEvent.SCHEDULED:
                self._mark_ready(name)
        if len(timeline) > self._seen:
            for name in list(self.attaching):
                self._mark_ready(name)
        self._seen = len(timeline)
        if fewer:
            # Counting only if pods have gone keeps the cost linear in the number of pods.
            self.lowest = min(self.lowest, len(self.available()))

    def _mark_ready(self, name: str) -> None:
        """Record that a bound pod is ready, unless one of its volumes is attached to another node."""
        cluster = self.simulation.cluster
        index = cluster.pods.index.get((self.namespace, name))
        elsewhere = attached_elsewhere(cluster, pod_at(cluster, index)) if index is not None else None
        self.attaching.pop(name, None)
        if elsewhere is not None:
            self.attaching[name] = elsewhere
            return
        now = self._ready[name] = self.simulation.clock.now()
        if self._min_ready_seconds:
            # No event marks the moment at which the pod becomes available, but the controller must look at it then.
            self.simulation.clock.schedule(now + self._min_ready_seconds, _nothing)

    def within_quota(self, pods: Iterable[Pod]) -> list[Pod]:
        """Return the first of some new pods, as many as the quotas of the namespace admit."""
        simulation = self.simulation
        if not self._has_quota:
            return list(pods)
        rules = RequestRules.of(simulation.scheduler.release)
        cluster = simulation.cluster
        admitted: list[Pod] = []
        for pod in pods:
            refusals = quota_refusals(pod, cluster, rules)
            self.refused = refusals[0].message if refusals else ""
            if refusals:
                break
            admitted.append(pod)
            cluster = cluster.with_pods(added=[pod])
        return admitted

    def create(self, pods: Iterable[Pod], side: Side) -> None:
        """Create pods of a revision, as one step."""
        new = list(pods)
        before = len(self.active(side))
        for pod in new:
            self._sides[pod.name] = side
            self._ready.pop(pod.name, None)
        self.simulation.create(new)
        self._ready |= {pod.name: self.simulation.clock.now() for pod in new if pod.spec.node_name}
        self._done(side, before, new)

    def delete(self, pods: Iterable[Pod], side: Side) -> None:
        """Delete pods of a revision, as one step; a pod without a node is gone at once."""
        gone = list(pods)
        before = len(self.active(side))
        for pod in gone:
            if pod.spec.node_name:
                self.simulation.delete(pod)
            else:
                self.simulation.remove(pod)
        self._done(side, before, gone)

    def _done(self, side: Side, before: int, pods: list[Pod]) -> None:
        after = len(self.active(side))
        keys = tuple(pod.key for pod in pods)
        self.observe()
        available = len(self.available())
        self.lowest = min(self.lowest, available)
        now = self.simulation.now()
        seconds = (now - self.steps[0].time).total_seconds() if self.steps else 0.0
        self.steps.append(RolloutStep(len(self.steps) + 1, now, seconds, side, before, after, keys, available))


def with_name(pod: Pod, name: str) -> Pod:
    """Return the pod under another name."""
    return replace(pod, metadata=replace(pod.metadata, name=name))


def _nothing() -> None:
    pass


# The controllers of a Deployment and of its ReplicaSets during a rollout (pkg/controller/deployment).
#
# Source: ``rolling.go`` and ``recreate.go``. The new ReplicaSet grows by at most ``replicas + maxSurge`` minus the
# sum of ``spec.replicas`` of all ReplicaSets. The old ones first lose pods that are not available, at most
# ``all - (replicas - maxUnavailable) - new pods not available``, then available pods down to
# ``replicas - maxUnavailable``. ``ActivePodsWithRanks`` (pkg/controller) decides which pods a ReplicaSet deletes; among
# equal pods the newest goes first, then the first by name.


class RollingDeployment:
    """The controller of a Deployment that gets a new revision.

    Args:
        make: Makes a new pod of the Deployment by number.
        old_replicas: ``spec.replicas`` of the old ReplicaSets that the cluster has. A ReplicaSet that lacks pods
            still counts with it; the pods that it lacks are not created: something refuses them.
        rescaled: True if the rollout also changes the number of replicas: a single old ReplicaSet is then scaled to
            it first.
    """

    def __init__(
        self,
        revisions: Revisions,
        replicas: int,
        rolling: DeploymentRolling,
        make: MakePod,
        *,
        old_replicas: Mapping[str, int],
        rescaled: bool = False,
    ) -> None:
        self._revisions = revisions
        self._replicas = replicas
        self._rolling = rolling
        self._make = make
        #: The wanted number of pods of each old ReplicaSet, the oldest first; ``_new`` is that of the new one.
        old = sorted(revisions.active(Side.OLD), key=age)
        active = Counter(_replica_set(pod) for pod in old)
        self._old = active | Counter(old_replicas)
        absent = self._old - active
        self._new = len(revisions.active(Side.NEW))
        self._last = {_replica_set(pod): pod for pod in old}
        if rescaled and len(active) == len(self._old) == 1 and not self._new:
            self._old = Counter(dict.fromkeys(self._old, replicas))
        #: The largest number of pods that each old ReplicaSet can have, without those that it lacks from the beginning.
        self._most = active | (self._old - absent)

    @property
    def finished(self) -> bool:
        """True if the wanted number of pods exists, all are of the new revision, and all are available."""
        revisions = self._revisions
        new = revisions.active(Side.NEW)
        return (
            not revisions.active(Side.OLD)
            and len(new) == self._new == self._replicas
            and len(revisions.available(Side.NEW)) == self._replicas
        )

    def act(self) -> bool:
        """Take the controller's next action; return false if there is nothing to do."""
        if self._keep():
            return True
        if not self._rolling.recreate:
            return self._roll()
        if self._old.total():
            self._old = Counter(dict.fromkeys(self._old, 0))
        elif self._revisions.pods(Side.OLD):
            return False
        else:
            self._new = self._replicas
        return self._keep()

    def _keep(self) -> bool:
        """Bring the first ReplicaSet that differs to its wanted number of pods; return whether one differed."""
        active = self._revisions.active(Side.OLD)
        by_set = Counter(_replica_set(pod) for pod in active)
        for name, replicas in self._old.items():
            wanted = min(replicas, self._most[name])
            if by_set[name] < wanted:
                self._revisions.create(self._again(name, wanted - by_set[name]), Side.OLD)
                return True
            if by_set[name] > wanted:
                own = [pod for pod in active if _replica_set(pod) == name]
                self._revisions.delete(self._to_delete(own, len(own) - wanted), Side.OLD)
                return True
        new = self._revisions.active(Side.NEW)
        if len(new) < self._new:
            taken = self._revisions.simulation.cluster.pods.index
            free = (i for i in count() if (self._revisions.namespace, self._make(i).name) not in taken)
            fresh = self._revisions.within_quota(self._make(i) for i in islice(free, self._new - len(new)))
            if not fresh:
                return False
            self._revisions.create(fresh, Side.NEW)
        elif len(new) > self._new:
            self._revisions.delete(self._to_delete(new, len(new) - self._new), Side.NEW)
        return len(new) != self._new

    def _roll(self) -> bool:
        revisions, replicas, rolling = self._revisions, self._replicas, self._rolling
        n_old = self._old.total()
        before = self._new, n_old
        if self._new > replicas:
            self._new = replicas
        elif self._new < replicas and (room := replicas + rolling.max_surge - self._new - n_old) > 0:
            self._new += min(room, replicas - self._new)
        elif n_old:
            least = replicas - rolling.max_unavailable
            n_new_available = len(revisions.available(Side.NEW))
            most = self._new + n_old - least - (self._new - n_new_available)
            if most > 0:
                # Unavailable pods of the old ReplicaSets go first, then what exceeds the pods that must be available.
                available = Counter(_replica_set(pod) for pod in self._revisions.available(Side.OLD))
                for name, wanted in self._old.items():
                    cleaned = min(max(wanted - available[name], 0), most)
                    self._old[name] = wanted - cleaned
                    most -= cleaned
                surplus = n_new_available - least + available.total()
                for name, wanted in self._old.items():
                    taken = min(wanted, max(surplus, 0))
                    self._old[name] = wanted - taken
                    surplus -= taken
        if (self._new, self._old.total()) == before:
            return False
        # If a quota refuses the new pods, the next action may still delete old ones.
        self._keep()
        return True

    def _again(self, replica_set: str, number: int) -> Iterator[Pod]:
        """Yield pods like the last one of an old ReplicaSet."""
        simulation = self._revisions.simulation
        like = successor(self._last[replica_set], simulation.cluster, release=simulation.scheduler.release)
        taken = {name for namespace, name in simulation.cluster.pods.index if namespace == like.namespace}
        for _ in range(number):
            pod = replacement(like, taken.__contains__)
            taken.add(pod.name)
            yield pod

    def _to_delete(self, pods: list[Pod], number: int) -> list[Pod]:
        """Return the pods that a ReplicaSet deletes when it has too many."""
        per_node = Counter(pod.spec.node_name for pod in self._revisions.active())

        def rank(pod: Pod) -> tuple[object, ...]:
            placed = bool(pod.spec.node_name)
            cost = parse_int64(pod.metadata.annotations.get(DELETION_COST, "")) or 0
            return (
                placed,
                placed and self._revisions.is_available(pod),
                cost,
                -per_node[pod.spec.node_name] if placed else 0,
                -age(pod),
                pod.name,
            )

        return sorted(pods, key=rank)[:number]


def _replica_set(pod: Pod) -> str:
    owner = pod.metadata.controller
    return owner.name if owner is not None else ""


# A StatefulSet's controller during a rollout (pkg/controller/statefulset ``stateful_set_control.go``).
#
# The controller first creates missing pods, from the lowest ordinal up, then deletes surplus pods. After that it
# deletes
# pods of the old revision, from the highest ordinal down to the partition, and recreates each with its name and claims
# once it is gone. With ``OrderedReady`` every step waits while a pod is not available, even one of the old revision.


class RollingStatefulSet:
    """The controller of a StatefulSet that gets a new revision.

    Args:
        make: Makes the new pod of an ordinal.
    """

    def __init__(
        self, revisions: Revisions, name: str, ordinals: range, rolling: StatefulSetRolling, make: MakePod
    ) -> None:
        self._revisions = revisions
        self._name = name
        self._rolling = rolling
        self._make = make
        self._names = {ordinal: f"{name}-{ordinal}" for ordinal in ordinals}
        self._updated = {ordinal for ordinal in ordinals if ordinal >= ordinals.start + rolling.partition}
        #: The pods of the old revision by name, from which pods below the partition are recreated.
        self._old = {pod.name: pod for pod in revisions.pods(Side.OLD)}

    @property
    def finished(self) -> bool:
        """True if all pods from the partition on are of the new revision, and all pods are available."""
        active = {pod.name: pod for pod in self._revisions.active() if self._ordinal(pod) >= 0}
        if set(active) != set(self._names.values()):
            return False
        if any(self._revisions.side(self._names[ordinal]) is Side.OLD for ordinal in self._updated):
            return False
        return all(map(self._revisions.is_available, active.values()))

    def act(self) -> bool:
        """Take the controller's next action; return false if there is nothing to do."""
        there = {pod.name: pod for pod in self._revisions.pods()}
        ordered = self._rolling.ordered
        for ordinal, name in self._names.items():
            pod = there.get(name)
            if pod is None:
                self._create(ordinal)
                return True
            if ordered and not self._revisions.is_available(pod):
                return False
        condemned = [pod for name, pod in there.items() if name not in self._names.values() and self._ordinal(pod) >= 0]
        if condemned:
            # The surplus pod with the highest ordinal goes first.
            going = [pod for pod in condemned if pod.metadata.deletion_timestamp is not None]
            left = sorted((pod for pod in condemned if pod not in going), key=self._ordinal, reverse=True)
            if not left or (self._rolling.ordered and going):
                return False
            self._revisions.delete(left[:1], self._revisions.side(left[0].name))
            return True
        if self._rolling.on_delete:
            return False
        several = self._rolling.max_unavailable
        unavailable = sum(not self._revisions.is_available(each) for each in there.values())
        room = several - unavailable if several > 1 else 1
        chosen: list[Pod] = []
        for ordinal in sorted(self._updated, reverse=True):
            old = there[self._names[ordinal]]
            if len(chosen) >= room:
                break
            if self._revisions.side(old.name) is Side.OLD and old.metadata.deletion_timestamp is None:
                chosen.append(old)
            elif several == 1 and not self._revisions.is_available(old):
                # With maxUnavailable 1 the next pod is only deleted once this one is available again.
                break
        if chosen:
            self._revisions.delete(chosen, Side.OLD)
        return bool(chosen)

    def _create(self, ordinal: int) -> None:
        name = self._names[ordinal]
        if ordinal in self._updated or name not in self._old:
            self._revisions.create([self._make(ordinal)], Side.NEW)
        else:
            simulation = self._revisions.simulation
            old = successor(self._old[name], simulation.cluster, release=simulation.scheduler.release)
            self._revisions.create([replacement(old, lambda _: False)], Side.OLD)

    def _ordinal(self, pod: Pod) -> int:
        """Return the ordinal in a pod's name; -1 if there is none, so that the controller ignores the pod."""
        stem, _, ordinal = pod.name.rpartition("-")
        return int(ordinal) if stem == self._name and re.fullmatch("[0-9]{1,10}", ordinal) else -1
