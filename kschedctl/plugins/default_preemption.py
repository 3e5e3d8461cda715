"""DefaultPreemption: makes room for a pod by evicting pods of lower priority.

All nodes are candidates, whatever ``minCandidateNodesPercentage`` says: which share kube-scheduler looks at is chance.
"""

from __future__ import annotations

from kschedctl.api.pod import Pod
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.interface import PostFilterPlugin, PostFilterResult, PreEnqueuePlugin
from kschedctl.framework.status import SUCCESS, Status
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.preemption.evaluator import preempt


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin):
    """Upstream: plugins/defaultpreemption."""

    name = "DefaultPreemption"

    def pre_enqueue(self, pod: Pod) -> Status:
        """Let every pod in; offline none waits for victims that are still going."""
        return SUCCESS

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        """Find the node to make room on; what came of it is kept in the cycle state."""
        found = preempt(self.handle.framework, state, pod, statuses)
        state.write(found)
        said = found.status.reasons
        if found.nominated and self.handle.release.preemption_names_node:
            # Where chance decides, the event names any of the nodes; the answer names the first.
            said = (found.placement(found.nominated[0]),)
        reasons = tuple(f"preemption: {text}" for text in said)
        return PostFilterResult(Status(found.status.code, reasons), found.nominated)
