"""Disruption budgets: which victims' eviction would break one (upstream ``filterPodsWithPDBViolation``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kschedctl.api.selectors import SelectorError, parse_label_selector
from kschedctl.api.workload import PodDisruptionBudget
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget and the pods that it covers.

    Attributes
    ----------
    name : str
        ``namespace/name``.
    allowed : int
        ``status.disruptionsAllowed``.
    classes : ndarray of bool, shape (n_classes,)
        Which pod classes it covers.
    disrupted : frozenset of str
        The names of pods whose eviction the API server has already taken in.
    """

    name: str
    allowed: int
    classes: Mask
    disrupted: frozenset[str]

    def covers(self, cluster: Cluster, pods: Int64Array) -> Mask:
        """Which pods, by index, count against the budget: bool, shape (n_pods,)."""
        mask: Mask = self.classes[cluster.pods.class_id[pods]]
        if self.disrupted:
            records = cluster.pods.records
            mask &= np.array([records[i].metadata.name not in self.disrupted for i in pods], dtype=np.bool_)
        return mask

    def broken_by(self, cluster: Cluster, pods: Int64Array, pod: int) -> bool:
        """Whether a pod's eviction breaks the budget if some pods are evicted one after the other, it among them."""
        covered = pods[self.covers(cluster, pods)]
        return pod in covered[max(self.allowed, 0) :]


def budgets(cluster: Cluster) -> tuple[Budget, ...]:
    """The budgets that cover any pod. One without a selector, with an empty or a wrong one covers none."""
    pods = cluster.pods
    labelled = np.array([bool(pod_class.labels) for pod_class in pods.classes], dtype=np.bool_)
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
        classes = labelled & pods.class_labels.matches(selector) & pods.classes_in(frozenset({budget.namespace}))
        if classes.any():
            status = budget.status
            name = f"{budget.namespace}/{budget.name}"
            out.append(Budget(name, status.disruptions_allowed, classes, frozenset(status.disrupted_pods)))
    return tuple(out)


def violations(cluster: Cluster, covering: tuple[Budget, ...], worlds: Int64Array, pods: Int64Array) -> Mask:
    """Whose eviction would break a budget, if all pods of a world were evicted one after the other.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    covering : tuple of Budget
        The budgets.
    worlds : ndarray of int64, shape (k,)
        Ascending; each world has the budgets for itself.
    pods : ndarray of int64, shape (k,)
        The pods, by world and then the most important first.

    Returns
    -------
    ndarray of bool, shape (k,)
    """
    out = np.zeros(len(pods), dtype=np.bool_)
    for budget in covering:
        at = np.flatnonzero(budget.covers(cluster, pods))
        if len(at):
            first = np.searchsorted(worlds[at], worlds[at])
            out[at[np.arange(len(at)) - first >= budget.allowed]] = True
    return out
