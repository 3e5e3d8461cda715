"""Queueing hints of InterPodAffinity: events that may help a rejected pod (upstream ``isSchedulableAfter...``).

Terms are matched without namespace labels, as upstream does here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import QueueRules
from kschedctl.objects.selectors import SelectorError
from kschedctl.scheduler.framework.events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    is_on_node,
    registered,
    same_pod,
)
from kschedctl.scheduler.plugins.inter_pod_affinity.terms import AffinityTerm, parse_pod_terms


class InterPodAffinityHints:
    """The queueing hints of InterPodAffinity under the rules of a release.

    Parameters
    ----------
    rules : QueueRules
        The rules.
    """

    def __init__(self, rules: QueueRules) -> None:
        self._rules = rules

    @property
    def events(self) -> tuple[ClusterEventWithHint, ...]:
        """The events that the plugin registers."""
        pods = EventResource.POD if self._rules.unscheduled_pods_wake else EventResource.ASSIGNED_POD
        own = registered(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
        of_pods = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        of_nodes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return (
            registered(pods, of_pods, self.after_pod_change),
            *(() if self._rules.unscheduled_pods_wake else (own,)),
            registered(EventResource.NODE, of_nodes, self.after_node_change),
        )

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Report whether an added, deleted or relabelled pod may let the pod fit."""
        if old is not None and new is not None and same_pod(pod, new):
            return True
        counts = self._rules.nominated_pods_wake
        if any(other is not None and not is_on_node(other, or_nominated=counts) for other in (old, new)):
            return False
        try:
            terms = parse_pod_terms(pod)
            near, far = terms.required_affinity, terms.required_anti_affinity
            if new is not None and old is not None:
                met = not _means(all, near, old) and _means(all, near, new)
                return met or (self._parted(far, old) and not self._parted(far, new))
            if new is not None:
                return _means(all, near, new)
            if old is None or self._parted(far, old):
                return True
            if not self._rules.anti_affinity_of_deleted_pods_wakes:
                return False
            return self._parted(parse_pod_terms(old).required_anti_affinity, pod)
        except SelectorError:
            # Upstream queues the pod if a hint returns an error.
            return True

    def _parted(self, terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
        return _means(any if self._rules.any_anti_affinity_term_wakes else all, terms, pod)

    def after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Report whether an added or relabelled node may create, join or leave a domain of the pod's required terms."""
        try:
            terms = parse_pod_terms(pod)
        except SelectorError:
            return True
        labels = new.metadata.labels
        if old is None:
            return bool(terms.required_anti_affinity) or any(t.topology_key in labels for t in terms.required_affinity)
        before = old.metadata.labels
        return any(
            labels.get(term.topology_key) not in (None, before.get(term.topology_key))
            for term in terms.required_affinity
        ) or any(
            before.get(term.topology_key) not in (None, labels.get(term.topology_key))
            for term in terms.required_anti_affinity
        )


def _means(quantifier: Callable[[Iterable[bool]], bool], terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    """Report whether all, or any, of the terms match a pod; False without terms."""
    return bool(terms) and quantifier(term.matches(pod, {}) for term in terms)
