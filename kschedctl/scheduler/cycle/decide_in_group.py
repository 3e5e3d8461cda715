"""Decisions for members of pod groups: kube-scheduler tries a group as a whole, so its members are decided together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code


def decide_in_group(framework: Framework, pod: Pod) -> Decision:
    """Decide for a pod as a member of its group, together with the group's other pending members.

    Parameters
    ----------
    framework : Framework
        The pod's profile.
    pod : Pod
        The pod, defaulted; without a node. It need not be in the cluster.

    Returns
    -------
    Decision
        The decision for the pod if its group is scheduled, else that for the first member that finds no node. It has
        ``group``. If PreEnqueue holds the pod or its group back, the decision for the pod alone.
    """
    framework = framework.moved(framework.cluster.with_pods(added=[pod]))
    members = pending_members(framework, pod)
    rules = framework.release.pod_groups
    held = {member.key: framework.run_pre_enqueue(member) for member in members}
    if rules is not None and rules.queues_groups:
        gate = next((status for status in held.values() if status.code is not Code.SUCCESS), None)
        if gate is not None:
            alone = schedule_pod(framework, pod, run_post_filter=False)
            return dataclasses.replace(alone, pre_enqueue=gate)
    elif held[pod.key].code is not Code.SUCCESS:
        return schedule_pod(framework, pod)
    free = [member for member in members if held[member.key].code is Code.SUCCESS]
    return decide_group(framework, free).of_member(pod)


def decide_group(framework: Framework, members: Sequence[Pod]) -> PodGroupDecision:
    """Decide for a group with the given members, the first of which names it."""
    first = members[0]
    return schedule_pod_group(framework, first.namespace, first.spec.pod_group_name, members)


def pending_members(framework: Framework, pod: Pod) -> list[Pod]:
    """Return the pending members of a pod's group in the order in which kube-scheduler tries them.

    The order is that of priority, then of creation, then of names.
    """
    pods = framework.cluster.pods
    indices = group_members(framework.cluster, pod.namespace, pod.spec.pod_group_name)
    pending = [pods.pod(index) for index in indices[pods.node_row[indices] == PENDING].tolist()]
    known = [each for each in pending if each.spec.scheduler_name in framework.handle.scheduler_names]
    return sorted(known, key=_order)


def _order(pod: Pod) -> tuple[int, float, str]:
    created = pod.metadata.creation_timestamp
    return -(pod.spec.priority or 0), created.timestamp() if created is not None else float("inf"), pod.name
