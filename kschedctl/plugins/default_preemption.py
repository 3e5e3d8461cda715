"""DefaultPreemption: frees capacity for a pod by evicting pods of lower priority.

All potential nodes are tried, whatever ``minCandidateNodesPercentage`` says: kube-scheduler chooses the share of nodes
that it tries at random.
"""

from __future__ import annotations

from typing import Final

from kschedctl.api.pod import Pod
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.framework.interface import PostFilterPlugin, PostFilterResult, PreEnqueuePlugin
from kschedctl.framework.node_statuses import NodeStatuses
from kschedctl.framework.status import SUCCESS, Code, Status
from kschedctl.preemption.evaluator import preempt
from kschedctl.workloads.template import uid_of

ASYNC_PREEMPTION: Final = "SchedulerAsyncPreemption"
UNDER_WAY: Final = "waiting for the preemption for this pod to be finished"


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin):
    """Upstream: plugins/defaultpreemption."""

    name = "DefaultPreemption"

    def pre_enqueue(self, pod: Pod) -> Status:
        """Block a pod whose victims are still being evicted."""
        if self.handle.release.enabled(ASYNC_PREEMPTION) and uid_of(pod) in self.handle.preempting:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (UNDER_WAY,))
        return SUCCESS

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return pod deletions, with a hint that never queues the pod.

        The deletion of a victim only ends the block of PreEnqueue. The plugins that rejected the pod decide whether it
        is tried again.
        """
        if not self.handle.release.enabled(ASYNC_PREEMPTION):
            return ()
        pods = self.handle.pods_that_wake(EventResource.ASSIGNED_POD)
        return (registered(pods, ActionType.DELETE, lambda pod, old, new: False),)

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        """Nominate a node for preemption, and store the ``PreemptionResult`` in the cycle state."""
        found = preempt(self.handle.framework, state, pod, statuses)
        state.write(found)
        said = found.status.reasons
        if found.nominated and self.handle.release.preemption_names_node:
            # If several nodes tie, kube-scheduler's event names a random one; this answer names the first by name.
            said = (found.placement(found.nominated[0]),)
        reasons = tuple(f"preemption: {text}" for text in said)
        return PostFilterResult(Status(found.status.code, reasons), found.nominated, found.clears_nomination)
