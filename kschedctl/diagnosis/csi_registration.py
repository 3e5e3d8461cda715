"""CSI drivers that are not registered on the node of a pod."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.volumes.claims import group_claims, pod_claims
from kschedctl.scheduler.volumes.csi_nodes import CSINodes


def unregistered_on(cluster: Cluster, pod: Pod, node: str) -> Iterator[Diagnosis]:
    """Yield the drivers of a pod's volumes that are not registered on a node, if its CSINode is known."""
    row = cluster.nodes.row.get(node)
    csi_nodes = CSINodes.of(cluster)
    if row is None or not csi_nodes.present[row]:
        return
    for claim in group_claims(cluster, pod_claims(cluster, pod)).bound:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        driver = volume.spec.csi.driver if volume is not None and volume.spec.csi is not None else ""
        if driver and not csi_nodes.installed(driver)[row]:
            cause = f"CSI driver {driver} of claim {claim.name} is not registered on {node}"
            yield not_registered(driver, node, cause)


def not_registered(driver: str, names: str, cause: str) -> Diagnosis:
    """Return the diagnosis of a CSI driver that is not registered on nodes."""
    return Diagnosis(
        rule="csi-driver-not-registered",
        cause=cause,
        evidence=("the CSINode of a node lists the drivers that are registered there",),
        advice=(
            Advice(
                summary=f"get the DaemonSet of CSI driver {driver} to run on {names}",
                risk=Risk.MISTAKE,
                untried="its pod registers the driver with the kubelet",
                command=f"# look at the node DaemonSet of {driver}: its pods there, its tolerations and node selector",
            ),
        ),
        checks=("kubectl get csinodes", "kubectl get daemonsets -A | grep -i csi"),
    )
