"""SchedulingGates: a pod with scheduling gates does not enter the queue (KEP-3521)."""

from __future__ import annotations

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered, same_pod
from kschedctl.scheduler.framework.interface import PreEnqueuePlugin
from kschedctl.scheduler.framework.status import Code, Status


class SchedulingGates(PreEnqueuePlugin):
    """Upstream: plugins/schedulinggates."""

    name = "SchedulingGates"

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return the removal of the pod's last scheduling gate."""
        pods = self.handle.pods_that_wake(EventResource.TARGET_POD)
        action = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        return (registered(pods, action, lambda pod, old, new: same_pod(pod, new)),)

    def pre_enqueue(self, pod: Pod) -> Status:
        """Reject a pod with scheduling gates, and list them."""
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return Status()
        text = f"waiting for scheduling gates: [{' '.join(gates)}]"
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))
