"""A change of a pod as a change of the template that its workload makes pods of."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kschedctl.api.kind_names import kind_by_name
from kschedctl.api.pod import Pod, PodSpec
from kschedctl.api.workload import CronJob, PodTemplateSpec
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.framework.remedy import Operation, Patch, Remedy, patched
from kschedctl.whatif.patching import make_changes
from kschedctl.workloads.ownership import workload_of

_SPEC: Final = "/spec"
#: What admission works out of the name of the class; a template has no place for it.
_ADMITTED: Final = ("/spec/priority", "/spec/preemptionPolicy")


def through_template(cluster: Cluster, pod: Pod, patch: Patch) -> Patch | None:
    """The patch of a pod's workload with which its pods come out like the patched pod.

    Parameters
    ----------
    cluster : Cluster
        The cluster, with the workload or without.
    pod : Pod
        The pod as it is.
    patch : Patch
        What is changed in it.

    Returns
    -------
    Patch or None
        ``None`` where the pod has no workload, the cluster does not have it, or its template differs from the pod in
        what the patch is about.
    """
    kind_name, namespace, name = workload_of(cluster, pod.metadata)
    kind = kind_by_name(kind_name)
    workload = cluster.get(kind, name, namespace) if kind is not None and kind is not Pod else None
    if workload is None:
        return None
    is_cron = isinstance(workload, CronJob)
    maker: object = workload.spec.job_template if isinstance(workload, CronJob) else workload
    template = getattr(getattr(maker, "spec", None), "template", None)
    if not isinstance(template, PodTemplateSpec):
        return None
    at = "/spec/jobTemplate/spec/template" if is_cron else "/spec/template"
    operations = [_fitted(each, template.spec) for each in patch.patch if each["path"] not in _ADMITTED]
    made = Pod(metadata=replace(template.metadata, name=pod.name, namespace=pod.namespace), spec=template.spec)
    try:
        after = make_changes(cluster, made, [replace(patch, patch=tuple(operations))]).pod
        wanted = make_changes(cluster, pod, [patch]).pod
    except InputError:
        return None
    if not _changed_alike(made, after, pod, wanted):
        return None
    moved = tuple({**each, "path": f"{at}{each['path']}"} for each in operations)
    return patched(workload, *moved)


def _fitted(operation: Operation, spec: PodSpec) -> Operation:
    """An operation that appends to a list, for a template that does not have the list yet."""
    path: str = operation["path"]
    if path == f"{_SPEC}/tolerations/-" and not spec.tolerations:
        return {"op": "add", "path": f"{_SPEC}/tolerations", "value": [operation["value"]]}
    return operation


def _changed_alike(made: Pod, after: Pod, pod: Pod, wanted: Pod) -> bool:
    """Whether the template has what the pod gets, field by field of what changes in the pod."""
    fields = [field for field in PodSpec.__struct_fields__ if getattr(pod.spec, field) != getattr(wanted.spec, field)]
    fields = [field for field in fields if field not in ("priority", "preemption_policy")]
    return all(
        getattr(after.spec, field) != getattr(made.spec, field)
        and (field == "tolerations" or getattr(after.spec, field) == getattr(wanted.spec, field))
        for field in fields
    )


def through_templates(cluster: Cluster, pod: Pod, remedies: tuple[Remedy, ...]) -> tuple[Patch, ...]:
    """The changes of a pod's workload that stand for those of the pod in some remedies; none where one has none."""
    out: list[Patch] = []
    for remedy in remedies:
        for change in remedy.changes:
            if isinstance(change, Patch) and change.kind == Pod.__name__ and change.name == pod.name:
                through = through_template(cluster, pod, change)
                if through is None:
                    return ()
                out.append(through)
    return tuple(out)
