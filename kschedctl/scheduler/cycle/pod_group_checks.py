"""The checks that precede an attempt at a pod group: its pods, and the groups of its tree, must agree."""

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import GROUP_PREEMPTION_POLICY
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo
from kschedctl.scheduler.framework.runtime import Framework

_DEFAULT_POLICY: Final = "PreemptLowerPriority"
#: The number of levels of a tree, that of the PodGroups included.
_MOST_LEVELS: Final = 4


def members_problem(framework: Framework, group: PodGroupInfo) -> str:
    """Return the error with which every attempt at a group ends before a member is tried; empty if there is none.

    Args:
        framework: The profile of the first member.
        group: The group, with at least one member without a node.
    """
    release, rules, cluster = framework.release, framework.release.pod_groups, framework.cluster
    if rules is not None and rules.checks_hierarchy:
        return next(_hierarchy_problems(framework, group), "")
    checks_members = rules is not None and rules.checks_members
    pods = list(group.unscheduled)
    first = pods[0]
    if checks_members:
        pods += [cluster.pods.pod(index) for index in group.scheduled(cluster).tolist()]
    by_group = release.enabled(GROUP_PREEMPTION_POLICY)
    policy = (group.preemption_policy if by_group else first.spec.preemption_policy) or _DEFAULT_POLICY
    for pod in pods:
        own, name = pod.spec, first.spec.scheduler_name
        if own.scheduler_name != name:
            together = "all pods in a single pod group should have the same .spec.schedulerName set"
            return f'{together}, got: "{own.scheduler_name}" and "{name}"'
        if not checks_members:
            continue
        if (own.priority or 0) != group.priority:
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                f"got {own.priority or 0} and {group.priority}"
            )
        if (own.preemption_policy or _DEFAULT_POLICY) != policy:
            as_group = " as the pod group's preemption policy" if by_group else ""
            return (
                f"all pods in a single pod group should have the same preemption policy{as_group}, "
                f"got {own.preemption_policy or _DEFAULT_POLICY} and {policy}"
            )
    return ""


def _hierarchy_problems(framework: Framework, root: PodGroupInfo) -> Iterator[str]:
    """Yield what is wrong in a tree, in kube-scheduler's order (upstream ``validatePodGroupHierarchy``)."""
    cluster, first = framework.cluster, root.unscheduled[0]
    policy = root.preemption_policy or first.spec.preemption_policy or _DEFAULT_POLICY

    def below(group: PodGroupInfo, parent: PodGroupInfo | None, level: int) -> Iterator[str]:
        if group.is_tree and level == _MOST_LEVELS:
            yield f'hierarchy depth exceeds maximum allowed depth {_MOST_LEVELS} at "{group.entity}"'
        if parent is not None:
            yield from _group_problems(group, parent, root, policy)
        for child in group.children:
            yield from below(child, group, level + 1)
        if not group.is_tree:
            scheduled = [cluster.pods.pod(index) for index in group.scheduled(cluster).tolist()]
            yield from _pod_problems([*group.unscheduled, *scheduled], root, first, policy)

    yield from below(root, None, 1)


def _group_problems(group: PodGroupInfo, parent: PodGroupInfo, root: PodGroupInfo, policy: str) -> Iterator[str]:
    own, theirs = (each.group.spec.workload_name if each.group is not None else "" for each in (group, root))
    if own != theirs:
        names = f'"{own}" ("{group.entity}") and "{theirs}" ("{root.entity}")'
        yield f"pod group workload does not match root workload, got: {names}"
    if group.priority != root.priority:
        yield (
            "all pod groups in a hierarchy should have the same priority as the root pod group's priority, "
            f'got {group.priority} ("{group.entity}") and {root.priority} ("{root.entity}")'
        )
    if group.preemption_policy not in ("", policy):
        yield (
            "all pod groups in a hierarchy should have the same preemption policy, "
            f'got {group.preemption_policy} ("{group.entity}") and {policy}'
        )
    if parent.is_gang and group.is_basic:
        yield f'gang parent "{parent.entity}" cannot have basic child "{group.entity}"'
    if parent.group is not None and parent.group.spec.disrupts_all and _disrupts_single(group):
        yield (
            f'parent "{parent.entity}" with All disruption mode cannot have child "{group.entity}" '
            "with Single disruption mode"
        )


def _disrupts_single(group: PodGroupInfo) -> bool:
    # That is the mode of a group without one.
    return group.group is not None and not group.group.spec.disrupts_all


def _pod_problems(pods: Sequence[Pod], root: PodGroupInfo, first: Pod, policy: str) -> Iterator[str]:
    for pod in pods:
        own = pod.spec
        if own.scheduler_name != first.spec.scheduler_name:
            names = f'"{own.scheduler_name}" ("{pod.name}") and "{first.spec.scheduler_name}" ("{first.name}")'
            yield f"all pods in a pod group hierarchy should have the same .spec.schedulerName set, got: {names}"
        if (own.priority or 0) != root.priority:
            yield (
                "all pods in a pod group hierarchy should have the same priority as the root pod group's priority, "
                f'got {own.priority or 0} ("{pod.name}") and {root.priority} ("{root.entity}")'
            )
        if (own.preemption_policy or _DEFAULT_POLICY) != policy:
            yield (
                "all pods in a pod group hierarchy should have the same preemption policy, "
                f'got {own.preemption_policy or _DEFAULT_POLICY} ("{pod.name}") and {policy}'
            )
