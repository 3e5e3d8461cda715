"""Scheduler configurations of the manifest set: their profiles, and the plugins at each extension point."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.values import Steps, at, mapping, numbered, text
from kschedctl.objects.releases.release import RELEASES, Release

CONFIG: Final = "kubescheduler.config.k8s.io/KubeSchedulerConfiguration"
MULTI_POINT: Final = "multiPoint"
DEFAULT_SCHEDULER: Final = "default-scheduler"
ALL: Final = "*"
#: Plugins of kubernetes-sigs/scheduler-plugins: a scheduler has them only if it is built with them.
OUT_OF_TREE: Final = frozenset(
    (
        *("CapacityScheduling", "Coscheduling", "CrossNodePreemption", "DiskIO", "LoadVariationRiskBalancing"),
        *("LowRiskOverCommitment", "NetworkOverhead", "NodeMetadata", "NodeResourceTopologyMatch"),
        *("NodeResourcesAllocatable", "Peaks", "PodState", "PreemptionToleration", "QOSSort", "SySched"),
        *("TargetLoadPacking", "TopologicalSort"),
    )
)
QUEUE_SORTS: Final = frozenset(("PrioritySort", "Coscheduling", "QOSSort", "TopologicalSort"))
#: In-tree plugins that implement Score, and in-tree plugins that implement Filter.
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
#: Extension points without which a plugin's Filter has no data, or its result is not applied to the chosen node.
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
    """Return the names of the plugins that a release's scheduler has."""
    names = {name for name, _ in release.default_plugins} | set(release.inert_plugins)
    return frozenset(names | {name for each in RELEASES.values() for name, _ in each.ungated_plugins})


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """An entry of a profile that enables or disables a plugin."""

    name: str
    #: The extension point, or ``multiPoint``.
    point: str
    #: True if the entry enables the plugin, false if it disables it.
    enabled: bool
    #: The path of the entry in the configuration.
    steps: Steps
    #: The weight, as written.
    weight: Any = None


def profiles(obj: LintObject) -> Iterator[tuple[Steps, Any]]:
    """Return the profiles of a configuration, each with its path."""
    return ((steps, raw) for steps, raw in numbered(obj.raw.get("profiles"), ("profiles",)) if isinstance(raw, dict))


def scheduler_name(profile: Any) -> str:
    """Return the ``schedulerName`` of a profile; ``default-scheduler`` if it is not set."""
    return text(at(profile, "schedulerName")) or DEFAULT_SCHEDULER


def plugins(profile: Any, steps: Steps) -> list[PluginEntry]:
    """Return the entries of a profile that enable or disable plugins."""
    found = []
    for point, sets in mapping(at(profile, "plugins")).items():
        for field in ("enabled", "disabled"):
            for way, raw in numbered(at(sets, field), (*steps, "plugins", point, field)):
                if name := text(at(raw, "name")):
                    found.append(PluginEntry(name, point, field == "enabled", way, at(raw, "weight")))
    return found


def is_enabled(name: str, point: str, named: list[PluginEntry], release: Release) -> bool:
    """Report whether a profile enables a plugin at an extension point that the plugin implements."""
    own = {(each.name, each.enabled) for each in named if each.point == point}
    if (name, True) in own:
        return True
    if (name, False) in own or (ALL, False) in own:
        return False
    return is_enabled_at_multi_point(name, named, release)


def is_enabled_at_multi_point(name: str, named: list[PluginEntry], release: Release) -> bool:
    """Report whether a plugin is enabled at all extension points that it implements: by multiPoint or by default."""
    own = {(each.name, each.enabled) for each in named if each.point == MULTI_POINT}
    if (name, True) in own:
        return True
    by_default = any(name == default for default, _ in release.default_plugins)
    return by_default and (name, False) not in own and (ALL, False) not in own
