"""The context of validation rules, and checks of single values: numbers, names, percentages, enumerations."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from kschedctl.common.findings import Finding
from kschedctl.objects import field_errors
from kschedctl.objects.names import (
    label_problems,
    label_value_problems,
    percent_problems,
    port_name_problems,
    port_problems,
    qualified_name_problems,
    subdomain_problems,
)
from kschedctl.objects.quantity import Amount
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import ValidationRules
from kschedctl.objects.selectors import parse_int64

#: An object or a part of one, decoded by ``kschedctl.objects.schema.schema``: fields of the right type, no nulls.
Tree: TypeAlias = dict[str, Any]
Found: TypeAlias = Iterator[Finding]


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """The inputs of validation besides the object."""

    #: The release of the API server.
    release: Release
    #: True if a Pod itself is validated, not a pod template.
    is_pod: bool = False
    #: The pod's name if a Pod itself is validated; else empty.
    pod_name: str = ""
    #: The pod's labels if the label keys of its selectors have yet to be merged into the selectors; else empty.
    merged_labels: Mapping[str, str] = field(default_factory=dict)
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


# Validation of single values: numbers, names, percentages, enumerations.

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"


def invalid_findings(problems: Iterable[str], value: Any, path: str) -> Found:
    """Yield a finding for each problem of a value."""
    for problem in problems:
        yield field_errors.invalid(path, value, problem)


def not_negative(value: int | None, path: str) -> Found:
    """Yield a problem if a number is negative; ``None`` is valid."""
    if value is not None and value < 0:
        yield field_errors.invalid(path, value, NOT_NEGATIVE)


def not_negative_amount(value: Any, path: str) -> Found:
    """Yield a problem if a quantity is negative."""
    amount = Amount.parse(value)
    if amount.nanos < 0:
        yield field_errors.invalid(path, str(amount), NOT_NEGATIVE)


def positive_amount(value: Any, path: str) -> Found:
    """Yield a problem if a quantity is not positive."""
    amount = Amount.parse(value)
    if amount.nanos <= 0:
        yield field_errors.invalid(path, str(amount), NOT_POSITIVE)


def one_of(value: Any, supported: Iterable[str], path: str) -> Found:
    """Yield a problem if a value is not one of the supported values."""
    if value not in supported:
        yield field_errors.unsupported(path, value, supported)


def given_one_of(value: str, supported: Iterable[str], path: str) -> Found:
    """Yield a problem if a value is empty, or not one of the supported values."""
    if not value:
        yield field_errors.required(path)
    else:
        yield from one_of(value, supported, path)


def require(value: Any, path: str, detail: str = "") -> Found:
    """Yield a problem if a value is empty."""
    if not value:
        yield field_errors.required(path, detail)


def label_name(value: str, path: str) -> Found:
    """Yield the problems of a name that must be a DNS label (no dots)."""
    yield from invalid_findings(label_problems(value), value, path)


def given_label_name(value: str, path: str) -> Found:
    """Yield the problems of a required name that must be a DNS label (no dots)."""
    yield from label_name(value, path) if value else require(value, path)


def subdomain_name(value: str, path: str) -> Found:
    """Yield the problems of a name that must be a DNS subdomain, as that of most objects."""
    yield from invalid_findings(subdomain_problems(value), value, path)


def qualified_name(value: str, path: str) -> Found:
    """Yield the problems of a label key."""
    yield from invalid_findings(qualified_name_problems(value), value, path)


def labels(values: dict[str, str], path: str) -> Found:
    """Yield the problems of labels, or of a selector's ``matchLabels``."""
    for key, value in values.items():
        yield from qualified_name(key, path)
        yield from invalid_findings(label_value_problems(value), value, path)


def int_or_percent(value: int | str, path: str) -> Found:
    """Yield the problems of a number or percentage, which must not be negative."""
    if isinstance(value, str):
        yield from invalid_findings(percent_problems(value), value, path)
    else:
        yield from not_negative(value, path)


def percent(value: int | str) -> int | None:
    """Return the number in a percentage; ``None`` for any other value."""
    return int(value[:-1]) if isinstance(value, str) and not percent_problems(value) else None


def number_or_percent(value: int | str) -> int:
    """Return the number itself or the number in a percentage; 0 for any other text that is not an integer."""
    if isinstance(value, int):
        return value
    share = percent(value)
    return share if share is not None else parse_int64(value) or 0


def at_most_all(value: int | str, path: str) -> Found:
    """Yield a problem if a percentage is above 100%."""
    if (percent(value) or 0) > 100:
        yield field_errors.invalid(path, value, "must not be greater than 100%")


def port(value: int | str, path: str) -> Found:
    """Yield the problems of a port's number or name."""
    problems: Callable[[Any], Iterable[str]] = port_name_problems if isinstance(value, str) else port_problems
    yield from invalid_findings(problems(value), value, path)


def relative_path(value: str, path: str) -> Found:
    """Yield the problems of a path that must be relative and must not contain ``..``."""
    if value.startswith("/"):
        yield field_errors.invalid(path, value, "must be a relative path")
    yield from without_backsteps(value, path)


def without_backsteps(value: str, path: str) -> Found:
    """Yield a problem if a path contains the segment ``..``."""
    if ".." in value and ".." in value.split("/"):
        yield field_errors.invalid(path, value, "must not contain '..'")


def volume_path(value: str, path: str) -> Found:
    """Yield the problems of the path of a file within a volume."""
    yield from relative_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield field_errors.invalid(path, value, "must not start with '..'")


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
    "rollingUpdate": "RollingUpdate",
    "rules": "SuccessPolicyRule",
}
_NAMES: Final = {
    "seLinuxOptions": "SELinuxOptions",
    "gmsaCredentialSpecName": "GMSACredentialSpecName",
    "gmsaCredentialSpec": "GMSACredentialSpec",
}


def in_go(type_: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value with the names and fields that messages print.

    >>> in_go("SeccompProfile", {"localhostProfile": "a.json"})
    {'Type': '', 'LocalhostProfile': 'a.json'}
    """
    out = {}
    for key, none in _FIELDS[type_].items():
        value = tree.get(key, none)
        inside = _INSIDE.get(key)
        if isinstance(value, dict) and inside is not None:
            value = in_go(inside, value)
        elif isinstance(value, list) and inside is not None:
            value = [in_go(inside, item) for item in value]
        out[_NAMES.get(key, key[:1].upper() + key[1:])] = value
    return out


def sorted_labels(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return labels in the order in which messages print them."""
    return None if labels is None else dict(sorted(labels.items()))
