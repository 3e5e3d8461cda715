"""The CSI driver of a volume is not registered on a node: its CSINode does not list the driver.

The node pod of the driver, usually of a DaemonSet, registers it with the kubelet. The driver is missing where the
DaemonSet does not run, because of a taint or a selector, or where its pod fails. kube-scheduler checks it only for
drivers with ``preventPodSchedulingIfMissing`` (gate VolumeLimitScaling). Otherwise a pod is scheduled to the node and
does not start there, as the kubelet cannot mount the volume.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kschedctl.common.wording import listed
from kschedctl.diagnosis.csi_registration import not_registered, unregistered_on
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.diagnosis.volume_places import volume_scope
from kschedctl.scheduler.plugins.node_volume_limits import DriverNotInstalled
from kschedctl.scheduler.volumes.csi_nodes import CSINodes

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
            yield not_registered(one.driver, names, f"CSI driver {one.driver} is not registered on {names}{scope}")


def check_placed(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the drivers that are not registered on the node of a pod that has not started."""
    if situation.pod.status.phase == "Pending":
        yield from unregistered_on(situation.cluster, situation.pod, situation.node)
