"""The pods of any workload; the entry point of this package."""

from __future__ import annotations

from typing import Final, cast

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.controllers.workloads.claims import with_own_claims
from kschedctl.controllers.workloads.created_pods import MadePod
from kschedctl.controllers.workloads.daemon_set import pods_of_daemon_set
from kschedctl.controllers.workloads.job import job_of_cron_job, pods_of_job
from kschedctl.controllers.workloads.replica_set import pods_of_deployment, pods_of_replicas
from kschedctl.controllers.workloads.stateful_set import MOST_ORDINALS, pods_of_stateful_set
from kschedctl.controllers.workloads.template import normalize_template, pod_from_template
from kschedctl.objects import field_errors
from kschedctl.objects.defaults import default_object
from kschedctl.objects.meta import ApiObject, LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QUANTITY_HINT, QuantityError
from kschedctl.objects.selectors import SelectorError, matches, parse_label_selector
from kschedctl.objects.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    PodTemplateSpec,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: The kinds that ``pods_of`` accepts, including Pod itself.
WORKLOADS: Final[tuple[type[ApiObject], ...]] = (
    Pod,
    Deployment,
    StatefulSet,
    DaemonSet,
    ReplicaSet,
    Job,
    CronJob,
    ReplicationController,
    PodTemplate,
)
_SELECTED: Final = (Deployment, StatefulSet, DaemonSet, ReplicaSet)

#: The fields that hold a number of pods, by attribute, with their names in manifests.
_COUNTS: Final = {"replicas": "replicas", "parallelism": "parallelism", "completions": "completions"}


def pods_of(
    obj: ApiObject, cluster: Cluster, *, where: Where = "", most_ordinals: int = MOST_ORDINALS
) -> tuple[MadePod, ...]:
    """Return the pods that the controller of an object creates.

    Parameters
    ----------
    obj : ApiObject
        A workload, or a pod, which is returned unchanged.
    cluster : Cluster
        The cluster, with its nodes and the objects that the controller has already created.
    where : Subject, Location or str
        The source of the object, for error messages.
    most_ordinals : int
        The number of ordinals of a StatefulSet that are created one by one; the last stands for all further ones.

    Returns
    -------
    tuple of MadePod
        One pod if all pods are equal except for their names, else one per pod: per ordinal of a StatefulSet, per
        eligible node of a DaemonSet (empty if there is none).

    Raises
    ------
    ManifestError
        If the object is of any other kind, if its template is missing or has an invalid quantity, if a number of
        pods is negative, or if its selector does not select the template.
    """
    if isinstance(obj, Pod):
        return (with_own_claims(MadePod(obj), cluster),)
    if not isinstance(obj, WORKLOADS):
        known = ", ".join(kind.__name__ for kind in WORKLOADS)
        raise ManifestError(
            f"a {type(obj).__name__} creates no pods", where=where, hint=f"kinds that create pods: {known}"
        )
    # Names and namespaces are compared with those of the cluster's objects, which have API defaults.
    obj = default_object(obj)
    path = _template_path(obj)
    if isinstance(obj, CronJob):
        obj = job_of_cron_job(obj)
    template = _template(obj)
    if template is None:
        raise ManifestError("is missing", where=where, path=path, hint="add the pod template")
    if isinstance(obj, _SELECTED):
        _check_selector(obj.spec.selector, template, where)
    try:
        normalize_template(template)
    except QuantityError as error:
        raise ManifestError(str(error), where=where, path=f"{path}.{error.path}", hint=QUANTITY_HINT) from None
    _check_counts(obj, where)
    return tuple(with_own_claims(made, cluster) for made in _made(obj, template, cluster, most_ordinals))


def _check_counts(obj: ApiObject, where: Where) -> None:
    """Raise ``ManifestError`` if a number of pods is negative, as an API server does."""
    spec = obj.spec.job_template.spec if isinstance(obj, CronJob) else getattr(obj, "spec", None)
    path = "spec.jobTemplate.spec" if isinstance(obj, CronJob) else "spec"
    for field, name in _COUNTS.items():
        number = getattr(spec, field, None)
        if isinstance(number, int) and number < 0:
            finding = field_errors.invalid(f"{path}.{name}", number, "must be greater than or equal to 0")
            raise ManifestError.together([finding.at(where)])


def _made(obj: ApiObject, template: PodTemplateSpec, cluster: Cluster, most_ordinals: int) -> tuple[MadePod, ...]:
    match obj:
        case Deployment():
            return pods_of_deployment(obj, template, cluster)
        case StatefulSet():
            return pods_of_stateful_set(obj, template, cluster, most_ordinals)
        case DaemonSet():
            return pods_of_daemon_set(obj, template, cluster)
        case ReplicaSet() | ReplicationController():
            return pods_of_replicas(obj, template, cluster)
        case Job():
            return pods_of_job(obj, template)
        case _:
            return (MadePod(pod_from_template(template, obj)),)


def _template(obj: ApiObject) -> PodTemplateSpec | None:
    if isinstance(obj, PodTemplate):
        return obj.template
    return cast("Deployment", obj).spec.template


def _template_path(obj: ApiObject) -> str:
    if isinstance(obj, PodTemplate):
        return "template"
    return "spec.jobTemplate.spec.template" if isinstance(obj, CronJob) else "spec.template"


def _check_selector(selector: LabelSelector | None, template: PodTemplateSpec, where: Where) -> None:
    if selector is None or not (selector.match_labels or selector.match_expressions):
        hint = "set matchLabels to labels of the template"
        raise ManifestError("is missing or empty", where=where, path="spec.selector", hint=hint)
    try:
        parsed = parse_label_selector(selector)
    except SelectorError as error:
        raise ManifestError(str(error), where=where, path=f"spec.selector.{error.path}") from None
    if not matches(parsed, template.metadata.labels):
        raise ManifestError(
            "`selector` does not match template `labels`",
            where=where,
            path="spec.template.metadata.labels",
            hint=f"spec.selector requires {','.join(map(str, parsed))}",
        )
