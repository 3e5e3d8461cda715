"""The Eviction API: its check of disruption budgets (registry/core/pod/storage/eviction.go)."""

from __future__ import annotations

from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.trials.simulate.disruption import covers, is_unready

VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def covering_budgets(cluster: Cluster, pod: Pod) -> list[PodDisruptionBudget]:
    """Return the budgets whose selector matches a pod."""
    return [budget for budget in cluster.list(PodDisruptionBudget) if covers(budget, pod)]


def eviction_refusal(cluster: Cluster, pod: Pod) -> tuple[str, PodDisruptionBudget | None]:
    """Return the API server's reason for refusing to evict a pod at present.

    Returns
    -------
    refusal : str
        The API server's message; empty if the eviction is allowed.
    budget : PodDisruptionBudget or None
        The budget that refuses the eviction; ``None`` if none does or if several cover the pod.
    """
    if pod.status.phase == "Pending" or pod.metadata.deletion_timestamp is not None:
        return "", None
    budgets = covering_budgets(cluster, pod)
    if len(budgets) > 1:
        return SEVERAL, None
    if not budgets or (budgets[0].status.disruptions_allowed or 0) > 0:
        return "", None
    status = budgets[0].status
    if is_unready(pod):
        policy = budgets[0].spec.unhealthy_pod_eviction_policy
        if policy == "AlwaysAllow" or status.current_healthy >= status.desired_healthy > 0:
            return "", None
    counts = f"The disruption budget {budgets[0].name} needs {status.desired_healthy} healthy pods and has "
    return f"{VIOLATES} {counts}{status.current_healthy} currently", budgets[0]
