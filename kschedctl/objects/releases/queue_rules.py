"""The differences between releases in the scheduling queue, as data: events, preemption and batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The rules of the scheduling queue and of the steps around a scheduling cycle.

    Attributes
    ----------
    unscheduled_pods_wake : bool
        True if plugins receive the events of other pods that are not on a node.
    nominated_pods_wake : bool
        True if nominated pods count in the hints of InterPodAffinity and PodTopologySpread.
    anti_affinity_of_deleted_pods_wakes : bool
        True if InterPodAffinity's hint checks the anti-affinity of a deleted pod.
    any_anti_affinity_term_wakes : bool
        True if InterPodAffinity's hint requires one anti-affinity term to match; else all terms must match.
    deleted_claims_wake : bool
        True if the deletion of an allocated ResourceClaim queues the pods that DynamicResources rejected.
    taints_stand_for_new_nodes : bool
        True if plugins that register added nodes also receive all changes of taints.
    binding_ends_nomination : bool
        True if the binding of a pod also counts as its removal from its nominated node.
    skips_terminating_victims : bool
        True if preemption does nothing if all victims are already terminating.
    batch_rescores : bool
        True if a batch continues when the last chosen node fits another pod.
    devices_prevent_batches : bool
        True if pods are never batched while device classes may back extended resources.
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
