"""Validation of PersistentVolumes, PersistentVolumeClaims and claim templates."""

import posixpath
from collections.abc import Mapping
from functools import partial
from typing import Final

from kschedctl.objects.names import label_problems, subdomain_problems
from kschedctl.objects.quantity import Amount, value
from kschedctl.objects.validation import volume_sources as sources
from kschedctl.objects.validation.metadata import claim_template_metadata, object_metadata
from kschedctl.objects.validation.part import NOT_POSITIVE, Part
from kschedctl.objects.validation.placement import label_selector, node_selector
from kschedctl.objects.validation.resources import amount_of
from kschedctl.objects.validation.values import Tree, ValidationContext, without_backsteps

# Validation of PersistentVolumeClaims and claim templates.

_ONLY_POD: Final = "ReadWriteOncePod"
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", _ONLY_POD)
VOLUME_MODES: Final = ("Block", "Filesystem")
_CLAIM: Final = "PersistentVolumeClaim"
#: The fields in which both sources of a claim must agree, with the values that count as absent.
_IDENTITY: Final = {"apiGroup": None, "kind": "", "name": ""}
_SNAPSHOTS: Final = "snapshot.storage.k8s.io"


def persistent_volume_claim(claim: Part, context: ValidationContext) -> None:
    """Check a PersistentVolumeClaim."""
    object_metadata(claim["metadata"], subdomain_problems, namespaced=True)
    spec = dict(claim.get("spec", {}))
    _normalize_sources(spec, context)
    claim_spec(claim.child("spec", spec), context)


def claim_template(template: Part, context: ValidationContext) -> None:
    """Check the claim template of an ephemeral volume."""
    claim_template_metadata(template["metadata"])
    claim_spec(template["spec"], context)


def _check_access_modes(modes: Part) -> None:
    given = modes.value or ()
    for mode in given:
        modes.with_value(mode).one_of(*_ACCESS_MODES)
    if _ONLY_POD in given and any(mode in _ACCESS_MODES and mode != _ONLY_POD for mode in given):
        modes.forbidden("may not use ReadWriteOncePod with other access modes")


def claim_spec(spec: Part, context: ValidationContext) -> None:
    """Check a claim's spec."""
    modes, requested = spec["accessModes"], spec["resources"]["requests"]["storage"]
    modes.require("at least 1 access mode is required")
    label_selector(spec["selector"])
    _check_access_modes(modes)
    at = spec["resources"].child("[storage]", requested.value)
    if not requested.given:
        at.required()
    else:
        _check_positive(at, amount_of(at.value))
    spec["storageClassName"].nonempty.check(subdomain_problems)
    spec["volumeMode"].one_of(*VOLUME_MODES)
    _check_sources(spec, spec["dataSource"], spec["dataSourceRef"])
    if context.on("VolumeAttributesClass"):
        spec["volumeAttributesClassName"].nonempty.check(subdomain_problems)


def _check_positive(part: Part, amount: Amount) -> None:
    if amount.nanos <= 0:
        part.invalid(NOT_POSITIVE, str(amount))


def _check_sources(spec: Part, source: Part, reference: Part) -> None:
    for each in (source, reference):
        if each.given:
            _check_claim_source(each)
    namespace = reference["namespace"].nonempty
    namespace.check(label_problems)
    if source.given and reference.given:
        if namespace:
            spec.invalid("may not be specified when dataSourceRef.namespace is specified", {})
        elif any(source.get(name, zero) != reference.get(name, zero) for name, zero in _IDENTITY.items()):
            spec.invalid("must match dataSourceRef", {})


def _check_claim_source(source: Part) -> None:
    for name in ("name", "kind"):
        source[name].require()
    if not source["apiGroup"] and source.get("kind") != _CLAIM:
        source.invalid("must be 'PersistentVolumeClaim' when referencing the default apiGroup", source.get("kind"))
    source["apiGroup"].nonempty.check(subdomain_problems)


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


