"""What releases do differently about the scheduling queue: which events wake a pod, preemption, batches, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The rules of the queue and of what surrounds a scheduling cycle.

    Attributes
    ----------
    unscheduled_pods_wake : bool
        Whether plugins hear of what happens to other pods that are on no node.
    nominated_pods_wake : bool
        Whether pods that are only nominated count in the hints of InterPodAffinity and PodTopologySpread.
    anti_affinity_of_deleted_pods_wakes : bool
        Whether InterPodAffinity looks at the anti-affinity of a pod that goes.
    any_anti_affinity_term_wakes : bool
        Whether one of several anti-affinity terms is enough; else all of them must mean the pod.
    deleted_claims_wake : bool
        Whether a ResourceClaim that was allocated and goes wakes the pods of DynamicResources.
    taints_stand_for_new_nodes : bool
        Whether plugins that hear of new nodes hear of all taints that change.
    binding_ends_nomination : bool
        Whether a pod that is bound counts as gone from the node that it was nominated to.
    skips_terminating_victims : bool
        Whether a preemption all of whose victims are going already does nothing.
    batch_rescores : bool
        Whether a batch goes on where the node taken last could take another pod.
    devices_prevent_batches : bool
        Whether no pod is batched while classes may stand for extended resources.
    """

    unscheduled_pods_wake: bool
    nominated_pods_wake: bool
    anti_affinity_of_deleted_pods_wakes: bool
    any_anti_affinity_term_wakes: bool
    deleted_claims_wake: bool
    taints_stand_for_new_nodes: bool
    binding_ends_nomination: bool
    skips_terminating_victims: bool
    batch_rescores: bool
    devices_prevent_batches: bool


QUEUE_1_34: Final = QueueRules(
    unscheduled_pods_wake=True,
    nominated_pods_wake=False,
    anti_affinity_of_deleted_pods_wakes=False,
    any_anti_affinity_term_wakes=False,
    deleted_claims_wake=False,
    taints_stand_for_new_nodes=True,
    binding_ends_nomination=True,
    skips_terminating_victims=False,
    batch_rescores=False,
    devices_prevent_batches=False,
)
QUEUE_1_35: Final = replace(
    QUEUE_1_34, binding_ends_nomination=False, skips_terminating_victims=True, devices_prevent_batches=True
)
QUEUE_1_36: Final = replace(
    QUEUE_1_35, nominated_pods_wake=True, anti_affinity_of_deleted_pods_wakes=True, devices_prevent_batches=False
)
QUEUE_1_37: Final = replace(
    QUEUE_1_36,
    unscheduled_pods_wake=False,
    any_anti_affinity_term_wakes=True,
    deleted_claims_wake=True,
    taints_stand_for_new_nodes=False,
    batch_rescores=True,
)
