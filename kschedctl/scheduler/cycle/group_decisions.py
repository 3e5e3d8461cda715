"""Decisions for members of pod groups: kube-scheduler tries a group as a whole, so its members are decided together."""

import dataclasses
from collections.abc import Callable

from kschedctl.cluster.pod_group_trees import GroupForest
from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code


def decide_in_group(framework: Framework, pod: Pod) -> Decision:
    """Decide for a pod as a member of its group, together with the group's other pending members.

    Args:
        framework: The pod's profile.
        pod: The pod, defaulted; without a node. It need not be in the cluster.

    Returns: The decision for the pod if its group is scheduled, else that for the first member that finds no node.
        It has ``group``. If PreEnqueue holds the pod or its group back, the decision for the pod alone.
    """
    framework = framework.moved(framework.cluster.with_pods(added=[pod]))
    members = pending_members(framework, pod)
    rules = framework.release.pod_groups
    held = {member.key: framework.run_pre_enqueue(member) for member in members}
    if rules is not None and rules.queues_groups:
        gate = next((status for status in held.values() if status.code is not Code.SUCCESS), None)
        if gate is not None:
            return dataclasses.replace(schedule_pod(framework, pod, run_post_filter=False), pre_enqueue=gate)
    elif held[pod.key].code is not Code.SUCCESS:
        return schedule_pod(framework, pod)
    free = [member for member in members if held[member.key].code is Code.SUCCESS]
    return schedule_pod_group(framework, free).of_member(pod)


def pending_members(framework: Framework, pod: Pod) -> list[Pod]:
    """Return the pending members of a pod's group, or of its tree, in the order in which kube-scheduler tries them.

    The order within a group is that of priority, then of creation, then of names.
    """
    cluster = framework.cluster
    forest = GroupForest.of(cluster, framework.release)
    root = forest.root(pod.namespace, pod.spec.pod_group_name)
    names = [pod.spec.pod_group_name]
    if isinstance(root, CompositePodGroup):
        names = [leaf.name for leaf in forest.leaves(root)]
    return [member for name in names for member in _pending_in(framework, pod.namespace, name)]


def _pending_in(framework: Framework, namespace: str, name: str) -> list[Pod]:
    pods = framework.cluster.pods
    indices = group_members(framework.cluster, namespace, name)
    pending = [pods.pod(index) for index in indices[pods.node_row[indices] == PENDING].tolist()]
    known = [each for each in pending if each.spec.scheduler_name in framework.handle.scheduler_names]
    return sorted(known, key=_order_of_attempts)


def _order_of_attempts(pod: Pod) -> tuple[int, float, str]:
    created = pod.metadata.creation_timestamp
    return -(pod.spec.priority or 0), created.timestamp() if created is not None else float("inf"), pod.name


# Decisions for many pods of one cluster, of which each pod group is decided for once.


class DecidedGroups:
    """Decisions for the pods of one cluster.

    Args:
        decide: Decides for a pod as kube-scheduler tries it: by itself, or with its group.
    """

    def __init__(self, decide: Callable[[Pod], Decision]) -> None:
        self._decide = decide
        self._known: dict[str, PodGroupDecision] = {}

    def decide(self, pod: Pod) -> Decision:
        """Decide for a pod, or return its part of a decision that was made for another member of its group."""
        known = self._known.get(pod.key)
        if known is not None:
            return known.of_member(pod)
        decision = self._decide(pod)
        group = group_of(decision)
        if group is not None:
            self._known.update((member.pod.key, group) for member in group.members)
        return decision
