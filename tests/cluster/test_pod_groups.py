"""The gates that a cluster's objects show to be on."""

from collections.abc import Sequence

import pytest

from kschedctl.cluster.pod_groups import pod_group_gates
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from tests.builders import make_cluster, make_members, make_node, make_pod, make_pod_group

ALL = "GenericWorkload"
GANG = "GangScheduling"
RACKS = "TopologyAwareWorkloadScheduling"


@pytest.mark.parametrize(
    ("objects", "pods", "shown"),
    [
        ([], [make_pod()], {}),
        ([], make_members("p"), {"1.36": {ALL}, "1.37": {ALL}}),
        ([make_pod_group()], [], {"1.36": {ALL}, "1.37": {ALL}}),
        ([make_pod_group(min_count=2)], [], {"1.36": {ALL, GANG}, "1.37": {ALL}}),
        ([make_pod_group(topology_key="rack")], [], {"1.36": {ALL, RACKS}, "1.37": {ALL, RACKS}}),
        ([make_pod_group(priority=5)], [], {"1.36": {ALL, GANG, "WorkloadAwarePreemption"}, "1.37": {ALL}}),
        ([make_pod_group(preemptionPolicy="Never")], [], {"1.36": {ALL}, "1.37": {ALL, "PodGroupPreemptionPolicy"}}),
    ],
)
def test_gates(objects: Sequence[ApiObject], pods: Sequence[Pod], shown: dict[str, set[str]]) -> None:
    cluster = make_cluster([make_node("n1")], pods, *objects)
    found = {version: set(pod_group_gates(cluster, release)) for version, release in RELEASES.items()}
    assert {version: gates for version, gates in found.items() if gates} == shown
    for version, gates in found.items():
        # The gates can be set together.
        RELEASES[version].with_features(dict.fromkeys(gates, True))
