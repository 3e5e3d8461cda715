"""The number of further copies of a pod group that fit whole, without evictions.

The copies go through the scheduler one after another. A copy counts if all of its pods find a node, in one placement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from kschedctl.common.arrays import Int64Array
from kschedctl.controllers.workloads.claims import with_own_claims
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.pod import Pod, PodSchedulingGroup
from kschedctl.objects.pod_group import PodGroup, PodGroupStatus
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.pod_group_cycle import decide_in_group
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE


@dataclass(frozen=True, slots=True)
class Gang:
    """A pod group to copy.

    Attributes
    ----------
    group : PodGroup
        The PodGroup.
    members : tuple of Pod
        All pods of one copy, defaulted and admitted; at least one.
    """

    group: PodGroup
    members: tuple[Pod, ...]

    def copy(self, number: int) -> Gang:
        """Return copy number N, from 0, under names that no object can have."""
        name = f"{self.group.name}+{number + 1}"
        metadata = replace(self.group.metadata, name=name, uid="")
        group = replace(self.group, metadata=metadata, status=PodGroupStatus())
        return Gang(group, tuple(_member(pod, name, number) for pod in self.members))


def _member(pod: Pod, group: str, number: int) -> Pod:
    metadata = replace(pod.metadata, name=f"{pod.metadata.name}+{number + 1}", uid="")
    return replace(
        pod, metadata=metadata, spec=replace(pod.spec, scheduling_group=PodSchedulingGroup(pod_group_name=group))
    )


@dataclass(frozen=True, slots=True)
class GangCount:
    """The number of copies of a group that fit whole, and the decision for the next one.

    Attributes
    ----------
    total : int
        The number of copies.
    bounded : bool
        True if more copies may fit: the search stopped at its limit.
    counts : ndarray of int64, shape (n_nodes,)
        The number of their pods on each node.
    domains : mapping of str to int
        The number of copies per topology domain, by name; empty without a topology constraint.
    next : Decision
        The decision for the next copy, with all others in place: that of the first pod that finds no node. ``group_of``
        returns the decision for the whole copy, unless PreEnqueue holds its pods back.
    """

    total: int
    bounded: bool
    counts: Int64Array
    domains: Mapping[str, int]
    next: Decision


def gang_capacity(scheduler: Scheduler, gang: Gang, most: int | None = None) -> GangCount:
    """Count how many copies of a group fit whole.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster; its release schedules pod groups.
    gang : Gang
        The group.
    most : int, optional
        The largest number of copies to place; unlimited by default.
    """
    # ResourceClaims generated from a template are created for each copy, hence ``controllers``.
    simulation = Simulation(scheduler, world=dataclasses.replace(SCHEDULER_ALONE, controllers=True))
    nodes, key = scheduler.cluster.nodes, _topology_key(scheduler, gang.group)
    labels = [node.metadata.labels.get(key, "") for node in nodes.objects]
    counts, total = np.zeros(len(nodes), dtype=np.int64), 0
    domains = dict.fromkeys(sorted({*labels} - {""}), 0)
    before = scheduler
    while most is None or total < most:
        rows = [nodes.row[node] for node in _place(simulation, gang.copy(total))]
        if len(rows) < len(gang.members):
            break
        np.add.at(counts, rows, 1)
        if key:
            domains[labels[rows[0]]] += 1
        before = simulation.scheduler
        total += 1
    following = _decide(before, gang.copy(total))
    return GangCount(total, most is not None and total >= most and is_whole(following), counts, domains, following)


def is_whole(decision: Decision) -> bool:
    """Report whether all pods of a group find a node, given the decision for one of them."""
    group = group_of(decision)
    return group is not None and all(member.node for member in group.members)


def _topology_key(scheduler: Scheduler, group: PodGroup) -> str:
    keys = group.spec.topology_keys if scheduler.release.places_groups else ()
    return keys[0] if keys else ""


def _place(simulation: Simulation, gang: Gang) -> list[str]:
    """Create a group and try it once; return the nodes of its pods that are bound."""
    simulation.create_group(gang.group)
    simulation.create(gang.members)
    return [attempt.node for attempt in simulation.step() if attempt.node]


def _decide(scheduler: Scheduler, gang: Gang) -> Decision:
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
