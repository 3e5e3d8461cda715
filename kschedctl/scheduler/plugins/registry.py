"""The table of in-tree plugins, and the entry-point group in which other packages register theirs."""

from collections.abc import Mapping
from typing import Final

from kschedctl.common.errors import ConfigError
from kschedctl.scheduler.framework.interface import Plugin
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.basics import DefaultBinder, NodeName, NodeUnschedulable, PrioritySort, SchedulingGates
from kschedctl.scheduler.plugins.default_preemption import DefaultPreemption
from kschedctl.scheduler.plugins.dynamic_resources.plugin import DynamicResources
from kschedctl.scheduler.plugins.gang_scheduling import GangScheduling, PodGroupPodsCount, TopologyPlacementGenerator
from kschedctl.scheduler.plugins.image_locality import ImageLocality
from kschedctl.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity
from kschedctl.scheduler.plugins.node_affinity import NodeAffinity
from kschedctl.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from kschedctl.scheduler.plugins.node_ports import NodePorts
from kschedctl.scheduler.plugins.node_resources.balanced_allocation import NodeResourcesBalancedAllocation
from kschedctl.scheduler.plugins.node_resources.fit import NodeResourcesFit
from kschedctl.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from kschedctl.scheduler.plugins.taint_toleration import TaintToleration
from kschedctl.scheduler.plugins.volume_binding.plugin import VolumeBinding
from kschedctl.scheduler.plugins.volume_restrictions import VolumeRestrictions
from kschedctl.scheduler.plugins.volume_zone import VolumeZone

#: The entry-point group in which installed packages list their plugin classes.
ENTRY_POINT_GROUP: Final = "kschedctl.scheduler.plugins"

#: Every in-tree plugin, by its name in configurations.
IN_TREE_PLUGINS: Final[Mapping[str, type[Plugin]]] = {
    plugin.name: plugin
    for plugin in (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        DefaultPreemption,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DefaultBinder,
        NodeDeclaredFeatures,
        GangScheduling,
        TopologyPlacementGenerator,
        PodGroupPodsCount,
    )
}


def in_tree_registry() -> Registry:
    """Return a registry with the in-tree plugins."""
    return Registry(IN_TREE_PLUGINS)


def full_registry() -> Registry:
    """Return a registry with the in-tree plugins and those of installed packages.

    Raises ConfigError if two plugins have the same name, or an entry point is not a plugin class.
    """
    # Most configurations need no other plugins.
    from importlib.metadata import entry_points

    registry = in_tree_registry()
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        plugin = entry_point.load()
        if not (isinstance(plugin, type) and issubclass(plugin, Plugin)):
            raise ConfigError(f"entry point {entry_point.name} in {ENTRY_POINT_GROUP} is not a Plugin class")
        registry.register(entry_point.name, plugin)
    return registry
