"""Validation of the volumes of pods, and of those whose files come from the API."""

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, qualified_name_problems, subdomain_problems, too_long
from kschedctl.objects.quantity import Amount
from kschedctl.objects.validation import volume_sources as sources
from kschedctl.objects.validation.containers import PULL_POLICIES
from kschedctl.objects.validation.environment import VOLUME_FIELDS, object_field, resource_field
from kschedctl.objects.validation.metadata import check_size
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.persistent_volume import claim_template
from kschedctl.objects.validation.placement import label_selector, selector_in_message
from kschedctl.objects.validation.values import Tree, ValidationContext, in_go, relative_path, volume_path

# Validation of the names of certificate signers and of ClusterTrustBundles.

_LONGEST_DOMAIN: Final = 253
_LONGEST: Final = _LONGEST_DOMAIN + _LONGEST_DOMAIN + 63 + 1 + 1


def signer_name(name: Part) -> None:
    """Check a signer's name, which consists of a domain and a path."""
    domain, slash, rest = name.value.partition("/")
    if not name:
        name.required()
    elif not slash or "/" in rest:
        name.invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'")
    else:
        if too_long(domain, _LONGEST_DOMAIN):
            name.too_long(_LONGEST_DOMAIN)
        labels = domain.split(".")
        name.with_value(domain).check(_first_problems, labels, label_problems)
        if len(labels) < 2:
            name.invalid("should be a domain with at least two segments separated by dots", domain)
        name.with_value(rest).check(_first_problems, rest.split("."), subdomain_problems)
        if too_long(name.value, _LONGEST):
            name.too_long(_LONGEST)


