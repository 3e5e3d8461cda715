"""SchedulingGates: a pod with scheduling gates waits outside the queue (KEP-3521)."""

from __future__ import annotations

from kschedctl.api.pod import Pod
from kschedctl.framework.interface import PreEnqueuePlugin
from kschedctl.framework.status import Code, Status


class SchedulingGates(PreEnqueuePlugin):
    """Upstream: plugins/schedulinggates."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Status:
        """Refuse a pod that has gates, naming them."""
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return Status()
        text = f"waiting for scheduling gates: [{' '.join(gates)}]"
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))
