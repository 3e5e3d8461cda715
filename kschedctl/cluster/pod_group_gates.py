"""The feature gates of pod groups that a cluster has on, as its objects show."""

from __future__ import annotations

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_group_members import has_members
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, GROUP_PREEMPTION_POLICY, TOPOLOGY_AWARE


def pod_group_gates(cluster: Cluster, release: Release) -> tuple[str, ...]:
    """Return the gates that the cluster's PodGroups and their members show to be on; empty if there are none.

    An API server stores a field only if its gate is on, and gates are set alike on the API server and the scheduler
    (KEP-4671: both components need them).
    """
    groups = cluster.list(PodGroup)
    rules = release.pod_group_rules
    # Without its PodGroup no pod would be tried: if none could be listed, the pods are decided for one by one.
    unlisted = PodGroup.__name__ in cluster.not_listed and PodGroup.__name__ not in cluster.listed
    if rules is None or unlisted or not (groups or has_members(cluster)):
        return ()
    specs = [group.spec for group in groups]
    shown = {
        GENERIC_WORKLOAD: True,
        rules.gang_gate: any(spec.min_count is not None for spec in specs),
        TOPOLOGY_AWARE: any(spec.topology_keys for spec in specs),
        GROUP_PREEMPTION_POLICY: any(spec.preemption_policy for spec in specs),
    }
    if any(spec.priority is not None or spec.disruption_mode is not None for spec in specs):
        # The preemption by groups depends on gangs.
        shown |= {rules.gang_gate: True, rules.preemption_gate: True}
    shown[GENERIC_WORKLOAD] = True
    return tuple(gate for gate, on in shown.items() if on and gate in release.features)