def _first_problems(whole: str, labels: Iterable[str], rule: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Return the problems of the first label that has some."""
    wrong = next(((label, problems) for label in labels if (problems := rule(label))), ("", ()))
    return [f"validating label {field_errors.go_quote(wrong[0])}: {problem}" for problem in wrong[1]]


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
_ML_DSA: Final = ("MLDSA44", "MLDSA65", "MLDSA87")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")


def _secret(source: Part, context: ValidationContext) -> None:
    source["secretName"].require()
    _check_mode(source["defaultMode"])
    for item in source["items"]:
        _check_item(item)


def _config_map(source: Part, context: ValidationContext) -> None:
    source["name"].require()
    _check_mode(source["defaultMode"])
    for item in source["items"]:
        _check_item(item)


def _downward_api(source: Part, context: ValidationContext) -> None:
    _check_mode(source["defaultMode"])
    for file in source.get("items", ()):
        _check_downward_file(source.with_value(file))


def _check_mode(mode: Part) -> None:
    if mode.given and not 0 <= mode.value <= 0o777:
        mode.invalid("must be a number between 0 and 0777 (octal), both inclusive")


def _check_item(item: Part) -> None:
    item["key"].require()
    item["path"].require()
    volume_path(item["path"])
    _check_mode(item["mode"])


def _check_downward_file(file: Part) -> None:
    """Check a file of a downward API volume; the messages do not contain the item's index."""
    file["path"].require()
    volume_path(file["path"])
    if "fieldRef" in file:
        object_field(file["fieldRef"], VOLUME_FIELDS)
        if "resourceFieldRef" in file:
            file.invalid("fieldRef and resourceFieldRef can not be specified simultaneously", "resource")
    elif "resourceFieldRef" in file:
        resource_field(file["resourceFieldRef"], of_volume=True)
    else:
        file.required("one of fieldRef and resourceFieldRef is required")
    _check_mode(file["mode"])


class _Projection:
    """The validation of a projected volume, with the file paths that its sources use."""

    def __init__(self, volume: Part, context: ValidationContext) -> None:
        self._volume = volume
        self._key_types = (*_KEY_TYPES, *(_ML_DSA if context.on("PodCertificateMLDSA") else ()))
        self._taken: set[str] = set()

    def _take(self, file: str, shown: str) -> None:
        if file in self._taken:
            self._volume.invalid("conflicting duplicate paths", shown)
        self._taken.add(file)

    def keys(self, source: Part) -> None:
        source["name"].require()
        for item in source["items"]:
            _check_item(item)
            if item["path"]:
                self._take(item.get("path"), source.get("name"))

    def fields(self, source: Part) -> None:
        for file in map(source.with_value, source.get("items", ())):
            _check_downward_file(file)
            if file["path"]:
                self._take(file.get("path"), file.get("path"))

    def token(self, source: Part) -> None:
        seconds, file = source.at("expirationSeconds", 3600), self._volume.child("path", source.get("path"))
        if seconds.value < _SHORTEST_TOKEN:
            seconds.invalid("may not specify a duration less than 10 minutes")
        if seconds.value > _LONGEST_TOKEN:
            seconds.invalid("may not specify a duration larger than 2^32 seconds")
        file.require()
        volume_path(file)

    def trust_bundle(self, source: Part) -> None:
        name, signer, selector = source["name"], source["signerName"], source["labelSelector"]
        if name.given and signer.given:
            source.invalid(
                "only one of name and signerName may be used", in_go("ClusterTrustBundleProjection", source.value)
            )
        elif name.given:
            name.require("must be a valid object name")
            for problem in trust_bundle_problems(name.value):
                name.invalid(f"not a valid clustertrustbundlename: {problem}")
            if selector.given:
                selector.invalid(
                    "labelSelector must be unset if name is specified", selector_in_message(selector.value)
                )
        elif signer.given:
            signer.require("must be a valid signer name")
            signer_name(signer)
            label_selector(selector)
        else:
            source.required("either name or signerName must be specified")
        file = source.at("path", "")
        file.require()
        volume_path(file)
        self._take(file.value, file.value)

    def certificate(self, source: Part) -> None:
        signer, annotations = source.at("signerName", ""), source["userAnnotations"]
        seconds = source["maxExpirationSeconds"]
        signer_name(signer)
        for key in annotations.value or ():
            annotation = annotations.with_value(key.lower())
            annotation.require(rule=qualified_name_problems)
            if "/" not in key and key and not qualified_name_problems(annotation.value):
                annotation.invalid('must be a domain-prefixed key (such as "acme.io/foo")')
        check_size(annotations)
        if source.get("keyType") not in self._key_types:
            source.at("keyType", "").unsupported(self._key_types, plain=True)
        if seconds.given and seconds.value < _SHORTEST_CERTIFICATE:
            seconds.invalid("if provided, maxExpirationSeconds must be >= 3600")
        of_kubernetes = f".{signer.value.partition('/')[0]}".endswith(".kubernetes.io")
        longest = _LONGEST_OF_KUBERNETES if of_kubernetes else _LONGEST_CERTIFICATE
        if seconds.given and seconds.value > longest:
            seconds.invalid(f"if provided, maxExpirationSeconds must be <= {longest}")
        files = [source[name] for name in _CERTIFICATE_PATHS if source[name]]
        for file in files:
            volume_path(file)
            self._take(file.value, file.value)
        if not files:
            source.required("specify at least one of credentialBundlePath, keyPath, and certificateChainPath")


def _projected(volume: Part, context: ValidationContext) -> None:
    """Check a projected volume, which combines the files of several sources."""
    _check_mode(volume["defaultMode"])
    projection = _Projection(volume, context)
    rules: dict[str, tuple[Callable[[Part], None], str]] = {
        "secret": (projection.keys, ""),
        "configMap": (projection.keys, ""),
        "downwardAPI": (projection.fields, ""),
        "serviceAccountToken": (projection.token, ""),
        "clusterTrustBundle": (projection.trust_bundle, "ClusterTrustBundleProjection"),
        "podCertificate": (projection.certificate, "PodCertificateRequest"),
    }
    for source in volume["sources"]:
        # If the feature gate is off, an API server drops the field.
        given = [name for name, (_, gate) in rules.items() if name in source and (not gate or context.on(gate))]
        for name in given:
            rules[name][0](source[name])
        if len(given) > 1:
            source.forbidden("may not specify more than 1 volume type per source")


_LONGEST_ISCSI: Final = 64
_FORM: Final = "must be valid format starting with iqn, eui, or naa"


def pod_volumes(volumes: Part, context: ValidationContext) -> dict[str, Tree]:
    """Check the volumes of a pod, and return the valid ones by name: containers can use only these."""
    good: dict[str, Tree] = {}
    pod = context.pod_name
    made = {f"{pod}-{volume.get('name')}" for volume in volumes if pod and "ephemeral" in volume}
    for volume in volumes:
        name, claim = volume["name"], volume["persistentVolumeClaim"].at("claimName", "")
        before = len(volume.findings)
        _check_volume_source(volume, context)
        name.require(rule=label_problems)
        if name.value in good:
            name.duplicate()
        if len(volume.findings) == before:
            good[name.value] = volume.value
        if claim.value in made:
            claim.invalid("must not reference a PVC that gets created for an ephemeral volume")
    return good


def _check_volume_source(volume: Part, context: ValidationContext) -> None:
    if context.partial:
        if "persistentVolumeClaim" in volume:
            sources.one_source(volume, {"persistentVolumeClaim": _SOURCES["persistentVolumeClaim"]}, context)
        return
    name, portal = volume.get("name"), volume["iscsi"]
    if len(volume.value) == ("name" in volume):
        # A volume without a source is an emptyDir.
        return
    sources.one_source(volume, _SOURCES, context)
    if "initiatorName" in portal and len(f"{name}:{portal.get('targetPortal')}".encode()) > _LONGEST_ISCSI:
        volume.at("name", "").invalid(sources.TOO_LONG_PORTAL)
    if "ephemeral" in volume and context.pod_name and name:
        claim = f"{context.pod_name}-{name}"
        for problem in subdomain_problems(claim):
            volume["name"].invalid(f"PVC name {field_errors.go_quote(claim)}: {problem}")


def _empty_dir(source: Part, context: ValidationContext) -> None:
    if "sizeLimit" in source and Amount.parse(source.get("sizeLimit")).nanos < 0:
        source["sizeLimit"].forbidden("SizeLimit field must be a valid resource quantity")


def _git_repo(source: Part, context: ValidationContext) -> None:
    source["repository"].require()
    relative_path(source["directory"])


def _iscsi(source: Part, context: ValidationContext) -> None:
    source["targetPortal"].require()
    sources.iscsi(source, form=_FORM)
    sources.initiator(source, form=_FORM)


def _csi(source: Part, context: ValidationContext) -> None:
    sources.driver_name(source.at("driver", ""), context)
    secret = source["nodePublishSecretRef"]
    if secret.given:
        secret["name"].require()
        source.child("name", secret["name"].value).nonempty.check(subdomain_problems)


def _ephemeral(source: Part, context: ValidationContext) -> None:
    template = source["volumeClaimTemplate"]
    if not template.given:
        template.required()
    else:
        claim_template(template, context)


def _image(source: Part, context: ValidationContext) -> None:
    if context.is_pod or context.rules.templates_need_image_reference:
        source["reference"].require()
    source["pullPolicy"].nonempty.one_of(*PULL_POLICIES)


_SOURCES: Final = sources.table(
    {
        "emptyDir": _empty_dir,
        "hostPath": sources.host_path,
        "gitRepo": _git_repo,
        "gcePersistentDisk": sources.disk("pdName"),
        "awsElasticBlockStore": sources.disk("volumeID"),
        "secret": _secret,
        "nfs": sources.nfs,
        "iscsi": _iscsi,
        "glusterfs": sources.needs("endpoints", "path"),
        "flocker": sources.flocker,
        "persistentVolumeClaim": sources.needs("claimName"),
        "rbd": sources.needs("monitors", "image"),
        "cinder": sources.needs("volumeID", secret=("name",)),
        "cephfs": sources.needs("monitors"),
        "quobyte": sources.quobyte,
        "downwardAPI": _downward_api,
        "fc": sources.fibre_channel,
        "flexVolume": sources.flex,
        "configMap": _config_map,
        "azureFile": sources.needs("secretName", "shareName"),
        "vsphereVolume": sources.needs("volumePath"),
        "photonPersistentDisk": sources.needs("pdID"),
        "portworxVolume": sources.needs("volumeID"),
        "azureDisk": sources.azure_disk,
        "storageos": sources.storage_os("name"),
        "projected": _projected,
        "scaleIO": sources.needs("gateway", "system", "volumeName"),
        "csi": _csi,
        "ephemeral": _ephemeral,
        "image": _image,
    },
    gcePersistentDisk=("persistentDisk", "gcePersistentDisk"),
    cephfs=("cephfs", "cephFS"),
    downwardAPI=("downwardAPI", "downwarAPI"),
)
