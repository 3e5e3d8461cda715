"""DefaultPreemption: frees capacity for a pod by evicting pods of lower priority.

All potential nodes are tried, whatever ``minCandidateNodesPercentage`` says: kube-scheduler chooses the share of nodes
that it tries at random.
"""

from typing import Final

from kschedctl.cluster.pod_group_trees import GroupForest
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.interface import (
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
    ReservePlugin,
)
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo, PodGroupTrial
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status

ASYNC_PREEMPTION: Final = "SchedulerAsyncPreemption"
UNDER_WAY: Final = "waiting for the preemption for this pod to be finished"
GROUP_UNDER_WAY: Final = "waiting for the preemption for this pod group to be finished"
_NO_GROUP: Final = "preemption: pod group for pod not found"
_PLACED: Final = "preemption: not eligible due to placement-based pod group scheduling limitation"
_BY_GROUP: Final = "preemption: not eligible due to workload aware preemption enabled"


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin, ReservePlugin, PodGroupPostFilterPlugin):
    """Upstream: plugins/defaultpreemption."""

    name = "DefaultPreemption"
    counts_pods = False

    def pre_enqueue(self, pod: Pod) -> Status:
        if not self.handle.preempting or not self.handle.release.enabled(ASYNC_PREEMPTION):
            return SUCCESS
        if pod.spec.pod_group_name and self.handle.release.groups_preempt:
            root = GroupForest.of(self.handle.cluster, self.handle.release).root(pod.namespace, pod.spec.pod_group_name)
            if root is not None and uid_of(root) in self.handle.preempting:
                return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (GROUP_UNDER_WAY,))
        elif uid_of(pod) in self.handle.preempting:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (UNDER_WAY,))
        return SUCCESS

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Return pod deletions, with a hint that never queues the pod.

        The deletion of a victim only ends the block of PreEnqueue. The plugins that rejected the pod decide whether it
        is tried again.
        """
        if not self.handle.release.enabled(ASYNC_PREEMPTION):
            return ()
        pods = self.handle.pods_that_wake(EventResource.ASSIGNED_POD)
        return (registered(pods, ActionType.DELETE, lambda pod, old, new: False),)

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        problem = self._left_to_group(pod)
        if problem:
            return PostFilterResult(Status(Code.UNSCHEDULABLE, (problem,)))
        # Most pods fit somewhere and need no preemption.
        from kschedctl.scheduler.preemption.evaluator import preempt

        found = preempt(self.handle.framework, state, pod, statuses)
        state.write(found)
        said = found.status.reasons
        if found.nominated and self.handle.release.preemption_names_node:
            # If several nodes tie, kube-scheduler's event names a random one; this answer names the first by name.
            said = (found.placement(found.nominated[0]),)
        reasons = tuple(f"preemption: {text}" for text in said)
        return PostFilterResult(Status(found.status.code, reasons), found.nominated, found.clears_nomination)

    def pod_group_post_filter(self, group: PodGroupInfo, trial: PodGroupTrial) -> PodGroupPostFilterResult:
        from kschedctl.scheduler.preemption.pod_group_evaluator import preempt_for_pod_group

        found = preempt_for_pod_group(self.handle.framework, group, trial)
        rules = self.handle.release.pod_groups
        if rules is None or not rules.says_preemption or not found.status.message:
            return found
        status = Status(found.status.code, (f"pod group preemption: {found.status.message}",), self.name)
        return PodGroupPostFilterResult(status, found.nominated, found.victims)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Do nothing: the victims of a group are noted by the attempt itself."""
        return SUCCESS

    def reach_of_pods(self, pod: Pod) -> Reach:
        return Reach.NOTHING

    def _left_to_group(self, pod: Pod) -> str:
        """Return the reason why a member of a group does not preempt for itself; empty if it may."""
        release = self.handle.release
        if not pod.spec.pod_group_name or release.pod_groups is None or not release.pod_groups.members_preempt:
            return ""
        if release.places_groups:
            group = self._pod_group(pod)
            if group is None:
                return _NO_GROUP
            if group.spec.scheduling_constraints is not None:
                return _PLACED
        return _BY_GROUP if release.groups_preempt else ""

    def _pod_group(self, pod: Pod) -> PodGroup | None:
        return self.handle.cluster.get(PodGroup, pod.spec.pod_group_name, pod.namespace)
