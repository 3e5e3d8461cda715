"""The number of further copies of a pod that fit, placed one after another, and why the next one does not fit.

If every filter that runs depends on the node alone, the number of copies per node is a division. Otherwise the copies
go through the scheduler one by one. No pod is evicted for them.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.common.arrays import Int64Array
from kschedctl.common.errors import InputError
from kschedctl.controllers.workloads.claims import with_own_claims
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.pod import Pod, PodSchedulingGroup
from kschedctl.objects.pod_group import PodGroup, PodGroupStatus
from kschedctl.objects.resources import PODS, pod_requests, scheduler_units
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.group_decisions import decide_in_group
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin
from kschedctl.scheduler.plugins.gang_scheduling import GangScheduling
from kschedctl.scheduler.plugins.node_resources.scoring import spec_only
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE

#: The filters that depend on the node alone; NodeResourcesFit depends on the node's free capacity.
_OF_THE_NODE: Final = frozenset(
    {"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeDeclaredFeatures", "NodeResourcesFit"}
)

#: The most copies that are counted; each takes about a kilobyte of memory.
MOST_COPIES: Final = 2_000_000

#: Returns copy number N of the pod, from 0, and the claims that are created for it.
Copy = Callable[[int], MadePod]


@dataclass(frozen=True, slots=True)
class CopyCount:
    """The number of copies that fit, and the decision for the next one."""

    #: The number of copies placed on each node.
    counts: Int64Array
    #: True if more copies may fit: the search stopped at its limit.
    bounded: bool
    #: The scheduler's decision for the next copy, with all others in place.
    next: Decision

    @property
    def total(self) -> int:
        """The number of copies that fit on all nodes."""
        return int(self.counts.sum())


def capacity(scheduler: Scheduler, copy: Copy, most: int | None = None) -> CopyCount:
    """Count how many copies of a pod fit on the nodes of the cluster.

    Args:
        copy: Returns copy number N of the pod, with a unique name, defaulted and admitted.
        most: The largest number of copies to place; by default ``MOST_COPIES`` (2,000,000).

    Raises InputError if more copies than ``MOST_COPIES`` fit, and ``most`` is not given.
    """
    first = _decide(scheduler, copy(0))
    free = _free_on_each(scheduler, first)
    # The sum of free capacity may exceed 64 bits.
    total = sum(free.tolist()) if free is not None else 0
    if free is None or (most is not None and total > most):
        return _one_by_one(scheduler, copy, min(most or MOST_COPIES, MOST_COPIES))
    if total > MOST_COPIES:
        hint = f"copies are counted up to {MOST_COPIES:,}; --max N ends the count after N copies"
        raise InputError(f"{total:,} copies fit", hint=hint)
    placed = _bound_copies(copy, zip(scheduler.cluster.nodes.names, free.tolist(), strict=True))
    full = scheduler.moved(scheduler.cluster.with_equal_pods(placed)) if total else scheduler
    return CopyCount(free, False, _decide(full, copy(total)))


def copies_that_fit(scheduler: Scheduler, copy: Copy, most: int) -> int:
    """Return how many copies of a pod fit, at most ``most``; where each of them is placed is not determined."""
    first = _decide(scheduler, copy(0))
    free = _free_on_each(scheduler, first)
    if free is not None:
        return min(int(sum(free.tolist())), most)
    return _one_by_one(scheduler, copy, min(most, MOST_COPIES)).total


def _decide(scheduler: Scheduler, made: MadePod) -> Decision:
    if made.objects:
        scheduler = scheduler.moved(scheduler.cluster.with_added(made.objects))
    return scheduler.decide(made.pod)


def _free_on_each(scheduler: Scheduler, first: Decision) -> Int64Array | None:
    """Return how many copies each node takes, or ``None`` if the nodes influence each other's results.

    The result is int64, shape (n_nodes,). It is ``None`` as well if nominated pods count, if the first decision is an
    error, if an extender is interested in the pod, or if a filter depends on more than the node.
    """
    framework, statuses, pod = first.framework, first.statuses, first.pod
    cluster = first.cluster
    if first.pre_enqueue.plugin == GangScheduling.name:
        # Pods whose PodGroup does not exist are never tried.
        return np.zeros(len(cluster.nodes), dtype=np.int64)
    if statuses is None or first.error or len(framework.nominated_pods(pod)):
        return None
    if any(extender.is_interested(pod) for extender in scheduler.extenders):
        return None
    filters = framework.plugins(ExtensionPoint.FILTER, FilterPlugin)
    asked = {plugin.name for plugin in filters} - first.state.skip_filter_plugins
    if "NodeResourcesFit" not in asked or not asked <= _OF_THE_NODE:
        return None
    feasible = np.zeros(len(cluster.nodes), dtype=np.bool_)
    feasible[first.searched] = statuses.code[first.searched] == 0
    rules = framework.handle.request_rules
    requests = scheduler_units(pod_requests(pod, spec_only(rules, pod_level=True)), rules)
    columns = cluster.resources(rules)
    out = np.full(len(cluster.nodes), np.iinfo(np.int64).max, dtype=np.int64)
    for resource, amount in {**requests, PODS: 1}.items():
        index = columns.index.get(resource)
        if amount > 0 and index is not None:
            out = np.minimum(out, (columns.allocatable[index] - columns.requested[index]) // amount)
    return np.where(feasible, out, 0)


def _one_by_one(scheduler: Scheduler, copy: Copy, most: int) -> CopyCount:
    # ResourceClaims generated from a template are created for each copy, hence ``controllers``.
    simulation = Simulation(scheduler, world=dataclasses.replace(SCHEDULER_ALONE, controllers=True))
    counts = np.zeros(len(scheduler.cluster.nodes), dtype=np.int64)
    number = 0
    while number < most:
        made = copy(number)
        for claim in made.objects:
            simulation.create_object(claim)
        simulation.create([replace(made.pod, spec=replace(made.pod.spec, preemption_policy="Never"))])
        attempt = next(iter(simulation.step()), None)
        if attempt is None or not attempt.node:
            if attempt is not None:
                simulation.remove(attempt.search.pod)
            break
        counts[scheduler.cluster.nodes.row[attempt.node]] += 1
        number += 1
    last = _decide(simulation.scheduler, with_own_claims(copy(number), simulation.cluster))
    return CopyCount(counts, number >= most and bool(last.best), last)


def _bound_copies(copy: Copy, counts: Iterable[tuple[str, int]]) -> Iterator[tuple[Pod, int]]:
    """Yield copies bound to the nodes; one stands for all on its node, with their number."""
    number = 0
    for node, count in counts:
        end = number + count
        while number < end:
            pod = copy(number).pod
            # A pod without a controller is named by itself, where the users of a node are listed.
            alike = end - number if pod.metadata.controller is not None else 1
            yield replace(pod, spec=replace(pod.spec, node_name=node)), alike
            number += alike


# The number of further copies of a pod group that fit whole, without evictions.
#
# The copies go through the scheduler one after another. A copy counts if all of its pods find a node, in one placement.


@dataclass(frozen=True, slots=True)
class Gang:
    """A pod group to copy, by itself even if it is part of a tree."""

    group: PodGroup
    #: All pods of one copy, defaulted and admitted; at least one.
    members: tuple[Pod, ...]

    def copy(self, number: int) -> "Gang":
        """Return copy number N, from 0, under names that no object can have."""
        name = f"{self.group.name}+{number + 1}"
        metadata = replace(self.group.metadata, name=name, uid="")
        spec = replace(self.group.spec, parent_composite_pod_group_name="")
        group = replace(self.group, metadata=metadata, spec=spec, status=PodGroupStatus())
        return Gang(group, tuple(_member(pod, name, number) for pod in self.members))


def _member(pod: Pod, group: str, number: int) -> Pod:
    metadata = replace(pod.metadata, name=f"{pod.metadata.name}+{number + 1}", uid="")
    return replace(
        pod, metadata=metadata, spec=replace(pod.spec, scheduling_group=PodSchedulingGroup(pod_group_name=group))
    )


@dataclass(frozen=True, slots=True)
class GangCount:
    """The number of copies of a group that fit whole, and the decision for the next one."""

    #: The number of copies.
    total: int
    #: True if more copies may fit: the search stopped at its limit.
    bounded: bool
    counts: Int64Array
    #: The number of copies per topology domain, by name; empty without a topology constraint.
    domains: Mapping[str, int]
    #: The decision for the next copy, with all others in place: that of the first pod that finds no node.
    #: ``group_of`` returns the decision for the whole copy, unless PreEnqueue holds its pods back.
    next: Decision


def gang_capacity(scheduler: Scheduler, gang: Gang, most: int | None = None) -> GangCount:
    """Count how many copies of a group fit whole.

    Args:
        scheduler: The scheduler over the cluster; its release schedules pod groups.
        most: The largest number of copies to place; unlimited by default.
    """
    # ResourceClaims generated from a template are created for each copy, hence ``controllers``.
    simulation = Simulation(scheduler, world=dataclasses.replace(SCHEDULER_ALONE, controllers=True))
    keys = gang.group.spec.topology_keys if scheduler.release.places_groups else ()
    nodes, key = scheduler.cluster.nodes, (keys[0] if keys else "")
    labels = [node.metadata.labels.get(key, "") for node in nodes.objects]
    counts, total = np.zeros(len(nodes), dtype=np.int64), 0
    domains = dict.fromkeys(sorted({*labels} - {""}), 0)
    before = scheduler
    while most is None or total < most:
        tried = gang.copy(total)
        simulation.create_group(tried.group)
        simulation.create(tried.members)
        rows = [nodes.row[attempt.node] for attempt in simulation.step() if attempt.node]
        if len(rows) < len(gang.members):
            break
        np.add.at(counts, rows, 1)
        if key:
            domains[labels[rows[0]]] += 1
        before = simulation.scheduler
        total += 1
    following = _decide_next_copy(before, gang.copy(total))
    return GangCount(total, most is not None and total >= most and is_whole(following), counts, domains, following)


def is_whole(decision: Decision) -> bool:
    """Report whether all pods of a group find a node, given the decision for one of them."""
    group = group_of(decision)
    return group is not None and all(member.node for member in group.members)


def _decide_next_copy(scheduler: Scheduler, gang: Gang) -> Decision:
    """Return the decision for the first pod of a group that finds no node, or for its first pod."""
    cluster = scheduler.cluster.with_added([gang.group])
    made = [with_own_claims(MadePod(pod), cluster) for pod in gang.members]
    cluster = cluster.with_added([obj for one in made for obj in one.objects])
    first = made[0].pod
    framework = scheduler.moved(cluster.with_pods(added=[one.pod for one in made])).framework(first.spec.scheduler_name)
    decision = decide_in_group(framework, first)
    group = group_of(decision)
    if group is None:
        return decision
    tried = group.members if group.outcome is GroupOutcome.SCHEDULED or not group.placements else group.fullest.members
    return group.of_member(next((member.pod for member in tried if not member.node), first))
