"""Scheduler configurations of the manifest set: profiles, and which plugins they name at which extension points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.values import Steps, at, mapping, numbered, text
from kschedctl.releases.release import RELEASES, Release

CONFIG: Final = "kubescheduler.config.k8s.io/KubeSchedulerConfiguration"
MULTI_POINT: Final = "multiPoint"
DEFAULT_SCHEDULER: Final = "default-scheduler"
ALL: Final = "*"
#: Plugins of kubernetes-sigs/scheduler-plugins, which a scheduler must be built with.
OUT_OF_TREE: Final = frozenset(
    (
        *("CapacityScheduling", "Coscheduling", "CrossNodePreemption", "DiskIO", "LoadVariationRiskBalancing"),
        *("LowRiskOverCommitment", "NetworkOverhead", "NodeMetadata", "NodeResourceTopologyMatch"),
        *("NodeResourcesAllocatable", "Peaks", "PodState", "PreemptionToleration", "QOSSort", "SySched"),
        *("TargetLoadPacking", "TopologicalSort"),
    )
)
QUEUE_SORTS: Final = frozenset(("PrioritySort", "Coscheduling", "QOSSort", "TopologicalSort"))
#: In-tree plugins by the extension points that matter here.
SCORES: Final = frozenset(
    (
        *("TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread"),
        *("InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality", "DynamicResources"),
    )
)
FILTERS: Final = frozenset(
    (
        *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
        *("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread"),
        *("InterPodAffinity", "DynamicResources"),
    )
)
#: What their Filter needs to have run before, or keeps for the node that is chosen.
NEEDED: Final = {
    "NodeResourcesFit": ("preFilter",),
    "NodePorts": ("preFilter",),
    "NodeAffinity": ("preFilter",),
    "PodTopologySpread": ("preFilter",),
    "InterPodAffinity": ("preFilter",),
    "VolumeRestrictions": ("preFilter",),
    "VolumeBinding": ("preFilter", "reserve", "preBind"),
    "DynamicResources": ("preFilter", "reserve", "preBind"),
}


def in_tree(release: Release) -> frozenset[str]:
    """The plugins that a release's scheduler has."""
    names = {name for name, _ in release.default_plugins} | set(release.inert_plugins)
    return frozenset(names | {name for each in RELEASES.values() for name, _ in each.ungated_plugins})


@dataclass(frozen=True, slots=True)
class Named:
    """A plugin that a profile names."""

    name: str
    #: The extension point, or ``multiPoint``.
    point: str
    #: Whether it is enabled there, or disabled.
    enabled: bool
    #: Where it stands.
    steps: Steps
    #: As written.
    weight: Any = None


def profiles(obj: ManifestObject) -> Iterator[tuple[Steps, Any]]:
    """The profiles of a configuration."""
    return ((steps, raw) for steps, raw in numbered(obj.raw.get("profiles"), ("profiles",)) if isinstance(raw, dict))


def scheduler_name(profile: Any) -> str:
    """Whose pods a profile is for."""
    return text(at(profile, "schedulerName")) or DEFAULT_SCHEDULER


def plugins(profile: Any, steps: Steps) -> list[Named]:
    """The plugins that a profile names."""
    found = []
    for point, sets in mapping(at(profile, "plugins")).items():
        for field in ("enabled", "disabled"):
            for way, raw in numbered(at(sets, field), (*steps, "plugins", point, field)):
                if name := text(at(raw, "name")):
                    found.append(Named(name, point, field == "enabled", way, at(raw, "weight")))
    return found


def is_enabled(name: str, point: str, named: list[Named], release: Release) -> bool:
    """Whether a plugin that has a part at an extension point plays it in a profile."""
    own = {(each.name, each.enabled) for each in named if each.point == point}
    if (name, True) in own:
        return True
    if (name, False) in own or (ALL, False) in own:
        return False
    return is_enabled_at_multi_point(name, named, release)


def is_enabled_at_multi_point(name: str, named: list[Named], release: Release) -> bool:
    """Whether a plugin is enabled at all extension points that it has a part at."""
    own = {(each.name, each.enabled) for each in named if each.point == MULTI_POINT}
    if (name, True) in own:
        return True
    by_default = any(name == default for default, _ in release.default_plugins)
    return by_default and (name, False) not in own and (ALL, False) not in own
