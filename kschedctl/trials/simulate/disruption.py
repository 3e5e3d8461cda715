"""The disruption controller: the status of disruption budgets (kube-controller-manager's pkg/controller/disruption).

``disruptionsAllowed`` is ``currentHealthy - desiredHealthy``, at least 0, and 0 if no pod is expected:

- ``currentHealthy`` counts the pods with the condition ``Ready`` that are not being deleted.
- ``minAvailable`` as a number is ``desiredHealthy``; ``expectedPods`` is the number of pods.
- For a percentage and for ``maxUnavailable``, ``expectedPods`` is the scale of the pods' controllers. Percentages are
  rounded up. Pods without a controller are not expected, although they count as healthy. If a controller has no
  scale (a DaemonSet, a Job), the controller fails and allows no disruption.

kube-scheduler and the API server read the status and compute nothing. A budget that has no status, or one of an older
generation, gets a computed status when a cluster is loaded (`with_computed_status`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.budget_limits import desired_healthy, needs_scale
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import SelectorError, matches, parse_label_selector
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.trials.simulate.budgeted_pods import BudgetedPods, limit_of

#: The ``observedGeneration`` of a computed status. It is older than any generation, so that the status is computed
#: again whenever the cluster is loaded again, with other changes or from a saved file.
_COMPUTED: Final = -1


def is_current(budget: PodDisruptionBudget) -> bool:
    """Report whether the disruption controller wrote the status for the current generation of the budget."""
    status = budget.status
    return status.disruptions_allowed is not None and status.observed_generation >= budget.metadata.generation


def is_computed(budget: PodDisruptionBudget) -> bool:
    """Report whether the status of a budget was computed, and not read."""
    return budget.status.observed_generation == _COMPUTED


def computed_budgets(cluster: Cluster) -> list[PodDisruptionBudget]:
    """Return the budgets whose status was computed, and not read."""
    return [budget for budget in cluster.list(PodDisruptionBudget) if is_computed(budget)]


def with_computed_status(cluster: Cluster) -> Cluster:
    """Return the cluster with a status of every budget: the one that it has if it is current, else a computed one."""
    budgets = [budget for budget in cluster.list(PodDisruptionBudget) if not is_current(budget)]
    if not budgets:
        return cluster
    counted = (counted_budget(cluster, budget) for budget in budgets)
    return cluster.with_added(
        replace(budget, status=replace(budget.status, observed_generation=_COMPUTED)) for budget in counted
    )


def without_computed_status(cluster: Cluster) -> Cluster:
    """Return the cluster as kube-scheduler reads it: a budget without a status of its own allows no disruption."""
    budgets = computed_budgets(cluster)
    if not budgets:
        return cluster
    return cluster.with_added(replace(each, status=replace(each.status, disruptions_allowed=0)) for each in budgets)


def counted_budget(cluster: Cluster, budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """Return a budget with the status that its controller writes for the pods of the cluster."""
    found, status = BudgetedPods(cluster, budget), budget.status
    healthy = sum(is_healthy(pod) and pod.name not in status.disrupted_pods for pod in found.pods)
    limit = limit_of(budget)
    if limit is None:
        # Without a limit in the snapshot, the earlier number of the controller is the only one available.
        expected, desired = status.expected_pods, status.desired_healthy
    else:
        scaled = needs_scale(*limit)
        expected = found.scale if scaled else len(found.selected)
        number = desired_healthy(*limit, expected)
        if number is None or (scaled and found.without_scale is not None):
            # The status is as the failing controller leaves it (upstream ``failSafe``).
            return replace(budget, status=replace(status, disruptions_allowed=0))
        desired = number
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    status = replace(
        status,
        expected_pods=expected,
        current_healthy=healthy,
        desired_healthy=desired,
        disruptions_allowed=allowed,
    )
    return replace(budget, status=status)


def budgets_after(cluster: Cluster, pod: Pod, change: int) -> Iterator[PodDisruptionBudget]:
    """Yield the budgets whose status changes when a pod becomes healthy or is deleted, with their status after it.

    ``desiredHealthy`` stays, because no workload is scaled in a simulation. A bound pod counts as healthy at once.

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
        if covers(budget, pod):
            yield _after(cluster, budget, change)


def _after(cluster: Cluster, budget: PodDisruptionBudget, change: int) -> PodDisruptionBudget:
    status, limit = budget.status, limit_of(budget)
    if limit is not None and needs_scale(*limit) and not status.expected_pods:
        # The controller could not count the pods, or there were none.
        return counted_budget(cluster, budget)
    counted = status.current_healthy or status.desired_healthy or status.expected_pods
    # If the controller has not written its counts, disruptionsAllowed is the only number available.
    healthy = status.current_healthy if counted else status.disruptions_allowed or 0
    now = healthy + change
    changed = replace(status, current_healthy=now, disruptions_allowed=max(0, now - status.desired_healthy))
    return replace(budget, status=changed)


def is_unready(pod: Pod) -> bool:
    """Report whether the pod's condition ``Ready`` is ``False``; a pod without the condition counts as ready."""
    return any(condition.type == "Ready" and condition.status == "False" for condition in pod.status.conditions)


def is_healthy(pod: Pod) -> bool:
    """Report whether a pod counts for disruption budgets: its condition ``Ready`` is ``True``.

    A pod without the condition, as in a hand-written snapshot or after a what-if, counts if it has a node and runs.
    """
    ready = next((each.status for each in pod.status.conditions if each.type == "Ready"), "")
    if ready:
        return ready == "True"
    return bool(pod.spec.node_name) and pod.status.phase not in ("Pending", "Succeeded", "Failed")


def covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Report whether a budget's selector matches a pod of its namespace.

    Unlike in the scheduler, an empty selector matches all pods of the namespace (policy/v1).
    """
    if budget.spec.selector is None or budget.namespace != pod.namespace:
        return False
    try:
        return matches(parse_label_selector(budget.spec.selector), pod.metadata.labels)
    except SelectorError:
        return False
