"""What is asked of the solver: the pods that wait, in kinds; who may be evicted for them; what each node has left.

A kind is pods that no filter tells apart. What the filters say is asked of the real plugins, over the cluster without
those who may be evicted: where a pod finds no place even there, it finds none at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.api.meta import LabelSelector
from kschedctl.api.pod import Pod, pod_affinity_terms
from kschedctl.api.workload import PodDisruptionBudget
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import Plugin
from kschedctl.framework.runtime import Framework
from kschedctl.framework.signature import encoded
from kschedctl.framework.status import Code
from kschedctl.optimum.filters import Sifted, sift
from kschedctl.preemption.budgets import Budget, get_pod_disruption_budgets
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.simulate.pods import age, pod_at, without_nomination
from kschedctl.simulate.world import is_made_again
from kschedctl.whatif.pods import move_pods
from kschedctl.workloads.replacement import fresh_pod

_PREEMPTION: Final = "DefaultPreemption"
#: Beyond this many pairs of a kind and a node, pods that are evicted are not placed again.
_MOST_CELLS: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Pods that are alike.

    Attributes
    ----------
    pods : tuple of Pod
        Those that wait, the first to be placed first; none of a kind that only comes about when others are evicted.
    sample : Pod
        One of them.
    class_id : int
        Their class in the cluster of the question.
    priority : int
        Their priority.
    preempts : bool
        Whether others may be evicted for them.
    sifted : Sifted
        What the filters say.
    """

    pods: tuple[Pod, ...]
    sample: Pod
    class_id: int
    priority: int
    preempts: bool
    sifted: Sifted


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupants:
    """Pods of one node that are alike and may leave it.

    Attributes
    ----------
    row : int
        The node.
    pods : tuple of int
        Indices into the pods of the cluster at the start.
    class_id : int
        Their class.
    priority : int
        Their priority.
    kind : int
        The kind that their controller makes instead; -1 where none does.
    """

    row: int
    pods: tuple[int, ...]
    class_id: int
    priority: int
    kind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Where all pods would go at once.

    Attributes
    ----------
    start : Scheduler
        Over the cluster as it is, nominations of the waiting pods aside.
    emptied : Scheduler
        Over the same without those who may leave, and with a pod of every kind that waits.
    kinds : tuple of Kind
        Who is to be placed.
    occupants : tuple of Occupants
        Who may leave.
    budgets : tuple of Budget
        The disruption budgets; their classes are those of ``emptied``.
    gated : tuple of str
        The pods that wait at a gate and so take no part, ``namespace/name``.
    """

    start: Scheduler
    emptied: Scheduler
    kinds: tuple[Kind, ...]
    occupants: tuple[Occupants, ...]
    budgets: tuple[Budget, ...]
    gated: tuple[str, ...]
    #: What tells kinds apart, and the labels that do.
    numbers: Mapping[object, int]
    labels: frozenset[str]

    def kind_number(self, pod: Pod) -> int:
        """The kind of a pod, on a node or not; -1 where none is like it."""
        return self.numbers.get(_key(_again(pod), self.labels), -1)

    @property
    def cluster(self) -> Cluster:
        """The cluster without those who may leave."""
        return self.emptied.cluster

    @property
    def n_waiting(self) -> int:
        """How many pods wait."""
        return sum(len(kind.pods) for kind in self.kinds)

    def framework(self, kind: Kind) -> Framework:
        """The profile that decides for a kind."""
        return self.emptied.framework(kind.sample.spec.scheduler_name)


#: Whether a pod of the cluster may leave its node, by its index.
MayLeave = Callable[[Cluster, int], bool]


def nobody(cluster: Cluster, index: int) -> bool:
    """No pod may leave."""
    return False


def pose(scheduler: Scheduler, may_leave: MayLeave | None = None, *, waiting: bool = True) -> Question:
    """Pose the question over a cluster.

    Parameters
    ----------
    scheduler : Scheduler
        Over the cluster with the pods that wait.
    may_leave : callable, optional
        Which running pods may leave their node; by default those that a waiting pod could evict.
    waiting : bool
        Whether the pods that wait are to be placed.
    """
    found, gated = _waiting(scheduler) if waiting else ([], [])
    nominated = [pod for pod in found if pod.status.nominated_node_name]
    found = [without_nomination(pod) for pod in found]
    if nominated:
        scheduler = scheduler.moved(scheduler.cluster.with_pods(added=map(without_nomination, nominated)))
    if may_leave is None:
        highest = max((_priority(pod) for pod in found if _preempts(scheduler, pod)), default=None)
        may_leave = nobody if highest is None else _of_lower_priority(highest)
    cluster = scheduler.cluster
    leaving = [index for index in np.flatnonzero(cluster.pods.node_row >= 0).tolist() if may_leave(cluster, index)]
    kept = _read_labels(cluster)
    again = _made_again(cluster, leaving, kept) if leaving else {}
    by_key: dict[object, list[Pod]] = {}
    for pod in found:
        by_key.setdefault(_key(pod, kept), []).append(pod)
    if (len(by_key) + len(again)) * len(cluster.nodes) > _MOST_CELLS:
        again = {}
    keys = list(dict.fromkeys((*by_key, *again)))
    samples = [by_key[key][0] if key in by_key else again[key] for key in keys]
    emptied = move_pods(cluster, removed=leaving).cluster
    emptied = move_pods(emptied, added=[pod for key, pod in again.items() if key not in by_key]).cluster
    over = scheduler.moved(emptied)
    index = emptied.pods.index
    kinds = []
    for key, sample in zip(keys, samples, strict=True):
        at = index[sample.namespace, sample.name]
        there = emptied.pods.pod(at)
        kinds.append(
            Kind(
                pods=tuple(by_key.get(key, ())),
                sample=there,
                class_id=int(emptied.pods.class_id[at]),
                priority=_priority(there),
                preempts=_preempts(over, there),
                sifted=sift(over, there),
            )
        )
    numbers = {key: number for number, key in enumerate(keys)}
    return Question(
        start=scheduler,
        emptied=over,
        kinds=tuple(kinds),
        occupants=tuple(_occupants(cluster, leaving, kept, numbers)),
        budgets=get_pod_disruption_budgets(cluster) if leaving and any(cluster.list(PodDisruptionBudget)) else (),
        gated=tuple(gated),
        numbers=numbers,
        labels=kept,
    )


def _waiting(scheduler: Scheduler) -> tuple[list[Pod], list[str]]:
    """The pods that the scheduler would try, the oldest first, and those that wait at a gate."""
    pods = scheduler.cluster.pods
    found, gated = [], []
    for index in np.flatnonzero(pods.node_row == PENDING).tolist():
        pod = pods.pod(index)
        if not scheduler.knows(pod) or pod.metadata.deletion_timestamp is not None:
            continue
        if scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod).code is Code.SUCCESS:
            found.append(pod)
        else:
            gated.append(pod.key)
    return sorted(found, key=age), gated


def _priority(pod: Pod) -> int:
    return pod.spec.priority or 0


def _preempts(scheduler: Scheduler, pod: Pod) -> bool:
    framework = scheduler.framework(pod.spec.scheduler_name)
    runs = _PREEMPTION in framework.plugin_names(ExtensionPoint.POST_FILTER, Plugin)
    return runs and pod.spec.preemption_policy != "Never"


def _of_lower_priority(highest: int) -> MayLeave:
    def may_leave(cluster: Cluster, index: int) -> bool:
        pods = cluster.pods
        return int(pods.priority[index]) < highest and pods.records[index].metadata.deletion_timestamp is None

    return may_leave


def _occupants(
    cluster: Cluster, leaving: Sequence[int], kept: frozenset[str], numbers: dict[object, int]
) -> Iterable[Occupants]:
    pods = cluster.pods
    rows, classes, priorities = pods.node_row, pods.class_id, pods.priority
    groups: dict[tuple[int, int, int, int], list[int]] = {}
    for index in leaving:
        pod = pod_at(cluster, index)
        number = numbers.get(_key(_again(pod), kept), -1) if is_made_again(pod) else -1
        groups.setdefault((int(rows[index]), int(classes[index]), int(priorities[index]), number), []).append(index)
    for (row, class_id, priority, number), indices in groups.items():
        yield Occupants(row=row, pods=tuple(indices), class_id=class_id, priority=priority, kind=number)


def _made_again(cluster: Cluster, leaving: Sequence[int], kept: frozenset[str]) -> dict[object, Pod]:
    """A pod of each kind that controllers make instead of those who leave."""
    out: dict[object, Pod] = {}
    for index in leaving:
        pod = pod_at(cluster, index)
        if is_made_again(pod):
            again = _again(pod)
            out.setdefault(_key(again, kept), again)
    return out


def _again(pod: Pod) -> Pod:
    return fresh_pod(replace(pod, spec=replace(pod.spec, node_name="")))


def _key(pod: Pod, kept: frozenset[str]) -> object:
    """What tells kinds apart: all that filters and scores read, of the labels those that any selector reads."""
    labels = tuple(sorted((key, value) for key, value in pod.metadata.labels.items() if key in kept))
    owner = pod.metadata.controller
    made_by = (owner.kind, owner.name) if owner is not None else None
    # Claims that are made for one pod are its own.
    own = pod.key if pod.spec.resource_claims or any(v.ephemeral is not None for v in pod.spec.volumes) else ""
    return pod.metadata.namespace, labels, made_by, own, encoded(pod.spec)


def _read_labels(cluster: Cluster) -> frozenset[str]:
    """The keys of labels of pods that some selector reads: of terms, constraints and budgets."""
    keys: set[str] = set()

    def read(selector: LabelSelector | None) -> None:
        if selector is not None:
            keys.update(selector.match_labels)
            keys.update(each.key for each in selector.match_expressions)

    specs = {id(record.spec): record.spec for record in cluster.pods.records}
    for spec in specs.values():
        for term in pod_affinity_terms(spec):
            read(term.label_selector)
        for constraint in spec.topology_spread_constraints:
            read(constraint.label_selector)
            keys.update(constraint.match_label_keys)
    for budget in cluster.list(PodDisruptionBudget):
        read(budget.spec.selector)
    return frozenset(keys)
