"""The fields that a captured snapshot keeps: those that scheduling and ``verify`` depend on, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec.structs import replace

from kschedctl.objects import core, meta, policies, volume
from kschedctl.objects import volume as storage
from kschedctl.objects.coordination import LEADER_ANNOTATION
from kschedctl.objects.core import Condition
from kschedctl.objects.kinds import CAPTURED_KINDS
from kschedctl.sources.snapshot.rewriting import structs_in

#: The annotations that are kept.
READ_ANNOTATIONS: Final = frozenset(
    {
        LEADER_ANNOTATION,
        "controller.kubernetes.io/pod-deletion-cost",
        "deployment.kubernetes.io/revision",
        "kubernetes.io/config.mirror",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "resource.kubernetes.io/extended-resource-claim",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
        "vpaInPlaceUpdated",
        "vpaUpdates",
    }
)
#: Fields that no result depends on, with the value that replaces them. Parameters can contain passwords.
UNREAD_FIELDS: Final[dict[tuple[type, str], Any]] = {
    (meta.ObjectMeta, "resource_version"): "",
    (core.NodeSpec, "provider_id"): "",
    (core.NodeStatus, "volumes_attached"): (),
    (policies.PriorityClass, "description"): "",
    (policies.RuntimeClass, "handler"): "",
    (storage.StorageClass, "parameters"): {},
    (storage.VolumeAttributesClass, "parameters"): {},
    (storage.VolumeAttributesClass, "driver_name"): "",
    (storage.CSINodeDriver, "node_id"): "",
    (volume.AzureDisk, "disk_name"): "",
    (volume.AzureFile, "share_name"): "",
    (volume.AzureFile, "secret_name"): "",
    (volume.AzureFile, "secret_namespace"): "",
    (volume.ISCSI, "target_portal"): "",
    (volume.VsphereVolume, "volume_path"): "",
}
#: The conditions that are kept, and the conditions that keep their reason and their message.
READ_CONDITIONS: Final = frozenset(
    {
        "PodScheduled",
        "PodResizePending",
        "DisruptionTarget",
        "Ready",
        # Of pod groups, in Kubernetes 1.36 and as of 1.37.
        "PodGroupScheduled",
        "PodGroupInitiallyScheduled",
        # Of workloads: an API server refuses pods; a Job has ended.
        "ReplicaFailure",
        "Complete",
        "Failed",
    }
)
READ_REASONS: Final = READ_CONDITIONS - {"Ready"}
READ_MESSAGES: Final = frozenset({"PodScheduled", "ReplicaFailure", "PodGroupScheduled", "PodGroupInitiallyScheduled"})


def read_conditions(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return the conditions that are kept, without reasons and messages that are not needed."""
    return tuple(_read(condition) for condition in conditions if condition.type in READ_CONDITIONS)


def _read(condition: Condition) -> Condition:
    if condition.type in READ_MESSAGES:
        return condition
    return replace(condition, message="", reason=condition.reason if condition.type in READ_REASONS else "")


def without_messages(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return all conditions, without their reasons and messages."""
    return tuple(replace(condition, reason="", message="") for condition in conditions)


def kept_fields() -> Iterator[tuple[str, str]]:
    """Yield every field of a captured snapshot: its kind and its path in Kubernetes spelling.

    Examples
    --------
    >>> fields = set(kept_fields())
    >>> ("Pod", "spec.containers[].image") in fields, ("StorageClass", "parameters") in fields
    (True, False)
    """
    for (_, kind), type_ in CAPTURED_KINDS.items():
        for path in _paths(type_):
            yield kind, path


def _paths(type_: type[msgspec.Struct]) -> Iterator[str]:
    for field in msgspec.structs.fields(type_):
        if any((base, field.name) in UNREAD_FIELDS for base in type_.__mro__):
            continue
        parts = structs_in(field.type)
        fieldless = not any(msgspec.structs.fields(part) for part in parts)
        if fieldless or get_origin(field.type) is dict or str in get_args(field.type):
            # Also kept: the keys of a map, the presence of a struct without fields, and a text in a struct's place.
            yield field.encode_name
        name = f"{field.encode_name}[]" if get_origin(field.type) is tuple else field.encode_name
        for part in parts:
            yield from (f"{name}.{path}" for path in _paths(part))
