"""Validation of the volume sources that pods and PersistentVolumes have in common."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import range_problems, subdomain_problems, too_long
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    invalid_findings,
    label_name,
    one_of,
    require,
    without_backsteps,
)

#: A function that yields the problems of a volume source.
SourceRule = Callable[[Tree, str, ValidationContext], Found]
MORE_THAN_ONE: Final = "may not specify more than 1 volume type"
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_IQN: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII).search,
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$").search,
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$").search,
}
_LONGEST_DRIVER: Final = 63


def needs(*names: str) -> SourceRule:
    """Return the rule of a source that only has required fields."""

    def rule(source: Tree, path: str, context: ValidationContext) -> Found:
        for name in names:
            yield from require(source.get(name), f"{path}.{name}")

    return rule


def host_path(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a hostPath volume."""
    place = source.get("path", "")
    if not place:
        yield field_errors.required(f"{path}.path")
        return
    yield from without_backsteps(place, f"{path}.path")
    yield from one_of(source.get("type", ""), _HOST_PATH_TYPES, f"{path}.type")


def disk(name: str) -> SourceRule:
    """Return the rule of a disk with partitions whose name is in the field `name`."""

    def rule(source: Tree, path: str, context: ValidationContext) -> Found:
        yield from require(source.get(name), f"{path}.{name}")
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            yield field_errors.invalid(f"{path}.partition", partition, "must be between 1 and 255, inclusive")

    return rule


