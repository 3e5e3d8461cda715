"""Builders of scheduler configurations, and the plugins with which they are loaded."""

from typing import Any

import pytest

from kschedctl.common.errors import ConfigError
from kschedctl.objects.releases.release import LATEST, Release
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration, load_configuration
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.framework.extension_point import ExtensionPoint

_FILTERS = "preFilter filter"
_SCORES = "preScore score"
_PLUGINS = {
    "SchedulingGates": "preEnqueue",
    "PrioritySort": "queueSort",
    "NodeUnschedulable": _FILTERS,
    "NodeName": _FILTERS,
    "TaintToleration": f"{_FILTERS} {_SCORES}",
    "NodeAffinity": f"{_FILTERS} {_SCORES}",
    "NodePorts": _FILTERS,
    "NodeResourcesFit": f"{_FILTERS} {_SCORES} placementScore",
    "VolumeRestrictions": _FILTERS,
    "NodeVolumeLimits": _FILTERS,
    "VolumeBinding": f"{_FILTERS} {_SCORES} reserve preBind",
    "VolumeZone": _FILTERS,
    "PodTopologySpread": f"{_FILTERS} {_SCORES}",
    "InterPodAffinity": f"{_FILTERS} {_SCORES}",
    "DynamicResources": f"preEnqueue {_FILTERS} postFilter score reserve preBind podGroupPostFilter",
    "DefaultPreemption": "preEnqueue postFilter podGroupPostFilter",
    "NodeResourcesBalancedAllocation": _SCORES,
    "ImageLocality": "score",
    "DefaultBinder": "bind",
    "NodeDeclaredFeatures": _FILTERS,
    "Custom": f"queueSort {_FILTERS} score",
}
IMPLEMENTS = {name: frozenset(map(ExtensionPoint, points.split())) for name, points in _PLUGINS.items()}


def make_config(*profiles: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration with the given profiles and fields."""
    own = {"profiles": list(profiles)} if profiles else {}
    return {"apiVersion": API_VERSION, "kind": KIND, **own, **fields}


def make_plugins(enabled: str = "", disabled: str = "") -> dict[str, Any]:
    """Return a plugin set from names, where ``Name=3`` has weight 3."""
    out: dict[str, Any] = {}
    if enabled:
        pairs = (item.partition("=") for item in enabled.split())
        out["enabled"] = [{"name": name, **({"weight": int(weight)} if weight else {})} for name, _, weight in pairs]
    if disabled:
        out["disabled"] = [{"name": name} for name in disabled.split()]
    return out


def load(data: Any, release: Release = LATEST, where: str = "") -> SchedulerConfiguration:
    """Load a configuration with the plugins of the latest release and a custom one, ``Custom``."""
    return load_configuration(data, release=release, implements=IMPLEMENTS, where=where)


def refusal(data: Any, release: Release = LATEST, where: str = "") -> str:
    """Return the error with which a configuration is rejected."""
    with pytest.raises(ConfigError) as error:
        load(data, release, where)
    return str(error.value)
