"""CSINodes as columns, and in-tree volume sources with the CSI drivers that replaced them (csi-translation-lib)."""

from collections import defaultdict
from functools import cached_property
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.meta import Labels
from kschedctl.objects.selectors import IN, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.objects.volume import CSINode, GCEPersistentDisk, InTreeVolumes, PersistentVolume
from kschedctl.objects.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedctl.scheduler.volumes.claims import required_affinity

# In-tree volume sources and the CSI drivers that replaced them (csi-translation-lib).
#
# The scheduler translates sources when it counts attachments, and for nodes on which a plugin is migrated.

#: The separator of zones in the label of a volume that is in several zones.
ZONE_DELIMITER: Final = "__"
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_UNSPECIFIED: Final = "UNSPECIFIED"


class MigrationError(ValueError):
    """An error for an in-tree source without an equivalent in the CSI driver, in the scheduler's words."""


class InTreePlugin(msgspec.Struct, frozen=True):
    """An in-tree volume plugin."""

    #: The name of the plugin: the provisioner of StorageClasses, and the name that nodes list as migrated.
    name: str
    #: The field of a volume that holds the plugin's source.
    source: str
    #: The CSI driver that replaces the plugin.
    driver: str
    #: The node label for the driver's topology; empty if topology is not translated.
    topology_key: str = ""
    #: True if the scheduler translates the plugin's volumes to CSI volumes.
    translated: bool = True


