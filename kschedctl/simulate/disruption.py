"""The ``status.disruptionsAllowed`` of disruption budgets, as their controller updates it while pods come and go.

``disruptionsAllowed = max(0, currentHealthy - desiredHealthy)``. ``desiredHealthy`` remains as in the snapshot,
because no workload is scaled in a simulation. A bound pod counts as healthy at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.api.selectors import SelectorError, matches, parse_label_selector
from kschedctl.api.workload import PodDisruptionBudget
from kschedctl.cluster.cluster import Cluster


def budgets_after(cluster: Cluster, pod: Pod, change: int) -> Iterator[PodDisruptionBudget]:
    """Yield the budgets whose status changes when a pod becomes healthy or is deleted, with their status after it.

    Parameters
    ----------
    pod : Pod
        The pod.
    change : int
        1 if the pod becomes healthy, -1 if it is deleted; the deletion of an unready pod changes nothing.
    """
    if change < 0 and is_unready(pod):
        return
    for budget in cluster.list(PodDisruptionBudget):
        if budget.namespace == pod.namespace and _covers(budget, pod):
            status = budget.status
            counted = status.current_healthy or status.desired_healthy or status.expected_pods
            # If the controller has not written its counts, disruptionsAllowed is the only number available.
            healthy = status.current_healthy if counted else status.disruptions_allowed
            now = healthy + change
            changed = replace(status, current_healthy=now, disruptions_allowed=max(0, now - status.desired_healthy))
            yield replace(budget, status=changed)


def is_unready(pod: Pod) -> bool:
    """Report whether the pod's condition ``Ready`` is ``False``; a pod without the condition counts as ready."""
    return any(condition.type == "Ready" and condition.status == "False" for condition in pod.status.conditions)


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if budget.spec.selector is None:
        return False
    try:
        selector = parse_label_selector(budget.spec.selector)
    except SelectorError:
        return False
    # Unlike for the scheduler, an empty selector matches all pods of the namespace (policy/v1).
    return matches(selector, pod.metadata.labels)
