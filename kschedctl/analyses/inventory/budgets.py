"""Lists of disruption budgets, and the description of one."""

from __future__ import annotations

from kschedctl.analyses.inventory.pods import MOST, pod_items
from kschedctl.analyses.provenance import envelope, provenance
from kschedctl.answers.inventory import BudgetDescription, BudgetItem, BudgetsOverview
from kschedctl.api.wording import counted
from kschedctl.api.workload import PodDisruptionBudget
from kschedctl.cluster.cluster import Cluster
from kschedctl.completeness.missing import every_unlisted, require_listed
from kschedctl.errors import InputError
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.simulate.budgeted_pods import BudgetedPods, limit_of
from kschedctl.simulate.disruption import is_computed


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
        **envelope(loaded, provenance(cluster, every_unlisted(loaded, ("PodDisruptionBudget", "Pod")), evicts=True)),
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
