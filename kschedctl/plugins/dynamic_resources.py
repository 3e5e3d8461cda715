"""DynamicResources: claims for devices. Not modelled beyond pods without claims, which it leaves alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.device import DeviceClass
from kschedctl.api.pod import Pod
from kschedctl.api.resources import RequestRules, pod_requests
from kschedctl.arrays import Int64Array
from kschedctl.cluster.overlay import Overlay
from kschedctl.framework.cycle_state import CycleState, NotModelled
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import (
    FilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    ScorePlugin,
)
from kschedctl.framework.status import SKIP, SUCCESS, Code, Rejections, Status
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.releases.release import Release

_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class _State:
    """That PreFilter ran."""


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
):
    """Upstream: plugins/dynamicresources."""

    name = "DynamicResources"

    @classmethod
    def extension_points(cls, release: Release) -> frozenset[ExtensionPoint]:
        """As the classes it derives from say; scoring came with a release."""
        points = super().extension_points(release)
        return points if release.dynamic_resources_scores else points - {ExtensionPoint.SCORE}

    def pre_enqueue(self, pod: Pod) -> Status:
        """Let every pod in."""
        return SUCCESS

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Skip; say so where the pod claims devices."""
        state.write(_State())
        if pod.spec.resource_claims:
            claims = ", ".join(claim.name for claim in pod.spec.resource_claims)
            effect = "the answer is as if the pod had none"
            state.not_modelled.append(NotModelled(f"the pod's claims for devices: {claims}", effect))
        elif backed := self._backed_resources(pod):
            effect = "the answer counts them like any other resource of the node"
            state.not_modelled.append(NotModelled(f"extended resources backed by a DeviceClass: {backed}", effect))
        return PreFilterResult(SKIP)

    def _backed_resources(self, pod: Pod) -> str:
        """The resources of the pod that a device class stands for, where the release has such."""
        if not self.handle.release.devices_back_extended_resources:
            return ""
        classes = list(self.handle.cluster.list(DeviceClass))
        names = {f"{_CLASS_PREFIX}{c.name}" for c in classes} | {c.spec.extended_resource_name for c in classes}
        return ", ".join(sorted(names.intersection(pod_requests(pod, RequestRules()))))

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Let every node pass."""
        return Rejections.everywhere(len(nodes), SUCCESS)

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> PostFilterResult:
        """Have no claim to deallocate. Where PreFilter did not come this far, upstream misses its state."""
        if state.read(_State) is None:
            return PostFilterResult(Status(Code.ERROR, ("not found",)))
        reasons = () if self.handle.release.devices_give_no_reason else ("no new claims to deallocate",)
        return PostFilterResult(Status(Code.UNSCHEDULABLE, reasons))

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        """Score every node 0."""
        return np.zeros(len(rows), dtype=np.int64)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Have nothing to reserve."""
        return SUCCESS

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Have nothing to bind."""
        return SUCCESS
