"""Validation of the volume sources that pods and PersistentVolumes have in common."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from kschedctl.objects.names import label_problems, range_problems, subdomain_problems, too_long
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.values import ValidationContext, without_backsteps

#: A function that checks a volume source.
SourceRule = Callable[[Part, ValidationContext], None]
TOO_LONG_PORTAL: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)
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


def needs(*names: str, secret: tuple[str, ...] = ()) -> SourceRule:
    """Return the rule of a source that only has required fields, and an optional secret reference with such fields."""

    def rule(source: Part, context: ValidationContext) -> None:
        for name in names:
            source[name].require()
        for name in secret if "secretRef" in source else ():
            source["secretRef"][name].require()

    return rule


def host_path(source: Part, context: ValidationContext) -> None:
    """Check a hostPath volume."""
    source["path"].require()
    if source["path"]:
        without_backsteps(source["path"])
        source["type"].one_of(*_HOST_PATH_TYPES)


def disk(name: str) -> SourceRule:
    """Return the rule of a disk with partitions whose name is in the field `name`."""

    def rule(source: Part, context: ValidationContext) -> None:
        source[name].require()
        if not 0 <= source.get("partition", 0) <= 255:
            source["partition"].invalid("must be between 1 and 255, inclusive")

    return rule


def nfs(source: Part, context: ValidationContext) -> None:
    """Check an NFS volume."""
    source["server"].require()
    path = source.at("path", "")
    path.require()
    if not path.value.startswith("/"):
        path.invalid("must be an absolute path")


def iscsi(source: Part, *, form: str) -> None:
    """Check an iSCSI volume.

    Args:
        form: The message about a name with an unknown prefix.
    """
    name, lun = source["iqn"], source["lun"]
    name.require()
    name.nonempty.check(_name_problems, form)
    lun.check(range_problems, 0, 255)
    if (source["chapAuthDiscovery"] or source["chapAuthSession"]) and "secretRef" not in source:
        source["secretRef"].required()


def initiator(source: Part, *, form: str) -> None:
    """Check the name of an iSCSI initiator, if it is set."""
    source.child("initiatorname", source["initiatorName"].value).check(_name_problems, form)


def _name_problems(name: str, form: str) -> tuple[str, ...]:
    match = _IQN.get(name[:3])
    if match is None:
        return (form,)
    return () if match(name) else ("must be valid format",)


def fibre_channel(source: Part, context: ValidationContext) -> None:
    """Check a Fibre Channel volume."""
    names, ids, lun = source["targetWWNs"], source["wwids"], source["lun"]
    if not names and not ids:
        names.required("must specify either targetWWNs or wwids, but not both")
    if names and ids:
        names.invalid("targetWWNs and wwids can not be specified simultaneously")
    if names and not lun.given:
        lun.required("lun is required if targetWWNs is specified")
    elif names:
        lun.check(range_problems, 0, 255)


def flex(source: Part, context: ValidationContext) -> None:
    """Check a FlexVolume volume."""
    source["driver"].require()
    for key in source.get("options", ()):
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            source["options"].child(f"[{key}]", key).invalid("kubernetes.io and k8s.io namespaces are reserved")


def flocker(source: Part, context: ValidationContext) -> None:
    """Check a Flocker volume."""
    name, uuid = source["datasetName"], source["datasetUUID"]
    if not name and not uuid:
        source.required("one of datasetName and datasetUUID is required")
    if name and uuid:
        source.invalid("datasetName and datasetUUID can not be specified simultaneously", "resource")
    if name and "/" in name.value:
        name.invalid("must not contain '/'")


def quobyte(source: Part, context: ValidationContext) -> None:
    """Check a Quobyte volume."""
    registry = source["registry"]
    problem = "must be a host:port pair or multiple pairs separated by commas"
    registry.require(problem)
    if registry and too_long(source.get("tenant"), 64):
        source["tenant"].required("must be a UUID and may not exceed a length of 64 characters")
    elif registry:
        for pair in registry.value.split(","):
            if not re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*", pair):
                registry.invalid(problem)
    source["volume"].require()


def azure_disk(source: Part, context: ValidationContext) -> None:
    """Check an Azure disk."""
    uri, kind = source.at("diskURI", ""), source.at("kind", "Shared")
    source["diskName"].require()
    uri.require()
    source["cachingMode"].one_of("None", "ReadOnly", "ReadWrite")
    kind.one_of("Dedicated", "Managed", "Shared")
    form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
    if kind.value == "Managed":
        form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
    if not uri.value.startswith("/subscriptions/" if kind.value == "Managed" else "https://"):
        uri.unsupported((form,), plain=True)


def storage_os(*secret: str) -> SourceRule:
    """Return the rule of a StorageOS volume whose secret reference has the required fields `secret`."""

    def rule(source: Part, context: ValidationContext) -> None:
        source["volumeName"].require(rule=label_problems)
        source["volumeNamespace"].nonempty.check(label_problems)
        needs(secret=secret)(source, context)

    return rule


def driver_name(name: Part, context: ValidationContext) -> None:
    """Check the name of a CSI driver."""
    name.require()
    if name or context.rules.driver_name_checked_when_empty:
        text = name.value or ""
        if too_long(text, _LONGEST_DRIVER):
            name.too_long(_LONGEST_DRIVER)
        for problem in subdomain_problems(text.lower()):
            name.invalid(problem, text)


def one_source(holder: Part, rules: Mapping[str, tuple[SourceRule, str, str]], context: ValidationContext) -> None:
    """Check a volume, which must have exactly one source.

    Args:
        rules: The sources in the order in which they are checked, each with its rule, the name of its place in
            findings, and that in the finding about a second source. If the latter is empty, a second source of this
            kind is not rejected.
    """
    given = [name for name in rules if name in holder]
    for name in given:
        rule, own, too_much = rules[name]
        if name != given[0] and too_much:
            holder[too_much].forbidden(MORE_THAN_ONE)
        else:
            rule(holder.child(own, holder.value[name]), context)
    if not given:
        holder.required("must specify a volume type")


def table(rules: Mapping[str, SourceRule], **others: tuple[str, str]) -> dict[str, tuple[SourceRule, str, str]]:
    """Return the sources in the form that ``one_source`` needs, with differing names in paths given by `others`."""
    return {name: (rule, *others.get(name, (name, name))) for name, rule in rules.items()}
