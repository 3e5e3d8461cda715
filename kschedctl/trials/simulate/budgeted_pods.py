"""The pods that a disruption budget selects, and the scale of their controllers."""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.budget_limits import WITHOUT_SCALE
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.replicas import SCALABLE, wanted_replicas
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import SelectorError, parse_label_selector
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.trials.simulate.pods import pod_at

#: The kinds of workloads with a number of replicas.
#: Kind, namespace and name of a workload.
WorkloadKey: TypeAlias = tuple[str, str, str]
#: The field of a budget that limits evictions, with its value.
Limit: TypeAlias = tuple[str, int | str]
_POD: Final = "Pod"


class BudgetedPods:
    """The pods that a budget selects, and the numbers that it is about.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    budget : PodDisruptionBudget
        The budget; with an invalid selector it selects no pod.

    Attributes
    ----------
    selected : list of Pod
        All pods that have not finished.
    pods : list of Pod
        The pods without those that are being deleted.
    workloads : list of WorkloadKey
        The workloads of ``pods``, without duplicates.
    """

    def __init__(self, cluster: Cluster, budget: PodDisruptionBudget) -> None:
        self.cluster = cluster
        self.budget = budget
        self.selected = _selected(cluster, budget)
        self.pods = [pod for pod in self.selected if pod.metadata.deletion_timestamp is None]
        self.workloads = list(dict.fromkeys(workload_of(cluster, pod.metadata) for pod in self.pods))

    @property
    def limit(self) -> Limit | None:
        """The limit of the budget, as `limit_of` returns it."""
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
        pods = Counter(workload_of(self.cluster, pod.metadata) for pod in self.selected)
        pods = Counter({key: number for key, number in pods.items() if key[0] != _POD})
        scales = {key: scale_of(self.cluster, key) for key in pods}
        return sum(number if scales[key] is None else scales[key] or 0 for key, number in pods.items())

    @property
    def without_scale(self) -> Pod | None:
        """The first pod whose controller has no scale, for which the disruption controller fails, or ``None``."""
        return next((pod for pod in self.selected if pod.metadata.controller is not None and _why(pod)), None)

    @property
    def uncounted(self) -> str:
        """The reason why no pod is expected, so that no eviction is allowed; empty if the pods can be counted.

        It is a controller without a scale, or that no pod has a controller.
        """
        pod = self.without_scale
        if pod is None and all(map(_why, self.pods)):
            pod = next(iter(self.pods), None)
        if pod is None:
            return ""
        owner = pod.metadata.controller
        return f"{owner.kind} {owner.name}: {_why(pod)}" if owner is not None else f"Pod {pod.name}: {_why(pod)}"


def _why(pod: Pod) -> str:
    """Return the reason why the disruption controller finds no scale for a pod; empty if it may."""
    owner = pod.metadata.controller
    return WITHOUT_SCALE.get(f"{owner.api_version.rpartition('/')[0]}/{owner.kind}" if owner else _POD, "")


def _selected(cluster: Cluster, budget: PodDisruptionBudget) -> list[Pod]:
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
    workload = find_workload(cluster, key)
    if not isinstance(workload, SCALABLE):
        return None
    return wanted_replicas(workload)


def find_workload(cluster: Cluster, key: WorkloadKey) -> ApiObject | None:
    """Return a workload of the cluster; ``None`` if there is none, or its kind has no replicas."""
    kind = next((kind for kind in SCALABLE if kind.__name__ == key[0]), None)
    return cluster.get(kind, key[2], key[1]) if kind is not None else None
