"""The decision for a pod group as data."""

from __future__ import annotations

from kschedctl.questions.answers.pod_group import (
    PodGroupConditionData,
    PodGroupData,
    PodGroupMemberData,
    PodGroupPlacementData,
    PodGroupVictimData,
)
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.pod_group_decision import MemberDecision, PlacementDecision, PodGroupDecision
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.preemption.dry_run_preemption import victim_units


def pod_group_data(decision: PodGroupDecision) -> PodGroupData:
    """Return the decision for a group as data."""
    group, condition = decision.group, decision.condition
    spec = group.pod_group.spec if group.pod_group is not None else None
    fits = decision.status.code is Code.SUCCESS
    return PodGroupData(
        namespace=group.namespace,
        name=group.name,
        min_count=spec.min_count if spec is not None and decision.framework.release.gangs else None,
        priority=group.priority,
        evicted_as_a_whole=spec is not None and spec.disrupts_all,
        topology_key=group.topology_key,
        outcome=decision.outcome,
        message=decision.status.message if not fits else "",
        scheduled=len(group.scheduled(decision.cluster)),
        fitting=decision.n_fitting,
        members=_members(decision),
        untried=_n_untried(decision),
        placements=tuple(_placement(each, decision) for each in decision.placements if each.placement.name),
        victims=_victims(decision),
        condition=(
            PodGroupConditionData(condition.type, condition.status, condition.reason, condition.message)
            if condition is not None
            else None
        ),
    )


def _members(decision: PodGroupDecision) -> tuple[PodGroupMemberData, ...]:
    """Return the members, with the nodes that they find in the fullest placement if the group is not scheduled."""
    found = {member.pod.key: member.node for member in decision.fullest.members} if decision.placements else {}
    return tuple(
        PodGroupMemberData(
            member.pod.key,
            member.node or found.get(member.pod.key, ""),
            bool(member.node),
            member.message,
            member.nominated or "",
        )
        for member in decision.members
    )


def _n_untried(decision: PodGroupDecision) -> int:
    """Return the number of members that were not tried in the fullest placement, without those like a failed one."""
    if not decision.placements or decision.outcome is GroupOutcome.SCHEDULED:
        return 0
    tried = decision.fullest.members
    keys = {member.pod.key for member in tried}
    failed = [member.pod.spec for member in tried if not member.node]
    rest = [pod for pod in decision.group.unscheduled if pod.key not in keys] if tried else []
    return sum(pod.spec not in failed for pod in rest)


def _placement(each: PlacementDecision, decision: PodGroupDecision) -> PodGroupPlacementData:
    fits = each.status.code is Code.SUCCESS
    chosen = decision.status.code is Code.SUCCESS and decision.chosen is each.placement
    return PodGroupPlacementData(
        each.placement.name, len(each.placement.rows), fits, each.n_fitting, "" if fits else _stops(each), chosen
    )


def _stops(each: PlacementDecision) -> str:
    failing: MemberDecision | None = next((member for member in each.members if not member.node), None)
    if failing is None or failing.decision is None:
        return each.status.message
    # The counts of nodes are in the table already.
    return failing.message.partition(": ")[2].partition(". ")[0].rstrip(".") or failing.message


def _victims(decision: PodGroupDecision) -> tuple[PodGroupVictimData, ...]:
    rules = decision.framework.release.pod_groups
    if rules is None or not decision.victims:
        return ()
    pods = decision.cluster.pods
    units = victim_units(decision.cluster, decision.victims, rules)
    return tuple(
        PodGroupVictimData(
            tuple(pods.key(pod) for pod in unit.pods),
            f"{pods.records[unit.pods[0]].metadata.namespace}/{pods.records[unit.pods[0]].spec.pod_group_name}"
            if len(unit.pods) > 1
            else "",
            unit.priority,
        )
        for unit in units
    )
