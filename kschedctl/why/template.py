"""A change of a pod as a change of the template that its workload makes pods of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kschedctl.api.kind_names import kind_by_name
from kschedctl.api.pod import Container, Pod, PodSpec
from kschedctl.api.workload import CronJob, PodTemplateSpec
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.framework.remedy import Operation, Patch, Remedy, patched, pointer
from kschedctl.whatif.patches import make_changes
from kschedctl.workloads.ownership import workload_of

_SPEC: Final = "/spec"
#: What admission works out of the name of the class; a template has no place for it.
_OF_CONTAINER: Final = re.compile(r"/spec/(containers|initContainers)/([0-9]+)/(.+)")
_OF_VOLUME: Final = re.compile(r"/spec/volumes/([0-9]+)/(.+)")
_FIELDS: Final = dict(zip(PodSpec.__struct_encode_fields__, PodSpec.__struct_fields__, strict=True))
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
    operations: list[Operation] = []
    for each in patch.patch:
        if each["path"] not in _ADMITTED:
            fitted = _fitted(each, pod.spec, template.spec)
            if fitted is None:
                return None
            operations += fitted
    made = Pod(metadata=replace(template.metadata, name=pod.name, namespace=pod.namespace), spec=template.spec)
    try:
        make_changes(cluster, made, [replace(patch, patch=tuple(operations))])
    except InputError:
        return None
    moved = tuple({**each, "path": f"{at}{each['path']}"} for each in operations)
    return patched(workload, *moved)


def _fitted(operation: Operation, own: PodSpec, template: PodSpec) -> list[Operation] | None:
    """An operation on a pod as operations on its template; ``None`` where that differs in what they are about.

    What admission and injectors add to a pod, containers and volumes above all, its template does not have: those that
    both have are found by their names.
    """
    path: str = operation["path"]
    if path == f"{_SPEC}/tolerations/-" and not template.tolerations:
        return [{"op": "add", "path": f"{_SPEC}/tolerations", "value": [operation["value"]]}]
    of_container = _OF_CONTAINER.fullmatch(path)
    if of_container is not None:
        field, number, rest = of_container.groups()
        before = _containers(own, field)[int(number)]
        names = [container.name for container in _containers(template, field)]
        if before.name not in names:
            return None
        at = names.index(before.name)
        there = _containers(template, field)[at]
        if rest == "resources":
            return list(_resources(f"{_SPEC}/{field}/{at}/resources", operation["value"], before, there))
        if before.ports != there.ports:
            return None
        return [{**operation, "path": f"{_SPEC}/{field}/{at}/{rest}"}]
    of_volume = _OF_VOLUME.fullmatch(path)
    if of_volume is not None:
        name = own.volumes[int(of_volume[1])].name
        names = [volume.name for volume in template.volumes]
        return [{**operation, "path": f"{_SPEC}/volumes/{names.index(name)}/{of_volume[2]}"}] if name in names else None
    parts = path.split("/")
    if parts[2] == "tolerations":
        if parts[-1].isdigit():
            at = int(parts[-1])
            return [operation] if own.tolerations[at : at + 1] == template.tolerations[at : at + 1] else None
        return [operation]
    field = _FIELDS.get(parts[2], "")
    # What is set anew may have been anything; of what is changed in part both have the same.
    alike = not field or len(parts) == 3 or getattr(own, field) == getattr(template, field)
    return [operation] if alike else None


def _containers(spec: PodSpec, field: str) -> tuple[Container, ...]:
    return spec.containers if field == "containers" else spec.init_containers


def _resources(path: str, wanted: dict[str, Any], before: Container, there: Container) -> Iterator[Operation]:
    """The amounts that a container gets otherwise than before, for the container of a template."""
    for field in ("requests", "limits"):
        known = getattr(before.resources, field)
        changed = {name: amount for name, amount in wanted.get(field, {}).items() if known.get(name) != amount}
        if not changed or (field == "limits" and not there.resources.limits):
            continue
        if getattr(there.resources, field):
            yield from ({"op": "add", "path": path + pointer(field, name), "value": q} for name, q in changed.items())
        elif there.resources.requests or there.resources.limits:
            yield {"op": "add", "path": path + pointer(field), "value": changed}
        else:
            yield {"op": "add", "path": path, "value": {field: changed}}


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
