"""Disruption budgets as their controller keeps them while pods come and go: ``status.disruptionsAllowed``.

``disruptionsAllowed = max(0, currentHealthy - desiredHealthy)``. What is desired stays as the snapshot has it: nobody
scales a workload meanwhile. A pod that is bound counts as healthy at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.api.selectors import SelectorError, matches, parse_label_selector
from kschedctl.api.workload import PodDisruptionBudget
from kschedctl.cluster.cluster import Cluster


def budgets_after(cluster: Cluster, pod: Pod, change: int) -> Iterator[PodDisruptionBudget]:
    """The budgets that a pod changes by coming or going, as they are afterwards.

    Parameters
    ----------
    pod : Pod
        The pod.
    change : int
        1 for one that is healthy now, -1 for one that was.
    """
    if change < 0 and is_unready(pod):
        return
    for budget in cluster.list(PodDisruptionBudget):
        if budget.namespace == pod.namespace and _covers(budget, pod):
            status = budget.status
            counted = status.current_healthy or status.desired_healthy or status.expected_pods
            # Where the controller has not written its counts, what it allows is all that is known.
            healthy = status.current_healthy if counted else status.disruptions_allowed
            now = healthy + change
            changed = replace(status, current_healthy=now, disruptions_allowed=max(0, now - status.desired_healthy))
            yield replace(budget, status=changed)


def is_unready(pod: Pod) -> bool:
    """Whether a pod says that it is not ready; one of which nothing is known counts as ready."""
    return any(condition.type == "Ready" and condition.status == "False" for condition in pod.status.conditions)


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if budget.spec.selector is None:
        return False
    try:
        selector = parse_label_selector(budget.spec.selector)
    except SelectorError:
        return False
    return bool(selector) and matches(selector, pod.metadata.labels)
