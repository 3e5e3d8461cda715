"""Validation of volumes whose files come from the API: Secrets, ConfigMaps, pod fields, tokens and certificates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import qualified_name_problems
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.environment import VOLUME_FIELDS, object_field, resource_field
from kschedctl.objects.validation.go_values import in_go
from kschedctl.objects.validation.metadata import annotations_given
from kschedctl.objects.validation.selectors import label_selector, selector_in_message
from kschedctl.objects.validation.signers import is_of_kubernetes, signer_name, trust_bundle_problems
from kschedctl.objects.validation.values import invalid_findings, require, volume_path

_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 2**32
_SHORTEST_CERTIFICATE: Final = 3600
_LONGEST_CERTIFICATE: Final = 91 * 24 * 3600
_LONGEST_OF_KUBERNETES: Final = 24 * 3600
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_CONFLICT: Final = "conflicting duplicate paths"


def secret(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a Secret volume."""
    yield from require(source.get("secretName"), f"{path}.secretName")
    yield from _mode(source, "defaultMode", path)
    yield from _items(source, path)


def config_map(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a ConfigMap volume."""
    yield from require(source.get("name"), f"{path}.name")
    yield from _mode(source, "defaultMode", path)
    yield from _items(source, path)


def downward_api(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a downward API volume; the messages do not contain the item's index."""
    yield from _mode(source, "defaultMode", path)
    for file in source.get("items", ()):
        yield from _downward_file(file, path)


def _mode(holder: Tree, name: str, path: str) -> Found:
    mode = holder.get(name)
    if mode is not None and not 0 <= mode <= 0o777:
        yield field_errors.invalid(f"{path}.{name}", mode, _MODE)


def _items(source: Tree, path: str) -> Found:
    for i, item in enumerate(source.get("items", ())):
        yield from _item(item, f"{path}.items[{i}]")


def _item(item: Tree, path: str) -> Found:
    yield from require(item.get("key"), f"{path}.key")
    yield from require(item.get("path"), f"{path}.path")
    yield from volume_path(item.get("path", ""), f"{path}.path")
    yield from _mode(item, "mode", path)


def _downward_file(file: Tree, path: str) -> Found:
    yield from require(file.get("path"), f"{path}.path")
    yield from volume_path(file.get("path", ""), f"{path}.path")
    if "fieldRef" in file:
        yield from object_field(file["fieldRef"], VOLUME_FIELDS, f"{path}.fieldRef")
        if "resourceFieldRef" in file:
            problem = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield field_errors.invalid(path, "resource", problem)
    elif "resourceFieldRef" in file:
        yield from resource_field(file["resourceFieldRef"], f"{path}.resourceFieldRef", of_volume=True)
    else:
        yield field_errors.required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(file, "mode", path)


class _Projection:
    """The validation of a projected volume, with the file paths that its sources use.

    Parameters
    ----------
    path : str
        The field path of the volume.
    """

    def __init__(self, path: str, context: ValidationContext) -> None:
        self._path = path
        self._context = context
        self._taken: set[str] = set()

    def _take(self, file: str, shown: str) -> Found:
        if file in self._taken:
            yield field_errors.invalid(self._path, shown, _CONFLICT)
        self._taken.add(file)

    def keys(self, source: Tree, path: str) -> Found:
        name = source.get("name", "")
        yield from require(name, f"{path}.name")
        for i, item in enumerate(source.get("items", ())):
            yield from _item(item, f"{path}.items[{i}]")
            if item.get("path"):
                yield from self._take(item["path"], name)

    def fields(self, source: Tree, path: str) -> Found:
        for file in source.get("items", ()):
            yield from _downward_file(file, path)
            if file.get("path"):
                yield from self._take(file["path"], file["path"])

    def token(self, source: Tree, path: str) -> Found:
        seconds = source.get("expirationSeconds", 3600)
        at = f"{path}.expirationSeconds"
        if seconds < _SHORTEST_TOKEN:
            yield field_errors.invalid(at, seconds, "may not specify a duration less than 10 minutes")
        if seconds > _LONGEST_TOKEN:
            yield field_errors.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")
        file = source.get("path", "")
        if not file:
            yield field_errors.required(f"{self._path}.path")
        else:
            yield from volume_path(file, f"{self._path}.path")

    def trust_bundle(self, source: Tree, path: str) -> Found:
        if "name" in source and "signerName" in source:
            shown = in_go("ClusterTrustBundleProjection", source)
            yield field_errors.invalid(path, shown, "only one of name and signerName may be used")
        elif "name" in source:
            name = source["name"]
            yield from require(name, f"{path}.name", "must be a valid object name")
            for problem in trust_bundle_problems(name):
                yield field_errors.invalid(f"{path}.name", name, f"not a valid clustertrustbundlename: {problem}")
            if "labelSelector" in source:
                problem = "labelSelector must be unset if name is specified"
                yield field_errors.invalid(
                    f"{path}.labelSelector", selector_in_message(source["labelSelector"]), problem
                )
        elif "signerName" in source:
            signer = source["signerName"]
            yield from require(signer, f"{path}.signerName", "must be a valid signer name")
            yield from signer_name(signer, f"{path}.signerName")
            yield from label_selector(source.get("labelSelector"), f"{path}.labelSelector")
        else:
            yield field_errors.required(path, "either name or signerName must be specified")
        file = source.get("path", "")
        yield from require(file, f"{path}.path")
        yield from volume_path(file, f"{path}.path")
        yield from self._take(file, file)

    def certificate(self, source: Tree, path: str) -> Found:
        signer = source.get("signerName", "")
        yield from signer_name(signer, f"{path}.signerName")
        if "userAnnotations" in source:
            yield from _user_annotations(source["userAnnotations"], f"{path}.userAnnotations")
        key_type = source.get("keyType", "")
        if key_type not in _KEY_TYPES:
            yield field_errors.unsupported(f"{path}.keyType", key_type, _KEY_TYPES, plain=True)
        seconds = source.get("maxExpirationSeconds")
        at = f"{path}.maxExpirationSeconds"
        if seconds is not None and seconds < _SHORTEST_CERTIFICATE:
            yield field_errors.invalid(at, seconds, "if provided, maxExpirationSeconds must be >= 3600")
        longest = _LONGEST_OF_KUBERNETES if is_of_kubernetes(signer) else _LONGEST_CERTIFICATE
        if seconds is not None and seconds > longest:
            yield field_errors.invalid(at, seconds, f"if provided, maxExpirationSeconds must be <= {longest}")
        for name in _CERTIFICATE_PATHS:
            if file := source.get(name, ""):
                yield from volume_path(file, f"{path}.{name}")
                yield from self._take(file, file)
        if not any(source.get(name) for name in _CERTIFICATE_PATHS):
            problem = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
            yield field_errors.required(path, problem)

    def sources(self, given_sources: Sequence[Tree]) -> Found:
        """Yield the problems of all sources, in their order."""
        kinds: dict[str, tuple[Callable[[Tree, str], Found], str]] = {
            "secret": (self.keys, ""),
            "configMap": (self.keys, ""),
            "downwardAPI": (self.fields, ""),
            "serviceAccountToken": (self.token, ""),
            "clusterTrustBundle": (self.trust_bundle, "ClusterTrustBundleProjection"),
            "podCertificate": (self.certificate, "PodCertificateRequest"),
        }
        for i, source in enumerate(given_sources):
            at = f"{self._path}.sources[{i}]"
            number = 0
            for name, (rule, gate) in kinds.items():
                # If the feature gate is off, an API server drops the field.
                if name in source and (not gate or self._context.on(gate)):
                    number += 1
                    yield from rule(source[name], f"{at}.{name}")
            if number > 1:
                yield field_errors.forbidden(at, "may not specify more than 1 volume type per source")


def projected(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a projected volume, which combines the files of several sources."""
    yield from _mode(source, "defaultMode", path)
    yield from _Projection(path, context).sources(source.get("sources", ()))


def _user_annotations(values: dict[str, str], path: str) -> Found:
    for key in values:
        small = key.lower()
        problems = qualified_name_problems(small)
        if not small:
            yield field_errors.required(path)
        elif problems:
            yield from invalid_findings(problems, small, path)
        elif "/" not in small:
            yield field_errors.invalid(path, small, 'must be a domain-prefixed key (such as "acme.io/foo")')
    yield from (finding for finding in annotations_given(values, path) if finding.rule == "FieldValueTooLong")
