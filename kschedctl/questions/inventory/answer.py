"""The objects of a cluster, as data: pods, workloads, disruption budgets, and what a search finds."""

from typing import Annotated

from kschedctl.questions.answer import ClusterAnswer, Data

_Total = Annotated[int, "The number of all that match, including those beyond the limit."]


class ClusterSummary(ClusterAnswer, frozen=True, kw_only=True, tag="ClusterSummary"):
    """The size of a cluster."""

    summary: Annotated[str, "The result in one sentence."]
    nodes: Annotated[int, "The number of nodes."]
    pods: Annotated[int, "The number of pods that have not finished."]
    pending: Annotated[int, "The number of pods without a node."]
    namespaces: Annotated[tuple[str, ...], "The namespaces that exist or have pods, by name."]
    kinds: Annotated[dict[str, int], "The number of objects of each kind."]


class PodItem(Data, frozen=True):
    """A pod of a list."""

    namespace: Annotated[str, "The namespace of the pod."]
    name: Annotated[str, "The name of the pod."]
    node: Annotated[str, "The node that the pod is bound to; empty for a pending pod."]
    nominated_node: Annotated[str, "The node that preemption nominated the pod to; may be empty."]
    terminating: Annotated[bool, "True if the pod is being deleted."]
    workload: Annotated[str, "The workload that owns the pod, such as Deployment shop/web; empty without one."]

    @property
    def key(self) -> str:
        """The name of the pod, as namespace/name."""
        return f"{self.namespace}/{self.name}"


class PodsOverview(ClusterAnswer, frozen=True, kw_only=True, tag="PodsOverview"):
    """The pods of a cluster."""

    summary: Annotated[str, "The result in one sentence."]
    total: _Total
    pods: Annotated[tuple[PodItem, ...], "The pods, pending ones first, then by name."]


class WorkloadItem(Data, frozen=True):
    """A workload of a list."""

    kind: Annotated[str, "The kind of the workload."]
    namespace: Annotated[str, "The namespace of the workload."]
    name: Annotated[str, "The name of the workload."]
    wanted: Annotated[int | None, "The number of replicas in its specification; null if it has no such number."]
    on_nodes: Annotated[int, "The number of its pods that are bound to a node."]
    pending: Annotated[int, "The number of its pods without a node."]
    nodes: Annotated[int, "The number of nodes that its pods are bound to."]

    @property
    def ref(self) -> str:
        """The kind and name of the workload, such as ``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}"


class WorkloadsOverview(ClusterAnswer, frozen=True, kw_only=True, tag="WorkloadsOverview"):
    """The workloads of a cluster."""

    summary: Annotated[str, "The result in one sentence."]
    total: _Total
    workloads: Annotated[tuple[WorkloadItem, ...], "The workloads, those with most pending pods first, then by name."]


class WorkloadDescription(ClusterAnswer, frozen=True, kw_only=True, tag="WorkloadDescription"):
    """A workload and its pods."""

    summary: Annotated[str, "The result in one sentence."]
    workload: Annotated[WorkloadItem, "The workload."]
    budgets: Annotated[tuple[str, ...], "The disruption budgets that select its pods, as namespace/name."]
    claims: Annotated[tuple[str, ...], "The volume claims of its pods, as namespace/name."]
    total: _Total
    pods: Annotated[tuple[PodItem, ...], "Its pods, pending ones first, then by name."]


class BudgetItem(Data, frozen=True):
    """A disruption budget of a list."""

    namespace: Annotated[str, "The namespace of the budget."]
    name: Annotated[str, "The name of the budget."]
    limit: Annotated[str, "The limit, such as minAvailable 2; empty if the budget sets neither field or both."]
    allowed: Annotated[int, "The number of pods that may be evicted now."]
    healthy: Annotated[int, "The number of healthy pods."]
    desired: Annotated[int, "The number of pods that must stay healthy."]
    expected: Annotated[int, "The number of pods that should exist."]
    selected: Annotated[int, "The number of pods that the budget selects."]
    computed: Annotated[bool, "True if the status is computed, because the cluster has no current one."]
    problem: Annotated[str, "The reason why the budget allows no eviction at all; empty if there is none."]

    @property
    def key(self) -> str:
        """The name of the budget, as namespace/name."""
        return f"{self.namespace}/{self.name}"


class BudgetsOverview(ClusterAnswer, frozen=True, kw_only=True, tag="BudgetsOverview"):
    """The disruption budgets of a cluster."""

    summary: Annotated[str, "The result in one sentence."]
    total: _Total
    budgets: Annotated[tuple[BudgetItem, ...], "The budgets, those that block first, then by name."]


class BudgetDescription(ClusterAnswer, frozen=True, kw_only=True, tag="BudgetDescription"):
    """A disruption budget and the pods that it selects."""

    summary: Annotated[str, "The result in one sentence."]
    budget: Annotated[BudgetItem, "The budget."]
    total: _Total
    pods: Annotated[tuple[PodItem, ...], "The pods that it selects, pending ones first."]


class SearchItem(Data, frozen=True):
    """An object that a search found."""

    kind: Annotated[str, "The kind of the object."]
    namespace: Annotated[str, "The namespace of the object; empty if its kind has none."]
    name: Annotated[str, "The name of the object."]


class SearchResults(ClusterAnswer, frozen=True, kw_only=True, tag="SearchResults"):
    """The objects whose names contain a text."""

    summary: Annotated[str, "The result in one sentence."]
    total: _Total
    items: Annotated[
        tuple[SearchItem, ...], "The objects: equal names first, then names that begin with the text, then the others."
    ]
