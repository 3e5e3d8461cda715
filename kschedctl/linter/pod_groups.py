"""PodGroups of the manifest set: the workloads that create their members, and the number of these pods."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.values import Steps, at, is_rendered, text

POD_GROUP: Final = "scheduling.k8s.io/PodGroup"
GROUP_NAME: Final[Steps] = ("schedulingGroup", "podGroupName")
MIN_COUNT: Final[Steps] = ("spec", "schedulingPolicy", "gang", "minCount")


def gates_are_known(context: LintContext) -> bool:
    """Report whether it is known which feature gates of pod groups are off, because the gates were given.

    Without GenericWorkload, probably no gates were given: manifests of pod groups are for a cluster that has it on.
    """
    is_shown = context.overlay is not None and context.overlay.shows_group_gates
    return context.release.pod_groups is not None and not is_shown


def has_gangs(context: LintContext) -> bool:
    """Report whether gangs wait for their members, as far as the gates are known."""
    return context.release.pod_group_rules is not None and (context.release.gangs or not gates_are_known(context))


def has_placements(context: LintContext) -> bool:
    """Report whether topology constraints of groups count, as far as the gates are known."""
    return context.release.pod_group_rules is not None and (
        context.release.places_groups or not gates_are_known(context)
    )


def group_name(pods: WorkloadPods) -> str:
    """Return the name of the PodGroup of pods; empty if they name none, or the name has a placeholder."""
    name = text(at(pods.spec, *GROUP_NAME))
    return name if is_rendered(name) else ""


def members(name: str, obj: LintObject, context: LintContext) -> list[WorkloadPods]:
    """Return the workloads and pods in the namespace of `obj` whose pods name a PodGroup."""
    return context.without_owned(pods for pods in context.pods_seen_from(obj) if group_name(pods) == name)


def counted_members(group: LintObject, context: LintContext) -> list[tuple[WorkloadPods, int]] | None:
    """Return the workloads of a group's members, each with the most pods that exist at a time before any of them runs.

    Return ``None`` if there may be other members: a workload's number of pods is not known, a workload is one of
    several variants, or a custom resource names the group.
    """
    found = members(group.name, group, context)
    keys = {pods.obj.key for pods in found}
    of_group = (pods for pods in context.pods if group_name(pods) == group.name and pods.namespace == group.namespace)
    every = context.without_owned(of_group)
    if is_named_elsewhere(group, context) or any(pods.obj.key not in keys for pods in every):
        return None
    numbers = [(pods, number) for pods in found if (number := _most_at_a_time(pods, context)) is not None]
    return numbers if len(numbers) == len(found) else None


def is_named_elsewhere(group: LintObject, context: LintContext) -> bool:
    """Report whether a custom resource or a partial object names a PodGroup, so that it may have other members."""
    return any(
        (other.partial or other.type not in context.templates) and _names(other.raw, group.name)
        for other in context.manifests.objects
        if other is not group
    )


def _names(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        own = value.get(GROUP_NAME[-1])
        # A placeholder may become the name.
        return own == name or not is_rendered(own) or any(_names(each, name) for each in value.values())
    return isinstance(value, list) and any(_names(each, name) for each in value)


def is_started_in_order(pods: WorkloadPods) -> bool:
    """Report whether a StatefulSet creates a pod only once the pods before it are ready."""
    policy = at(pods.obj.raw, "spec", "podManagementPolicy")
    return pods.type == "apps/StatefulSet" and policy in (None, "", "OrderedReady")


def _most_at_a_time(pods: WorkloadPods, context: LintContext) -> int | None:
    """Return the most pods of a workload that exist before any of them runs; ``None`` if it is not known.

    The pods of several runs of a CronJob can exist at a time, a manifest with ``generateName`` creates an object each
    time, a DaemonSet has a pod per node, and a replica of a custom kind can be several pods.
    """
    count = context.replicas(pods) if pods.type != "batch/CronJob" and not pods.custom else None
    if count is None or not at(pods.obj.raw, "metadata", "name"):
        return None
    return min(count.high, 1) if is_started_in_order(pods) else count.high


def shown(pods: WorkloadPods) -> str:
    """Return a workload as text, such as ``Job train``."""
    return f"{pods.obj.kind} {pods.obj.name}"
