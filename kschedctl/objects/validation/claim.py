"""Validation of PersistentVolumeClaims and claim templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, subdomain_problems
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.metadata import claim_template_metadata, object_metadata
from kschedctl.objects.validation.resources import amount_of
from kschedctl.objects.validation.selectors import label_selector
from kschedctl.objects.validation.values import invalid_findings, one_of, positive_amount

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
        yield from _source(source, f"{path}.dataSource")
    if reference is None:
        return
    yield from _source(reference, f"{path}.dataSourceRef")
    namespace = reference.get("namespace")
    if namespace:
        yield from invalid_findings(label_problems(namespace), namespace, f"{path}.dataSourceRef.namespace")
    if source is None:
        return
    if namespace:
        yield field_errors.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif _identity(source) != _identity(reference):
        yield field_errors.invalid(path, {}, "must match dataSourceRef")


def _source(source: Tree, path: str) -> Found:
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
