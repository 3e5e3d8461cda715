"""NodeUnschedulable: cordoned nodes take only pods that tolerate the taint that cordoning stands for."""

from __future__ import annotations

from typing import Final

import numpy as np

from kschedctl.api.core import Taint
from kschedctl.api.pod import Pod
from kschedctl.api.tolerations import NO_SCHEDULE, tolerated
from kschedctl.cluster.overlay import Overlay
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult
from kschedctl.framework.operands import Operands
from kschedctl.framework.status import Code, Reason, Rejections

REASON: Final = "node(s) were unschedulable"
_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


class Cordoned(Operands, frozen=True):
    """The node is cordoned: ``spec.unschedulable``."""

    def words(self) -> str:
        """That it is cordoned."""
        return "the node is cordoned"


class NodeUnschedulable(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/nodeunschedulable."""

    name = "NodeUnschedulable"
    depends_on_pods = False

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Have nothing to prepare: a PreFilter plugin for pods of another kind, whose resize is deferred."""
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Turn away nodes with ``spec.unschedulable``."""
        cordoned = self.handle.cluster.nodes.unschedulable[nodes.rows]
        if tolerated(pod.spec.tolerations, _TAINT):
            cordoned = np.zeros_like(cordoned)

        def details(_: int) -> tuple[Reason, ...]:
            return (Reason(REASON, Cordoned()),)

        return Rejections.where(cordoned, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, REASON, details)
