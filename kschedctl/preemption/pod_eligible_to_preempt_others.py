"""Whether a pod may evict others at all (upstream ``PodEligibleToPreemptOthers``).

From the pod, and what the filters say of the one node that it is nominated to, to a text.
"""

from __future__ import annotations

from typing import Final

from kschedctl.api.pod import Pod, PodStatus
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.status import Code
from kschedctl.framework.verdicts import NodeStatuses

NEVER: Final = "not eligible due to preemptionPolicy=Never."
TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."


def pod_eligible_to_preempt_others(cluster: Cluster, pod: Pod, statuses: NodeStatuses) -> str:
    """Why a pod may not preempt; empty where it may.

    Parameters
    ----------
    pod : Pod
        The preemptor.
    statuses : NodeStatuses
        Why each node was turned away.
    """
    if pod.spec.preemption_policy == "Never":
        return NEVER
    row = cluster.nodes.row.get(pod.status.nominated_node_name)
    if row is None or statuses.code[row] == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    pods = cluster.pods
    for index in pods.on_node(row):
        terminating = pods.records[index].metadata.deletion_timestamp is not None
        lower = pods.priority[index] < (pod.spec.priority or 0)
        if lower and terminating and _evicted_by_scheduler(pods.records[index].status):
            return TERMINATING
    return ""


def _evicted_by_scheduler(status: PodStatus) -> bool:
    """Whether a pod's first DisruptionTarget condition says that it is a victim of preemption."""
    target = next((condition for condition in status.conditions if condition.type == "DisruptionTarget"), None)
    return target is not None and target.status == "True" and target.reason == "PreemptionByScheduler"
