"""Evictions that disruption budgets refuse: the cause, and whether the refusal can end by itself.

A drain retries a refused eviction every 5 seconds. It never ends if the budget allows no eviction even while all of
its pods are healthy: maxUnavailable 0, minAvailable of all pods (one pod of one replica, or a percentage that rounds up
to all), two budgets that select the pod, or pods that the budget cannot count. Otherwise it waits for pods that are not
ready or not scheduled.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pod_at
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.disruption import (
    BudgetedPods,
    always_forbids,
    counted_budget,
    covering_budgets,
    desired_healthy,
    enough_pods,
    forbids,
    is_healthy,
    is_unready,
    needs_scale,
)
from kschedctl.controllers.workloads.ownership import SCALABLE
from kschedctl.diagnosis.evidence.containers import state_words, stopped_containers
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedEviction:
    """Pods that cannot be evicted for the same reason."""

    #: The name of the reason, such as ``budget-of-all-pods``.
    rule: str
    #: The reason in one clause.
    cause: str
    #: The pods that a drain tries to evict.
    pods: tuple[Pod, ...]
    #: The budgets that select them.
    budgets: tuple[PodDisruptionBudget, ...]
    #: True if the refusal cannot end while nobody changes anything.
    never: bool
    #: The pods of the budget that are not ready.
    unhealthy: tuple[Pod, ...] = ()
    #: The pods of the budget that have no node.
    pending: tuple[Pod, ...] = ()
    #: The pods of the budget that are being deleted.
    ending: tuple[Pod, ...] = ()


def blocked_evictions(
    cluster: Cluster, keys: Iterable[str], why_pending: Callable[[Pod], str]
) -> list[BlockedEviction]:
    """Return the reasons why pods cannot be evicted, one per budget or pair of budgets.

    Args:
        cluster: The cluster in the state in which the evictions are refused.
        why_pending: Returns the cause for which a pod is pending; empty if it is not known.
    """
    by_budgets: dict[tuple[str, ...], list[Pod]] = {}
    budgets: dict[tuple[str, ...], tuple[PodDisruptionBudget, ...]] = {}
    for key in keys:
        namespace, _, name = key.partition("/")
        index = cluster.pods.index.get((namespace, name))
        if index is None:
            continue
        pod = pod_at(cluster, index)
        covering = tuple(covering_budgets(cluster, pod))
        names = tuple(f"{budget.namespace}/{budget.name}" for budget in covering)
        by_budgets.setdefault(names, []).append(pod)
        budgets[names] = covering
    return [_blocked(cluster, tuple(pods), budgets[names], why_pending) for names, pods in by_budgets.items()]


def _blocked(
    cluster: Cluster, pods: tuple[Pod, ...], budgets: tuple[PodDisruptionBudget, ...], why_pending: Callable[[Pod], str]
) -> BlockedEviction:
    if len(budgets) != 1:
        names = [f"{budget.namespace}/{budget.name}" for budget in budgets]
        cause = f"{counted(len(budgets), 'budget')} select {pods[0].key}: {listed(names)}"
        cause += ", and the API server never evicts a pod with more than one"
        return BlockedEviction(rule="several-budgets", cause=cause, pods=pods, budgets=budgets, never=True)
    found = BudgetedPods(cluster, budgets[0])
    name = f"budget {budgets[0].namespace}/{budgets[0].name}"
    limit = found.limit
    for rule, cause in (
        ("budget-of-unready-pods", _of_unready(found, pods)),
        (
            "budget-of-no-eviction",
            (
                ""
                if limit is None or not always_forbids(*limit)
                else f"has {limit[0]} {limit[1]}, so no eviction is ever allowed, whatever the number of pods"
            ),
        ),
        (
            "budget-cannot-count",
            (
                ""
                if limit is None or not needs_scale(*limit) or not found.uncounted
                else f"has {limit[0]} {limit[1]}, which cannot be computed for {found.uncounted}, "
                "so it never allows an eviction"
            ),
        ),
        ("budget-of-all-pods", _of_all_pods(found)),
    ):
        if cause:
            unready = pods if rule == "budget-of-unready-pods" else ()
            return BlockedEviction(
                rule=rule, cause=f"{name} {cause}", pods=pods, budgets=budgets, never=not unready, unhealthy=unready
            )
    pending = tuple(pod for pod in found.pods if not pod.spec.node_name)
    unhealthy = tuple(pod for pod in found.pods if pod.spec.node_name and not is_healthy(pod))
    status = budgets[0].status
    needs = f"{name} wants {counted(status.desired_healthy, 'healthy pod')}"
    has = f"{needs} and has {status.current_healthy} of {max(found.expected, len(found.pods))}"
    return BlockedEviction(
        rule="budget-waits",
        cause=f"{has}{_missing_pods_words(found, unhealthy, pending, why_pending)}",
        pods=pods,
        budgets=budgets,
        never=False,
        unhealthy=unhealthy,
        pending=pending,
        ending=tuple(pod for pod in found.selected if pod.metadata.deletion_timestamp is not None),
    )


def _of_unready(found: BudgetedPods, pods: Sequence[Pod]) -> str:
    """Return the cause if the pods to evict are the ones that are not ready; empty if they are not."""
    if not all(is_unready(pod) for pod in pods):
        return ""
    status, one = found.budget.status, len(pods) == 1
    wants = f"wants {counted(status.desired_healthy, 'healthy pod')} and has {status.current_healthy}"
    names = f"{listed([pod.key for pod in pods], most=3)} {'is' if one else 'are'} not ready{_why_unready(pods)}"
    return f"{wants}: {names}, and unhealthyPodEvictionPolicy IfHealthyBudget keeps {'it' if one else 'them'}"


def _of_all_pods(found: BudgetedPods) -> str:
    n, limit, status = found.expected, found.limit, found.budget.status
    if limit is None:
        # Without the field, the numbers of the disruption controller decide.
        limit, n = ("minAvailable", status.desired_healthy), status.expected_pods or len(found.pods)
    if not n or not forbids(*limit, n):
        return ""
    desired = desired_healthy(*limit, n) or 0
    wants = f"wants {counted(desired, 'healthy pod')}"
    if isinstance(limit[1], str):
        wants = f"wants {limit[1]} of {counted(n, 'pod')} healthy, which rounds up to {desired},"
    return f"{wants} and {_replicas(found, n)}, so no eviction is ever allowed"


def _replicas(found: BudgetedPods, n: int) -> str:
    """Return the number of replicas of the workloads as the predicate of a sentence."""
    names = [f"{kind} {name}" for kind, _, name in found.workloads]
    if names and all(kind == "Pod" for kind, _, _ in found.workloads):
        return f"selects {counted(n, 'pod')} without a controller"
    if len(names) != 1:
        return f"{listed(names, most=2)} have {counted(n, 'pod')} in all" if names else f"expects {counted(n, 'pod')}"
    if found.workloads[0][0] not in {kind.__name__ for kind in SCALABLE}:
        # A budget may select some of the pods of an unknown kind only, such as the primary of a database.
        return f"selects {counted(n, 'pod')} of {names[0]}"
    return f"{names[0]} has {'one replica' if n == 1 else counted(n, 'replica')}"


def _missing_pods_words(
    found: BudgetedPods, unhealthy: Sequence[Pod], pending: Sequence[Pod], why_pending: Callable[[Pod], str]
) -> str:
    parts = []
    if unhealthy:
        verb = "is" if len(unhealthy) == 1 else "are"
        parts.append(f"{listed([pod.key for pod in unhealthy], most=3)} {verb} not ready{_why_unready(unhealthy)}")
    if pending:
        why = why_pending(pending[0])
        verb = "is" if len(pending) == 1 else "are"
        told = f" ({why})" if why else ""
        parts.append(f"{listed([pod.key for pod in pending], most=3)} {verb} pending{told}")
    ending = [pod for pod in found.selected if pod.metadata.deletion_timestamp is not None]
    if ending:
        where = {pod.spec.node_name for pod in ending if pod.spec.node_name}
        on = f" on {listed(sorted(where), most=3)}" if where else ""
        verb = "is" if len(ending) == 1 else "are"
        parts.append(f"{listed([pod.key for pod in ending], most=3)} {verb} being deleted{on}")
    n_absent = found.expected - len(found.pods) - len(ending)
    if n_absent > 0:
        verb = "does" if n_absent == 1 else "do"
        parts.append(f"{n_absent} of its {counted(found.expected, 'pod')} {verb} not exist yet")
    if not parts:
        return ", and its status allows no eviction"
    return f": {' and '.join(parts)}, so no eviction is allowed as long as that lasts"


def _why_unready(pods: Sequence[Pod]) -> str:
    """Return the first state of a stopped container of pods in brackets; empty if their status has none."""
    states = (state_words(container) for pod in pods for container in stopped_containers(pod.status))
    return f" ({state})" if (state := next(states, "")) else ""


def replicas_to_evict(found: BudgetedPods) -> int | None:
    """Return the total number of pods with which the budget allows one eviction; ``None`` if no number does."""
    limit = found.limit
    n = found.expected
    if limit is None:
        status = found.budget.status
        limit = ("minAvailable", status.desired_healthy) if status.desired_healthy else None
    if limit is None or (needs_scale(*limit) and found.uncounted):
        return None
    return enough_pods(limit[0], limit[1], n)


def with_limit(cluster: Cluster, budget: PodDisruptionBudget, field: str, value: Any) -> PodDisruptionBudget:
    """Return a budget with another limit, and with the status that its controller then writes.

    The numbers are those of the given cluster: healthy pods are bound, ready, and not being deleted.
    """
    spec = replace(
        budget.spec,
        min_available=value if field == "minAvailable" else None,
        max_unavailable=value if field == "maxUnavailable" else None,
    )
    return counted_budget(cluster, replace(budget, spec=spec))
