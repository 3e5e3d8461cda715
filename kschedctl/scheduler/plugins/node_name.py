"""NodeName: a pod with ``spec.nodeName`` fits on that node only.

From 1.37 on PreFilter restricts the search to that node, whether the node exists or not.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE, OF_NOTHING
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.filter_check import FilterCheck
from kschedctl.scheduler.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import SUCCESS, Code, Reason, Rejections

REASON: Final = "node(s) didn't match the requested node name"


class OtherNodeNamed(Operands, frozen=True):
    """The pod names another node.

    Attributes
    ----------
    node_name : str
        The node in the pod's ``spec.nodeName``.
    """

    node_name: str

    def words(self) -> str:
        """Return the node name in the pod's spec as text."""
        return f"spec.nodeName is {self.node_name}"


class NodeName(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/nodename."""

    name = "NodeName"
    reads = OF_NODE
    prepares_from = OF_NOTHING

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Restrict the search to the node in ``spec.nodeName``, if it is set."""
        wanted = pod.spec.node_name
        return PreFilterResult(node_names=frozenset({wanted}) if wanted else None)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return node additions."""
        return (registered(EventResource.NODE, ActionType.ADD),)

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign the pod by ``spec.nodeName``."""
        return pod.spec.node_name

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Reject all nodes but the one in ``spec.nodeName``, if it is set."""
        wanted = pod.spec.node_name
        if not wanted:
            return Rejections.everywhere(len(nodes), SUCCESS)
        other = nodes.rows != self.handle.cluster.nodes.row.get(wanted, -1)

        def details(_: int) -> tuple[Reason, ...]:
            return (Reason(REASON, OtherNodeNamed(wanted)),)

        return Rejections.where(other, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REASON, details)

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        """Compare ``spec.nodeName`` with the node's name, if it is set."""
        wanted, name = pod.spec.node_name, self.handle.cluster.nodes.names[row]
        return (FilterCheck(f"spec.nodeName {wanted}", f"the node is {name}", wanted == name),) if wanted else ()
