"""The answer of ``drain``."""

from datetime import datetime
from typing import Annotated, Final

from kschedctl.questions.answer import ClusterAnswer, Data
from kschedctl.questions.answer_parts import CureData, DiagnosisData, GroupLossData
from kschedctl.questions.simulate.answer import EvictionData, SlowestPodData, UtilisationData, WaitingData
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineTable

#: The names of the causes in ``unprotected``: a budget whose selector has a mistake, one that selects no pod for
#: another reason, and a workload of which all pods go at once.
MISTYPED: Final = "budget-with-a-mistake"
IDLE: Final = "budget-selects-nobody"
AT_ONCE: Final = "all-pods-at-once"
#: The rule of pods that ask autoscalers to leave them where they are.
UNHEEDED: Final = "annotation-without-effect"


class RefusalData(Data, frozen=True):
    """A reason for which no pod of a node is evicted."""

    message: Annotated[str, "The message, in the words of kubectl drain."]
    pods: Annotated[tuple[str, ...], "The pods, as namespace/name."]


class MovedPodData(Data, frozen=True):
    """A pod that is evicted by the drain."""

    pod: Annotated[str, "The pod, as namespace/name."]
    made_again: Annotated[str, "The pod that its controller creates in its place; empty if there is none."]
    node: Annotated[str, "The node that the new pod is scheduled to; empty if it stays pending."]
    was_pending: Annotated[
        bool, "True if the pod is pending in the snapshot: the scheduler placed it before the drain."
    ] = False
    lost: Annotated[bool, "True if no controller recreates the pod: it is lost for good."] = False


class PlacedFirstData(Data, frozen=True):
    """A pending pod that is placed before the drain."""

    pod: Annotated[str, "The pod, as namespace/name."]
    node: Annotated[str, "The node that the pod is scheduled to."]
    evicts: Annotated[tuple[str, ...], "The pods that it preempts, as namespace/name."]
    in_place_of: Annotated[
        str, "The preempted pod that its controller created it for; empty if it is in the snapshot."
    ] = ""


class BlockedPodData(Data, frozen=True):
    """A pod whose eviction is never allowed, however long the drain waits."""

    pod: Annotated[str, "The pod, as namespace/name."]
    message: Annotated[str, "The message, in the words of the API server."]


class EndingPodData(Data, frozen=True):
    """A pod that is already being deleted when its node is drained: the drain waits until it is gone."""

    pod: Annotated[str, "The pod, as namespace/name."]
    until: Annotated[datetime, "The time at which the pod is gone: its deletionTimestamp."]
    stuck: Annotated[bool, "True if the pod is never gone, because the kubelet of its node is unreachable."] = False


class HeldUpData(Data, frozen=True):
    """A disruption budget that evictions waited for."""

    budget: Annotated[str, "The budget, as namespace/name."]
    seconds: Annotated[float, "The time for which evictions waited, in seconds of the virtual clock."]


class DrainedNodeData(Data, frozen=True):
    """The outcome for one node."""

    node: Annotated[str, "The name of the node."]
    drained: Annotated[bool, "True if all pods that a drain has to evict are evicted."]
    seconds: Annotated[float, "The duration, in seconds of the virtual clock."]
    refusals: Annotated[tuple[RefusalData, ...], "The reasons why no pod is evicted; empty if some pod is."]
    blocked: Annotated[tuple[BlockedPodData, ...], "The pods whose eviction is never allowed."]
    held_up: Annotated[tuple[HeldUpData, ...], "The disruption budgets that evictions waited for."]
    moved: Annotated[tuple[MovedPodData, ...], "The evicted pods, in order."]
    staying: Annotated[
        tuple[str, ...], "The pods that a drain does not evict: those of DaemonSets and mirror pods, as namespace/name."
    ]
    causes: Annotated[tuple[DiagnosisData, ...], "The causes for which the node is not drained; empty if it is."] = ()
    waits_for: Annotated[
        tuple[EndingPodData, ...], "The pods that were already being deleted, and that the drain waits for."
    ] = ()


class Drained(ClusterAnswer, TimelineTable, frozen=True, kw_only=True, tag="Drain"):
    """The outcome for drained nodes and their pods."""

    summary: Annotated[str, "The result in one sentence."]
    interrupted: Annotated[
        bool, "True if the run was cancelled, so that the answer covers only the part that was done."
    ]
    rolling: Annotated[bool, "True if each node comes back before the next one is drained."]
    chance: Annotated[str, "The tie-breaking rule among nodes with equal scores."]
    seconds: Annotated[float, "The duration, in seconds of the virtual clock."]
    placed_first: Annotated[
        tuple[PlacedFirstData, ...],
        "The pending pods that are placed before the drain: those that a what-if made pending, and with "
        "--place-pending-first all.",
    ]
    left_pending: Annotated[int, "The number of pods that are pending when the drain begins: it leaves them so."]
    nodes: Annotated[tuple[DrainedNodeData, ...], "The nodes in the order of the drain."]
    not_tried: Annotated[tuple[str, ...], "The nodes that the drain did not reach."]
    waiting: Annotated[tuple[WaitingData, ...], "The pods that are pending at the end and were not before."]
    evicted: Annotated[tuple[EvictionData, ...], "The pods on other nodes that are preempted by moved pods."]
    timeline: Annotated[tuple[TimelineEntry, ...], "The events of the drain, in the order of time."]
    slowest: Annotated[
        SlowestPodData | None, "The evicted pod with the longest grace period; null if no pod takes time to stop."
    ] = None
    suggestions: Annotated[
        tuple[CureData, ...], "The changes with which the nodes can be drained, or the pods that stay pending fit."
    ] = ()
    groups: Annotated[
        tuple[GroupLossData, ...], "The pod groups that lose members; empty if the release schedules no groups."
    ] = ()
    unprotected: Annotated[
        tuple[DiagnosisData, ...],
        "The disruption budgets that select no pod, and the workloads of which all pods go at once without a budget.",
    ] = ()
    utilisation: Annotated[
        tuple[UtilisationData, ...],
        "The requests before and after, over all nodes and by zone. The allocatable amount is that of the nodes "
        "that are not drained, with --rolling of all nodes; it includes added nodes.",
    ] = ()

    @property
    def yes(self) -> bool:
        """True if all nodes can be drained, all pods that move are scheduled, and no pod is lost."""
        return not (self.not_tried or self.waiting or self.lost) and all(node.drained for node in self.nodes)

    @property
    def lost(self) -> tuple[str, ...]:
        """The evicted and preempted pods that no controller recreates, as ``namespace/name``."""
        moved = tuple(pod.pod for node in self.nodes for pod in node.moved if pod.lost)
        return moved + tuple(pod.pod for pod in self.evicted if pod.lost)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the moved pods, one per line: ``pod/NAMESPACE/NAME node/NODE``, without a node if pending."""
        moved = (pod for node in self.nodes for pod in node.moved)
        return tuple(f"pod/{pod.pod} node/{pod.node}" if pod.node else f"pod/{pod.pod}" for pod in moved)