def nfs(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of an NFS volume."""
    place = source.get("path", "")
    yield from needs("server", "path")(source, path, context)
    if not place.startswith("/"):
        yield field_errors.invalid(f"{path}.path", place, "must be an absolute path")


def iscsi(source: Tree, path: str, *, form: str) -> Found:
    """Yield the problems of an iSCSI volume.

    Args:
        form: The message about a name with an unknown prefix.
    """
    name = source.get("iqn", "")
    if not name:
        yield field_errors.required(f"{path}.iqn")
    else:
        yield from _iqn(name, f"{path}.iqn", form)
    lun = source.get("lun", 0)
    yield from invalid_findings(range_problems(lun, 0, 255), lun, f"{path}.lun")
    chap = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if chap and "secretRef" not in source:
        yield field_errors.required(f"{path}.secretRef")


def initiator(source: Tree, path: str, *, form: str) -> Found:
    """Yield the problems of the name of an iSCSI initiator, if it is set."""
    if "initiatorName" in source:
        yield from _iqn(source["initiatorName"], f"{path}.initiatorname", form)


def _iqn(name: str, path: str, form: str) -> Found:
    match = _IQN.get(name[:3])
    if match is None:
        yield field_errors.invalid(path, name, form)
    elif not match(name):
        yield field_errors.invalid(path, name, "must be valid format")


def fibre_channel(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a Fibre Channel volume."""
    names, ids = source.get("targetWWNs", ()), source.get("wwids", ())
    if not names and not ids:
        problem = "must specify either targetWWNs or wwids, but not both"
        yield field_errors.required(f"{path}.targetWWNs", problem)
    if names and ids:
        problem = "targetWWNs and wwids can not be specified simultaneously"
        yield field_errors.invalid(f"{path}.targetWWNs", names, problem)
    if names:
        lun = source.get("lun")
        if lun is None:
            yield field_errors.required(f"{path}.lun", "lun is required if targetWWNs is specified")
        else:
            yield from invalid_findings(range_problems(lun, 0, 255), lun, f"{path}.lun")


def flex(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a FlexVolume volume."""
    yield from require(source.get("driver"), f"{path}.driver")
    for key in source.get("options", ()):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            problem = "kubernetes.io and k8s.io namespaces are reserved"
            yield field_errors.invalid(f"{path}.options[{key}]", key, problem)


def flocker(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a Flocker volume."""
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        yield field_errors.required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        problem = "datasetName and datasetUUID can not be specified simultaneously"
        yield field_errors.invalid(path, "resource", problem)
    if "/" in name:
        yield field_errors.invalid(f"{path}.datasetName", name, "must not contain '/'")


def quobyte(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a Quobyte volume."""
    registry = source.get("registry", "")
    problem = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        yield field_errors.required(f"{path}.registry", problem)
    elif too_long(source.get("tenant", ""), 64):
        yield field_errors.required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*", pair):
                yield field_errors.invalid(f"{path}.registry", registry, problem)
    yield from require(source.get("volume"), f"{path}.volume")


def azure_disk(source: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of an Azure disk."""
    uri, kind = source.get("diskURI", ""), source.get("kind", "Shared")
    yield from needs("diskName", "diskURI")(source, path, context)
    if "cachingMode" in source:
        yield from one_of(source["cachingMode"], ("None", "ReadOnly", "ReadWrite"), f"{path}.cachingMode")
    yield from one_of(kind, ("Dedicated", "Managed", "Shared"), f"{path}.kind")
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        yield field_errors.unsupported(f"{path}.diskURI", uri, (form,), plain=True)
    if kind != "Managed" and not uri.startswith("https://"):
        form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        yield field_errors.unsupported(f"{path}.diskURI", uri, (form,), plain=True)


def storage_os(*secret: str) -> SourceRule:
    """Return the rule of a StorageOS volume whose secret reference has the required fields `secret`."""

    def rule(source: Tree, path: str, context: ValidationContext) -> Found:
        name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
        yield from label_name(name, f"{path}.volumeName") if name else require(name, f"{path}.volumeName")
        if namespace:
            yield from label_name(namespace, f"{path}.volumeNamespace")
        yield from with_secret(*secret)(source, path, context)

    return rule


def with_secret(*names: str) -> SourceRule:
    """Return the rule of a source whose optional secret reference has the required fields `names`."""

    def rule(source: Tree, path: str, context: ValidationContext) -> Found:
        if "secretRef" in source:
            yield from needs(*names)(source["secretRef"], f"{path}.secretRef", context)

    return rule


def cinder(*secret: str) -> SourceRule:
    """Return the rule of a Cinder volume whose secret reference has the required fields `secret`."""

    def rule(source: Tree, path: str, context: ValidationContext) -> Found:
        yield from require(source.get("volumeID"), f"{path}.volumeID")
        yield from with_secret(*secret)(source, path, context)

    return rule


def driver_name(name: str, path: str, context: ValidationContext) -> Found:
    """Yield the problems of the name of a CSI driver."""
    if not name:
        yield field_errors.required(path)
        if not context.rules.driver_name_checked_when_empty:
            return
    if too_long(name, _LONGEST_DRIVER):
        yield field_errors.too_long(path, _LONGEST_DRIVER)
    yield from invalid_findings(subdomain_problems(name.lower()), name, path)


def one_source(
    holder: Tree, rules: Mapping[str, tuple[SourceRule, str, str]], path: str, context: ValidationContext
) -> Found:
    """Yield the problems of a volume, which must have exactly one source.

    Args:
        rules: The sources in the order in which they are checked, each with its rule, the end of the path of its
            findings, and the end of the path of the finding about a second source. If the latter is empty, a second
            source of this kind is not rejected.
    """
    found = False
    for name, (rule, own, too_much) in rules.items():
        if name not in holder:
            continue
        if found and too_much:
            yield field_errors.forbidden(f"{path}.{too_much}", MORE_THAN_ONE)
            continue
        found = True
        yield from rule(holder[name], f"{path}.{own}", context)
    if not found:
        yield field_errors.required(path, "must specify a volume type")


def table(rules: Mapping[str, SourceRule], **others: tuple[str, str]) -> dict[str, tuple[SourceRule, str, str]]:
    """Return the sources in the form that ``one_source`` needs, with differing names in paths given by `others`."""
    return {name: (rule, *others.get(name, (name, name))) for name, rule in rules.items()}
