"""The CSI driver of a volume is not registered on a node: its CSINode does not list the driver.

The node pod of the driver, usually of a DaemonSet, registers it with the kubelet. The driver is missing where the
DaemonSet does not run, because of a taint or a selector, or where its pod fails. kube-scheduler checks it only for
drivers with ``preventPodSchedulingIfMissing`` (gate VolumeLimitScaling). Otherwise a pod is scheduled to the node and
does not start there, as the kubelet cannot mount the volume.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kschedctl.api.volume import PersistentVolume
from kschedctl.api.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.diagnosis.volume_places import volume_scope
from kschedctl.framework.remedy import Risk
from kschedctl.plugins.node_volume_limits import DriverNotInstalled
from kschedctl.volumes.csi_nodes import CSINodes
from kschedctl.volumes.pod_claims import group_claims, pod_claims

_NAMED = 3


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the driver that is registered on no node within reach, if the scheduler requires it."""
    reach = situation.in_reach
    if not situation.filtered or not reach.any() or (reach & ~situation.rejected_by("NodeVolumeLimits")).any():
        return
    for one in situation.operands(all_rows(reach)[0], "NodeVolumeLimits"):
        if not isinstance(one, DriverNotInstalled):
            continue
        if not (reach & CSINodes.of(situation.cluster).installed(one.driver)).any():
            names = listed(situation.names(reach), most=_NAMED)
            scope = "" if np.array_equal(reach, situation.selected) else volume_scope(situation)
            yield _diagnosis(one.driver, names, f"CSI driver {one.driver} is not registered on {names}{scope}")


def check_placed(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the drivers that are not registered on the node of a pod that has not started."""
    pod, cluster = situation.pod, situation.cluster
    row = cluster.nodes.row.get(situation.node)
    csi_nodes = CSINodes.of(cluster)
    if row is None or pod.status.phase != "Pending" or not csi_nodes.present[row]:
        return
    for claim in group_claims(cluster, pod_claims(cluster, pod)).bound:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        driver = volume.spec.csi.driver if volume is not None and volume.spec.csi is not None else ""
        if driver and not csi_nodes.installed(driver)[row]:
            cause = f"CSI driver {driver} of claim {claim.name} is not registered on {situation.node}"
            yield _diagnosis(driver, situation.node, cause)


def _diagnosis(driver: str, names: str, cause: str) -> Diagnosis:
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
