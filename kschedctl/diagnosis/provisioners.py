"""Provisioners of volumes: their CSI drivers, and the advice to install or repair one."""

from __future__ import annotations

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.objects.volume import CSIDriver, StorageClass
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.volumes.csi_nodes import PLUGINS_BY_NAME, CSINodes


def unregistered_driver(cluster: Cluster, storage_class: StorageClass | None) -> str:
    """Return the CSI driver of a class if no node has registered it; empty if one has, or if that is unknown.

    It is unknown for provisioners that are no CSI drivers, and in a snapshot without CSINodes.
    """
    provisioner = storage_class.provisioner if storage_class is not None else ""
    driver = driver_of(provisioner)
    nodes = CSINodes.of(cluster)
    if not nodes.present.any() or cluster.get(CSIDriver, driver) is not None or nodes.installed(driver).any():
        return ""
    return driver if is_csi_driver(cluster, driver) else ""


def is_csi_driver(cluster: Cluster, provisioner: str) -> bool:
    """Report whether a provisioner is a CSI driver: it is registered as one, or its name says so."""
    registered = cluster.get(CSIDriver, provisioner) is not None or CSINodes.of(cluster).installed(provisioner).any()
    return bool(registered) or "csi" in provisioner.lower()


def driver_of(provisioner: str) -> str:
    """Return the CSI driver that has replaced an in-tree provisioner, or the provisioner itself."""
    plugin = PLUGINS_BY_NAME.get(provisioner)
    return plugin.driver if plugin is not None else provisioner


def install_advice(driver: str) -> Advice:
    """Return the advice to install a CSI driver."""
    return Advice(
        summary=f"install CSI driver {driver}, or repair it: no node has registered it",
        risk=Risk.MISTAKE,
        untried="the driver creates the volume outside the scheduler",
        command=f"kubectl get csidriver {driver}; kubectl get pods -A | grep -i csi",
    )


def repair_advice(workload: str) -> Advice:
    """Return the advice to repair a provisioner whose pods are not ready."""
    kind, _, name = workload.partition(" ")
    namespace, _, name = name.partition("/")
    return Advice(
        summary=f"repair {workload}: look at its log and its events",
        risk=Risk.MISTAKE,
        untried="the provisioner creates the volume outside the scheduler",
        command=f"kubectl logs -n {namespace} {kind.lower()}/{name} --all-containers --previous",
    )
