"""Disruption budgets: the victims whose eviction would violate one (upstream ``FilterVictimsWithPDBViolation``).

From pods in worlds to a mask over these entries. Whether a budget covers a pod is determined per pod class.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import PodsInWorlds
from kschedctl.common.arrays import Mask, PodIndices
from kschedctl.objects.selectors import SelectorError, parse_label_selector
from kschedctl.objects.workload import PodDisruptionBudget


class Budget(msgspec.Struct, frozen=True):
    """A disruption budget and the pods that it covers."""

    #: ``namespace/name``.
    name: str
    #: ``status.disruptionsAllowed``, 0 without a status.
    allowed: int
    #: True for the pod classes that the budget covers.
    classes: Mask
    #: ``status.disruptedPods``: the names of pods whose eviction the API server has already processed.
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
        return pod in pods[self.covers(cluster, pods)][max(self.allowed, 0) :]


def get_pod_disruption_budgets(cluster: Cluster, *, empty_protects: bool = True) -> tuple[Budget, ...]:
    """Return the budgets that cover any pod (upstream ``getPodDisruptionBudgets``).

    A budget with a missing or invalid selector covers no pod.

    Args:
        empty_protects: False for preemption in releases where an empty selector covers no pod, and no selector a pod
            without labels. An API server counts both when it evicts.
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
        classes = pods.classes_matching(selector) & pods.classes_in(frozenset({budget.namespace}))
        if not empty_protects:
            classes &= pods.class_labelled & bool(selector)
        if classes.any():
            status = budget.status
            name = f"{budget.namespace}/{budget.name}"
            out.append(Budget(name, status.disruptions_allowed or 0, classes, frozenset(status.disrupted_pods)))
    return tuple(out)


def violated_budgets(cluster: Cluster, budgets: Sequence[Budget], victims: PodsInWorlds, *, up_to_first: bool) -> Mask:
    """Return the budgets that each eviction would violate if all pods of a world were evicted in order.

    Args:
        budgets: The budgets; each world starts with all of ``allowed``.
        victims: The pods, sorted by world, then by descending importance.
        up_to_first: True if a pod counts against its budgets only up to the first that it violates; else against
            all of them. Then the order of budgets matters, which is random in kube-scheduler.
    """
    covered = np.zeros((len(budgets), len(victims)), dtype=np.bool_)
    for number, budget in enumerate(budgets):
        covered[number] = budget.covers(cluster, victims.pods)
    out = np.zeros_like(covered)
    if up_to_first and (covered.sum(axis=0) > 1).any():
        for world in range(victims.n_worlds):
            left = [budget.allowed for budget in budgets]
            for entry in victims.entries(world):
                for number in np.flatnonzero(covered[:, entry]).tolist():
                    left[number] -= 1
                    if left[number] < 0:
                        out[number, entry] = True
                        break
        return out
    for number, budget in enumerate(budgets):
        at = np.flatnonzero(covered[number])
        worlds = victims.worlds[at]
        # The number of covered pods before it in its world.
        earlier = np.arange(len(at)) - np.searchsorted(worlds, worlds)
        out[number, at] = earlier >= budget.allowed
    return out
