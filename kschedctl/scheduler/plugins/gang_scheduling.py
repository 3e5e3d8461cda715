"""The plugins about pod groups: GangScheduling, TopologyPlacementGenerator, PodGroupPodsCount."""

from typing import Final

import numpy as np

from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import PENDING
from kschedctl.common.arrays import Int64Array, truncated_divide
from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import Release
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

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        return release.gangs

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = {
            self.handle.pods_that_wake(kind) for kind in (EventResource.UNSCHEDULED_POD, EventResource.ASSIGNED_POD)
        }
        added = [registered(kind, ActionType.ADD, _is_member_added) for kind in sorted(pods)]
        created = registered(EventResource.POD_GROUP, ActionType.ADD, _is_own_group)
        rules = self.handle.release.pod_group_rules
        if rules is None or not rules.queues_groups:
            return (*added, created)
        return (*added, created, registered(EventResource.POD_GROUP, ActionType.UPDATE, _is_lowered))

    def reach_of_copies(self, pod: Pod) -> Reach:
        return Reach.CLUSTER if pod.spec.pod_group_name else Reach.NOTHING

    def pre_enqueue(self, pod: Pod) -> Status:
        name = pod.spec.pod_group_name
        if not name:
            return SUCCESS
        group = self._pod_group(pod)
        rules = self.handle.release.pod_group_rules
        assert rules is not None
        if group is None:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (rules.no_group.format(group=name),))
        if group.spec.min_count is None or self._n_known(group) >= group.spec.min_count:
            return SUCCESS
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (rules.too_few.format(root=f"podgroup/{group.key}"),))

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


def _is_member_added(pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    name = pod.spec.pod_group_name
    return bool(name) and new is not None and (new.namespace, new.spec.pod_group_name) == (pod.namespace, name)


def _is_own_group(pod: Pod, old: PodGroup | None, new: PodGroup | None) -> bool:
    return new is not None and (new.namespace, new.name) == (pod.namespace, pod.spec.pod_group_name)


def _is_lowered(pod: Pod, old: PodGroup | None, new: PodGroup | None) -> bool:
    if old is None or new is None or not _is_own_group(pod, old, new):
        return False
    before, after = old.spec.min_count, new.spec.min_count
    return before is not None and after is not None and after < before


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    """TopologyPlacementGenerator: a placement per value of the label in a group's topology constraint (KEP-5732).

    Upstream: plugins/topologyaware.
    """

    name = "TopologyPlacementGenerator"

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        return release.places_groups

    def generate_placements(self, group: PodGroupInfo) -> tuple[Placement, ...]:
        nodes = self.handle.cluster.nodes
        if group.pod_group is None:
            raise PluginError(f'podgroup.scheduling.k8s.io "{group.name}" not found')
        key = group.topology_key
        if not key:
            return (Placement("", nodes.rows),)
        required = self._domain_of_scheduled(group, key)
        rows: dict[str, list[int]] = {}
        for row, node in enumerate(nodes.objects):
            domain = self._domain(node, key)
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
