"""Decisions for many pods of one cluster, of which each pod group is decided for once."""

from __future__ import annotations

from collections.abc import Callable

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of


class DecidedGroups:
    """Decisions for the pods of one cluster.

    Parameters
    ----------
    decide : callable
        Decides for a pod as kube-scheduler tries it: by itself, or with its group.
    """

    def __init__(self, decide: Callable[[Pod], Decision]) -> None:
        self._decide = decide
        self._known: dict[str, PodGroupDecision] = {}

    def decide(self, pod: Pod) -> Decision:
        """Decide for a pod, or return its part of a decision that was made for another member of its group."""
        known = self._known.get(pod.key)
        if known is not None:
            return known.of_member(pod)
        decision = self._decide(pod)
        group = group_of(decision)
        if group is not None:
            self._known.update((member.pod.key, group) for member in group.members)
        return decision
