"""The rules: each looks at a situation and yields the causes that it finds. The table has the order of importance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.rules import (
    affinity_matches_no_pod,
    anti_affinity,
    attached_elsewhere,
    blocked_domain,
    claim_in_use,
    claim_without_scheduler,
    csi_driver,
    daemon_set_node,
    device_claims,
    devices_in_use,
    gang_members,
    host_port_taken,
    idle_scheduler,
    missing_claim,
    missing_topology,
    mistyped_label,
    mistyped_resource,
    mistyped_toleration,
    no_device_plugin,
    nominated_waits,
    obstacles,
    oversized_request,
    provisioning,
    reserved_nodes,
    scheduling_gates,
    unbound_claim,
    unhealthy_nodes,
    unscored_claims,
    volume_place,
    waiting_claim,
    waiting_gang,
)
from kschedctl.diagnosis.situation import Situation

Rule = Callable[[Situation], Iterable[Diagnosis]]

#: The rules for pods that are not scheduled. The first cause found is the one of the first line.
RULES: Final[tuple[Rule, ...]] = (
    nominated_waits.check,
    mistyped_label.check,
    missing_claim.check,
    unbound_claim.check,
    volume_place.check,
    waiting_claim.check,
    claim_in_use.check,
    csi_driver.check,
    mistyped_toleration.check,
    mistyped_resource.check,
    no_device_plugin.check,
    blocked_domain.check,
    unhealthy_nodes.check,
    reserved_nodes.check,
    oversized_request.check,
    missing_topology.check,
    affinity_matches_no_pod.check,
    anti_affinity.check,
    host_port_taken.check,
    gang_members.check,
    devices_in_use.check,
    daemon_set_node.check,
    device_claims.check,
)
#: The rule that always finds a cause; it is asked if no other finds one.
LAST: Final[Rule] = obstacles.check
#: The rules for pods that a gate keeps out of the queue.
RULES_OF_GATED: Final[tuple[Rule, ...]] = (scheduling_gates.check, waiting_gang.check)
#: The rules for pods that are scheduled, or run.
RULES_OF_PLACED: Final[tuple[Rule, ...]] = (
    claim_without_scheduler.check,
    attached_elsewhere.check,
    csi_driver.check_placed,
    provisioning.check,
    idle_scheduler.check,
)
#: The rules for pods for which kube-scheduler returns an error.
RULES_OF_FAILED: Final[tuple[Rule, ...]] = (unscored_claims.check,)
