"""Queueing hints of PodTopologySpread: events that may help a rejected pod (upstream ``isSchedulableAfter...``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import QueueRules
from kschedctl.scheduler.framework.events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    is_on_node,
    registered,
    same_pod,
)
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint


class PodTopologySpreadHints:
    """The queueing hints of PodTopologySpread under the rules of a release.

    Parameters
    ----------
    rules : QueueRules
        The rules.
    constraints : callable
        Returns a pod's hard constraints, or the defaults for the pod.
    """

    def __init__(self, rules: QueueRules, constraints: Callable[[Pod], tuple[SpreadConstraint, ...]]) -> None:
        self._rules = rules
        self._constraints = constraints

    @property
    def events(self) -> tuple[ClusterEventWithHint, ...]:
        """The events that the plugin registers."""
        of_pods = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        own = ActionType.UPDATE_POD_TOLERATION | ActionType.UPDATE_POD_LABEL
        of_nodes = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        nodes = registered(EventResource.NODE, of_nodes, self.after_node_change)
        if self._rules.unscheduled_pods_wake:
            return registered(EventResource.POD, of_pods | own, self.after_pod_change), nodes
        return (
            registered(EventResource.ASSIGNED_POD, of_pods, self.after_pod_change),
            registered(EventResource.TARGET_POD, own, self.after_pod_change),
            nodes,
        )

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Report whether an added, deleted or updated pod may change the counts."""
        if any(other is not None and not self._involved(other, pod) for other in (old, new)):
            return False
        try:
            constraints = self._constraints(pod)
        except PluginError:
            # Upstream queues the pod if a hint returns an error.
            return True
        if old is not None and new is not None:
            tolerates_else = same_pod(pod, new) and old.spec.tolerations != new.spec.tolerations
            if tolerates_else and any(constraint.honor_taints for constraint in constraints):
                return True
            if old.metadata.labels == new.metadata.labels:
                return False
            return any(constraint.selects(old) != constraint.selects(new) for constraint in constraints)
        changed = new if new is not None else old
        return changed is not None and any(constraint.selects(changed) for constraint in constraints)

    def _involved(self, other: Pod, pod: Pod) -> bool:
        if same_pod(other, pod):
            return True
        on_node = is_on_node(other, or_nominated=self._rules.nominated_pods_wake)
        return on_node and other.namespace == pod.namespace

    def after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        """Report whether an added, deleted or updated node may add a domain, or remove the one with the fewest pods."""
        try:
            constraints = self._constraints(pod)
        except PluginError:
            return True
        had, has = (node is not None and _has_all_keys(node, constraints) for node in (old, new))
        if old is None or new is None:
            return had or has
        if had != has:
            return True
        return has and (_domains(old, constraints) != _domains(new, constraints) or old.spec.taints != new.spec.taints)


def _has_all_keys(node: Node, constraints: Iterable[SpreadConstraint]) -> bool:
    return all(constraint.topology_key in node.metadata.labels for constraint in constraints)


def _domains(node: Node, constraints: Iterable[SpreadConstraint]) -> list[str | None]:
    return [node.metadata.labels.get(constraint.topology_key) for constraint in constraints]
