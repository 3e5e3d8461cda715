"""The differences between releases in the scheduling of pod groups, as data.

Kubernetes 1.36 queues the pods of a group one by one, and a pod in turn draws in the others. Kubernetes 1.37 queues the
group itself and preempts for it as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PodGroupRules:
    """The rules of pod groups.

    Attributes
    ----------
    gang_gate : str
        The gate that adds the plugin GangScheduling.
    preemption_gate : str
        The gate with which a group preempts as a whole.
    condition : str
        The type of the condition that an attempt writes on the PodGroup.
    queues_groups : bool
        True if the queue's entries are groups. Else they are pods, and a pod in turn draws in the other members.
    checks_members : bool
        True if members of another priority or preemption policy than the group's end the attempt with an error.
    members_preempt : bool
        True if PostFilter runs for a member that fits nowhere.
    permit_decides : bool
        True if the Permit plugins decide whether the group succeeds, else the PlacementFeasible plugins.
    stays_on_nodes : bool
        True if members stay on the nodes that were found without victims while victims are put back. Else the whole
        attempt is repeated for every victim.
    victims_have_group_priority : bool
        True if a pod of a group counts as a victim by the priority of its group, and if a single pod that preempts a
        member of a group with disruption mode *all* preempts all of its members.
    victims_are_counted : bool
        True if a member that is removed as a victim of its own group no longer counts for ``minCount``.
    says_preemption : bool
        True if the outcome of preemption is part of the group's message even if it succeeds.
    preempts_in_placements : bool
        True if a group with topology constraints may preempt.
    batch_spans_group : bool
        True if members of one attempt can be a batch.
    """

    gang_gate: str
    preemption_gate: str
    condition: str
    queues_groups: bool
    checks_members: bool
    members_preempt: bool
    permit_decides: bool
    stays_on_nodes: bool
    victims_have_group_priority: bool
    victims_are_counted: bool
    says_preemption: bool
    preempts_in_placements: bool
    batch_spans_group: bool


#: The gate with which groups are scheduled at all.
GENERIC_WORKLOAD: Final = "GenericWorkload"
#: The gate with which a group's placements are tried one by one.
TOPOLOGY_AWARE: Final = "TopologyAwareWorkloadScheduling"
#: The gate with which the group's own preemption policy counts.
GROUP_PREEMPTION_POLICY: Final = "PodGroupPreemptionPolicy"

POD_GROUPS_1_36: Final = PodGroupRules(
    gang_gate="GangScheduling",
    preemption_gate="WorkloadAwarePreemption",
    condition="PodGroupScheduled",
    queues_groups=False,
    checks_members=False,
    members_preempt=True,
    permit_decides=True,
    stays_on_nodes=False,
    victims_have_group_priority=False,
    victims_are_counted=False,
    says_preemption=False,
    preempts_in_placements=False,
    batch_spans_group=False,
)
POD_GROUPS_1_37: Final = PodGroupRules(
    gang_gate=GENERIC_WORKLOAD,
    preemption_gate=GENERIC_WORKLOAD,
    condition="PodGroupInitiallyScheduled",
    queues_groups=True,
    checks_members=True,
    members_preempt=False,
    permit_decides=False,
    stays_on_nodes=True,
    victims_have_group_priority=True,
    victims_are_counted=True,
    says_preemption=True,
    preempts_in_placements=True,
    batch_spans_group=True,
)
#: The gates of pod groups per release that can be set, each with the gates that it depends on.
POD_GROUP_GATES_1_36: Final = {
    GENERIC_WORKLOAD: (),
    "GangScheduling": (GENERIC_WORKLOAD,),
    TOPOLOGY_AWARE: (GENERIC_WORKLOAD,),
    "WorkloadAwarePreemption": ("GangScheduling",),
}
POD_GROUP_GATES_1_37: Final = {
    GENERIC_WORKLOAD: (),
    TOPOLOGY_AWARE: (GENERIC_WORKLOAD,),
    GROUP_PREEMPTION_POLICY: (GENERIC_WORKLOAD,),
}
