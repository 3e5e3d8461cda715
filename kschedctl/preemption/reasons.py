"""The operands behind what preemption says of a node."""

from __future__ import annotations

from typing import Any

from kschedctl.framework.operands import Operands


class NoLowerPriority(Operands, frozen=True):
    """The node has no pod that could be evicted.

    Attributes
    ----------
    priority : int
        The priority of the pod to place; only pods below it can be evicted.
    """

    priority: int

    def words(self) -> str:
        """Which pods there are none of."""
        return f"no pod of a priority below {self.priority}"

    def data(self) -> dict[str, Any]:
        """Nothing: the answer has the pod's priority in another place."""
        return {}
