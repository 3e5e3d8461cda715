"""Gang: the pods of a group start together or not at all.

A pod names its group in the label ``scheduling.x-k8s.io/pod-group``. One that has found its node waits at Permit until
as many of its group have one as the group needs; the last of them lets all go. Where one of those that wait is turned
away, because the time is up or for another reason, it takes the others along.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import msgspec
import numpy as np

from kschedctl.api.meta import Int64
from kschedctl.api.pod import Pod
from kschedctl.arrays import Mask
from kschedctl.framework.config.types import ConfigStruct
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.framework.interface import Handle, PermitPlugin, PreFilterPlugin, PreFilterResult, ReservePlugin
from kschedctl.framework.status import SKIP, SUCCESS, Code, Status
from kschedctl.framework.waiting_pods import WaitingPod

#: The label of scheduler-plugins' coscheduling.
POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"


class PodGroup(ConfigStruct, frozen=True):
    """A group of pods.

    Attributes
    ----------
    namespace, name : str
        Which: the pods of this namespace whose label has this name.
    min_member : int
        How many of them must have a node before any of them starts.
    """

    name: str = ""
    namespace: str = "default"
    min_member: Int64 = 1


class GangArgs(ConfigStruct, frozen=True):
    """The arguments of Gang.

    Attributes
    ----------
    pod_groups : tuple of PodGroup
        The groups. A pod of one that is not among them is turned away.
    permit_waiting_time_seconds : int
        How long a pod waits for the others at the most.
    """

    pod_groups: tuple[PodGroup, ...] = ()
    permit_waiting_time_seconds: Int64 = 60


class Gang(PreFilterPlugin, ReservePlugin, PermitPlugin):
    """Lets pods of a group start together."""

    name = "Gang"
    args_type: ClassVar[type[ConfigStruct]] = GangArgs

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        own = args if isinstance(args, GangArgs) else GangArgs()
        self._needed = {(group.namespace, group.name): group.min_member for group in own.pod_groups}
        self._seconds = float(own.permit_waiting_time_seconds)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """A pod of the group that arrives helps, and a node; not that one of the group gives its place back."""
        return (
            registered(EventResource.POD, ActionType.ADD, lambda pod, old, new: _same_group(pod, new)),
            registered(EventResource.ASSIGNED_POD, ActionType.DELETE, lambda pod, old, new: not _same_group(pod, old)),
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),
        )

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Turn a pod away of whose group nobody knows how many it needs."""
        group = _group(pod)
        if not group:
            return PreFilterResult(SKIP)
        if (pod.namespace, group) not in self._needed:
            reason = f"pod group {group} is not configured"
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,)))
        return PreFilterResult()

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Take nothing: the places of a gang are those of its pods."""
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Turn away those who wait for a pod that gives its place back."""
        if _group(pod):
            for waiting in self._waiting(pod):
                waiting.reject(self.name, f"{pod.key} of its pod group was turned away")

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Let the pod wait for its group, or all of them go once it is complete."""
        group = _group(pod)
        if not group:
            return SUCCESS, 0.0
        placed = self._members(pod) & (self.handle.cluster.pods.node_row >= 0)
        # Those that wait have a node already, the pod itself only from now on.
        if int(placed.sum()) + 1 < self._needed[pod.namespace, group]:
            return Status(Code.WAIT), self._seconds
        for waiting in self._waiting(pod):
            waiting.allow(self.name)
        return SUCCESS, 0.0

    def _members(self, pod: Pod) -> Mask:
        """The pods of a pod's group: bool, shape (n_pods,). Pods of one class are of one group."""
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
