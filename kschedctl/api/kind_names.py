"""The names that kubectl has for kinds, ``pod``, ``pods``, ``po``; ``deployments.apps``; and which have namespaces."""

from __future__ import annotations

from functools import cache
from typing import Final, TypeVar

from msgspec.structs import replace

from kschedctl.api.defaults import DEFAULT_NAMESPACE, NAMESPACED
from kschedctl.api.kinds import KINDS
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod

T = TypeVar("T", bound=ApiObject)

#: The short names of ``kubectl api-resources``.
_SHORT: Final = {
    "CronJob": "cj",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "LimitRange": "limits",
    "Namespace": "ns",
    "Node": "no",
    "PersistentVolume": "pv",
    "PersistentVolumeClaim": "pvc",
    "Pod": "po",
    "PodDisruptionBudget": "pdb",
    "PriorityClass": "pc",
    "ReplicaSet": "rs",
    "ReplicationController": "rc",
    "ResourceQuota": "quota",
    "Service": "svc",
    "StatefulSet": "sts",
    "StorageClass": "sc",
    "VolumeAttributesClass": "vac",
}


def kind_by_name(name: str) -> type[ApiObject] | None:
    """The kind that a name of kubectl's means, or ``None``.

    Parameters
    ----------
    name : str
        Singular, plural or short, in any case, with or without the group.

    Examples
    --------
    >>> [kind_by_name(name).__name__ for name in ("po", "StorageClasses", "deployments.apps")]
    ['Pod', 'StorageClass', 'Deployment']
    """
    return _names().get(name.lower())


def kind_names() -> tuple[str, ...]:
    """All names that are known, without groups."""
    return tuple(name for name in _names() if "." not in name)


def is_namespaced(kind: type[ApiObject]) -> bool:
    """Whether objects of a kind are in namespaces."""
    return kind is Pod or kind in NAMESPACED


def api_version_of(kind: type[ApiObject]) -> str:
    """The ``apiVersion`` of a kind's manifests, in the version that current API servers serve.

    Examples
    --------
    >>> api_version_of(Pod)
    'v1'
    """
    group = next(group for (group, _), known in KINDS.items() if known is kind)
    return f"{group}/v1" if group else "v1"


def placed(obj: T, namespace: str) -> T:
    """An object in a namespace where it names none itself; empty for the default one."""
    if obj.namespace or not is_namespaced(type(obj)):
        return obj
    return replace(obj, metadata=replace(obj.metadata, namespace=namespace or DEFAULT_NAMESPACE))


@cache
def _names() -> dict[str, type[ApiObject]]:
    names: dict[str, type[ApiObject]] = {}
    for (group, kind), type_ in KINDS.items():
        singular = kind.lower()
        names[singular] = names[plural(singular)] = type_
        if group:
            names[f"{singular}.{group}"] = names[f"{plural(singular)}.{group}"] = type_
        if kind in _SHORT:
            names[_SHORT[kind]] = type_
    return names


def plural(singular: str) -> str:
    """What a kind is called in paths, of its name in small letters.

    Examples
    --------
    >>> plural("pod"), plural("storageclass"), plural("csistoragecapacity")
    ('pods', 'storageclasses', 'csistoragecapacities')
    """
    if singular.endswith("s"):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"
