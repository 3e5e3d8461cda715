"""The Priority admission plugin: a pod gets its priority and preemption policy from its PriorityClass."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import SYSTEM_CLASSES, PriorityClass
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

    Parameters
    ----------
    name : str
        The name of the class; empty for the default class.
    is_resolved : bool
        True if an API server resolved the class before.

    Raises
    ------
    ManifestError
        If the cluster has no class of this name.
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

    Parameters
    ----------
    cluster : Cluster
        The cluster with its PriorityClasses.
    where : Subject, Location or str
        The source of the pod, for error messages.
    created : bool
        True if the pod is new. For an existing pod the API server has already resolved the classes, including
        classes that the snapshot lacks.

    Returns
    -------
    pod : Pod
        The pod as the scheduler sees it.
    warnings : tuple of str
        A warning if the named class is unknown and the snapshot has no PriorityClasses, although the cluster may.

    Raises
    ------
    ManifestError
        If an API server would reject the pod.
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
            hint=f"{_source(chosen)} {value}; name another class or leave priority out",
        )
    if pod.spec.preemption_policy and pod.spec.preemption_policy != policy:
        raise ManifestError(
            GIVEN_POLICY.format(pod.spec.preemption_policy, policy),
            where=where,
            path="spec.preemptionPolicy",
            hint=f"{_source(chosen)} {policy}; name another class or leave preemptionPolicy out",
        )
    admitted = replace(
        pod.spec,
        priority=value,
        priority_class_name=chosen.name if chosen is not None else "",
        preemption_policy=policy,
    )
    return replace(pod, spec=admitted), ()


def _source(chosen: PriorityClass | None) -> str:
    return "the value without a PriorityClass is" if chosen is None else f"PriorityClass {chosen.name} sets"
