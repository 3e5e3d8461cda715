"""Validation of PersistentVolumes, PersistentVolumeClaims and claim templates."""

import posixpath
from collections.abc import Sequence
from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, subdomain_problems
from kschedctl.objects.quantity import Amount, value
from kschedctl.objects.validation import volume_sources as sources
from kschedctl.objects.validation.metadata import claim_template_metadata, object_metadata
from kschedctl.objects.validation.placement import label_selector, node_selector
from kschedctl.objects.validation.resources import amount_of
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    invalid_findings,
    label_name,
    one_of,
    positive_amount,
    require,
    subdomain_name,
)
from kschedctl.objects.validation.values import without_backsteps as no_backsteps

# Validation of PersistentVolumeClaims and claim templates.

_ONLY_POD: Final = "ReadWriteOncePod"
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", _ONLY_POD)
VOLUME_MODES: Final = ("Block", "Filesystem")
_CLAIM: Final = "PersistentVolumeClaim"
_SNAPSHOTS: Final = "snapshot.storage.k8s.io"


def persistent_volume_claim(claim: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a PersistentVolumeClaim."""
    yield from object_metadata(claim.get("metadata", {}), subdomain_problems, namespaced=True)
    spec = dict(claim.get("spec", {}))
    _normalize_sources(spec, context)
    yield from claim_spec(spec, "spec", context)


def claim_template(template: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the claim template of an ephemeral volume."""
    yield from claim_template_metadata(template.get("metadata", {}), f"{path}.metadata")
    yield from claim_spec(template.get("spec", {}), f"{path}.spec", context)


def access_modes(modes: Sequence[str], path: str) -> Found:
    """Yield the problems of the access modes of a volume or claim."""
    for mode in modes:
        yield from one_of(mode, _ACCESS_MODES, path)
    if _ONLY_POD in modes and any(mode in _ACCESS_MODES and mode != _ONLY_POD for mode in modes):
        yield field_errors.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def claim_spec(spec: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a claim's spec."""
    modes = spec.get("accessModes", ())
    if not modes:
        yield field_errors.required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from label_selector(spec.get("selector"), f"{path}.selector")
    yield from access_modes(modes, f"{path}.accessModes")
    requested = spec.get("resources", {}).get("requests", {}).get("storage")
    if requested is None:
        yield field_errors.required(f"{path}.resources[storage]")
    else:
        yield from positive_amount(str(amount_of(requested)), f"{path}.resources[storage]")
    yield from class_name(spec.get("storageClassName"), f"{path}.storageClassName")
    if "volumeMode" in spec:
        yield from one_of(spec["volumeMode"], VOLUME_MODES, f"{path}.volumeMode")
    yield from _sources(spec, path)
    if context.on("VolumeAttributesClass"):
        yield from class_name(spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName")


def class_name(name: str | None, path: str) -> Found:
    """Yield the problems of a class name, if it is set."""
    if name:
        yield from invalid_findings(subdomain_problems(name), name, path)


def _sources(spec: Tree, path: str) -> Found:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _claim_source(source, f"{path}.dataSource")
    if reference is None:
        return
    yield from _claim_source(reference, f"{path}.dataSourceRef")
    namespace = reference.get("namespace")
    if namespace:
        yield from invalid_findings(label_problems(namespace), namespace, f"{path}.dataSourceRef.namespace")
    if source is None:
        return
    if namespace:
        yield field_errors.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif _identity(source) != _identity(reference):
        yield field_errors.invalid(path, {}, "must match dataSourceRef")


def _claim_source(source: Tree, path: str) -> Found:
    kind, group = source.get("kind", ""), source.get("apiGroup", "")
    for name in ("name", "kind"):
        if not source.get(name):
            yield field_errors.required(f"{path}.{name}")
    if not group and kind != _CLAIM:
        problem = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield field_errors.invalid(path, kind, problem)
    if group:
        yield from invalid_findings(subdomain_problems(group), group, f"{path}.apiGroup")


def _identity(source: Tree) -> tuple[Any, Any, Any]:
    return source.get("apiGroup"), source.get("kind", ""), source.get("name", "")


def _normalize_sources(spec: Tree, context: ValidationContext) -> None:
    """Drop unsupported data sources, then copy ``dataSource`` and ``dataSourceRef`` to each other if one is absent."""
    reference = spec.get("dataSourceRef")
    if reference and reference.get("namespace") and not context.on("CrossNamespaceVolumeDataSource"):
        del spec["dataSourceRef"]
        reference = None
    source = spec.get("dataSource")
    if reference is None and source is not None:
        wanted = (source.get("kind"), source.get("apiGroup", ""))
        if wanted in ((_CLAIM, ""), ("VolumeSnapshot", _SNAPSHOTS)):
            spec["dataSourceRef"] = source
        else:
            del spec["dataSource"]
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = reference


_POLICIES: Final = ("Delete", "Recycle", "Retain")
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_LONGEST_ISCSI: Final = 64
_FORM: Final = "must be valid format"
#: The volume types that accept mount options in an annotation.
_WITH_OPTIONS: Final = frozenset(
    {
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    }
)
_SECRETS: Final = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def persistent_volume(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a PersistentVolume."""
    metadata, spec = tree.get("metadata", {}), tree.get("spec", {})
    yield from object_metadata(metadata, subdomain_problems, namespaced=False)
    modes = spec.get("accessModes", ())
    yield from require(modes, "spec.accessModes")
    yield from access_modes(modes, "spec.accessModes")
    yield from _check_capacity(spec)
    policy = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    yield from one_of(policy, _POLICIES, "spec.persistentVolumeReclaimPolicy")
    if "nodeAffinity" in spec:
        yield from _check_node_affinity(spec["nodeAffinity"], "spec.nodeAffinity")
    rules = dict(_SOURCES)

    def iscsi(source: Tree, path: str, context: ValidationContext) -> Found:
        return _iscsi(source, metadata.get("name", ""), path)

    def local(source: Tree, path: str, context: ValidationContext) -> Found:
        place = source.get("path", "")
        if not place:
            yield field_errors.required(f"{path}.path")
        else:
            yield from no_backsteps(place, f"{path}.path")
        if "nodeAffinity" not in spec:
            yield field_errors.required("spec.nodeAffinity", "Local volume requires node affinity")

    rules["iscsi"] = (iscsi, "iscsi", "iscsi")
    rules["local"] = (local, "local", "local")
    yield from sources.one_source(spec, rules, "spec", context)
    if policy == "Recycle" and posixpath.normpath(spec.get("hostPath", {}).get("path") or ".") in ("/", "//"):
        problem = "may not be 'recycle' for a hostPath mount of '/'"
        yield field_errors.forbidden("spec.persistentVolumeReclaimPolicy", problem)
    yield from class_name(spec.get("storageClassName"), "spec.storageClassName")
    yield from one_of(spec.get("volumeMode", "Filesystem"), VOLUME_MODES, "spec.volumeMode")
    if "volumeAttributesClassName" in spec and context.on("VolumeAttributesClass"):
        name = spec["volumeAttributesClassName"]
        if not name:
            yield field_errors.required("spec.volumeAttributesClassName", "an empty string is disallowed")
        yield from class_name(name, "spec.volumeAttributesClassName")
        if "csi" not in spec:
            problem = "has to be specified when using volumeAttributesClassName"
            yield field_errors.required("spec.csi", problem)
    if _MOUNT_OPTIONS in metadata.get("annotations", {}) and not _WITH_OPTIONS & spec.keys():
        problem = "may not specify mount options for this volume type"
        yield field_errors.forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", problem)


def _check_capacity(spec: Tree) -> Found:
    capacity = spec.get("capacity")
    yield from require(capacity, "spec.capacity")
    if not capacity or "storage" not in capacity or len(capacity) > 1:
        shown = None if capacity is None else {name: str(amount_of(capacity[name])) for name in sorted(capacity)}
        yield field_errors.unsupported("spec.capacity", shown, ("storage",))
    for name, text in (capacity or {}).items():
        amount: Amount = amount_of(text)
        if amount.nanos < 0:
            problem = "must be a valid resource quantity"
            yield field_errors.invalid(f"spec.capacity[{name}]", value(amount.nanos), problem)
        yield from positive_amount(str(amount), f"spec.capacity[{name}]")


def _check_node_affinity(rules: Tree, path: str) -> Found:
    if "required" in rules:
        yield from node_selector(rules["required"], f"{path}.required")
    else:
        yield field_errors.required(f"{path}.required", "must specify required node constraints")


def _iscsi(source: Tree, name: str, path: str) -> Found:
    portal = source.get("targetPortal", "")
    yield from require(portal, f"{path}.targetPortal")
    if "initiatorName" in source and len(f"{name}:{portal}".encode()) > _LONGEST_ISCSI:
        problem = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        yield field_errors.invalid(f"{path}.targetportal", portal, problem)
    yield from sources.iscsi(source, path, form=_FORM)
    if "secretRef" in source:
        yield from require(source["secretRef"].get("name"), f"{path}.secretRef.name")
    yield from sources.initiator(source, path, form=_FORM)


def _glusterfs(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from sources.needs("endpoints", "path")(source, path, context)
    if "endpointsNamespace" not in source:
        return
    namespace, at = source["endpointsNamespace"], f"{path}.endpointsNamespace"
    if not namespace:
        problem = "if the endpointnamespace is set, it must be a valid namespace name"
        yield field_errors.invalid(at, namespace, problem)
    else:
        yield from invalid_findings(label_problems(namespace), namespace, at)


def _azure_file(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from sources.needs("secretName", "shareName")(source, path, context)
    if "secretNamespace" in source:
        yield from require(source["secretNamespace"], f"{path}.secretNamespace")


def _csi(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from sources.driver_name(source.get("driver", ""), f"{path}.driver", context)
    yield from require(source.get("volumeHandle"), f"{path}.volumeHandle")
    for field in _SECRETS:
        if field in source:
            secret = source[field]
            at = f"{path}.{field}"
            name, namespace = secret.get("name", ""), secret.get("namespace", "")
            yield from subdomain_name(name, f"{at}.name") if name else require(name, f"{at}.name")
            yield from label_name(namespace, f"{at}.namespace") if namespace else require(namespace, f"{at}.namespace")


def _replaced(source: Tree, path: str, context: ValidationContext) -> Found:
    return iter(())


_SOURCES: Final = sources.table(
    {
        "hostPath": sources.host_path,
        "gcePersistentDisk": sources.disk("pdName"),
        "awsElasticBlockStore": sources.disk("volumeID"),
        "glusterfs": _glusterfs,
        "flocker": sources.flocker,
        "nfs": sources.nfs,
        "rbd": sources.needs("monitors", "image"),
        "quobyte": sources.quobyte,
        "cephfs": sources.needs("monitors"),
        "iscsi": _replaced,
        "cinder": sources.cinder("name", "namespace"),
        "fc": sources.fibre_channel,
        "flexVolume": sources.flex,
        "azureFile": _azure_file,
        "vsphereVolume": sources.needs("volumePath"),
        "photonPersistentDisk": sources.needs("pdID"),
        "portworxVolume": sources.needs("volumeID"),
        "azureDisk": sources.azure_disk,
        "scaleIO": sources.needs("gateway", "system", "volumeName"),
        "local": _replaced,
        "storageos": sources.storage_os("name", "namespace"),
        "csi": _csi,
    },
    gcePersistentDisk=("persistentDisk", "gcePersistentDisk"),
    cephfs=("cephfs", "cephFS"),
    flexVolume=("flexVolume", ""),
)
