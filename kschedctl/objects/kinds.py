"""The kinds that scheduling reads, their types, and the names that kubectl accepts for them."""

from collections.abc import Container, Sequence
from functools import cache, lru_cache
from typing import Final, TypeVar

from msgspec.structs import replace

from kschedctl.objects.coordination import ConfigMap, Endpoints, Lease, LeaseCandidate
from kschedctl.objects.core import Namespace, Node, Service
from kschedctl.objects.custom_resources import CUSTOM_RESOURCES
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, NAMESPACED
from kschedctl.objects.device import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kschedctl.objects.event import Event
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup, Workload
from kschedctl.objects.policies import LimitRange, PodMetrics, PriorityClass, ResourceQuota, RuntimeClass
from kschedctl.objects.volume import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from kschedctl.objects.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodDisruptionBudget,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: The types of each API group; the empty group is core.
_TYPES: Final[dict[str, tuple[type[ApiObject], ...]]] = {
    "": (
        Node,
        Pod,
        Namespace,
        Service,
        ReplicationController,
        PodTemplate,
        LimitRange,
        ResourceQuota,
        PersistentVolume,
        PersistentVolumeClaim,
    ),
    "apps": (Deployment, ReplicaSet, StatefulSet, DaemonSet),
    "batch": (Job, CronJob),
    "policy": (PodDisruptionBudget,),
    "scheduling.k8s.io": (PriorityClass, PodGroup, Workload, CompositePodGroup),
    "node.k8s.io": (RuntimeClass,),
    "storage.k8s.io": (StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment, VolumeAttributesClass),
    "resource.k8s.io": (ResourceClaim, ResourceClaimTemplate, ResourceSlice, DeviceClass, DeviceTaintRule),
    "coordination.k8s.io": (Lease, LeaseCandidate),
}
#: The type by API group (empty for core) and kind. All versions of a group use the same type.
KINDS: Final = {(group, type_.__name__): type_ for group, types in _TYPES.items() for type_ in types}
#: The kinds that can have a leader election record as an annotation. They are read only from files and never requested
#: from an API server.
LOCK_KINDS: Final[dict[tuple[str, str], type[ApiObject]]] = {("", "ConfigMap"): ConfigMap, ("", "Endpoints"): Endpoints}
#: The kinds that are read only from files and never captured: they say nothing about scheduling decisions.
FILE_KINDS: Final[dict[tuple[str, str], type[ApiObject]]] = {("metrics.k8s.io", "PodMetrics"): PodMetrics}
#: The kinds by which a diagnosis knows what other components say and do; no decision depends on them.
EVIDENCE_KINDS: Final[dict[tuple[str, str], type[ApiObject]]] = {("", "Event"): Event, **CUSTOM_RESOURCES}
#: Another group that serves the same Events.
_OTHER_EVENTS: Final = ("events.k8s.io", "Event")
#: The kinds that are requested from an API server.
LISTED_KINDS: Final = {**KINDS, **EVIDENCE_KINDS}
#: The kinds that a captured snapshot can contain.
CAPTURED_KINDS: Final = {**LISTED_KINDS, **LOCK_KINDS}


@lru_cache
def kind_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """Return the type of a kind that scheduling reads, or ``None`` for any other kind.

    Args:
        api_version: The object's ``apiVersion``, such as ``v1`` or ``storage.k8s.io/v1``.
        kind: The object's ``kind``, such as ``Pod``.
    """
    return KINDS.get((_group_of_version(api_version), kind))


def file_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """Return the type of a kind that is read only from files, or ``None`` for any other kind.

    Args:
        api_version, kind: The same parameters as those of ``kind_type``.
    """
    return FILE_KINDS.get((_group_of_version(api_version), kind))


@lru_cache
def evidence_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """Return the type of a kind that is evidence for a diagnosis, or ``None`` for any other kind.

    Args:
        api_version, kind: The same parameters as those of ``kind_type``.
    """
    key = _group_of_version(api_version), kind
    return Event if key == _OTHER_EVENTS else EVIDENCE_KINDS.get(key)


def lock_type(api_version: str, kind: str) -> type[ApiObject] | None:
    """Return the type of a kind that can have a leader election record, or ``None`` for any other kind.

    Args:
        api_version, kind: The same parameters as those of ``kind_type``.
    """
    return LOCK_KINDS.get((_group_of_version(api_version), kind))


def _group_of_version(api_version: str) -> str:
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""


# The names that kubectl accepts for kinds (``pod``, ``pods``, ``po``, ``deployments.apps``), and their scope.

T = TypeVar("T", bound=ApiObject)

#: The short names listed by ``kubectl api-resources``.
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

#: The end of a hint about kinds that could not be listed.
PERMISSIONS_PAGE: Final = "docs/permissions.md has a role with all permissions"
#: The newest served version of the kinds that have none called ``v1``.
_VERSIONS: Final[dict[type[ApiObject], str]] = {PodGroup: "v1beta1", Workload: "v1beta1", CompositePodGroup: "v1alpha3"}


