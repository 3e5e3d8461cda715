"""DefaultBinder: writes the binding. Offline there is no API server to write to, so every pod counts as bound."""

from __future__ import annotations

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.interface import BindPlugin
from kschedctl.scheduler.framework.status import SUCCESS, Status


class DefaultBinder(BindPlugin):
    """Upstream: plugins/defaultbinder."""

    name = "DefaultBinder"

    def reach_of_copies(self, pod: Pod) -> Reach:
        """Return ``Reach.NOTHING``: no binding depends on another."""
        return Reach.NOTHING

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Return Success for every node."""
        return SUCCESS
