"""PodGroupPodsCount: prefers the placement in which most members of a group have a node (KEP-5732)."""

from __future__ import annotations

from kschedctl.common.arrays import Int64Array, truncated_divide
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, PlacementScorePlugin, PluginError
from kschedctl.scheduler.framework.pod_groups import PodGroupAssignments, PodGroupInfo


class PodGroupPodsCount(PlacementScorePlugin):
    """Upstream: plugins/podgrouppodscount."""

    name = "PodGroupPodsCount"

    @classmethod
    def exists_in(cls, release: Release) -> bool:
        """Report whether the gate of the plugin is on."""
        return release.places_groups

    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        """Return the number of members that have a node, bound before or placed in this attempt."""
        return len(group.scheduled(self.handle.cluster)) + len(assignments.proposed)

    def normalize_placement_score(self, group: PodGroupInfo, scores: Int64Array) -> Int64Array:
        """Scale the counts so that the highest becomes 100."""
        highest = scores.max(initial=0)
        if not highest:
            raise PluginError("no pods from pod group are assigned to any of the candidate placements")
        return truncated_divide(scores * MAX_NODE_SCORE, highest)
