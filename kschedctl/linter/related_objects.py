"""Objects of the manifest set that belong to pods: budgets, pod groups, priority classes and node pools."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted
from kschedctl.controllers.disruption import needs_scale
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import FieldEdit, Fix, FixAction
from kschedctl.linter.labels import holds
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import SCALED, Replicas, WorkloadPods
from kschedctl.linter.rule import Related
from kschedctl.linter.values import Steps, at, is_rendered, mapping, text, whole
from kschedctl.objects.karpenter import NodePool
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.resources import parse_resources
from kschedctl.sources.snapshot.decoding import decode

PDB: Final = "policy/PodDisruptionBudget"
SELECTOR: Final[Steps] = ("spec", "selector")


def threshold(budget: LintObject) -> tuple[str, Any] | None:
    """Return the field that limits evictions, with its value; ``None`` if neither field or both are set."""
    spec = mapping(budget.raw.get("spec"))
    given = [(name, spec[name]) for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    return given[0] if len(given) == 1 else None


def selected(budget: LintObject, context: LintContext) -> list[WorkloadPods]:
    """Return the workloads and pods of the manifest set whose pods a budget selects."""
    selector = at(budget.raw, *SELECTOR)
    return context.without_owned(pods for pods in context.pods_seen_from(budget) if holds(selector, pods.labels))


#: The kinds whose pods end. They have no scale, so that only a budget with a number of pods can count them.
JOBS: Final = frozenset(("batch/Job", "batch/CronJob"))


def counts(budget: LintObject, context: LintContext, rule: str) -> tuple[list[tuple[WorkloadPods, Replicas]], bool]:
    """Return the workloads whose pods a budget selects, with their replicas, and True if all could be counted.

    The pods of a Job or CronJob count as one run of it.
    """
    found: list[tuple[WorkloadPods, Replicas]] = []
    limit = threshold(budget)
    counts_pods = limit is not None and not needs_scale(*limit)
    for pods in selected(budget, context):
        is_counted = pods.type in SCALED or pods.type == "Pod" or pods.custom
        count = context.replicas(pods) if is_counted or (counts_pods and pods.type in JOBS) else None
        if count is None:
            context.cannot_count(rule, pods)
            return found, False
        found.append((pods, count))
    return found, True


def one_may_go(budget: LintObject, field: str) -> Fix:
    """Return a fix that allows the eviction of one pod at a time."""
    spec: Steps = ("spec",)
    changes = [] if field == "maxUnavailable" else [FieldEdit(FixAction.RENAME, (*spec, field), "maxUnavailable")]
    changes.append(FieldEdit(FixAction.SET, (*spec, "maxUnavailable"), 1))
    return Fix(budget, "set maxUnavailable: 1", tuple(changes), safe=False)


def related_pods(found: list[tuple[WorkloadPods, Replicas]]) -> tuple[Related, ...]:
    """Return the workloads that a budget selects and their autoscalers, as related objects."""
    related = []
    for pods, count in found:
        noun = "pod" if pods.type in JOBS else "replica"
        number = counted(count.low, noun) if count.low == count.high == 1 else f"{count.shown} {noun}s"
        related.append(Related(pods.obj, ("spec", "replicas"), number))
        if count.scaler is not None:
            related.append(Related(count.scaler, ("spec",), f"scales {pods.obj.kind} {pods.obj.name}"))
    return tuple(related)


# PodGroups of the manifest set: the workloads that create their members, and the number of these pods.

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
        (other.partial or other.type not in context.templates) and _has_name(other.raw, group.name)
        for other in context.manifests.objects
        if other is not group
    )


def _has_name(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        own = value.get(GROUP_NAME[-1])
        # A placeholder may become the name.
        return own == name or not is_rendered(own) or any(_has_name(each, name) for each in value.values())
    return isinstance(value, list) and any(_has_name(each, name) for each in value)


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


_CLASS: Final = "scheduling.k8s.io/PriorityClass"
PREEMPT: Final = "PreemptLowerPriority"
_BUILT_IN: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class ComputedPriority(NamedTuple):
    """The priority and preemption policy that admission computes."""

    #: The priority; ``None`` if the class has a malformed value.
    value: int | None
    policy: Any
    #: The beginning of a sentence about the value, such as ``PriorityClass shop sets``.
    source: str


def computed_priority(spec: Mapping[str, Any], obj: LintObject, context: LintContext) -> ComputedPriority | None:
    """Return the priority that admission computes from the class of a spec; ``None`` if the class is not known.

    Args:
        spec: The spec of the pods or the group in `obj`.
    """
    name = spec.get("priorityClassName")
    if name:
        if not isinstance(name, str) or not is_rendered(name):
            return None
        if name in _BUILT_IN:
            return ComputedPriority(_BUILT_IN[name], PREEMPT, f"PriorityClass {name} sets")
        given = context.manifests.named(obj, _CLASS, name)
        return _of_cluster(name, context) if given is None else _of_class(given, f"PriorityClass {name} sets")
    for other in context.manifests.seen_from(obj, _CLASS):
        if other.raw.get("globalDefault") is True:
            return _of_class(other, f"PriorityClass {other.name}, the global default, sets")
    return _of_cluster("", context) or ComputedPriority(0, PREEMPT, "the value without a class is")


def _of_class(given: LintObject, source: str) -> ComputedPriority:
    return ComputedPriority(whole(given.raw.get("value")), text(given.raw.get("preemptionPolicy")) or PREEMPT, source)


def _of_cluster(name: str, context: LintContext) -> ComputedPriority | None:
    """Return the values of a class of the snapshot, or of its default class for an empty name."""
    found = context.overlay.priority_class(name) if context.overlay is not None else None
    if found is None:
        return None
    default = "" if name else ", the global default,"
    return ComputedPriority(
        found.value, found.preemption_policy or PREEMPT, f"PriorityClass {found.name}{default} sets"
    )


NODE_POOL: Final = "karpenter.sh/NodePool"


def has_node_pools(context: LintContext) -> bool:
    """Report whether the manifest set or the snapshot has a NodePool."""
    if NODE_POOL in context.manifests.by_type:
        return True
    return context.overlay is not None and bool(context.overlay.cluster.cluster.list(NodePool))


def typed_pool(pool: LintObject) -> NodePool | None:
    """Return a manifest of a NodePool as an API type; ``None`` if it is malformed or has placeholders."""
    if not is_rendered(pool.raw):
        return None
    try:
        typed = decode(pool.raw, NodePool)
        for amounts in (typed.spec.limits, typed.status.resources):
            parse_resources(amounts)
    except (InputError, QuantityError):
        return None
    return typed
