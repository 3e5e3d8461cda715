"""The causes for which pods of a simulation are pending, from their last scheduling cycles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.pod_groups.causes import cause_in_group
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.trials.simulate.attempts import Attempt

#: At most this many decisions are diagnosed for one answer; the other pods have the scheduler's message alone.
_MOST: Final = 100
#: The controllers whose pods differ in what they need: a node or claims of their own.
_OWN_NEEDS: Final = frozenset({"DaemonSet", "StatefulSet"})


class PendingCauses:
    """The causes for which pods are pending. Pods of one workload with the same message are diagnosed once.

    Parameters
    ----------
    attempts : iterable of Attempt
        The scheduling cycles of a simulation, in order.

    Attributes
    ----------
    last : dict of str to Attempt
        The last cycle of each pod, by ``namespace/name``.
    """

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self.last = {attempt.pod: attempt for attempt in attempts}
        self._known: dict[tuple[str, ...], str] = {}

    def decision(self, key: str) -> Decision | None:
        """Return the last decision for a pod; ``None`` if it was not tried.

        The decision for a member of a pod group is part of the decision for the group.
        """
        attempt = self.last.get(key)
        return attempt.part_of_group if attempt is not None else None

    def of(self, key: str) -> str:
        """Return the cause for a pod; empty if the pod was scheduled, was not tried, or too many were diagnosed."""
        decision = self.decision(key)
        if decision is None or decision.schedulable:
            return ""
        kind, namespace, name = workload_of(decision.cluster, decision.pod.metadata)
        alike = (self.last[key].message, kind, namespace, name) if kind not in _OWN_NEEDS else (key,)
        if alike not in self._known:
            if len(self._known) >= _MOST:
                return ""
            found = diagnose(decision)
            self._known[alike] = cause_in_group(decision, found[0].cause if found else "")
        return self._known[alike]

    def of_any(self, keys: Iterable[str]) -> str:
        """Return the cause for the first of some pods that has one; empty if none has."""
        return next((cause for key in keys if (cause := self.of(key))), "")

    def of_pod(self, pod: Pod) -> str:
        """Return the cause for a pod."""
        return self.of(pod.key)