def persistent_volume(tree: Part, context: ValidationContext) -> None:
    """Check a PersistentVolume."""
    metadata, spec = tree["metadata"], tree.at("spec", {})
    object_metadata(metadata, subdomain_problems, namespaced=False)
    spec["accessModes"].require()
    _check_access_modes(spec["accessModes"])
    _check_capacity(spec["capacity"], context)
    policy = spec["persistentVolumeReclaimPolicy"].nonempty
    policy.one_of("Delete", "Recycle", "Retain")
    required = spec["nodeAffinity"]["required"]
    if required.given:
        node_selector(required)
    elif "nodeAffinity" in spec:
        required.required("must specify required node constraints")
    rules: Mapping[str, tuple[sources.SourceRule, str, str]] = {
        **_SOURCES,
        "iscsi": (partial(_check_iscsi, metadata.get("name")), "iscsi", "iscsi"),
        "local": (partial(_check_local, spec), "local", "local"),
    }
    sources.one_source(spec, rules, context)
    is_root = posixpath.normpath(spec["hostPath"].get("path") or ".") in ("/", "//")
    if policy.value == "Recycle" and is_root:
        policy.forbidden("may not be 'recycle' for a hostPath mount of '/'")
    spec["storageClassName"].nonempty.check(subdomain_problems)
    spec["volumeMode"].one_of(*VOLUME_MODES)
    if "volumeAttributesClassName" in spec and context.on("VolumeAttributesClass"):
        spec["volumeAttributesClassName"].require("an empty string is disallowed", subdomain_problems)
        if "csi" not in spec:
            spec["csi"].required("has to be specified when using volumeAttributesClassName")
    if _MOUNT_OPTIONS in metadata["annotations"] and not _WITH_OPTIONS & spec.value.keys():
        metadata["annotations"][_MOUNT_OPTIONS].forbidden("may not specify mount options for this volume type")


def _check_capacity(capacity: Part, context: ValidationContext) -> None:
    capacity.require()
    amounts = {name: amount_of(text) for name, text in capacity.value.items()} if capacity else {}
    if amounts.keys() != {"storage"}:
        shown = {name: str(amounts[name]) for name in sorted(amounts)} if capacity.given else None
        capacity.unsupported(("storage",), shown)
    for name, amount in amounts.items():
        exact = context.rules.large_amounts_are_exact
        at = capacity.child(f"[{name}]", str(amount) if exact else value(amount.nanos))
        if amount.nanos < 0 and (exact or at.value < 0):
            at.invalid("must be a valid resource quantity")
        _check_positive(at, amount)


def _check_local(spec: Part, source: Part, context: ValidationContext) -> None:
    source["path"].require()
    without_backsteps(source["path"])
    if "nodeAffinity" not in spec:
        spec["nodeAffinity"].required("Local volume requires node affinity")


def _check_iscsi(name: str, source: Part, context: ValidationContext) -> None:
    portal = source.get("targetPortal")
    source["targetPortal"].require()
    if "initiatorName" in source and len(f"{name}:{portal}".encode()) > _LONGEST_ISCSI:
        source.child("targetportal", portal).invalid(sources.TOO_LONG_PORTAL)
    sources.iscsi(source, form=_FORM)
    if "secretRef" in source:
        source["secretRef"]["name"].require()
    sources.initiator(source, form=_FORM)


def _glusterfs(source: Part, context: ValidationContext) -> None:
    sources.needs("endpoints", "path")(source, context)
    namespace = source["endpointsNamespace"]
    if namespace.given and not namespace:
        namespace.invalid("if the endpointnamespace is set, it must be a valid namespace name")
    namespace.nonempty.check(label_problems)


def _azure_file(source: Part, context: ValidationContext) -> None:
    sources.needs("secretName", "shareName", *source.value.keys() & {"secretNamespace"})(source, context)


def _csi(source: Part, context: ValidationContext) -> None:
    sources.driver_name(source.at("driver", ""), context)
    source["volumeHandle"].require()
    for secret in (source[name] for name in _SECRETS if name in source):
        secret["name"].require(rule=subdomain_problems)
        secret["namespace"].require(rule=label_problems)


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
        "iscsi": sources.needs(),
        "cinder": sources.needs("volumeID", secret=("name", "namespace")),
        "fc": sources.fibre_channel,
        "flexVolume": sources.flex,
        "azureFile": _azure_file,
        "vsphereVolume": sources.needs("volumePath"),
        "photonPersistentDisk": sources.needs("pdID"),
        "portworxVolume": sources.needs("volumeID"),
        "azureDisk": sources.azure_disk,
        "scaleIO": sources.needs("gateway", "system", "volumeName"),
        "local": sources.needs(),
        "storageos": sources.storage_os("name", "namespace"),
        "csi": _csi,
    },
    gcePersistentDisk=("persistentDisk", "gcePersistentDisk"),
    cephfs=("cephfs", "cephFS"),
    flexVolume=("flexVolume", ""),
)
