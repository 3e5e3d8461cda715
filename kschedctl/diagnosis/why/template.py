"""Changes of a pod as changes of the pod template of its workload."""

import re
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.pod import Container, Pod, PodSpec
from kschedctl.objects.workload import CronJob, PodTemplateSpec
from kschedctl.scheduler.framework.remedy import (
    Change,
    Create,
    ObjectDeletion,
    ObjectKey,
    Operation,
    Patch,
    Remedy,
    patched,
    pointer,
)
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.trials.whatif.patches import make_changes

_SPEC: Final = "/spec"
_OF_CONTAINER: Final = re.compile(r"/spec/(containers|initContainers)/([0-9]+)/(.+)")
_OF_VOLUME: Final = re.compile(r"/spec/volumes/([0-9]+)/(.+)")
_FIELDS: Final = dict(zip(PodSpec.__struct_encode_fields__, PodSpec.__struct_fields__, strict=True))
#: The fields that admission computes from the name of the PriorityClass; they are not patched in templates.
_ADMITTED: Final = ("/spec/priority", "/spec/preemptionPolicy")


def through_template(cluster: Cluster, pod: Pod, patch: Patch) -> Patch | None:
    """Return the patch of a pod's workload after which its pods equal the patched pod.

    Args:
        cluster: The cluster, which may lack the workload.
        pod: The pod without the patch.

    Returns: ``None`` if the pod has no workload, the cluster does not have it, or its template differs from the pod
        in the fields that the patch is about.
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
    """Return an operation on a pod as operations on its template; ``None`` if the fields concerned differ between them.

    Admission and injectors add containers and volumes to a pod that its template lacks. Containers and volumes of both
    are therefore matched by name.
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
            return list(_amount_changes(f"{_SPEC}/{field}/{at}/resources", operation["value"], before, there))
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
    # A field that is replaced as a whole may differ before; a field that is changed in part must be the same in both.
    alike = not field or len(parts) == 3 or getattr(own, field) == getattr(template, field)
    return [operation] if alike else None


def _containers(spec: PodSpec, field: str) -> tuple[Container, ...]:
    return spec.containers if field == "containers" else spec.init_containers


def _amount_changes(path: str, wanted: dict[str, Any], before: Container, there: Container) -> Iterator[Operation]:
    """Yield the operations that give a template's container the amounts that a patch changes."""
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
    """Return the patches of a pod's workload that replace those of the pod; empty if one of them has no replacement."""
    out: list[Patch] = []
    for remedy in remedies:
        for change in remedy.changes:
            if isinstance(change, Patch) and change.kind == Pod.__name__ and change.name == pod.name:
                through = through_template(cluster, pod, change)
                if through is None:
                    return ()
                out.append(through)
    return tuple(out)


# The kubectl commands that make changes, or the manifest's new content where an API server refuses the patch.

#: The patch operations that an API server accepts for a pending pod.
_MUTABLE: Final = re.compile(r"add /spec/tolerations(/-)?|remove /spec/schedulingGates")


def commands_of(cluster: Cluster, remedies: Iterable[Remedy], through: tuple[Patch, ...] = ()) -> tuple[str, ...]:
    """Return the commands that apply remedies, in order.

    Args:
        cluster: The cluster; only pods stored in it can be patched.
        through: The patches of a workload that replace those of its pods.

    Returns: One line per command, without duplicates; none for a wait. A line that begins with ``#`` states the
        content of a manifest instead, as the object cannot be patched.
    """
    lines: list[str] = []
    for remedy in remedies:
        if remedy.command:
            lines.append(remedy.command)
        elif remedy.risk is Risk.WAIT:
            # What is waited for happens by itself: its changes were only made to try what follows.
            continue
        elif remedy.scope is not RemedyScope.POD or not through:
            lines += [line for change in remedy.changes for line in _command(cluster, change)]
    lines += [line for change in through for line in _command(cluster, change)]
    return tuple(dict.fromkeys(lines))


def _command(cluster: Cluster, change: Change) -> Iterator[str]:
    match change:
        case Patch(kind="StorageClass" | "PersistentVolume" | "Job") if not all(
            each["path"].startswith("/metadata/") for each in change.patch
        ):
            told = "; ".join(map(_in_words, change.patch))
            yield f"# recreate {change.kind} {change.name}, which cannot be changed in place: {told}"
        case Patch(kind="Pod") if (change.namespace, change.name) not in cluster.pods.index or not all(
            _MUTABLE.fullmatch(f"{each['op']} {each['path']}") for each in change.patch
        ):
            told = "; ".join(map(_in_words, change.patch))
            yield f"# in the manifest of pod {change.namespace}/{change.name}: {told}"
        case Patch():
            operations = quote(msgspec.json.encode(change.patch).decode())
            yield f"kubectl patch {_target(change)} --type=json -p {operations}"
        case ObjectDeletion(key):
            yield f"kubectl delete {_target(key)}"
        case Create(manifest):
            yield f"kubectl create -f - <<< {quote(msgspec.json.encode(manifest).decode())}"


def _target(key: ObjectKey) -> str:
    return f"{key.kind.lower()} {key.name}{f' -n {key.namespace}' if key.namespace else ''}"


def _in_words(operation: Operation) -> str:
    """Return a patch operation as text for a reader who edits a manifest."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    path = "".join(f"[{part}]" if part.isdigit() else "" if part == "-" else f".{part}" for part in parts)[1:]
    if operation["op"] == "remove":
        return f"without {path}"
    value = msgspec.json.encode(operation["value"]).decode()
    return f"{path}{' +=' if parts[-1] == '-' else ':'} {value}"
