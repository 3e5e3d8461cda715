"""DefaultPreemption: makes room for a pod by evicting pods of lower priority."""

from __future__ import annotations

from kschedctl.api.pod import Pod
from kschedctl.framework.cycle_state import CycleState, NotModelled
from kschedctl.framework.interface import PostFilterPlugin, PostFilterResult, PreEnqueuePlugin
from kschedctl.framework.status import SUCCESS, Code, Status
from kschedctl.framework.verdicts import NodeStatuses


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin):
    """Upstream: plugins/defaultpreemption."""

    name = "DefaultPreemption"

    def pre_enqueue(self, pod: Pod) -> Status:
        """Let every pod in."""
        return SUCCESS

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        """Say that preemption is not looked at."""
        effect = "the event's message ends before the part on preemption"
        state.not_modelled.append(NotModelled("preemption", effect))
        return PostFilterResult(Status(Code.UNSCHEDULABLE))
