"""Validation of the volumes of pods, and of those whose files come from the API."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, qualified_name_problems, subdomain_problems, too_long
from kschedctl.objects.quantity import Amount
from kschedctl.objects.validation import volume_sources as sources
from kschedctl.objects.validation.containers import PULL_POLICIES
from kschedctl.objects.validation.environment import VOLUME_FIELDS, object_field, resource_field
from kschedctl.objects.validation.metadata import annotations_given
from kschedctl.objects.validation.persistent_volume import claim_template
from kschedctl.objects.validation.placement import label_selector, selector_in_message
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    given_label_name,
    in_go,
    invalid_findings,
    one_of,
    relative_path,
    require,
    volume_path,
)

# Validation of the names of certificate signers and of ClusterTrustBundles.

_LONGEST_DOMAIN: Final = 253
_LONGEST: Final = _LONGEST_DOMAIN + _LONGEST_DOMAIN + 63 + 1 + 1


def signer_name(name: str, path: str) -> Found:
    """Yield the problems of a signer's name, which consists of a domain and a path."""
    if not name:
        yield field_errors.required(path)
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        problem = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield field_errors.invalid(path, name, problem)
        return
    if too_long(domain, _LONGEST_DOMAIN):
        yield field_errors.too_long(path, _LONGEST_DOMAIN)
    labels = domain.split(".")
    yield from _first_wrong(labels, label_problems, domain, path)
    if len(labels) < 2:
        yield field_errors.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_wrong(rest.split("."), subdomain_problems, rest, path)
    if too_long(name, _LONGEST):
        yield field_errors.too_long(path, _LONGEST)


def _first_wrong(labels: Iterable[str], rule: Callable[[str], tuple[str, ...]], whole: str, path: str) -> Found:
    for label in labels:
        problems = rule(label)
        for problem in problems:
            yield field_errors.invalid(path, whole, f"validating label {field_errors.go_quote(label)}: {problem}")
        if problems:
            return


def trust_bundle_problems(name: str) -> tuple[str, ...]:
    """Return the problems of a ClusterTrustBundle's name, which begins with the signer's name if it has a signer."""
    signer, colon, own = name.rpartition(":")
    if not colon:
        return subdomain_problems(name)
    if not signer:
        return ('ClusterTrustBundle without signer name must not have ":" in its name',)
    return subdomain_problems(own)


# Validation of volumes whose files come from the API: Secrets, ConfigMaps, pod fields, tokens and certificates.

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
    yield from _check_items(source, path)


def config_map(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a ConfigMap volume."""
    yield from require(source.get("name"), f"{path}.name")
    yield from _mode(source, "defaultMode", path)
    yield from _check_items(source, path)


def downward_api(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a downward API volume; the messages do not contain the item's index."""
    yield from _mode(source, "defaultMode", path)
    for file in source.get("items", ()):
        yield from _downward_file(file, path)


def _mode(holder: Tree, name: str, path: str) -> Found:
    mode = holder.get(name)
    if mode is not None and not 0 <= mode <= 0o777:
        yield field_errors.invalid(f"{path}.{name}", mode, _MODE)


def _check_items(source: Tree, path: str) -> Found:
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
    """The validation of a projected volume, with the file paths that its sources use."""

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
            values = source["userAnnotations"]
            place = f"{path}.userAnnotations"
            for key in values:
                small = key.lower()
                problems = qualified_name_problems(small)
                if not small:
                    yield field_errors.required(place)
                elif problems:
                    yield from invalid_findings(problems, small, place)
                elif "/" not in small:
                    yield field_errors.invalid(place, small, 'must be a domain-prefixed key (such as "acme.io/foo")')
            yield from (finding for finding in annotations_given(values, place) if finding.rule == "FieldValueTooLong")
        key_type = source.get("keyType", "")
        if key_type not in _KEY_TYPES:
            yield field_errors.unsupported(f"{path}.keyType", key_type, _KEY_TYPES, plain=True)
        seconds = source.get("maxExpirationSeconds")
        at = f"{path}.maxExpirationSeconds"
        if seconds is not None and seconds < _SHORTEST_CERTIFICATE:
            yield field_errors.invalid(at, seconds, "if provided, maxExpirationSeconds must be >= 3600")
        host = signer.partition("/")[0]
        longest = (
            _LONGEST_OF_KUBERNETES
            if (host == "kubernetes.io" or host.endswith(".kubernetes.io"))
            else _LONGEST_CERTIFICATE
        )
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


_LONGEST_ISCSI: Final = 64
_TOO_LONG: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)
_FORM: Final = "must be valid format starting with iqn, eui, or naa"


