"""Builders of pod groups: PodGroups, their members, and the releases that schedule groups."""

from collections.abc import Iterator
from typing import Any, Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.choice import ChosenBy, ReleaseChoice
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, TOPOLOGY_AWARE
from kschedctl.sources.snapshot.load import Snapshot
from kschedctl.trials.loaded_cluster import LoadedCluster
from tests.builders import make_object, make_pod

RACK: Final = "example.com/rack"
#: The releases that schedule groups, with the gates on of gangs, of their preemption and of placements.
GROUPING: Final = {
    version: release.with_features(
        dict.fromkeys((GENERIC_WORKLOAD, rules.gang_gate, rules.preemption_gate, TOPOLOGY_AWARE), True)
    )
    for version, release in RELEASES.items()
    if (rules := release.pod_group_rules) is not None
}


def make_group(
    name: str = "gang",
    min_count: int | None = None,
    *,
    namespace: str = "default",
    priority: int = 0,
    topology: str = "",
    whole: bool = False,
) -> PodGroup:
    """Return a PodGroup.

    Parameters
    ----------
    min_count : int, optional
        ``minCount`` of a gang; by default the policy is basic.
    topology : str
        The label key of the topology constraint; empty for none.
    whole : bool
        True for the disruption mode in which all members are preempted together.
    """
    policy: dict[str, Any] = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    spec: dict[str, Any] = {"schedulingPolicy": policy, "priority": priority}
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if whole:
        spec["disruptionMode"] = {"all": {}}
    return make_object(PodGroup, name, namespace=namespace, spec=spec)


def make_members(number: int, group: str = "gang", *, node: str = "", **fields: Any) -> Iterator[Pod]:
    """Yield the members GROUP-0, GROUP-1 and so on of a group, on one node or pending."""
    for i in range(number):
        yield make_pod(f"{group}-{i}", node=node, schedulingGroup={"podGroupName": group}, **fields)


def make_grouping(cluster: Cluster, version: str = "1.37") -> LoadedCluster:
    """Return a cluster as if loaded from a snapshot, with the rules of a release that schedules groups."""
    snapshot = Snapshot(cluster=cluster, paths=("here",), scheduler_config=None, left_out={})
    return LoadedCluster(snapshot, ReleaseChoice(GROUPING[version], ChosenBy.OPTION))
