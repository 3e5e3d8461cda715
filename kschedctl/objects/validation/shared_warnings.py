"""Warnings that several kinds have in common: deprecated labels and volumes, and fractions of bytes."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.common.findings import Finding, Severity
from kschedctl.objects.field_errors import go_quote
from kschedctl.objects.names import label_value_problems
from kschedctl.objects.quantity import milli_value
from kschedctl.objects.validation.context import Found, Tree
from kschedctl.objects.validation.resources import amount_of

#: The rule of warnings.
WARNING: Final = "Warning"
#: Deprecated node labels, with the messages about them.
OLD_NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
#: Deprecated volume types in the order in which they are checked, with their names in paths and their messages.
OLD_VOLUMES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}


def warning(field: str, message: str) -> Finding:
    """Return a finding with the severity of a warning."""
    return Finding(message, field, rule=WARNING, severity=Severity.WARNING)


def node_term(term: Tree, path: str, *, values: bool) -> Found:
    """Yield the warnings about a node selector term; label values are checked only if `values` is true."""
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        key, at = requirement.get("key", ""), f"{path}.matchExpressions[{i}]"
        if message := OLD_NODE_LABELS.get(key):
            yield warning(f"{at}.key", f"{key} is {message}")
        for n, value in enumerate(requirement.get("values", ()) if values else ()):
            for problem in label_value_problems(value):
                yield warning(f"{at}.values[{n}]", f"{value} is invalid, {problem}")


def fraction(text: Any, path: str) -> Found:
    """Yield a warning if an amount is not an integral number of bytes."""
    amount = amount_of(text)
    if milli_value(amount.nanos) % 1000:
        yield warning(path, f"fractional byte value {go_quote(str(amount))} is invalid, must be an integer")


def claim_spec(spec: Tree, path: str) -> Found:
    """Yield the warnings about the spec of a PersistentVolumeClaim."""
    for name in ("requests", "limits"):
        amounts = spec.get("resources", {}).get(name, {})
        if "storage" in amounts:
            yield from fraction(amounts["storage"], f"{path}.resources.{name}[storage]")
