"""Detection of partial objects, such as Kustomize patches, and of objects read from a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kschedctl.linter.values import Steps, at, items, mapping, text
from kschedctl.objects.kinds import KINDS

#: The path of the pod template, by group and kind; empty if the object itself is the template.
TEMPLATES: Final[Mapping[str, Steps]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "apps/Deployment": ("spec", "template"),
    "apps/StatefulSet": ("spec", "template"),
    "apps/DaemonSet": ("spec", "template"),
    "apps/ReplicaSet": ("spec", "template"),
    "batch/Job": ("spec", "template"),
    "batch/CronJob": ("spec", "jobTemplate", "spec", "template"),
    "argoproj.io/Rollout": ("spec", "template"),
}
_SELECTED: Final = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"))
#: The reason why an object with a patch directive is partial.
DIRECTIVE: Final = "it has a patch directive"
_PATCH_KEYS: Final = frozenset(("$patch", "$retainKeys"))


def why_partial(raw: Mapping[str, Any], group: str, api_version: str, kind: str, *, may_patch: bool = True) -> str:
    """Return the reason why an object is partial; empty if it is complete.

    Parameters
    ----------
    may_patch : bool
        False if the object is known to contain no patch directive (``$patch``, ``$retainKeys``).

    Examples
    --------
    >>> why_partial({"spec": {"replicas": 3}, "metadata": {"name": "web"}}, "apps", "apps/v1", "Deployment")
    'it has no selector'
    """
    if may_patch and _has_directive(raw):
        return DIRECTIVE
    metadata = mapping(raw.get("metadata"))
    known = (group, kind) in KINDS
    if known and not metadata.get("name") and not metadata.get("generateName"):
        return "it has no name"
    spec = mapping(raw.get("spec"))
    template = TEMPLATES.get(f"{group}/{kind}" if group else kind)
    if template is not None:
        if api_version == "apps/v1" and kind in _SELECTED:
            if not spec.get("selector"):
                return "it has no selector"
            if not mapping(at(raw, *template, "metadata", "labels")):
                return "its template has no labels"
        if group != "argoproj.io" or not spec.get("workloadRef"):
            return _without_containers(at(raw, *template, "spec"))
    if kind == "PersistentVolumeClaim" and not group and not spec.get("accessModes"):
        return "it has no access modes"
    if kind == "PodDisruptionBudget" and group == "policy" and "selector" not in spec and len(spec) < 2:
        return "it has one field only"
    return ""


def _without_containers(spec: Any) -> str:
    containers = items(at(spec, "containers"))
    if not containers:
        return "it has no containers"
    every = (*containers, *items(at(spec, "initContainers")))
    return "" if all(at(each, "image") for each in every) else "a container has no image"


def _has_directive(value: Any) -> bool:
    if isinstance(value, dict):
        return not _PATCH_KEYS.isdisjoint(value) or any(map(_has_directive, value.values()))
    return isinstance(value, list) and any(map(_has_directive, value))


def is_live(raw: Mapping[str, Any]) -> bool:
    """Report whether an object was read from a cluster: it has a uid, a resource version or a non-empty status."""
    metadata = mapping(raw.get("metadata"))
    told = text(metadata.get("uid")) or metadata.get("resourceVersion")
    return bool(told) or _says_something(raw.get("status"))


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_says_something, value.values()))
    if isinstance(value, list):
        return any(map(_says_something, value))
    return value not in (None, "", 0, False)
