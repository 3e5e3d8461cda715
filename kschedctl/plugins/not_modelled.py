"""In-tree plugins that are not modelled yet: they let pods pass, and say so where they would have had a say."""

from __future__ import annotations

from typing import ClassVar

from kschedctl.api.pod import Pod
from kschedctl.cluster.overlay import Overlay
from kschedctl.framework.cycle_state import CycleState, NotModelled
from kschedctl.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult
from kschedctl.framework.status import SKIP, SUCCESS, Rejections


class VolumePlugin(PreFilterPlugin, FilterPlugin):
    """A plugin that judges a pod's volumes."""

    feature: ClassVar[str]

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Skip; say so where the pod has claims or disks."""
        volumes = [v.name for v in pod.spec.volumes if v.image is None and v != type(v)(name=v.name)]
        if volumes:
            feature = f"{self.name}, {self.feature}: volumes {', '.join(volumes)}"
            state.not_modelled.append(NotModelled(feature, "the answer is as if it had no objection"))
        return PreFilterResult(SKIP)

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Let every node pass."""
        return Rejections.everywhere(len(nodes), SUCCESS)


class VolumeRestrictions(VolumePlugin):
    """Upstream: plugins/volumerestrictions."""

    name = "VolumeRestrictions"
    feature = "conflicts between disks"


class NodeVolumeLimits(VolumePlugin):
    """Upstream: plugins/nodevolumelimits."""

    name = "NodeVolumeLimits"
    feature = "limits on attached volumes"


class VolumeBinding(VolumePlugin):
    """Upstream: plugins/volumebinding."""

    name = "VolumeBinding"
    feature = "where claims can be bound"


class VolumeZone(VolumePlugin):
    """Upstream: plugins/volumezone."""

    name = "VolumeZone"
    feature = "zones of volumes"
