"""Values of Go types that are internal to API servers, as messages print them: Go's names, and all fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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

    Parameters
    ----------
    type_ : str
        The name of the value's Go type.

    Examples
    --------
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
