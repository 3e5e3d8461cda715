"""The Priority admission plugin: a pod's priority and preemption policy come from its PriorityClass."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.api.classes import PriorityClass
from kschedctl.api.meta import ObjectMeta
from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import ManifestError
from kschedctl.findings.finding import Where

PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
#: The classes that every API server has.
SYSTEM_CLASSES: Final = (
    PriorityClass(metadata=ObjectMeta(name="system-cluster-critical"), value=2_000_000_000),
    PriorityClass(metadata=ObjectMeta(name="system-node-critical"), value=2_000_001_000),
)


def priority_class(cluster: Cluster, name: str) -> PriorityClass | None:
    """The class of a name, the system's own included."""
    found = cluster.get(PriorityClass, name)
    return found or next((system for system in SYSTEM_CLASSES if system.name == name), None)


def default_priority_class(cluster: Cluster) -> PriorityClass | None:
    """The class of pods that name none: of those marked globalDefault the one with the lowest value."""
    marked = [candidate for candidate in cluster.list(PriorityClass) if candidate.global_default]
    return min(marked, key=lambda candidate: candidate.value, default=None)


def admit_priority(pod: Pod, cluster: Cluster, *, where: Where = "") -> tuple[Pod, tuple[str, ...]]:
    """Set priority and preemption policy of a new pod.

    Parameters
    ----------
    cluster : Cluster
        The cluster with its PriorityClasses.
    where : Subject, Location or str
        Where the pod was read, for errors.

    Returns
    -------
    pod : Pod
        The pod as the scheduler sees it.
    warnings : tuple of str
        That the snapshot has no PriorityClasses at all, where the pod names one.

    Raises
    ------
    ManifestError
        Where an API server would refuse the pod.
    """
    name = pod.spec.priority_class_name
    chosen = priority_class(cluster, name) if name else default_priority_class(cluster)
    if name and chosen is None:
        known = sorted(known.name for known in cluster.list(PriorityClass))
        if known:
            raise ManifestError(
                f"no PriorityClass with name {name} was found",
                where=where,
                path="spec.priorityClassName",
                hint=f"the snapshot has {', '.join(known)}",
            )
        assumed = pod.spec.priority or 0
        warning = f"the snapshot has no PriorityClasses: {name} is taken to have priority {assumed}"
        return replace(pod, spec=replace(pod.spec, priority=assumed)), (warning,)
    value = chosen.value if chosen is not None else 0
    policy = (chosen.preemption_policy if chosen is not None else "") or PREEMPT_LOWER_PRIORITY
    if pod.spec.priority is not None and pod.spec.priority != value:
        raise ManifestError(
            f"the integer value of priority ({pod.spec.priority}) must not be provided in pod spec",
            where=where,
            path="spec.priority",
            hint=f"{_source(chosen)} gives {value}; name another class or leave priority out",
        )
    if pod.spec.preemption_policy and pod.spec.preemption_policy != policy:
        raise ManifestError(
            f"the string value of PreemptionPolicy ({pod.spec.preemption_policy}) must not be provided in pod spec",
            where=where,
            path="spec.preemptionPolicy",
            hint=f"{_source(chosen)} gives {policy}; name another class or leave preemptionPolicy out",
        )
    admitted = replace(
        pod.spec,
        priority=value,
        priority_class_name=chosen.name if chosen is not None else "",
        preemption_policy=policy,
    )
    return replace(pod, spec=admitted), ()


def _source(chosen: PriorityClass | None) -> str:
    return "a pod without a PriorityClass" if chosen is None else f"PriorityClass {chosen.name}"
