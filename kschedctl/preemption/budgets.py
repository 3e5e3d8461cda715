"""Disruption budgets: the victims whose eviction would violate one (upstream ``filterPodsWithPDBViolation``).

From pods in worlds to a mask over these entries. Whether a budget covers a pod is determined per pod class.
"""

from __future__ import annotations

import msgspec
import numpy as np

from kschedctl.api.selectors import SelectorError, parse_label_selector
from kschedctl.api.workload import PodDisruptionBudget
from kschedctl.arrays import Mask, PodIndices
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.worlds import PodsInWorlds


class Budget(msgspec.Struct, frozen=True):
    """A disruption budget and the pods that it covers.

    Attributes
    ----------
    name : str
        ``namespace/name``.
    allowed : int
        ``status.disruptionsAllowed``, 0 without a status.
    classes : ndarray of bool, shape (n_classes,)
        True for the pod classes that the budget covers.
    disrupted : frozenset of str
        ``status.disruptedPods``: the names of pods whose eviction the API server has already processed.
    """

    name: str
    allowed: int
    classes: Mask
    disrupted: frozenset[str]

    def covers(self, cluster: Cluster, pods: PodIndices) -> Mask:
        """Return the pods whose eviction counts against the budget: bool, shape (k,)."""
        mask: Mask = self.classes[cluster.pods.class_id[pods]]
        if self.disrupted:
            records = cluster.pods.records
            mask &= np.array([records[i].metadata.name not in self.disrupted for i in pods], dtype=np.bool_)
        return mask

    def broken_by(self, cluster: Cluster, pods: PodIndices, pod: int) -> bool:
        """Report whether the eviction of ``pod`` violates the budget if all ``pods`` are evicted in their order."""
        covered = pods[self.covers(cluster, pods)]
        return pod in covered[max(self.allowed, 0) :]


def get_pod_disruption_budgets(cluster: Cluster) -> tuple[Budget, ...]:
    """Return the budgets that cover any pod (upstream ``getPodDisruptionBudgets``).

    A budget with a missing, empty or invalid selector covers no pod.
    """
    pods = cluster.pods
    out = []
    for budget in cluster.list(PodDisruptionBudget):
        if budget.spec.selector is None:
            continue
        try:
            selector = parse_label_selector(budget.spec.selector)
        except SelectorError:
            continue
        if not selector:
            continue
        classes = pods.class_labelled & pods.classes_matching(selector) & pods.classes_in(frozenset({budget.namespace}))
        if classes.any():
            status = budget.status
            name = f"{budget.namespace}/{budget.name}"
            out.append(Budget(name, status.disruptions_allowed or 0, classes, frozenset(status.disrupted_pods)))
    return tuple(out)


def filter_pods_with_pdb_violation(cluster: Cluster, budgets: tuple[Budget, ...], victims: PodsInWorlds) -> Mask:
    """Return the pods whose eviction would violate a budget if all pods of a world were evicted in order.

    Parameters
    ----------
    budgets : tuple of Budget
        The budgets; each world starts with all of ``allowed``.
    victims : PodsInWorlds
        The pods, sorted by world, then by descending importance.

    Returns
    -------
    ndarray of bool, shape (n_entries,)
    """
    out = np.zeros(len(victims), dtype=np.bool_)
    for budget in budgets:
        at = np.flatnonzero(budget.covers(cluster, victims.pods))
        if len(at):
            worlds = victims.worlds[at]
            # The number of covered pods before it in its world.
            earlier = np.arange(len(at)) - np.searchsorted(worlds, worlds)
            out[at[earlier >= budget.allowed]] = True
    return out
