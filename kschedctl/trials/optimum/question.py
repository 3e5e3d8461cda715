"""The question for the solver: pending pods by kind, the running pods that may be evicted, and disruption budgets.

A kind is a set of pods that no filter distinguishes. The real plugins filter each kind over the cluster without the
pods that may be evicted: a pod that fits on no node of that cluster fits on no node at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import age, pod_at, without_nomination
from kschedctl.cluster.records import PENDING
from kschedctl.controllers.workloads.template import fresh_pod
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod, pod_affinity_terms
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.rules import PodGroupRules
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import Plugin
from kschedctl.scheduler.framework.runtime import Framework, encoded
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.preemption.budgets import Budget, get_pod_disruption_budgets
from kschedctl.scheduler.preemption.victim_units import pod_priority
from kschedctl.trials.optimum.gangs import Gang, gangs_of, held_groups, refused_groups, whole_groups_only
from kschedctl.trials.optimum.kinds import Kind, Occupants, evaluate_filters
from kschedctl.trials.simulate.world import is_recreated
from kschedctl.trials.whatif.pods import move_pods, successor

_PREEMPTION: Final = "DefaultPreemption"
#: The number of pairs of a kind and a node above which evicted pods are not placed again.
_MOST_CELLS: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementQuestion:
    """The placement problem for all pending pods at once."""

    #: The scheduler over the initial cluster, without nominations of pending pods.
    start: Scheduler
    #: The scheduler over the cluster without occupants and with a pending pod of every kind.
    emptied: Scheduler
    #: The pods to place.
    kinds: tuple[Kind, ...]
    #: The pods that may be evicted.
    occupants: tuple[Occupants, ...]
    #: The disruption budgets, in terms of classes of ``emptied``.
    budgets: tuple[Budget, ...]
    #: Pods with scheduling gates, and pods of groups that are held back or end with an error, ``namespace/name``;
    #: they are not placed.
    gated: tuple[str, ...]
    #: The number of each kind, by the key that distinguishes kinds.
    numbers: Mapping[object, int]
    #: The label keys that distinguish kinds.
    labels: frozenset[str]
    #: The pod groups of the pods, if the release schedules groups.
    gangs: tuple[Gang, ...] = ()

    def kind_number(self, pod: Pod) -> int:
        """Return the kind of a pending or running pod; -1 if there is none."""
        return self.numbers.get(_kind_key(as_pending(self.start, pod), self.labels), -1)

    @property
    def cluster(self) -> Cluster:
        """The cluster without occupants."""
        return self.emptied.cluster

    @property
    def n_waiting(self) -> int:
        """The number of pending pods."""
        return sum(len(kind.pods) for kind in self.kinds)

    def framework(self, kind: Kind) -> Framework:
        """Return the scheduling profile of a kind."""
        return self.emptied.framework(kind.sample.spec.scheduler_name)


#: A predicate: True if the pod with an index may leave its node.
MayLeave = Callable[[Cluster, int], bool]


def no_evictions(cluster: Cluster, index: int) -> bool:
    """Forbid all evictions."""
    return False


def pose(scheduler: Scheduler, may_leave: MayLeave | None = None, *, waiting: bool = True) -> PlacementQuestion:
    """Build the question for a cluster.

    Args:
        may_leave: The running pods that may leave their node; by default those that a pending pod could preempt.
        waiting: False to place no pending pods.
    """
    found, gated = _pending(scheduler) if waiting else ([], [])
    nominated = [pod for pod in found if pod.status.nominated_node_name]
    found = [without_nomination(pod) for pod in found]
    if nominated:
        scheduler = scheduler.moved(scheduler.cluster.with_pods(added=map(without_nomination, nominated)))
    preempts = may_leave is None
    if may_leave is None:
        highest = max((pod.spec.priority or 0 for pod in found if _preempts(scheduler, pod)), default=None)
        may_leave = (
            no_evictions if highest is None else partial(_has_lower_priority, highest, scheduler.release.pod_groups)
        )
    cluster = scheduler.cluster
    leaving = [index for index in np.flatnonzero(cluster.pods.node_row >= 0).tolist() if may_leave(cluster, index)]
    if preempts:
        leaving = whole_groups_only(scheduler, leaving)
    # The pod label keys that affinity terms, spread constraints and disruption budgets select by.
    selectors: list[LabelSelector | None] = [budget.spec.selector for budget in cluster.list(PodDisruptionBudget)]
    keys: set[str] = set()
    for spec in {id(record.spec): record.spec for record in cluster.pods.records}.values():
        selectors += [term.label_selector for term in pod_affinity_terms(spec)]
        for constraint in spec.topology_spread_constraints:
            selectors.append(constraint.label_selector)
            keys.update(constraint.match_label_keys)
    for selector in selectors:
        if selector is not None:
            keys.update(selector.match_labels, (each.key for each in selector.match_expressions))
    labels = frozenset(keys)
    by_key: dict[object, list[Pod]] = {}
    for pod in found:
        by_key.setdefault(_kind_key(pod, labels), []).append(pod)
    recreated: dict[object, Pod] = {}
    for pod in (pod_at(cluster, index) for index in leaving):
        if is_recreated(pod):
            new_pod = as_pending(scheduler, pod)
            recreated.setdefault(_kind_key(new_pod, labels), new_pod)
    if (len(by_key) + len(recreated)) * len(cluster.nodes) > _MOST_CELLS:
        recreated = {}
    new = {key: pod for key, pod in recreated.items() if key not in by_key}
    samples = {**{key: pods[0] for key, pods in by_key.items()}, **new}
    numbers = {key: number for number, key in enumerate(samples)}
    emptied = move_pods(move_pods(cluster, removed=leaving).cluster, added=list(new.values())).cluster
    over = scheduler.moved(emptied)
    kinds = tuple(_kind_of_sample(over, sample, by_key.get(key, ())) for key, sample in samples.items())
    occupants = tuple(_occupants(scheduler, leaving, labels, numbers))
    return PlacementQuestion(
        start=scheduler,
        emptied=over,
        kinds=kinds,
        occupants=occupants,
        gangs=gangs_of(scheduler, emptied, kinds, occupants, preempts=preempts),
        budgets=get_pod_disruption_budgets(cluster) if leaving and any(cluster.list(PodDisruptionBudget)) else (),
        gated=tuple(gated),
        numbers=numbers,
        labels=labels,
    )


def _kind_of_sample(scheduler: Scheduler, sample: Pod, pods: Iterable[Pod]) -> Kind:
    there = scheduler.cluster.pods
    index = there.index[sample.namespace, sample.name]
    pod = there.pod(index)
    return Kind(
        pods=tuple(pods),
        sample=pod,
        class_id=int(there.class_id[index]),
        preempts=_preempts(scheduler, pod),
        filters=evaluate_filters(scheduler, pod),
    )


def _pending(scheduler: Scheduler) -> tuple[list[Pod], list[str]]:
    """Return the pending pods to place, the oldest first, and the keys of those that are held back."""
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
    held = held_groups(scheduler, gated) | refused_groups(scheduler, found)
    gated += [pod.key for pod in found if (pod.namespace, pod.spec.pod_group_name) in held]
    found = [pod for pod in found if (pod.namespace, pod.spec.pod_group_name) not in held]
    return sorted(found, key=age), gated


def _preempts(scheduler: Scheduler, pod: Pod) -> bool:
    framework = scheduler.framework(pod.spec.scheduler_name)
    release, rules = scheduler.release, scheduler.release.pod_groups
    group = None
    if rules is not None and not rules.preempts_in_placements and release.places_groups and pod.spec.pod_group_name:
        group = scheduler.cluster.get(PodGroup, pod.spec.pod_group_name, pod.namespace)
    # A pod must not preempt if its group has a topology constraint.
    may = pod.spec.preemption_policy != "Never" and (group is None or not group.spec.topology_keys)
    return may and _PREEMPTION in framework.plugin_names(ExtensionPoint.POST_FILTER, Plugin)


def _has_lower_priority(highest: int, rules: PodGroupRules | None, cluster: Cluster, index: int) -> bool:
    is_ending = cluster.pods.records[index].metadata.deletion_timestamp is not None
    return not is_ending and pod_priority(cluster, index, rules) < highest


def _occupants(
    scheduler: Scheduler, leaving: Sequence[int], labels: frozenset[str], numbers: dict[object, int]
) -> Iterable[Occupants]:
    cluster, pods, rules = scheduler.cluster, scheduler.cluster.pods, scheduler.release.pod_groups
    groups: dict[tuple[int, int, int, int, str], list[int]] = {}
    for index in leaving:
        pod = pod_at(cluster, index)
        kind = numbers.get(_kind_key(as_pending(scheduler, pod), labels), -1) if is_recreated(pod) else -1
        priority = pod_priority(cluster, index, rules)
        # Pods of different groups leave independently, even if no selector distinguishes them.
        name = pod.spec.pod_group_name if rules is not None else ""
        group = int(pods.node_row[index]), int(pods.class_id[index]), priority, kind, name
        groups.setdefault(group, []).append(index)
    for (row, class_id, priority, kind, _), indices in groups.items():
        yield Occupants(row=row, pods=tuple(indices), class_id=class_id, priority=priority, kind=kind)


def as_pending(scheduler: Scheduler, pod: Pod) -> Pod:
    """Return the pod that a controller creates instead of an evicted one; a pending pod stays as it is."""
    if not pod.spec.node_name:
        return fresh_pod(pod)
    return successor(pod, scheduler.cluster, release=scheduler.release)


def _kind_key(pod: Pod, labels: frozenset[str]) -> object:
    """Return the key that distinguishes kinds: everything that filters, scores and selectors depend on."""
    read = tuple(sorted((key, value) for key, value in pod.metadata.labels.items() if key in labels))
    owner = pod.metadata.controller
    controller = (owner.kind, owner.name) if owner is not None else None
    # A pod with claims of its own is a kind of its own.
    own = pod.key if pod.spec.resource_claims or any(v.ephemeral is not None for v in pod.spec.volumes) else ""
    return pod.metadata.namespace, read, controller, own, encoded(pod.spec)
