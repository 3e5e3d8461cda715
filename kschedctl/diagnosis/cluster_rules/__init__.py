"""The rules about a cluster: each yields the problems that it finds. The table has the order of importance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.cluster_rules import (
    idle_control_plane,
    lost_nodes,
    ordinal_waits,
    refused_pods,
    sick_components,
    stuck_deletions,
    unstarted_pods,
)

ClusterRule = Callable[[ClusterSituation], Iterable[ClusterDiagnosis]]

RULES: Final[tuple[ClusterRule, ...]] = (
    idle_control_plane.check,
    refused_pods.check,
    ordinal_waits.check,
    unstarted_pods.check,
    lost_nodes.check,
    stuck_deletions.check,
    sick_components.check,
)
