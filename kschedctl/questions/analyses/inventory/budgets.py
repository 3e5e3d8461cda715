"""Lists of disruption budgets, and the description of one."""

from __future__ import annotations

from collections.abc import Iterable

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.wording import counted
from kschedctl.controllers.disruption import BudgetedPods, is_computed, limit_of
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.analyses.inventory.pods import MOST, pod_items
from kschedctl.questions.analyses.provenance import envelope, provenance
from kschedctl.questions.answers.inventory import BudgetDescription, BudgetItem, BudgetsOverview
from kschedctl.trials.completeness import Missing, every_unlisted, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster


def list_budgets(cluster: LoadedCluster, namespace: str = "", text: str = "", most: int = MOST) -> BudgetsOverview:
    """List disruption budgets, those that allow no eviction first.

    Parameters
    ----------
    namespace : str
        The namespace; empty for all.
    text : str
        A text that the names contain; empty for all.
    most : int
        The number of budgets to return.

    Raises
    ------
    ClusterError
        If the budgets could not be listed.
    """
    loaded = cluster.cluster
    require_listed(loaded, "PodDisruptionBudget")
    found = [
        _item(loaded, each)
        for each in loaded.list(PodDisruptionBudget)
        if namespace in ("", each.namespace) and text in each.name
    ]
    found.sort(key=lambda item: (not _blocks(item), item.namespace, item.name))
    blocking = sum(map(_blocks, found))
    return BudgetsOverview(
        **envelope(loaded, provenance(cluster, _missing(loaded), evicts=True)),
        summary=f"{counted(len(found), 'disruption budget')}, {blocking} of them allow no eviction now",
        total=len(found),
        budgets=tuple(found[:most]),
    )


def describe_budget(cluster: LoadedCluster, namespace: str, name: str, most: int = MOST) -> BudgetDescription:
    """Describe a disruption budget and the pods that it selects.

    Raises
    ------
    InputError
        If there is no such budget.
    ClusterError
        If the budgets could not be listed.
    """
    loaded = cluster.cluster
    require_listed(loaded, "PodDisruptionBudget", namespace)
    budget = loaded.get(PodDisruptionBudget, name, namespace)
    if budget is None:
        raise InputError(f"the cluster has no PodDisruptionBudget {namespace}/{name}")
    item = _item(loaded, budget)
    pods = selected_by(loaded, budget)
    summary = (
        f"{item.key} allows {counted(item.allowed, 'eviction')} now: {item.healthy} of {item.selected} pods healthy"
    )
    return BudgetDescription(
        **envelope(loaded, provenance(cluster, evicts=True)),
        summary=f"{summary}, {item.desired} must be",
        budget=item,
        total=len(pods),
        pods=pod_items(loaded, pods, most),
    )


def _missing(cluster: Cluster) -> Iterable[Missing]:
    return every_unlisted(cluster, ("PodDisruptionBudget", "Pod"), "they are not in the list")


def selected_by(cluster: Cluster, budget: PodDisruptionBudget) -> list[int]:
    """Return the pods that a budget selects, as indices into ``Cluster.pods``."""
    index = cluster.pods.index
    return [index[pod.metadata.namespace, pod.metadata.name] for pod in BudgetedPods(cluster, budget).selected]


def _item(cluster: Cluster, budget: PodDisruptionBudget) -> BudgetItem:
    status, limit, pods = budget.status, limit_of(budget), BudgetedPods(cluster, budget)
    return BudgetItem(
        budget.namespace,
        budget.name,
        f"{limit[0]} {limit[1]}" if limit is not None else "",
        status.disruptions_allowed or 0,
        status.current_healthy,
        status.desired_healthy,
        status.expected_pods,
        len(pods.selected),
        is_computed(budget),
        pods.uncounted if not status.disruptions_allowed and pods.selected else "",
    )


def _blocks(item: BudgetItem) -> bool:
    return item.allowed == 0 and item.selected > 0
