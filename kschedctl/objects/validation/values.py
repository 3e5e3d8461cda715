"""The context of validation rules, and checks of single values: labels, percentages, ports, paths."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from kschedctl.objects.names import (
    label_value_problems,
    percent_problems,
    port_name_problems,
    port_problems,
    qualified_name_problems,
)
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import ValidationRules
from kschedctl.objects.selectors import parse_int64
from kschedctl.objects.validation.part import Part

#: An object or a part of one, decoded by ``kschedctl.objects.schema.schema``: fields of the right type, no nulls.
Tree: TypeAlias = dict[str, Any]


class ValidationContext(msgspec.Struct, frozen=True):
    """The inputs of validation besides the object."""

    #: The release of the API server.
    release: Release
    #: True if a Pod itself is validated, not a pod template.
    is_pod: bool = False
    #: The pod's name if a Pod itself is validated; else empty.
    pod_name: str = ""
    #: The pod's labels if the label keys of its selectors have yet to be merged into the selectors; else empty.
    merged_labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: True if the tree contains only the fields that scheduling reads, so that other fields must not be required.
    partial: bool = False
    #: True if the pod uses the host's user namespace.
    host_users: bool = True

    def on(self, gate: str) -> bool:
        """Report whether a feature gate of the API server is on."""
        return self.release.api_server_has(gate)

    @property
    def rules(self) -> ValidationRules:
        """The rules in which the release's validation differs from that of other releases."""
        return self.release.validation

    def of_pod(self, metadata: Tree) -> "ValidationContext":
        """Return the context for a Pod itself.

        A partial pod has been admitted, so its label keys are already merged into its selectors.
        """
        labels = {} if self.partial else metadata.get("labels", {})
        return replace(self, is_pod=True, pod_name=metadata.get("name", ""), merged_labels=labels)

    def of_users(self, host_users: bool) -> "ValidationContext":
        """Return the context for a pod that uses the host's user namespace, or does not."""
        return replace(self, host_users=host_users)


# Validation of single values: labels, percentages, ports, paths.


def labels(part: Part) -> None:
    """Check labels, or a selector's ``matchLabels``."""
    for key, value in (part.value or {}).items():
        part.with_value(key).check(qualified_name_problems)
        part.with_value(value).check(label_value_problems)


def int_or_percent(part: Part) -> None:
    """Check a number or percentage, which must not be negative."""
    if isinstance(part.value, str):
        part.check(percent_problems)
    else:
        part.not_negative()


def percent(value: int | str) -> int | None:
    """Return the number in a percentage; ``None`` for any other value."""
    return int(value[:-1]) if isinstance(value, str) and not percent_problems(value) else None


def number_or_percent(value: int | str) -> int:
    """Return the number itself or the number in a percentage; 0 for any other text that is not an integer."""
    if isinstance(value, int):
        return value
    share = percent(value)
    return share if share is not None else parse_int64(value) or 0


def at_most_all(part: Part) -> None:
    """Check that a percentage is not above 100%."""
    if part.given and (percent(part.value) or 0) > 100:
        part.invalid("must not be greater than 100%")


def port(part: Part) -> None:
    """Check a port's number or name."""
    part.check(port_name_problems if isinstance(part.value, str) else port_problems)


def relative_path(part: Part) -> None:
    """Check a path that must be relative and must not contain ``..``."""
    if part and part.value.startswith("/"):
        part.invalid("must be a relative path")
    without_backsteps(part)


def without_backsteps(part: Part) -> None:
    """Check that a path does not contain the segment ``..``."""
    if part and ".." in part.value.split("/"):
        part.invalid("must not contain '..'")


def volume_path(part: Part) -> None:
    """Check the path of a file within a volume."""
    relative_path(part)
    if part and part.value.startswith("..") and not part.value.startswith("../"):
        part.invalid("must not start with '..'")


# Values of Go types that are internal to API servers, as messages print them: Go's names, and all fields.

#: The fields of these types in the order of the Go structs, each with its zero value.
_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "SecurityContext": {
        "capabilities": None,
        "privileged": None,
        "seLinuxOptions": None,
        "windowsOptions": None,
        "runAsUser": None,
        "runAsGroup": None,
        "runAsNonRoot": None,
        "readOnlyRootFilesystem": None,
        "allowPrivilegeEscalation": None,
        "procMount": None,
        "seccompProfile": None,
        "appArmorProfile": None,
    },
    "Capabilities": {"add": None, "drop": None},
    "SELinuxOptions": {"user": "", "role": "", "type": "", "level": ""},
    "WindowsSecurityContextOptions": {
        "gmsaCredentialSpecName": None,
        "gmsaCredentialSpec": None,
        "runAsUserName": None,
        "hostProcess": None,
    },
    "SeccompProfile": {"type": "", "localhostProfile": None},
    "SeccompProfileWithOCI": {"type": "", "localhostProfile": None, "oci": None},
    "SecurityProfileOCI": {"ref": "", "baseProfile": None},
    "PodResourceClaim": {"name": "", "resourceClaimName": None, "resourceClaimTemplateName": None},
    "ContainerResizePolicy": {"resourceName": "", "restartPolicy": ""},
    "ClusterTrustBundleProjection": {
        "name": None,
        "signerName": None,
        "labelSelector": None,
        "optional": None,
        "path": "",
    },
    "PodDisruptionBudgetSpec": {
        "minAvailable": None,
        "selector": None,
        "maxUnavailable": None,
        "unhealthyPodEvictionPolicy": None,
    },
    "Strategy": {"type": "", "rollingUpdate": None},
    "RollingUpdate": {"maxUnavailable": 0, "maxSurge": 0},
    "RollingUpdateStatefulSetStrategy": {"partition": 0, "maxUnavailable": None},
    "SuccessPolicy": {"rules": None},
    "SuccessPolicyRule": {"succeededIndexes": None, "succeededCount": None},
}
_INSIDE: Final[Mapping[str, str]] = {
    "capabilities": "Capabilities",
    "seLinuxOptions": "SELinuxOptions",
    "windowsOptions": "WindowsSecurityContextOptions",
    "seccompProfile": "SeccompProfile",
    "appArmorProfile": "SeccompProfile",
    "oci": "SecurityProfileOCI",
    "baseProfile": "SeccompProfile",
    "rollingUpdate": "RollingUpdate",
    "rules": "SuccessPolicyRule",
}
_NAMES: Final = {
    "seLinuxOptions": "SELinuxOptions",
    "gmsaCredentialSpecName": "GMSACredentialSpecName",
    "gmsaCredentialSpec": "GMSACredentialSpec",
    "oci": "OCI",
}


_WITH_OCI: Final = "SeccompProfileWithOCI"


def in_go(type_: str, tree: Mapping[str, Any], *, with_oci: bool = False) -> dict[str, Any]:
    """Return a value with the names and fields that messages print.

    Args:
        with_oci: True if seccomp profiles have the field ``oci``.

    >>> in_go("SeccompProfile", {"localhostProfile": "a.json"})
    {'Type': '', 'LocalhostProfile': 'a.json'}
    """
    out = {}
    for key, none in _FIELDS[type_].items():
        value = tree.get(key, none)
        inside = _WITH_OCI if with_oci and key == "seccompProfile" else _INSIDE.get(key)
        if isinstance(value, dict) and inside is not None:
            value = in_go(inside, value)
        elif isinstance(value, list) and inside is not None:
            value = [in_go(inside, item) for item in value]
        out[_NAMES.get(key, key[:1].upper() + key[1:])] = value
    return out


def sorted_labels(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return labels in the order in which messages print them."""
    return None if labels is None else dict(sorted(labels.items()))