PORTWORX: Final = InTreePlugin("kubernetes.io/portworx-volume", "portworx_volume", "pxd.portworx.com")
_PLUGINS: Final = (
    InTreePlugin("kubernetes.io/gce-pd", "gce_persistent_disk", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    InTreePlugin(
        "kubernetes.io/aws-ebs", "aws_elastic_block_store", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    ),
    InTreePlugin(
        "kubernetes.io/cinder", "cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    InTreePlugin("kubernetes.io/azure-disk", "azure_disk", "disk.csi.azure.com"),
    InTreePlugin("kubernetes.io/azure-file", "azure_file", "file.csi.azure.com", translated=False),
    InTreePlugin("kubernetes.io/vsphere-volume", "vsphere_volume", "csi.vsphere.vmware.com", translated=False),
    PORTWORX,
)
#: The plugins by the provisioner name that StorageClasses use.
PLUGINS_BY_NAME: Final = {plugin.name: plugin for plugin in _PLUGINS}


def driver_of(provisioner: str) -> str:
    """Return the CSI driver that has replaced an in-tree provisioner, or the provisioner itself."""
    plugin = PLUGINS_BY_NAME.get(provisioner)
    return plugin.driver if plugin is not None else provisioner


def in_tree_plugin(source: InTreeVolumes) -> InTreePlugin | None:
    """Return the plugin of a volume's source; ``None`` if no plugin that can be migrated has it."""
    return next((plugin for plugin in _PLUGINS if getattr(source, plugin.source) is not None), None)


def migrated_plugins(csi_node: CSINode) -> list[str]:
    """Return the names of the in-tree plugins that are migrated to CSI on a node."""
    return csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def inline_handle(source: InTreeVolumes) -> str:
    """Return the CSI volume handle of a disk that a pod names directly.

    Raises MigrationError if the source has no equivalent in the CSI driver.
    """
    if source.gce_persistent_disk is not None:
        return _gce_zonal_handle(_UNSPECIFIED, source.gce_persistent_disk)
    return _handle(source)


def volume_handle(volume: PersistentVolume) -> str:
    """Return the CSI volume handle of an in-tree PersistentVolume.

    Raises MigrationError if the source has no equivalent in the CSI driver.
    """
    disk = volume.spec.gce_persistent_disk
    if disk is None:
        return _handle(volume.spec)
    labels = volume.metadata.labels
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_DELIMITER)
    if len(zones) == 1:
        return _gce_zonal_handle(zones[0] or _UNSPECIFIED, disk)
    return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{disk.pd_name}"


def _handle(source: InTreeVolumes) -> str:
    if source.aws_elastic_block_store is not None:
        volume_id = source.aws_elastic_block_store.volume_id
        if not volume_id.startswith("aws://"):
            return volume_id
        handle = unquote(urlsplit(volume_id).path).strip("/")
        if not handle.startswith("vol-") or "/" in handle:
            problem = f"Invalid format for AWS volume ({volume_id})"
            raise MigrationError(f"failed to translate Kubernetes ID to EBS Volume ID {problem}")
        return handle
    if source.azure_disk is not None:
        disk = source.azure_disk
        if disk.kind.lower() != "managed":
            raise MigrationError(f"kind({disk.kind}) is not supported in csi migration")
        return disk.disk_uri
    if source.cinder is not None:
        return source.cinder.volume_id
    if source.portworx_volume is not None:
        return source.portworx_volume.volume_id
    raise MigrationError("the source is not one that is migrated")


def _gce_zonal_handle(zone: str, disk: GCEPersistentDisk) -> str:
    return f"projects/{_UNSPECIFIED}/zones/{zone}/disks/{disk.pd_name}"


def _gce_region(zones: list[str]) -> str:
    problem = "failed to get region from zones:"
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise MigrationError(
                f"{problem} zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        shown = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise MigrationError(f"{problem} multiple or no regions gotten from zones, got: map[{shown}]")
    return regions.pop()


def migrated_affinity(volume: PersistentVolume, plugin: InTreePlugin) -> NodeSelector | None:
    """Return the node affinity of an in-tree volume on a node where its plugin is migrated.

    Zones are translated to the driver's topology key. They come from the affinity, or else from the volume's label.

    Raises MigrationError if the source has no equivalent in the CSI driver.
    """
    volume_handle(volume)
    affinity = required_affinity(volume)
    if not plugin.topology_key:
        return affinity
    terms = affinity.node_selector_terms if affinity is not None else ()
    zone_key, region_key = _topology_keys(terms, volume.metadata.labels)
    if _has_values(terms, zone_key):
        terms = _rename(terms, zone_key, plugin.topology_key)
    elif zone_key in volume.metadata.labels:
        zones = {zone.strip() for zone in volume.metadata.labels[zone_key].split(ZONE_DELIMITER)} - {""}
        if zones:
            terms = tuple(
                replace(
                    term,
                    match_expressions=(
                        *term.match_expressions,
                        NodeSelectorRequirement(plugin.topology_key, IN, tuple(sorted(zones))),
                    ),
                )
                for term in terms or (NodeSelectorTerm(),)
            )
    if region_key == BETA_REGION and _has_values(terms, region_key):
        terms = _rename(terms, region_key, REGION)
    return affinity if affinity is None and not terms else NodeSelector(terms)


def _topology_keys(terms: tuple[NodeSelectorTerm, ...], labels: Labels) -> tuple[str, str]:
    """Return the label keys for zone and region that a volume uses, in its affinity or else in its labels."""
    used = {expression.key for term in terms for expression in term.match_expressions}
    for keys in (used, labels.keys()):
        if ZONE in keys:
            break
        if BETA_ZONE in keys:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _has_values(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    return any(expression.values for term in terms for expression in term.match_expressions if expression.key == key)


def _rename(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term, match_expressions=tuple(replace(e, key=new) if e.key == old else e for e in term.match_expressions)
        )
        for term in terms
    )


class CSINodes:
    """The CSINodes of a cluster as columns over its nodes.

    present: True for nodes with a CSINode.
    any_limit: True for nodes with a volume limit for any driver.
    """

    def __init__(self, cluster: Cluster) -> None:
        n_nodes = len(cluster.nodes)
        self.present: Mask = np.zeros(n_nodes, dtype=np.bool_)
        self.any_limit: Mask = np.zeros(n_nodes, dtype=np.bool_)
        self._none: Mask = np.zeros(n_nodes, dtype=np.bool_)
        self._no_limit: Int64Array = np.full(n_nodes, -1, dtype=np.int64)
        self._limits: defaultdict[str, Int64Array] = defaultdict(self._no_limit.copy)
        self._installed: defaultdict[str, Mask] = defaultdict(self._none.copy)
        self._migrated: defaultdict[str, Mask] = defaultdict(self._none.copy)
        for csi_node in cluster.list(CSINode):
            row = cluster.nodes.row.get(csi_node.name)
            if row is None:
                continue
            self.present[row] = True
            for plugin in migrated_plugins(csi_node):
                self._migrated[plugin][row] = True
            for driver in csi_node.spec.drivers:
                self._installed[driver.name][row] = True
                if driver.allocatable is not None and driver.allocatable.count is not None:
                    self._limits[driver.name][row] = driver.allocatable.count
                    self.any_limit[row] = True

    @classmethod
    def of(cls, cluster: Cluster) -> "CSINodes":
        """Return the CSINodes of a cluster; the object is cached."""
        return cluster.derived(cls, None, lambda: cls(cluster), of=(CSINode,))

    @cached_property
    def drivers(self) -> frozenset[str]:
        """The drivers that a CSINode lists."""
        return frozenset(self._installed)

    def installed(self, driver: str) -> Mask:
        """Return the nodes whose CSINode lists a driver: bool, shape (n_nodes,), read-only."""
        return self._installed.get(driver, self._none)

    def limit(self, driver: str) -> Int64Array:
        """Return each node's volume limit for a driver, -1 without a limit: int64, shape (n_nodes,), read-only."""
        return self._limits.get(driver, self._no_limit)

    def migrated(self, plugin: InTreePlugin) -> Mask:
        """Return the nodes whose CSINode lists a plugin as migrated: bool, shape (n_nodes,), read-only."""
        return self._migrated.get(plugin.name, self._none)
