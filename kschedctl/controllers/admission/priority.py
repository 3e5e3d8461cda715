"""The Priority admission plugin: a pod gets its priority and preemption policy from its PriorityClass."""

from typing import Final, TypeVar

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup, Workload
from kschedctl.objects.policies import SYSTEM_CLASSES, PriorityClass
from kschedctl.objects.releases.release import Release
from kschedctl.objects.validation.pod_group import GIVEN_GROUP_POLICY, GIVEN_GROUP_PRIORITY, priority_words
from kschedctl.objects.validation.pod_rejections import GIVEN_POLICY, GIVEN_PRIORITY, PREEMPT

_NONE_HINT: Final = "the snapshot has no PriorityClasses: add the class to the input, in the pod's file or another one"


def priority_class(cluster: Cluster, name: str) -> PriorityClass | None:
    """Return the PriorityClass called `name`, including the built-in system classes."""
    found = cluster.get(PriorityClass, name)
    return found or next((system for system in SYSTEM_CLASSES if system.name == name), None)


def default_priority_class(cluster: Cluster) -> PriorityClass | None:
    """Return the default class: of the classes marked globalDefault, the one with the lowest value."""
    marked = [candidate for candidate in cluster.list(PriorityClass) if candidate.global_default]
    return min(marked, key=lambda candidate: candidate.value, default=None)


def resolve_class(name: str, cluster: Cluster, *, where: Where, is_resolved: bool) -> PriorityClass | None:
    """Return the class of a pod or group, or ``None`` if the snapshot lacks it although the cluster may have it.

    Args:
        name: The name of the class; empty for the default class.
        is_resolved: True if an API server resolved the class before.

    Raises ManifestError if the cluster has no class of this name.
    """
    chosen = priority_class(cluster, name) if name else default_priority_class(cluster)
    if name and chosen is None:
        known = sorted(known.name for known in cluster.list(PriorityClass))
        if known or not (is_resolved or "PriorityClass" in cluster.not_listed):
            raise ManifestError(
                f"no PriorityClass with name {name} was found",
                where=where,
                path="spec.priorityClassName",
                hint=f"the snapshot has {', '.join(known)}" if known else _NONE_HINT,
            )
    return chosen


def admit_priority(
    pod: Pod, cluster: Cluster, *, where: Where = "", created: bool = True
) -> tuple[Pod, tuple[str, ...]]:
    """Set the priority and preemption policy of a new pod.

    Args:
        where: The source of the pod, for error messages.
        created: True if the pod is new. For an existing pod the API server has already resolved the classes,
            including classes that the snapshot lacks.

    Returns: pod: the pod as the scheduler sees it; warnings: a warning if the named class is unknown and the
        snapshot has no PriorityClasses, although the cluster may

    Raises ManifestError if an API server would reject the pod.
    """
    name = pod.spec.priority_class_name
    # If `spec.priority` is set, the API server has already resolved the class.
    is_resolved = not created or pod.spec.priority is not None
    chosen = resolve_class(name, cluster, where=where, is_resolved=is_resolved)
    if name and chosen is None:
        assumed = pod.spec.priority or 0
        warning = f"the snapshot has no PriorityClasses: {name} is assumed to have priority {assumed}"
        return replace(pod, spec=replace(pod.spec, priority=assumed)), (warning,)
    value = chosen.value if chosen is not None else 0
    policy = (chosen.preemption_policy if chosen is not None else "") or PREEMPT
    if pod.spec.priority is not None and pod.spec.priority != value:
        raise ManifestError(
            GIVEN_PRIORITY.format(pod.spec.priority, value),
            where=where,
            path="spec.priority",
            hint=f"{_where_priority_comes_from(chosen)} {value}; name another class or leave priority out",
        )
    if pod.spec.preemption_policy and pod.spec.preemption_policy != policy:
        raise ManifestError(
            GIVEN_POLICY.format(pod.spec.preemption_policy, policy),
            where=where,
            path="spec.preemptionPolicy",
            hint=f"{_where_priority_comes_from(chosen)} {policy}; name another class or leave preemptionPolicy out",
        )
    admitted = replace(
        pod.spec,
        priority=value,
        priority_class_name=chosen.name if chosen is not None else "",
        preemption_policy=policy,
    )
    return replace(pod, spec=admitted), ()