def kind_by_name(name: str, *, custom: bool = False) -> type[ApiObject] | None:
    """Return the kind for a name that kubectl accepts, or ``None`` if there is none.

    Args:
        name: A singular, plural or short name, in upper or lower case, with or without the API group.
        custom: Include the kinds of other projects, which are evidence only. Without an API group, the name of a kind
            that scheduling reads goes before.

    >>> [kind_by_name(name).__name__ for name in ("po", "StorageClasses", "deploy.apps")]
    ['Pod', 'StorageClass', 'Deployment']
    >>> kind_by_name("nodepools", custom=True).__name__
    'NodePool'
    """
    lower = name.lower()
    return _names(custom=False).get(lower) or (_names(custom=True).get(lower) if custom else None)


def without_kind(text: str, *kinds: type[ApiObject], aliases: Container[str] = ()) -> str:
    """Return a name without the kind in front of it, if it is one of the kinds.

    Args:
        aliases: Other words for the kind than those that kubectl accepts.

    >>> without_kind("no/node-1", Node), without_kind("node-1", Node)
    ('node-1', 'node-1')
    """
    word, slash, rest = text.partition("/")
    return rest if slash and (word in aliases or kind_by_name(word) in kinds) else text


def split_name(text: str, *kinds: type[ApiObject], aliases: Container[str] = ()) -> tuple[str, str] | None:
    """Return namespace, empty if none is given, and name of an object of a kind; ``None`` if the text is no such name.

    Args:
        text: ``NAME``, ``NAMESPACE/NAME``, ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``.
        kinds, aliases: The same parameters as those of ``without_kind``.

    >>> [split_name(text, Pod) for text in ("web-7", "shop/web-7", "po/web-7", "pod/shop/web-7", "svc/shop/web")]
    [('', 'web-7'), ('shop', 'web-7'), ('', 'web-7'), ('shop', 'web-7'), None]
    """
    namespace, slash, name = without_kind(text, *kinds, aliases=aliases).rpartition("/")
    return (namespace, name) if name and "/" not in namespace and bool(namespace) == bool(slash) else None


def joined_names(words: Sequence[str]) -> tuple[str, ...]:
    """Return the names of objects; as with kubectl, a kind in front, as a word of its own, is the kind of all of them.

    >>> joined_names(("deploy", "web", "shop/api")), joined_names(("shop/web-7", "api-1"))
    (('deploy/web', 'deploy/shop/api'), ('shop/web-7', 'api-1'))
    """
    kind, names = words[:1], words[1:]
    has_kind = any("/" in name and kind_by_name(name.partition("/")[0]) is not None for name in names)
    if names and kind_by_name(kind[0]) is not None and not has_kind:
        return tuple(f"{kind[0]}/{name}" for name in names)
    return tuple(words)


def kind_names() -> tuple[str, ...]:
    """Return all known names, without those that contain an API group."""
    return tuple(name for name in _names(custom=False) if "." not in name)


def is_namespaced(kind: type[ApiObject]) -> bool:
    """Report whether a kind is namespaced."""
    return kind is Pod or kind in NAMESPACED


def api_version_of(kind: type[ApiObject]) -> str:
    """Return the ``apiVersion`` of a kind's manifests, in the version that current API servers serve.

    >>> api_version_of(Pod), api_version_of(PodGroup)
    ('v1', 'scheduling.k8s.io/v1beta1')
    """
    group = next(group for (group, _), known in LISTED_KINDS.items() if known is kind)
    version = _VERSIONS.get(kind, "v1")
    return f"{group}/{version}" if group else version


def with_namespace(obj: T, namespace: str) -> T:
    """Return the object with `namespace`, or the default namespace if empty, unless it has one or is cluster-scoped."""
    if obj.namespace or not is_namespaced(type(obj)):
        return obj
    return replace(obj, metadata=replace(obj.metadata, namespace=namespace or DEFAULT_NAMESPACE))


@cache
def _names(*, custom: bool) -> dict[str, type[ApiObject]]:
    names: dict[str, type[ApiObject]] = {}
    for (group, kind), type_ in (CUSTOM_RESOURCES if custom else KINDS).items():
        singular = kind.lower()
        names[singular] = names[plural(singular)] = type_
        if group:
            names[f"{singular}.{group}"] = names[f"{plural(singular)}.{group}"] = type_
        for short in (_SHORT[kind],) if kind in _SHORT else ():
            names[short] = names[f"{short}.{group}" if group else short] = type_
    return names


def cannot_be_listed(kind: str) -> str:
    """Return the sentence that the user is not allowed to list a kind.

    >>> cannot_be_listed("CSINode"), cannot_be_listed("KueueWorkload")
    ('csinodes cannot be listed by this user', 'workloads.kueue.x-k8s.io cannot be listed by this user')
    """
    return f"{resource_of(kind)} cannot be listed by this user"


def resource_of(kind: str) -> str:
    """Return the resource of a type's name as kubectl writes it, with the group where it is that of another project.

    >>> resource_of("StorageClass"), resource_of("KueueWorkload")
    ('storageclasses', 'workloads.kueue.x-k8s.io')
    """
    group, name = next((key for key, type_ in CUSTOM_RESOURCES.items() if type_.__name__ == kind), ("", kind))
    return f"{plural(name.lower())}.{group}".rstrip(".")


def plural(singular: str) -> str:
    """Return the plural of a lowercase kind, as used in API paths.

    >>> plural("pod"), plural("storageclass"), plural("csistoragecapacity")
    ('pods', 'storageclasses', 'csistoragecapacities')
    """
    if singular.endswith("s"):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"
