"""A StatefulSet's controller during a rollout (pkg/controller/statefulset ``stateful_set_control.go``).

The controller first creates missing pods, from the lowest ordinal up, then deletes surplus pods. After that it deletes
pods of the old revision, from the highest ordinal down to the partition, and recreates each with its name and claims
once it is gone. With ``OrderedReady`` every step waits while a pod is not available, even one of the old revision.
"""

from __future__ import annotations

import re

from kschedctl.controllers.workloads.update_strategy import StatefulSetRolling
from kschedctl.objects.pod import Pod
from kschedctl.trials.simulate.revisions import MakePod, Revisions
from kschedctl.trials.simulate.rollout_steps import Side
from kschedctl.trials.simulate.world import replacement
from kschedctl.trials.whatif.workload_pods import successor


class RollingStatefulSet:
    """The controller of a StatefulSet that gets a new revision.

    Parameters
    ----------
    revisions : Revisions
        The pods of the StatefulSet.
    name : str
        The name of the StatefulSet.
    ordinals : range
        The ordinals of the wanted pods.
    rolling : StatefulSetRolling
        The strategy of the StatefulSet.
    make : callable
        Makes the new pod of an ordinal.
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
            return self._condemn(condemned)
        return not self._rolling.on_delete and self._update(there)

    def _create(self, ordinal: int) -> None:
        name = self._names[ordinal]
        if ordinal in self._updated or name not in self._old:
            self._revisions.create([self._make(ordinal)], Side.NEW)
        else:
            simulation = self._revisions.simulation
            old = successor(self._old[name], simulation.cluster, release=simulation.scheduler.release)
            self._revisions.create([replacement(old, lambda _: False)], Side.OLD)

    def _condemn(self, condemned: list[Pod]) -> bool:
        """Delete the surplus pod with the highest ordinal; return false if there is nothing to do."""
        going = [pod for pod in condemned if pod.metadata.deletion_timestamp is not None]
        left = sorted((pod for pod in condemned if pod not in going), key=self._ordinal, reverse=True)
        if not left or (self._rolling.ordered and going):
            return False
        self._revisions.delete(left[:1], self._revisions.side(left[0].name))
        return True

    def _update(self, there: dict[str, Pod]) -> bool:
        """Delete the next old pods that ``maxUnavailable`` allows; return whether any was deleted."""
        several = self._rolling.max_unavailable
        unavailable = sum(not self._revisions.is_available(pod) for pod in there.values())
        room = several - unavailable if several > 1 else 1
        chosen: list[Pod] = []
        for ordinal in sorted(self._updated, reverse=True):
            pod = there[self._names[ordinal]]
            if len(chosen) >= room:
                break
            if self._revisions.side(pod.name) is Side.OLD and pod.metadata.deletion_timestamp is None:
                chosen.append(pod)
            elif several == 1 and not self._revisions.is_available(pod):
                # With maxUnavailable 1 the next pod is only deleted once this one is available again.
                break
        if chosen:
            self._revisions.delete(chosen, Side.OLD)
        return bool(chosen)

    def _ordinal(self, pod: Pod) -> int:
        """Return the ordinal in a pod's name; -1 if there is none, so that the controller ignores the pod."""
        stem, _, ordinal = pod.name.rpartition("-")
        return int(ordinal) if stem == self._name and re.fullmatch("[0-9]{1,10}", ordinal) else -1