def _where_priority_comes_from(chosen: PriorityClass | None) -> str:
    return "the value without a PriorityClass is" if chosen is None else f"PriorityClass {chosen.name} sets"


# Admission of new PodGroups and CompositePodGroups: the priority of their PriorityClass (Priority), and their Workload.
#
# Kubernetes 1.36 also refuses a group whose Workload or template does not exist (PodGroupWorkloadExists).

_Group = TypeVar("_Group", bound=PodGroup | CompositePodGroup)


def admit_pod_group(group: _Group, cluster: Cluster, *, release: Release, where: Where = "") -> _Group:
    """Return a new PodGroup or CompositePodGroup as an API server stores it.

    Args:
        cluster: The cluster with its PriorityClasses and Workloads.
        release: The Kubernetes release of the API server.
        where: The source of the group, for error messages.

    Raises ManifestError if an API server would reject the group.
    """
    noun, gate = priority_words(type(group).__name__, release.validation)
    if gate and release.api_server_has(gate):
        group = _with_priority(group, cluster, noun, release, where)
    needs_workload = release.validation.pod_group_needs_workload and release.api_server_has("GenericWorkload")
    if isinstance(group, PodGroup) and needs_workload:
        _require_template(group, cluster, where)
    return group


def _with_priority(group: _Group, cluster: Cluster, noun: str, release: Release, where: Where) -> _Group:
    spec = group.spec
    name = spec.priority_class_name
    chosen = resolve_class(name, cluster, where=where, is_resolved=spec.priority is not None)
    if name and chosen is None:
        return replace(group, spec=replace(spec, priority=spec.priority or 0))
    value, policy = (chosen.value, chosen.preemption_policy or PREEMPT) if chosen is not None else (0, PREEMPT)
    if spec.priority is not None and spec.priority != value:
        problem = GIVEN_GROUP_PRIORITY.format(noun, spec.priority, value)
        raise ManifestError(problem, where=where, path="spec.priority", hint="leave priority out")
    if release.api_server_has("PodGroupPreemptionPolicy"):
        default = PREEMPT if release.validation.preemption_policy_of_groups_has_default else policy
        given = spec.preemption_policy or default
        if given != policy:
            problem = GIVEN_GROUP_POLICY.format(given, noun, policy)
            hint = f"write preemptionPolicy: {policy}"
            raise ManifestError(problem, where=where, path="spec.preemptionPolicy", hint=hint)
        spec = replace(spec, preemption_policy=policy)
    class_name = chosen.name if chosen is not None else ""
    return replace(group, spec=replace(spec, priority=value, priority_class_name=class_name))


def _require_template(group: PodGroup, cluster: Cluster, where: Where) -> None:
    ref = group.spec.pod_group_template_ref
    if ref is None or ref.workload is None:
        return
    name, template = ref.workload.workload_name, ref.workload.pod_group_template_name
    path = "spec.podGroupTemplateRef.workload"
    workload = cluster.get(Workload, name, group.namespace)
    if workload is None and Workload.__name__ not in cluster.not_listed:
        hint = "add the Workload to the input, in the group's file or another one"
        raise ManifestError(f'PodGroup rejected: Workload "{name}" not found', where=where, path=path, hint=hint)
    if workload is not None and template not in {each.name for each in workload.spec.pod_group_templates}:
        problem = f'PodGroup rejected: PodGroupTemplate "{template}" not found in Workload "{name}"'
        raise ManifestError(problem, where=where, path=path)
