"""Disruption budgets: their pods, the status that the disruption controller computes, and the Eviction API's check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec.structs import replace

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import SelectorError, matches, parse_label_selector
from kschedctl.objects.workload import PodDisruptionBudget, share

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster

# Disruption budgets: the evictions that they can ever allow, and the numbers that would allow one.
#
# The arithmetic is that of the disruption controller (pkg/controller/disruption): percentages are rounded up for both
# minAvailable and maxUnavailable, and both are relative to the expected number of pods, which is the scale of the pods'
# controllers.

#: The reason why a pod is not expected, by the kind of its controller. Unless minAvailable is a number, the disruption
#: controller then fails (SyncFailed) and allows no eviction; a pod without a controller it only leaves out.
WITHOUT_SCALE: Final = {
    "apps/DaemonSet": "a DaemonSet has no scale",
    "batch/Job": "a Job has no scale",
    "batch/CronJob": "a Job has no scale",
    "Pod": "the pod has no controller",
}
#: A budget that allows no eviction for any number of pods up to this one is said to allow none at all.
_MOST_PODS: Final = 1000


def forbids(field: str, value: Any, n: int) -> bool:
    """Report whether a budget allows no eviction while all of its `n` pods are healthy.

    Percentages are rounded up for both minAvailable and maxUnavailable.

    >>> forbids("minAvailable", "67%", 3), forbids("minAvailable", "66%", 3), forbids("maxUnavailable", "10%", 3)
    (True, False, False)
    """
    number = share(value, n, up=True)
    if number is None:
        return False
    return number >= n if field == "minAvailable" else number == 0


def always_forbids(field: str, value: Any) -> bool:
    """Report whether a budget allows no eviction, whatever the number of pods."""
    return value in ((0, "0%") if field == "maxUnavailable" else ("100%",)) and value is not False


def needs_scale(field: str, value: Any) -> bool:
    """Report whether a budget depends on the expected number of pods, and so on the scale of their controller."""
    return field == "maxUnavailable" or isinstance(value, str)


def desired_healthy(field: str, value: Any, n: int) -> int | None:
    """Return the number of healthy pods that a budget wants of `n` expected ones; ``None`` if the value is invalid.

    >>> desired_healthy("minAvailable", "67%", 3), desired_healthy("maxUnavailable", 1, 3)
    (3, 2)
    """
    number = share(value, n, up=True)
    if number is None:
        return None
    return number if field == "minAvailable" else max(n - number, 0)


def enough_pods(field: str, value: Any, n: int) -> int | None:
    """Return the smallest number of pods, at least `n`, of which one can be evicted; ``None`` if there is none.

    >>> enough_pods("minAvailable", 1, 1), enough_pods("minAvailable", "67%", 3), enough_pods("maxUnavailable", 0, 3)
    (2, 4, None)
    """
    if always_forbids(field, value):
        return None
    return next((number for number in range(max(n, 1), n + _MOST_PODS) if not forbids(field, value, number)), None)


# The pods that a disruption budget selects, and the scale of their controllers.

#: The kinds of workloads with a number of replicas.
#: Kind, namespace and name of a workload.
WorkloadKey: TypeAlias = tuple[str, str, str]
#: The field of a budget that limits evictions, with its value.
Limit: TypeAlias = tuple[str, int | str]
_POD: Final = "Pod"


class BudgetedPods:
    """The pods that a budget selects, and the numbers that it is about.

    pods: The pods without those that are being deleted.
    workloads: The workloads of ``pods``, without duplicates.

    Args:
        budget: The budget; with an invalid selector it selects no pod.
    """

    def __init__(self, cluster: Cluster, budget: PodDisruptionBudget) -> None:
        from kschedctl.controllers.workloads.ownership import workload_of

        self.cluster = cluster
        self.budget = budget
        self.selected = _selected_pods(cluster, budget)
        self.pods = [pod for pod in self.selected if pod.metadata.deletion_timestamp is None]
        self.workloads = list(dict.fromkeys(workload_of(cluster, pod.metadata) for pod in self.pods))

    @property
    def limit(self) -> Limit | None:
        return limit_of(self.budget)

    @property
    def expected(self) -> int:
        """The number of pods that should exist: the scale of the workloads, else the number that the budget reports."""
        scales = [scale_of(self.cluster, key) for key in self.workloads]
        known = [scale for scale in scales if scale is not None]
        if known and len(known) == len(scales):
            return sum(known)
        return self.budget.status.expected_pods or len(self.pods)

    @property
    def scale(self) -> int:
        """The scale of the controllers of all selected pods (upstream ``getExpectedScale``).

        Pods without a controller do not count. Where the cluster lacks a controller, its pods are counted instead.
        """
        from kschedctl.controllers.workloads.ownership import workload_of

        pods = Counter(workload_of(self.cluster, pod.metadata) for pod in self.selected)
        pods = Counter({key: number for key, number in pods.items() if key[0] != _POD})
        scales = {key: scale_of(self.cluster, key) for key in pods}
        return sum(number if scales[key] is None else scales[key] or 0 for key, number in pods.items())

    @property
    def without_scale(self) -> Pod | None:
        """The first pod whose controller has no scale, for which the disruption controller fails, or ``None``."""
        return next((pod for pod in self.selected if pod.metadata.controller is not None and _why_no_scale(pod)), None)

    @property
    def uncounted(self) -> str:
        """The reason why no pod is expected, so that no eviction is allowed; empty if the pods can be counted.

        It is a controller without a scale, or that no pod has a controller.
        """
        pod = self.without_scale
        if pod is None and all(map(_why_no_scale, self.pods)):
            pod = next(iter(self.pods), None)
        if pod is None:
            return ""
        owner = pod.metadata.controller
        return (
            f"{owner.kind} {owner.name}: {_why_no_scale(pod)}"
            if owner is not None
            else f"Pod {pod.name}: {_why_no_scale(pod)}"
        )


def _why_no_scale(pod: Pod) -> str:
    """Return the reason why the disruption controller finds no scale for a pod; empty if it may."""
    owner = pod.metadata.controller
    return WITHOUT_SCALE.get(f"{owner.api_version.rpartition('/')[0]}/{owner.kind}" if owner else _POD, "")


def _selected_pods(cluster: Cluster, budget: PodDisruptionBudget) -> list[Pod]:
    import numpy as np

    from kschedctl.cluster.placed_pods import pod_at

    if budget.spec.selector is None:
        return []
    try:
        selector = parse_label_selector(budget.spec.selector)
    except SelectorError:
        return []
    pods = cluster.pods
    # Unlike for the scheduler, an empty selector matches all pods of the namespace (policy/v1).
    classes = pods.classes_matching(selector) & pods.classes_in(frozenset({budget.namespace}))
    return [pod_at(cluster, index) for index in np.flatnonzero(classes[pods.class_id]).tolist()]


def limit_of(budget: PodDisruptionBudget) -> Limit | None:
    """Return the field that limits evictions, with its value; ``None`` if the budget sets neither or both."""
    spec = budget.spec
    given = [
        (name, value)
        for name, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable))
        if value is not None
    ]
    return given[0] if len(given) == 1 else None


def scale_of(cluster: Cluster, key: WorkloadKey) -> int | None:
    """Return the number of replicas of a workload; ``None`` if the cluster has no such workload or it has none."""
    from kschedctl.controllers.workloads.ownership import SCALABLE, wanted_replicas

    workload = find_workload(cluster, key)
    if not isinstance(workload, SCALABLE):
        return None
    return wanted_replicas(workload)


def find_workload(cluster: Cluster, key: WorkloadKey) -> ApiObject | None:
    """Return a workload of the cluster; ``None`` if there is none, or its kind has no replicas."""
    from kschedctl.controllers.workloads.ownership import SCALABLE

    kind = next((kind for kind in SCALABLE if kind.__name__ == key[0]), None)
    return cluster.get(kind, key[2], key[1]) if kind is not None else None


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
        status, expected_pods=expected, current_healthy=healthy, desired_healthy=desired, disruptions_allowed=allowed
    )
    return replace(budget, status=status)


def budgets_after(cluster: Cluster, pod: Pod, change: int) -> Iterator[PodDisruptionBudget]:
    """Yield the budgets whose status changes when a pod becomes healthy or is deleted, with their status after it.

    ``desiredHealthy`` stays, because no workload is scaled in a simulation. A bound pod counts as healthy at once.

    Args:
        change: 1 if the pod becomes healthy, -1 if it is deleted; the deletion of an unready pod changes nothing.
    """
    if change < 0 and is_unready(pod):
        return
    for budget in cluster.list(PodDisruptionBudget):
        if covers(budget, pod):
            yield _with_status_change(cluster, budget, change)


def _with_status_change(cluster: Cluster, budget: PodDisruptionBudget, change: int) -> PodDisruptionBudget:
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


# The Eviction API: its check of disruption budgets (registry/core/pod/storage/eviction.go).

VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def covering_budgets(cluster: Cluster, pod: Pod) -> list[PodDisruptionBudget]:
    """Return the budgets whose selector matches a pod."""
    return [budget for budget in cluster.list(PodDisruptionBudget) if covers(budget, pod)]


def eviction_refusal(cluster: Cluster, pod: Pod) -> tuple[str, PodDisruptionBudget | None]:
    """Return the API server's reason for refusing to evict a pod at present.

    Returns: refusal: the API server's message; empty if the eviction is allowed; budget: the budget that refuses
        the eviction; ``None`` if none does or if several cover the pod
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
