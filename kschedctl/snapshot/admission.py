"""What an API server's admission makes of a new pod, as far as scheduling reads it.

The plugins that are on by default: Priority, RuntimeClass and DefaultTolerationSeconds; and the label keys of pod
affinity, which the API server merges into the selector. A pod that was admitted before comes out as it went in.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.api.classes import PriorityClass, RuntimeClass
from kschedctl.api.meta import Labels, LabelSelector, LabelSelectorRequirement
from kschedctl.api.pod import Affinity, Pod, PodAffinity, PodAffinityTerm, PodSpec, Toleration
from kschedctl.api.selectors import IN, NOT_IN
from kschedctl.cluster.cluster import Cluster

#: Priority classes that every cluster has.
SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_NO_EXECUTE: Final = "NoExecute"
_TOLERATED_FOR_A_WHILE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS: Final = 300


def admit(pod: Pod, cluster: Cluster) -> Pod:
    """The pod as the cluster would store it.

    Parameters
    ----------
    pod : Pod
        The pod. It is not changed.
    cluster : Cluster
        Where its classes are looked up; a class that is not there leaves the pod as it is.
    """
    spec = _with_priority(pod.spec, cluster)
    spec = _with_runtime_class(spec, cluster)
    spec = _with_tolerations(spec)
    if spec.affinity is not None:
        spec = replace(spec, affinity=_with_merged_keys(spec.affinity, pod.metadata.labels))
    return replace(pod, spec=spec)


def _with_priority(spec: PodSpec, cluster: Cluster) -> PodSpec:
    if spec.priority is not None:
        return spec
    name = spec.priority_class_name
    if name in SYSTEM_PRIORITIES:
        return replace(spec, priority=SYSTEM_PRIORITIES[name])
    if name:
        chosen = cluster.get(PriorityClass, name)
    else:
        # Of several global defaults the lowest counts.
        defaults = (found for found in cluster.list(PriorityClass) if found.global_default)
        chosen = min(defaults, key=lambda found: found.value, default=None)
    if chosen is None:
        return spec
    return replace(
        spec,
        priority=chosen.value,
        priority_class_name=chosen.name,
        preemption_policy=spec.preemption_policy or chosen.preemption_policy,
    )


def _with_runtime_class(spec: PodSpec, cluster: Cluster) -> PodSpec:
    runtime_class = cluster.get(RuntimeClass, spec.runtime_class_name) if spec.runtime_class_name else None
    if runtime_class is None:
        return spec
    if runtime_class.overhead is not None and not spec.overhead:
        spec = replace(spec, overhead=runtime_class.overhead.pod_fixed)
    scheduling = runtime_class.scheduling
    if scheduling is None:
        return spec
    added = tuple(toleration for toleration in scheduling.tolerations if toleration not in spec.tolerations)
    return replace(
        spec,
        node_selector={**scheduling.node_selector, **spec.node_selector},
        tolerations=(*spec.tolerations, *added),
    )


def _with_tolerations(spec: PodSpec) -> PodSpec:
    """Pods stay for five minutes on nodes that are not ready or cannot be reached, unless they say otherwise."""
    missing = [
        key
        for key in _TOLERATED_FOR_A_WHILE
        if not any(t.key in ("", key) and t.effect in ("", _NO_EXECUTE) for t in spec.tolerations)
    ]
    added = (Toleration(key=k, operator="Exists", effect=_NO_EXECUTE, toleration_seconds=_SECONDS) for k in missing)
    return replace(spec, tolerations=(*spec.tolerations, *added))


def _with_merged_keys(affinity: Affinity, labels: Labels) -> Affinity:
    return replace(
        affinity,
        pod_affinity=_merge_terms(affinity.pod_affinity, labels),
        pod_anti_affinity=_merge_terms(affinity.pod_anti_affinity, labels),
    )


def _merge_terms(terms: PodAffinity | None, labels: Labels) -> PodAffinity | None:
    if terms is None:
        return None
    return PodAffinity(
        required_during_scheduling_ignored_during_execution=tuple(
            _merge(term, labels) for term in terms.required_during_scheduling_ignored_during_execution
        ),
        preferred_during_scheduling_ignored_during_execution=tuple(
            replace(weighted, pod_affinity_term=_merge(weighted.pod_affinity_term, labels))
            for weighted in terms.preferred_during_scheduling_ignored_during_execution
        ),
    )


def _merge(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    selector = term.label_selector
    if selector is None:
        return term
    wanted = [
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for keys, operator in ((term.match_label_keys, IN), (term.mismatch_label_keys, NOT_IN))
        for key in keys
        if key in labels
    ]
    added = tuple(requirement for requirement in wanted if requirement not in selector.match_expressions)
    if not added:
        return term
    merged = LabelSelector(
        match_labels=selector.match_labels, match_expressions=(*selector.match_expressions, *added)
    )
    return replace(term, label_selector=merged)