def pod_volumes(volumes: Sequence[Tree], path: str, context: ValidationContext, good: dict[str, Tree]) -> Found:
    """Yield the problems of the volumes of a pod.

    Args:
        good: The output: valid volumes are added by name. Containers can use only these.
    """
    names: set[str] = set()
    pod = context.pod_name
    made = {f"{pod}-{volume.get('name', '')}" for volume in volumes if pod and "ephemeral" in volume}
    for i, volume in enumerate(volumes):
        at = f"{path}[{i}]"
        name = volume.get("name", "")
        found = [*_check_volume_source(volume, at, context), *given_label_name(name, f"{at}.name")]
        if name in names:
            found.append(field_errors.duplicate(f"{at}.name", name))
        if not found:
            names.add(name)
            good[name] = volume
        yield from found
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in made:
            problem = "must not reference a PVC that gets created for an ephemeral volume"
            yield field_errors.invalid(f"{at}.persistentVolumeClaim.claimName", claim, problem)


def _check_volume_source(volume: Tree, path: str, context: ValidationContext) -> Found:
    if context.partial:
        if "persistentVolumeClaim" in volume:
            own = {"persistentVolumeClaim": _SOURCES["persistentVolumeClaim"]}
            yield from sources.one_source(volume, own, path, context)
        return
    if len(volume) == ("name" in volume):
        # A volume without a source is an emptyDir.
        return
    yield from sources.one_source(volume, _SOURCES, path, context)
    name = volume.get("name", "")
    portal = volume.get("iscsi", {})
    if "initiatorName" in portal and len(f"{name}:{portal.get('targetPortal', '')}".encode()) > _LONGEST_ISCSI:
        yield field_errors.invalid(f"{path}.name", name, _TOO_LONG)
    if "ephemeral" in volume and context.pod_name and name:
        claim = f"{context.pod_name}-{name}"
        for problem in subdomain_problems(claim):
            yield field_errors.invalid(f"{path}.name", name, f"PVC name {field_errors.go_quote(claim)}: {problem}")


def _empty_dir(source: Tree, path: str, context: ValidationContext) -> Found:
    if "sizeLimit" in source and Amount.parse(source["sizeLimit"]).nanos < 0:
        yield field_errors.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _git_repo(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from require(source.get("repository"), f"{path}.repository")
    yield from relative_path(source.get("directory", ""), f"{path}.directory")


def _iscsi(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from require(source.get("targetPortal"), f"{path}.targetPortal")
    yield from sources.iscsi(source, path, form=_FORM)
    yield from sources.initiator(source, path, form=_FORM)


def _csi(source: Tree, path: str, context: ValidationContext) -> Found:
    yield from sources.driver_name(source.get("driver", ""), f"{path}.driver", context)
    if "nodePublishSecretRef" in source:
        name = source["nodePublishSecretRef"].get("name", "")
        if not name:
            yield field_errors.required(f"{path}.nodePublishSecretRef.name")
        else:
            yield from invalid_findings(subdomain_problems(name), name, f"{path}.name")


def _ephemeral(source: Tree, path: str, context: ValidationContext) -> Found:
    if "volumeClaimTemplate" not in source:
        yield field_errors.required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_template(source["volumeClaimTemplate"], f"{path}.volumeClaimTemplate", context)


def _image(source: Tree, path: str, context: ValidationContext) -> Found:
    if context.is_pod or context.rules.templates_need_image_reference:
        yield from require(source.get("reference"), f"{path}.reference")
    if source.get("pullPolicy"):
        yield from one_of(source["pullPolicy"], PULL_POLICIES, f"{path}.pullPolicy")


_SOURCES: Final = sources.table(
    {
        "emptyDir": _empty_dir,
        "hostPath": sources.host_path,
        "gitRepo": _git_repo,
        "gcePersistentDisk": sources.disk("pdName"),
        "awsElasticBlockStore": sources.disk("volumeID"),
        "secret": secret,
        "nfs": sources.nfs,
        "iscsi": _iscsi,
        "glusterfs": sources.needs("endpoints", "path"),
        "flocker": sources.flocker,
        "persistentVolumeClaim": sources.needs("claimName"),
        "rbd": sources.needs("monitors", "image"),
        "cinder": sources.cinder("name"),
        "cephfs": sources.needs("monitors"),
        "quobyte": sources.quobyte,
        "downwardAPI": downward_api,
        "fc": sources.fibre_channel,
        "flexVolume": sources.flex,
        "configMap": config_map,
        "azureFile": sources.needs("secretName", "shareName"),
        "vsphereVolume": sources.needs("volumePath"),
        "photonPersistentDisk": sources.needs("pdID"),
        "portworxVolume": sources.needs("volumeID"),
        "azureDisk": sources.azure_disk,
        "storageos": sources.storage_os("name"),
        "projected": projected,
        "scaleIO": sources.needs("gateway", "system", "volumeName"),
        "csi": _csi,
        "ephemeral": _ephemeral,
        "image": _image,
    },
    gcePersistentDisk=("persistentDisk", "gcePersistentDisk"),
    cephfs=("cephfs", "cephFS"),
    downwardAPI=("downwardAPI", "downwarAPI"),
)
