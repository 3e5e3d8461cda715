"""Gang: the pods of a group start together or not at all.

A pod names its group in the label ``scheduling.x-k8s.io/pod-group``. A pod with a node waits at Permit until the
group's minimum number of pods have a node; the pod that completes the group allows the waiting ones. If a waiting pod
is rejected, by timeout or otherwise, the waiting pods of its group are rejected as well.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

import msgspec
import numpy as np

from kschedctl.common.arrays import Mask
from kschedctl.objects.meta import Int64
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.config.types import ConfigStruct
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.interface import (
    Handle,
    PermitPlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
)
from kschedctl.scheduler.framework.status import SKIP, SUCCESS, Code, Status
from kschedctl.scheduler.framework.waiting_pods import WaitingPod

#: The label of scheduler-plugins' coscheduling.
POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"


class PodGroup(ConfigStruct, frozen=True):
    """A group of pods.

    Attributes
    ----------
    namespace, name : str
        The namespace of the pods and the value of their group label.
    min_member : int
        The number of pods that must have a node before any of them starts.
    """

    name: str = ""
    namespace: str = "default"
    min_member: Int64 = 1


class GangArgs(ConfigStruct, frozen=True):
    """The arguments of Gang.

    Attributes
    ----------
    pod_groups : tuple of PodGroup
        The groups. A pod of a group that is not listed is rejected.
    permit_waiting_time_seconds : int
        The maximum time that a pod waits for its group, in seconds.
    """

    pod_groups: tuple[PodGroup, ...] = ()
    permit_waiting_time_seconds: Int64 = 60


class Gang(PreFilterPlugin, ReservePlugin, PermitPlugin):
    """A plugin that starts the pods of a group together."""

    name = "Gang"
    args_type: ClassVar[type[ConfigStruct]] = GangArgs

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        own = args if isinstance(args, GangArgs) else GangArgs()
        self._needed = {(group.namespace, group.name): group.min_member for group in own.pod_groups}
        self._seconds = float(own.permit_waiting_time_seconds)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return the events after which a rejected pod is retried.

        These are: a new pod of its group, a deleted pod of another group, and a node that is added or gets more
        allocatable resources. A deleted pod of its own group is no reason to retry.
        """
        return (
            registered(EventResource.POD, ActionType.ADD, lambda pod, old, new: _same_group(pod, new)),
            registered(EventResource.ASSIGNED_POD, ActionType.DELETE, lambda pod, old, new: not _same_group(pod, old)),
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),
        )

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Reject a pod whose group is not configured; skip a pod without a group."""
        group = _group(pod)
        if not group:
            return PreFilterResult(SKIP)
        if (pod.namespace, group) not in self._needed:
            reason = f"pod group {group} is not configured"
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,)))
        return PreFilterResult()

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Do nothing: the nodes of the pods are the only state of a gang."""
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Reject the waiting pods of the group when one of its pods gives up its node."""
        if _group(pod):
            for waiting in self._waiting(pod):
                waiting.reject(self.name, f"{pod.key} of its pod group was turned away")

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Let the pod wait for its group, or allow the waiting pods once the group is complete."""
        group = _group(pod)
        if not group:
            return SUCCESS, 0.0
        placed = self._members(pod) & (self.handle.cluster.pods.node_row >= 0)
        # Waiting pods already count as placed; this pod is added here.
        if int(placed.sum()) + 1 < self._needed[pod.namespace, group]:
            return Status(Code.WAIT), self._seconds
        for waiting in self._waiting(pod):
            waiting.allow(self.name)
        return SUCCESS, 0.0

    def _members(self, pod: Pod) -> Mask:
        """Return the pods of a pod's group: bool, shape (n_pods,). Pods of one class are in the same group."""
        pods = self.handle.cluster.pods
        group = _group(pod)
        classes = [c.namespace == pod.namespace and c.labels.get(POD_GROUP_LABEL) == group for c in pods.classes]
        return np.array(classes, dtype=np.bool_)[pods.class_id]

    def _waiting(self, pod: Pod) -> Iterator[WaitingPod]:
        for waiting in self.handle.iterate_over_waiting_pods():
            if _same_group(waiting.pod, pod):
                yield waiting


def _group(pod: Pod) -> str:
    return pod.metadata.labels.get(POD_GROUP_LABEL, "")


def _same_group(pod: Pod, other: Pod) -> bool:
    return (pod.namespace, _group(pod)) == (other.namespace, _group(other))
