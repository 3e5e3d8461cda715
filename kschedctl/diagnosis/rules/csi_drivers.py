"""CSI drivers that are missing on nodes: in the CSINode of a node, or by the labels that they set."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed
from kschedctl.diagnosis.components import agent_on, agents_words
from kschedctl.diagnosis.diagnosis import VOLUME_TOPOLOGY, Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.rules.volumes import driver_missing, volume_places, volume_scope, without_label
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import PersistentVolume
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.plugins.node_volume_limits import DriverNotInstalled
from kschedctl.scheduler.volumes.claims import group_claims, pod_claims
from kschedctl.scheduler.volumes.csi_nodes import CSINodes

_NAMED: Final = 3


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
            yield _not_registered(cluster, driver, [row], cause)


def _not_registered(cluster: Cluster, driver: str, rows: Sequence[int], cause: str) -> Diagnosis:
    """Return the diagnosis of a CSI driver that is not registered on nodes."""
    names = listed([cluster.nodes.names[row] for row in rows], most=_NAMED)
    agent = agent_on(cluster, driver, rows[0]) if len(rows) == 1 else None
    return Diagnosis(
        rule="csi-driver-not-registered",
        cause=cause + (agents_words([agent]) if agent is not None else ""),
        evidence=("the CSINode of a node lists the drivers that are registered there",),
        advice=(
            Advice(
                summary=(
                    f"{agent.cure(names)}; it registers CSI driver {driver}"
                    if agent is not None
                    else f"get the DaemonSet of CSI driver {driver} to run on {names}"
                ),
                risk=Risk.MISTAKE,
                untried="its pod registers the driver with the kubelet",
                command=(
                    agent.command
                    if agent is not None
                    else f"# look at the node DaemonSet of {driver}: its pods there, its tolerations and node selector"
                ),
            ),
        ),
        checks=("kubectl get csinodes", "kubectl get daemonsets -A | grep -i csi"),
    )


def node_without_driver(situation: Situation) -> Iterator[Diagnosis]:
    """A node that would hold the pod lacks the label by which the CSI driver of a bound volume recognizes its place.

    The kubelet sets such labels, for instance ``topology.ebs.csi.aws.com/zone``, when the driver's pod on the node
    registers. If that pod is missing or crashes, kube-scheduler reports a volume node affinity conflict although the node
    is in the zone of the volume. Operators repair the driver's pod on that node. They do not set the label by hand, as the
    volume could not be attached.
    """
    # Yield the nodes that only the label of a driver keeps the pod away from, while other nodes are full.
    if not situation.filtered or not situation.in_reach.any():
        return
    others = [plugin for plugin in situation.rejected if plugin not in VOLUME_TOPOLOGY]
    nodes = situation.selected & situation.rejected_by(*VOLUME_TOPOLOGY) & ~situation.rejected_by(*others)
    if not nodes.any():
        return
    for place in volume_places(situation):
        if (lacking := without_label(situation, place) & nodes).any():
            # Pods that are placed do not get here, so that their answers import less.
            from kschedctl.diagnosis.rules.obstacles import obstacles_on

            yield driver_missing(situation, place, lacking, obstacles_on(situation, situation.in_reach))


def csi_driver(situation: Situation) -> Iterator[Diagnosis]:
    """The CSI driver of a volume is not registered on a node: its CSINode does not list the driver.

    The node pod of the driver, usually of a DaemonSet, registers it with the kubelet. The driver is missing where the
    DaemonSet does not run, because of a taint or a selector, or where its pod fails. kube-scheduler checks it only for
    drivers with ``preventPodSchedulingIfMissing`` (gate VolumeLimitScaling). Otherwise a pod is scheduled to the node and
    does not start there, as the kubelet cannot mount the volume.
    """
    # Yield the driver that is registered on no node within reach, if the scheduler requires it.
    reach = situation.in_reach
    if not situation.filtered or not reach.any() or (reach & ~situation.rejected_by("NodeVolumeLimits")).any():
        return
    for one in situation.operands(all_rows(reach)[0], "NodeVolumeLimits"):
        if not isinstance(one, DriverNotInstalled):
            continue
        if not (reach & CSINodes.of(situation.cluster).installed(one.driver)).any():
            names = listed(situation.names(reach), most=_NAMED)
            scope = "" if np.array_equal(reach, situation.selected) else volume_scope(situation)
            cause = f"CSI driver {one.driver} is not registered on {names}{scope}"
            yield _not_registered(situation.cluster, one.driver, all_rows(reach), cause)


def csi_driver_of_placed(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the drivers that are not registered on the node of a pod that has not started."""
    if situation.pod.status.phase == "Pending":
        yield from unregistered_on(situation.cluster, situation.pod, situation.node)
