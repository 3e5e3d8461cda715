"""The plugins about pod groups: GangScheduling, TopologyPlacementGenerator, PodGroupPodsCount."""

from typing import Final

import numpy as np

from kschedctl.cluster.pod_group_trees import Group, GroupForest, entity_key
from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PENDING
from kschedctl.common.arrays import Int64Array, truncated_divide
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP
from kschedctl.scheduler.framework.cycle_state import CycleState, PodsToActivate
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered
from kschedctl.scheduler.framework.interface import (
    MAX_NODE_SCORE,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PluginError,
    PreEnqueuePlugin,
)
from kschedctl.scheduler.framework.pod_groups import Placement, PlacementProgress, PodGroupAssignments, PodGroupInfo
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status

TOO_FEW_NODES: Final = "waiting for minCount pods from a gang to be scheduled"
#: The time that members wait at Permit for the others, in seconds.
_PERMIT_SECONDS: Final = 5 * 60.0


class GangScheduling(PreEnqueuePlugin, PermitPlugin, PlacementFeasiblePlugin):
    """GangScheduling: a gang waits until ``minCount`` of its pods exist, and until as many have a node (KEP-4671).

    Upstream: plugins/gangscheduling.
    """

    name = "GangScheduling"
    counts_pods = False

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        return release.gangs

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = {
            self.handle.pods_that_wake(kind) for kind in (EventResource.UNSCHEDULED_POD, EventResource.ASSIGNED_POD)
        }
        out = [registered(kind, ActionType.ADD, self._after_pod_added) for kind in sorted(pods)]
        out.append(registered(EventResource.POD_GROUP, ActionType.ADD, self._after_group_added))
        rules = self.handle.release.pod_group_rules
        if rules is not None and rules.queues_groups:
            out.append(registered(EventResource.POD_GROUP, ActionType.UPDATE, self._after_group_update))
        if self.handle.release.enabled(COMPOSITE_POD_GROUP):
            out.append(registered(EventResource.COMPOSITE_POD_GROUP, ActionType.ADD, self._after_group_added))
            out.append(registered(EventResource.COMPOSITE_POD_GROUP, ActionType.UPDATE, self._after_group_update))
        return tuple(out)

    def _after_pod_added(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Report whether an added pod belongs to the same group as a pod, or to the same tree."""
        if new is None or not new.spec.pod_group_name or new.namespace != pod.namespace:
            return False
        return self._same_tree(pod, new.spec.pod_group_name)

    def _after_group_added(self, pod: Pod, old: Group | None, new: Group | None) -> bool:
        """Report whether an added group is that of a pod, or in the same tree."""
        if new is None or new.namespace != pod.namespace or not pod.spec.pod_group_name:
            return False
        if not self.handle.release.enabled(COMPOSITE_POD_GROUP):
            return new.name == pod.spec.pod_group_name
        forest = GroupForest.of(self.handle.cluster, self.handle.release)
        root = forest.root(pod.namespace, pod.spec.pod_group_name)
        *_, other = forest.upwards(new)
        return root is not None and entity_key(root) == entity_key(other)

    def _after_group_update(self, pod: Pod, old: Group | None, new: Group | None) -> bool:
        """Report whether the group of a pod, or one of its tree, needs fewer members than before."""
        if old is None or new is None:
            return False
        gangs = (each.spec.scheduling_policy.gang for each in (old, new))
        return None not in gangs and new.spec.least < old.spec.least and self._after_group_added(pod, None, new)

    def _same_tree(self, pod: Pod, name: str) -> bool:
        own = pod.spec.pod_group_name
        if own == name or not self.handle.release.enabled(COMPOSITE_POD_GROUP):
            return own == name
        forest = GroupForest.of(self.handle.cluster, self.handle.release)
        roots = [forest.root(pod.namespace, each) for each in (own, name)]
        return None not in roots and roots[0] is roots[1]

    def reach_of_pods(self, pod: Pod) -> Reach:
        return Reach.CLUSTER if pod.spec.pod_group_name else Reach.NOTHING

    def pre_enqueue(self, pod: Pod) -> Status:
        name = pod.spec.pod_group_name
        if not name:
            return SUCCESS
        rules = self.handle.release.pod_group_rules
        assert rules is not None
        root = GroupForest.of(self.handle.cluster, self.handle.release).root(pod.namespace, name)
        if root is None:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (rules.no_group.format(group=name),))
        if self._is_ready(root):
            return SUCCESS
        text = rules.too_few if root.spec.scheduling_policy.basic is None else rules.no_ready_child
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text.format(root=entity_key(root)),))

    def _is_ready(self, group: Group) -> bool:
        """Report whether enough pods of a group exist, or whether enough groups below it are ready."""
        if isinstance(group, PodGroup):
            return group.spec.min_count is None or self._n_known(group) >= group.spec.min_count
        children = GroupForest.of(self.handle.cluster, self.handle.release).children(group)
        return sum(map(self._is_child_ready, children)) >= group.spec.least

    def _is_child_ready(self, group: Group) -> bool:
        # A PodGroup of the basic policy is ready with its first pod.
        return self._is_ready(group) and (isinstance(group, CompositePodGroup) or self._n_known(group) > 0)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Let a member wait until ``minCount`` members have a node, and then allow those that wait.

        The members that have no node yet are to be tried again, in case that they waited for this one.
        """
        name = pod.spec.pod_group_name
        if not name:
            return SUCCESS, 0
        group = self._pod_group(pod)
        if group is None:
            problem = f'failed to get podGroup {pod.namespace}/{name}: podgroup.scheduling.k8s.io "{name}" not found'
            return Status(Code.ERROR, (problem,)), 0
        if group.spec.min_count is None:
            return SUCCESS, 0
        cluster = self.handle.cluster
        members = group_members(cluster, group.namespace, group.name)
        on_nodes = cluster.pods.node_row[members] != PENDING
        scheduled = members[on_nodes]
        # The pod itself may not have its node in the cluster yet.
        own = cluster.pods.index.get((pod.namespace, pod.name), -1)
        if len(scheduled) + (own not in scheduled) < group.spec.min_count:
            state.write(PodsToActivate(members[~on_nodes & (members != own)]))
            return Status(Code.WAIT, (TOO_FEW_NODES,)), _PERMIT_SECONDS
        for index in scheduled.tolist():
            waiting = self.handle.get_waiting_pod(uid_of(cluster.pods.pod(index)))
            if waiting is not None:
                waiting.allow(self.name)
        return SUCCESS, 0

    def placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        least, scheduled, remaining = group.min_count, progress.scheduled, progress.remaining
        if scheduled >= least:
            return SUCCESS
        rules = self.handle.release.pod_group_rules
        assert rules is not None
        hopeless = remaining + scheduled < least
        text = rules.threshold.format(
            least=least,
            verdict="cannot be satisfied" if hopeless else "is not yet satisfied",
            scheduled=scheduled,
            unschedulable=progress.unschedulable,
            remaining=remaining,
        )
        return Status(Code.UNSCHEDULABLE if hopeless else Code.WAIT, (text,))

    def _pod_group(self, pod: Pod) -> PodGroup | None:
        return self.handle.cluster.get(PodGroup, pod.spec.pod_group_name, pod.namespace)

    def _n_known(self, group: PodGroup) -> int:
        """Return the number of members that the scheduler knows: those on nodes, and those that it is to schedule."""
        names = frozenset(self.handle.scheduler_names)

        def count(pods: Pods) -> int:
            members = group_members(self.handle.cluster, group.namespace, group.name)
            return sum(
                row != PENDING or pods.records[index].spec.scheduler_name in names
                for index, row in zip(members.tolist(), pods.node_row[members].tolist(), strict=True)
            )

        # Each member that joins the queue has all others checked again; the number is the same until a pod changes.
        return self.handle.cluster.pods.moving(("known members", group.key, names), count)


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    """TopologyPlacementGenerator: a placement per value of the label in a group's topology constraint (KEP-5732).

    Upstream: plugins/topologyaware.
    """

    name = "TopologyPlacementGenerator"

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        return release.places_groups

    def generate_placements(self, group: PodGroupInfo, within: Placement) -> tuple[Placement, ...]:
        nodes = self.handle.cluster.nodes.objects
        if group.group is None:
            raise PluginError(f'podgroup.scheduling.k8s.io "{group.name}" not found')
        key = group.topology_key
        if not key:
            return (within,)
        required = self._domain_of_scheduled(group, key)
        rows: dict[str, list[int]] = {}
        for row in within.rows.tolist():
            domain = self._domain(nodes[row], key)
            if domain is not None and required in (None, domain):
                rows.setdefault(domain, []).append(row)
        return tuple(Placement(domain, np.array(rows[domain], dtype=np.int64)) for domain in sorted(rows))

    @property
    def _ignores_empty(self) -> bool:
        rules = self.handle.release.pod_group_rules
        return rules is not None and rules.ignores_empty_domains

    def _domain(self, node: Node, key: str) -> str | None:
        """Return the domain of a node; ``None`` if it belongs to none."""
        domain = node.metadata.labels.get(key)
        return None if domain == "" and self._ignores_empty else domain

    def _domain_of_scheduled(self, group: PodGroupInfo, key: str) -> str | None:
        """Return the domain of the members that have a node; ``None`` if there are none."""
        cluster = self.handle.cluster
        found: str | None = None
        for index in group.scheduled(cluster).tolist():
            row = int(cluster.pods.node_row[index])
            pod = cluster.pods.key(index)
            if row < 0:
                name = cluster.pods.records[index].node_name
                raise _undetermined(f'getting node for pod {pod}: nodeinfo not found for node name "{name}"')
            node = cluster.nodes.objects[row]
            domain = self._domain(node, key)
            if domain is None:
                kind = "empty" if key in node.metadata.labels else "no"
                raise _undetermined(f"{kind} topology domain found for pod {pod}")
            if found and found != domain:
                both = f'"{found}", "{domain}"' if self._ignores_empty else f"{found}, {domain}"
                raise _undetermined(f"more than 1 domain found for pod group: {both}")
            found = domain
        return found


def _undetermined(problem: str) -> PluginError:
    return PluginError(f"cannot determine domain for already scheduled pods: {problem}")


class PodGroupPodsCount(PlacementScorePlugin):
    """PodGroupPodsCount: prefers the placement in which most members of a group have a node (KEP-5732).

    Upstream: plugins/podgrouppodscount.
    """

    name = "PodGroupPodsCount"

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        return release.places_groups

    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        return len(group.scheduled(self.handle.cluster)) + len(assignments.proposed)

    def normalize_placement_score(self, group: PodGroupInfo, scores: Int64Array) -> Int64Array:
        highest = scores.max(initial=0)
        if not highest:
            raise PluginError("no pods from pod group are assigned to any of the candidate placements")
        return truncated_divide(scores * MAX_NODE_SCORE, highest)
