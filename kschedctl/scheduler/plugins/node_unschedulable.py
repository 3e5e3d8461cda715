"""NodeUnschedulable: cordoned nodes accept only pods that tolerate ``node.kubernetes.io/unschedulable:NoSchedule``."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.core import Node
from kschedctl.objects.pod import UNSCHEDULABLE_TAINT, Pod, tolerated
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE, OF_NOTHING
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered, same_pod
from kschedctl.scheduler.framework.filter_check import FilterCheck
from kschedctl.scheduler.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.signature import signed_tolerations
from kschedctl.scheduler.framework.status import Code, Reason, Rejections
from kschedctl.scheduler.plugins.tolerations import taint_remedies

REASON: Final = "node(s) were unschedulable"


class Cordoned(Operands, frozen=True):
    """The node is cordoned: ``spec.unschedulable``."""

    def words(self) -> str:
        """State that the node is cordoned."""
        return "the node is cordoned"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to tolerate the taint of cordoned nodes, or to uncordon the node."""
        return taint_remedies(context, UNSCHEDULABLE_TAINT)


class NodeUnschedulable(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/nodeunschedulable."""

    name = "NodeUnschedulable"
    reads = OF_NODE
    prepares_from = OF_NOTHING

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Return Success; upstream has this extension point only for pods with a deferred resize."""
        return PreFilterResult()

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return added or uncordoned nodes, and tolerations added to the pod."""
        pods = self.handle.pods_that_wake(EventResource.TARGET_POD)
        return (
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, _after_node_change),
            registered(pods, ActionType.UPDATE_POD_TOLERATION, _after_toleration_change),
        )

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign the pod by its tolerations."""
        return signed_tolerations(pod)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Reject nodes with ``spec.unschedulable``, unless the pod tolerates the taint of cordoned nodes."""
        cordoned = self.handle.cluster.nodes.unschedulable[nodes.rows]
        if tolerated(pod.spec.tolerations, UNSCHEDULABLE_TAINT):
            cordoned = np.zeros_like(cordoned)

        def details(_: int) -> tuple[Reason, ...]:
            return (Reason(REASON, Cordoned()),)

        return Rejections.where(cordoned, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REASON, details)

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        """Report whether the node is cordoned and the pod tolerates it."""
        if not self.handle.cluster.nodes.unschedulable[row]:
            return (FilterCheck("spec.unschedulable", "not set", True),)
        fine = tolerated(pod.spec.tolerations, UNSCHEDULABLE_TAINT)
        found = "set, which the pod tolerates" if fine else "set"
        return (FilterCheck("spec.unschedulable", found, fine),)


def _after_node_change(pod: Pod, old: Node | None, new: Node) -> bool:
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def _after_toleration_change(pod: Pod, old: Pod, new: Pod) -> bool:
    return same_pod(pod, new) and tolerated(new.spec.tolerations, UNSCHEDULABLE_TAINT)
