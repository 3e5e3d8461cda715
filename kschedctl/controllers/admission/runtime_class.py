"""The RuntimeClass admission plugin: a pod gets overhead, node selector and tolerations from its RuntimeClass."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.objects.pod import NO_EXECUTE, Pod, PodSpec, Toleration
from kschedctl.objects.policies import RuntimeClass
from kschedctl.objects.resources import parse_resources

_NONE_HINT: Final = "the snapshot has no RuntimeClasses: add the class to the input, in the pod's file or another one"


def admit_runtime_class(
    pod: Pod, cluster: Cluster, *, where: Where = "", created: bool = True
) -> tuple[Pod, tuple[str, ...]]:
    """Set the fields that a pod inherits from its RuntimeClass.

    Args:
        where: The source of the pod, for error messages.
        created: True if the pod is new. For an existing pod the API server has already resolved the classes,
            including classes that the snapshot lacks.

    Returns: pod: the pod as the scheduler sees it; warnings: a warning if the named class is unknown and the
        snapshot has no RuntimeClasses, although the cluster may

    Raises ManifestError if an API server would reject the pod.
    Raises QuantityError if an overhead is not a quantity.
    """
    name = pod.spec.runtime_class_name
    runtime_class = cluster.get(RuntimeClass, name) if name else None
    if name and runtime_class is None:
        known = sorted(known.name for known in cluster.list(RuntimeClass))
        # If `spec.overhead` is set, the API server has already resolved the class.
        was_there = not created or "RuntimeClass" in cluster.not_listed or pod.spec.overhead
        if not known and was_there:
            problem = f"the snapshot has no RuntimeClasses: the fields that {name} adds to the pod are unknown"
            return pod, (problem,)
        raise ManifestError(
            f'pod rejected: RuntimeClass "{name}" not found',
            where=where,
            path="spec.runtimeClassName",
            hint=f"the snapshot has {', '.join(known)}" if known else _NONE_HINT,
        )
    spec = _with_overhead(pod.spec, runtime_class, where)
    if runtime_class is not None and runtime_class.scheduling is not None:
        for key, value in sorted(runtime_class.scheduling.node_selector.items()):
            own = spec.node_selector.get(key, value)
            if own != value:
                raise ManifestError(
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                    f"pod.spec.nodeSelector[{key}] = {own}",
                    where=where,
                    path=f"spec.nodeSelector[{key}]",
                    hint="leave it out, or name another RuntimeClass",
                )
        spec = replace(
            spec,
            node_selector={**spec.node_selector, **runtime_class.scheduling.node_selector},
            tolerations=merge_tolerations((*spec.tolerations, *runtime_class.scheduling.tolerations)),
        )
    return replace(pod, spec=spec), ()


def _with_overhead(spec: PodSpec, runtime_class: RuntimeClass | None, where: Where) -> PodSpec:
    overhead = runtime_class.overhead if runtime_class is not None else None
    if overhead is None:
        if spec.overhead:
            raise ManifestError(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
                where=where,
                path="spec.overhead",
                hint="leave it out; an API server sets it from the RuntimeClass",
            )
        return spec
    if not spec.overhead:
        return replace(spec, overhead=overhead.pod_fixed)
    if parse_resources(spec.overhead, "spec.overhead") != parse_resources(overhead.pod_fixed, "overhead.podFixed"):
        raise ManifestError(
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            where=where,
            path="spec.overhead",
            hint="leave it out; an API server sets it from the RuntimeClass",
        )
    return spec


def merge_tolerations(tolerations: Iterable[Toleration]) -> tuple[Toleration, ...]:
    """Remove every toleration that another one covers; of equal ones the first remains (util/tolerations)."""
    every = tuple(tolerations)
    merged: list[Toleration] = []
    for i, toleration in enumerate(every):
        later = (other for other in every[i + 1 :] if other != toleration)
        if not any(_covers(other, toleration) for other in (*merged, *later)):
            merged.append(toleration)
    return tuple(merged)


def _covers(wide: Toleration, narrow: Toleration) -> bool:
    """Report whether `wide` tolerates everything that `narrow` tolerates."""
    if wide == narrow:
        return True
    if wide.key != narrow.key and (wide.key or wide.operator != "Exists"):
        return False
    if wide.effect not in ("", narrow.effect):
        return False
    seconds = wide.toleration_seconds
    if wide.effect == NO_EXECUTE and seconds is not None:
        own = narrow.toleration_seconds
        if own is None or own > seconds:
            return False
    # An absent operator means Equal, but the API server compares the operator as written.
    if wide.operator in ("", "Equal"):
        return narrow.operator == "Equal" and wide.value == narrow.value
    return wide.operator == "Exists"
