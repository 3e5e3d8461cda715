"""Rules that API servers declare at the fields of a type, as far as their findings come after all others.

Those of the limits of HorizontalPodAutoscalers are in ``autoscaler``, and those of pod groups in ``pod_group``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kschedctl.objects.names import qualified_name_problems, subdomain_problems
from kschedctl.objects.validation.metadata import object_name
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.security import seccomp_of_registry
from kschedctl.objects.validation.values import ValidationContext


def declared(tree: Part, key: str, context: ValidationContext) -> None:
    """Check an object by these rules.

    Args:
        key: The object's version and kind, such as ``apps/v1/DaemonSet``.
    """
    if key in _RULES:
        _RULES[key](tree, context)


def _pod(tree: Part, context: ValidationContext) -> None:
    spec = tree["spec"]
    if not context.rules.more_is_declared:
        return
    for profile in _seccomp_profiles(spec):
        seccomp_of_registry(profile)
    for toleration in spec["tolerations"]:
        toleration["key"].nonempty.check(qualified_name_problems)


def _seccomp_profiles(spec: Part) -> Iterator[Part]:
    """Yield the seccomp profiles of the containers, and then that of the pod."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec[name]:
            yield container["securityContext"]["seccompProfile"]
    yield spec["securityContext"]["seccompProfile"]


def _pod_template(tree: Part, context: ValidationContext) -> None:
    _pod(tree["template"], context)


def _workload(tree: Part, context: ValidationContext) -> None:
    _pod(tree["spec"]["template"], context)


def _stateful_set(tree: Part, context: ValidationContext) -> None:
    selector = tree["spec"]["selector"]
    if context.rules.more_is_declared and not selector.given:
        selector.required()
    _workload(tree, context)


def _replication_controller(tree: Part, context: ValidationContext) -> None:
    if context.rules.bounds_are_last:
        object_name(tree["metadata"]).check(subdomain_problems)
        for name in ("replicas", "minReadySeconds"):
            tree["spec"][name].not_negative()
    _workload(tree, context)


def _job(tree: Part, context: ValidationContext) -> None:
    spec = tree["spec"]
    if context.rules.more_is_declared and "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        spec["backoffLimitPerIndex"].required("must be set when maxFailedIndexes is set")
    _workload(tree, context)


def _cron_job(tree: Part, context: ValidationContext) -> None:
    spec = tree["spec"]
    if context.rules.bounds_are_last:
        spec["schedule"].require()
    _job(spec["jobTemplate"], context)


def _storage_class(tree: Part, context: ValidationContext) -> None:
    if context.rules.bounds_are_last:
        tree["provisioner"].require()


_RULES: Final[Mapping[str, Callable[[Part, ValidationContext], None]]] = {
    "v1/Pod": _pod,
    "v1/PodTemplate": _pod_template,
    "v1/ReplicationController": _replication_controller,
    **dict.fromkeys(("apps/v1/Deployment", "apps/v1/ReplicaSet", "apps/v1/DaemonSet"), _workload),
    "apps/v1/StatefulSet": _stateful_set,
    "batch/v1/Job": _job,
    "batch/v1/CronJob": _cron_job,
    "storage.k8s.io/v1/StorageClass": _storage_class,
}
