"""The pods of a PodGroup have different schedulers or preemption policies, or another priority than their group.

All members must have one schedulerName. From Kubernetes 1.37 on, the members must also have the priority of their
PodGroup and one preemption policy, which must be that of the group under the feature gate PodGroupPreemptionPolicy.
Admission sets priority and policy from priorityClassName, for the PodGroup as for pods; a group without a class has the
priority of the global default class, else 0. The rule reports nothing for a class that is neither in the manifest set
nor in the snapshot.

The API server accepts the objects, and all pods of the group stay pending with a SchedulerError ("all pods in a single
pod group should have the same priority as the pod group's priority").

Repair: the same schedulerName and priorityClassName for all members, and the same priorityClassName for the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pod_groups import POD_GROUP, group_name, members, shown
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.priorities import PREEMPT, ComputedPriority, computed_priority
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.scheduler_profiles import DEFAULT_SCHEDULER
from kschedctl.linter.values import Steps, is_rendered, mapping, text, whole
from kschedctl.objects.releases.rules import GROUP_PREEMPTION_POLICY

FAILS = """scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
---
batch/v1 Job train
parallelism: 4
schedulingGroup: {podGroupName: train}
priorityClassName: training  # <-
---
scheduling.k8s.io/v1 PriorityClass training
value: 1000
"""
PASSES = FAILS.replace("{gang: {minCount: 4}}", "{gang: {minCount: 4}}\npriorityClassName: training")

_CLASS: Final[Steps] = ("spec", "priorityClassName")
_MEMBER: Final = "another member of the group"


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    name, rules = group_name(pods), context.release.pod_group_rules
    if not name or rules is None:
        return
    first = next(iter(members(name, pods.obj, context)), pods)
    yield from _scheduler(pods, first)
    if rules.checks_members:
        yield from _priority(pods, first, name, context)


def _scheduler(pods: WorkloadPods, first: WorkloadPods) -> Iterator[Problem]:
    """Yield the problem of members with another scheduler than the first members of the group."""
    own, others = (text(each.spec.get("schedulerName")) or DEFAULT_SCHEDULER for each in (pods, first))
    if own != others and is_rendered([own, others]):
        yield Problem(
            message=f"schedulerName is {own}, and {shown(first)} of the same group has {others}",
            steps=_field(pods, "schedulerName"),
            help="use one scheduler for all members of the group",
            related=(Related(first.obj, _field(first, "schedulerName"), _MEMBER),),
        )


def _priority(pods: WorkloadPods, first: WorkloadPods, name: str, context: LintContext) -> Iterator[Problem]:
    """Yield the problem of members with another priority or preemption policy than their group or its first members."""
    own, other = _computed(pods.spec, pods.obj, context), _of_group(pods, name, context)
    group = context.manifests.named(pods.obj, POD_GROUP, name)
    where, fix = f"PodGroup {name}", None
    related = () if group is None else (Related(group, ("spec",), "the group"),)
    if own is None:
        return
    if other is not None and None not in (own.value, other.value) and own.value != other.value:
        message = f"priority {own.value} differs from priority {other.value} of {where}"
        if group is not None and (wanted := text(pods.spec.get("priorityClassName"))):
            fix = setting(group, f"set priorityClassName: {wanted} in the group", (_CLASS, wanted), safe=False)
    else:
        if not context.release.enabled(GROUP_PREEMPTION_POLICY):
            other, where = _computed(first.spec, first.obj, context), f"{shown(first)} of the same group"
            related = (Related(first.obj, _field(first, "priorityClassName"), _MEMBER),)
        if other is None or other.policy == own.policy:
            return
        message = f"preemptionPolicy {own.policy} differs from {other.policy} of {where}"
    yield Problem(
        message=message,
        steps=_field(pods, "priorityClassName"),
        help="write one priorityClassName in the group and all its pods",
        related=related,
        fix=fix,
    )


def _of_group(pods: WorkloadPods, name: str, context: LintContext) -> ComputedPriority | None:
    """Return the priority of the group of pods; ``None`` if the group or its class is not known."""
    group = context.manifests.named(pods.obj, POD_GROUP, name)
    if group is not None:
        spec = mapping(group.raw.get("spec"))
        class_name = spec.get("priorityClassName")
        # Pods and group of one class have the same priority, whatever its value.
        is_same = class_name and class_name == pods.spec.get("priorityClassName")
        return None if is_same else _computed(spec, group, context)
    stored = context.overlay.pod_group(name, pods.namespace) if context.overlay is not None else None
    if stored is None:
        return None
    return ComputedPriority(stored.spec.priority or 0, stored.spec.preemption_policy or PREEMPT, "")


def _computed(spec: Mapping[str, Any], obj: LintObject, context: LintContext) -> ComputedPriority | None:
    """Return the priority that admission computes, or has computed for an object that was read from a cluster."""
    if obj.live and whole(spec.get("priority")) is not None:
        return ComputedPriority(whole(spec.get("priority")), text(spec.get("preemptionPolicy")) or PREEMPT, "")
    return computed_priority(spec, obj, context)


def _field(pods: WorkloadPods, name: str) -> Steps:
    """Return the path of a field of the pod spec; that of the group's name if there is no such field."""
    return pods.of_spec(name if pods.spec.get(name) is not None else "schedulingGroup")
