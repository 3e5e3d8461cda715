"""The operands behind the reasons that preemption gives for a node."""

from __future__ import annotations

from typing import Any

from kschedctl.scheduler.framework.operands import Operands


class NoLowerPriority(Operands, frozen=True):
    """The node has no pod that preemption could evict.

    Attributes
    ----------
    priority : int
        The priority of the pod to place; only pods below it can be evicted.
    """

    priority: int

    def words(self) -> str:
        """State that the node has no pod below the priority."""
        return f"no pod with a priority below {self.priority}"

    def data(self) -> dict[str, Any]:
        """Return no data: the response has the pod's priority elsewhere."""
        return {}
