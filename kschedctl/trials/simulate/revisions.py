"""The pods of a workload during a rollout: old and new, present and available; creation and deletion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from kschedctl.controllers.admission.resource_quota import quota_refusals
from kschedctl.controllers.disruption import is_unready
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import ResourceQuota
from kschedctl.objects.resources import RequestRules
from kschedctl.scheduler.volumes.attach_once import AttachedElsewhere, attached_elsewhere
from kschedctl.trials.simulate.pods import pod_at
from kschedctl.trials.simulate.rollout_steps import RolloutStep, Side
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEvent

#: Returns the pod of an ordinal or number, as its controller creates it and admission changes it.
MakePod = Callable[[int], Pod]
_GOING: Final = frozenset({TimelineEvent.PREEMPTED, TimelineEvent.EVICTED, TimelineEvent.DELETED})
_LONG_AGO: Final = float("-inf")


class Revisions:
    """The pods of one workload in a simulation, by revision.

    Parameters
    ----------
    simulation : Simulation
        The simulation of the cluster.
    namespace : str
        The namespace of the workload.
    sides : mapping of str to Side
        The revision of each existing pod, by name.
    min_ready_seconds : int
        The seconds that a new pod must be ready before it is available; 0 by default.

    Attributes
    ----------
    steps : list of RolloutStep
        The steps done so far.
    lowest : int
        The smallest number of pods that were available at any time.
    attaching : dict of str to AttachedElsewhere
        The pods that wait for a volume that is attached to another node, by name.
    refused : str
        The message of the quota that refused the last new pod; empty if it was created.
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
                self._start(name)
        if len(timeline) > self._seen:
            for name in list(self.attaching):
                self._start(name)
        self._seen = len(timeline)
        if fewer:
            # Counting only if pods have gone keeps the cost linear in the number of pods.
            self.lowest = min(self.lowest, len(self.available()))

    def _start(self, name: str) -> None:
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
