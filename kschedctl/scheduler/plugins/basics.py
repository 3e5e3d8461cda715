"""The small plugins: PrioritySort, SchedulingGates, NodeName, NodeUnschedulable, NodeDeclaredFeatures and so on."""

from collections.abc import Hashable, Iterator
from datetime import datetime
from typing import Final

import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.core import Node
from kschedctl.objects.pod import UNSCHEDULABLE_TAINT, Pod, tolerated
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE, OF_NOTHING, Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered, same_pod
from kschedctl.scheduler.framework.explanation import FilterCheck
from kschedctl.scheduler.framework.interface import (
    BindPlugin,
    FilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    QueueSortPlugin,
)
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.runtime import signed_tolerations
from kschedctl.scheduler.framework.status import SUCCESS, Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.taint_toleration import taint_remedies


class PrioritySort(QueueSortPlugin):
    """PrioritySort: orders the queue by descending priority, then by time of arrival.

    Upstream: plugins/queuesort.
    """

    name = "PrioritySort"

    def sort_key(self, pod: Pod, queued_at: datetime) -> tuple[object, ...]:
        return -(pod.spec.priority or 0), queued_at


class SchedulingGates(PreEnqueuePlugin):
    """SchedulingGates: a pod with scheduling gates does not enter the queue (KEP-3521).

    Upstream: plugins/schedulinggates.
    """

    name = "SchedulingGates"
    counts_pods = False

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = self.handle.pods_that_wake(EventResource.TARGET_POD)
        action = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        return (registered(pods, action, lambda pod, old, new: same_pod(pod, new)),)

    def pre_enqueue(self, pod: Pod) -> Status:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return Status()
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"waiting for scheduling gates: [{' '.join(gates)}]",))


REASON: Final = "node(s) didn't match the requested node name"


class OtherNodeNamed(Operands, frozen=True):
    """The pod names another node."""

    #: The node in the pod's ``spec.nodeName``.
    node_name: str

    def words(self) -> str:
        return f"spec.nodeName is {self.node_name}"


class NodeName(PreFilterPlugin, FilterPlugin):
    """NodeName: a pod with ``spec.nodeName`` fits on that node only.

    From 1.37 on PreFilter restricts the search to that node, whether the node exists or not.

    Upstream: plugins/nodename.
    """

    name = "NodeName"
    reads = OF_NODE
    prepares_from = OF_NOTHING

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        wanted = pod.spec.node_name
        return PreFilterResult(node_names=frozenset({wanted}) if wanted else None)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (registered(EventResource.NODE, ActionType.ADD),)

    def sign_pod(self, pod: Pod) -> Hashable:
        return pod.spec.node_name

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        wanted = pod.spec.node_name
        if not wanted:
            return Rejections.everywhere(len(nodes), SUCCESS)
        other = nodes.rows != self.handle.cluster.nodes.row.get(wanted, -1)
        return Rejections.where(
            other, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REASON, lambda _: (Reason(REASON, OtherNodeNamed(wanted)),)
        )

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        wanted, name = pod.spec.node_name, self.handle.cluster.nodes.names[row]
        return (FilterCheck(f"spec.nodeName {wanted}", f"the node is {name}", wanted == name),) if wanted else ()


NODE_UNSCHEDULABLE_REASON: Final = "node(s) were unschedulable"


class Cordoned(Operands, frozen=True):
    """The node is cordoned: ``spec.unschedulable``."""

    def words(self) -> str:
        return "the node is cordoned"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to tolerate the taint of cordoned nodes, or to uncordon the node."""
        return taint_remedies(context, UNSCHEDULABLE_TAINT)


class NodeUnschedulable(PreFilterPlugin, FilterPlugin):
    """NodeUnschedulable: cordoned nodes accept only pods that tolerate ``node.kubernetes.io/unschedulable:NoSchedule``.

    Upstream: plugins/nodeunschedulable.
    """

    name = "NodeUnschedulable"
    reads = OF_NODE
    prepares_from = OF_NOTHING

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        return PreFilterResult()

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = self.handle.pods_that_wake(EventResource.TARGET_POD)
        return (
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, _after_node_change),
            registered(
                pods,
                ActionType.UPDATE_POD_TOLERATION,
                lambda pod, old, new: same_pod(pod, new) and tolerated(new.spec.tolerations, UNSCHEDULABLE_TAINT),
            ),
        )

    def sign_pod(self, pod: Pod) -> Hashable:
        return signed_tolerations(pod)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        cordoned = self.handle.cluster.nodes.unschedulable[nodes.rows]
        if tolerated(pod.spec.tolerations, UNSCHEDULABLE_TAINT):
            cordoned = np.zeros_like(cordoned)
        return Rejections.where(
            cordoned,
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            NODE_UNSCHEDULABLE_REASON,
            lambda _: (Reason(NODE_UNSCHEDULABLE_REASON, Cordoned()),),
        )

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        if not self.handle.cluster.nodes.unschedulable[row]:
            return (FilterCheck("spec.unschedulable", "not set", True),)
        fine = tolerated(pod.spec.tolerations, UNSCHEDULABLE_TAINT)
        return (FilterCheck("spec.unschedulable", "set, which the pod tolerates" if fine else "set", fine),)


def _after_node_change(pod: Pod, old: Node | None, new: Node) -> bool:
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


class DefaultBinder(BindPlugin):
    """DefaultBinder: writes the binding. Offline there is no API server to write to, so every pod counts as bound.

    Upstream: plugins/defaultbinder.
    """

    name = "DefaultBinder"

    def reach_of_pods(self, pod: Pod) -> Reach:
        return Reach.NOTHING

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS
