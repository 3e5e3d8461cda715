"""Defaults that API servers set on Pods, but not on pod templates, before validation.

Other defaults are applied where a field is validated: an absent field counts as its default.
"""

from __future__ import annotations

import msgspec

from kschedctl.objects.defaults import default_pod_spec
from kschedctl.objects.pod import PodSpec
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.validation.context import Tree, ValidationContext


def default_pod(spec: Tree, context: ValidationContext) -> None:
    """Fill in requests from limits, host ports on the host network, and pod-level requests and limits.

    Parameters
    ----------
    spec : dict
        The spec of a Pod, which is modified. A pod that was admitted already has its defaults.
    """
    if context.partial:
        return
    on_host = spec.get("hostNetwork", False)
    for name in ("containers", "initContainers"):
        for container in spec.get(name, ()):
            resources = container.get("resources", {})
            if resources.get("limits"):
                requests = resources.get("requests", {})
                missing = {key: text for key, text in resources["limits"].items() if key not in requests}
                container["resources"] = {**resources, "requests": {**requests, **missing}}
            for port in container.get("ports", ()) if on_host else ():
                port["hostPort"] = port.get("hostPort") or port.get("containerPort", 0)
    if "resources" in spec and context.on("PodLevelResources"):
        _default_pod_level(spec)


def _default_pod_level(spec: Tree) -> None:
    known = {key: spec[key] for key in ("containers", "initContainers", "resources") if key in spec}
    try:
        whole = default_pod_spec(msgspec.convert(known, PodSpec)).resources
    except QuantityError:
        return
    for name, amounts in (("requests", whole.requests), ("limits", whole.limits)):
        if amounts:
            spec["resources"] = {**spec["resources"], name: dict(amounts)}
