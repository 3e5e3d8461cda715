"""Admission of new PodGroups: the priority of their PriorityClass (Priority), and their Workload.

Kubernetes 1.36 also refuses a group whose Workload or template does not exist (PodGroupWorkloadExists).
"""

from __future__ import annotations

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.controllers.admission.priority import resolve_class
from kschedctl.objects.pod_group import PodGroup, Workload
from kschedctl.objects.releases.release import Release
from kschedctl.objects.validation.pod_group import GIVEN_GROUP_POLICY, GIVEN_GROUP_PRIORITY, priority_words
from kschedctl.objects.validation.pod_rejections import PREEMPT


def admit_pod_group(group: PodGroup, cluster: Cluster, *, release: Release, where: Where = "") -> PodGroup:
    """Return a new PodGroup as an API server stores it.

    Parameters
    ----------
    cluster : Cluster
        The cluster with its PriorityClasses and Workloads.
    release : Release
        The Kubernetes release of the API server.
    where : Subject, Location or str
        The source of the group, for error messages.

    Raises
    ------
    ManifestError
        If an API server would reject the group.
    """
    noun, gate = priority_words(PodGroup.__name__, release.validation)
    if gate and release.api_server_has(gate):
        group = _with_priority(group, cluster, noun, release, where)
    if release.validation.pod_group_needs_workload and release.api_server_has("GenericWorkload"):
        _require_template(group, cluster, where)
    return group


def _with_priority(group: PodGroup, cluster: Cluster, noun: str, release: Release, where: Where) -> PodGroup:
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
        given = spec.preemption_policy or PREEMPT
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
