"""The check whether a pod may preempt others (upstream ``PodEligibleToPreemptOthers``).

From the pod, and the filters' verdict on its nominated node, to a reason.
"""

from __future__ import annotations

from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod, PodStatus
from kschedctl.objects.releases.rules import PodGroupRules
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.preemption.victims import pod_priority

NEVER: Final = "not eligible due to preemptionPolicy=Never."
TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."


def pod_eligible_to_preempt_others(
    cluster: Cluster, pod: Pod, statuses: NodeStatuses, rules: PodGroupRules | None
) -> str:
    """Return the reason why a pod may not preempt others; empty if it may.

    Parameters
    ----------
    pod : Pod
        The preemptor.
    statuses : NodeStatuses
        The filters' verdicts, by node.
    rules : PodGroupRules or None
        The rules of pod groups; ``None`` if pods are scheduled one by one.
    """
    if pod.spec.preemption_policy == "Never":
        return NEVER
    row = cluster.nodes.row.get(pod.status.nominated_node_name)
    if row is None or statuses.code[row] == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    pods = cluster.pods
    for index in pods.on_node(row):
        terminating = pods.records[index].metadata.deletion_timestamp is not None
        lower = pod_priority(cluster, int(index), rules) < (pod.spec.priority or 0)
        if lower and terminating and evicted_by_scheduler(pods.records[index].status):
            return TERMINATING
    return ""


def evicted_by_scheduler(status: PodStatus) -> bool:
    """Report whether the pod's first DisruptionTarget condition has the reason PreemptionByScheduler."""
    target = next((condition for condition in status.conditions if condition.type == "DisruptionTarget"), None)
    return target is not None and target.status == "True" and target.reason == "PreemptionByScheduler"
