"""The decision for a pod group as data, its cause in one clause, and new members in the cluster."""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.core import Condition
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroupSpec
from kschedctl.questions.answer_parts import (
    PodGroupConditionData,
    PodGroupData,
    PodGroupMemberData,
    PodGroupPlacementData,
    PodGroupVictimData,
    SubgroupData,
)
from kschedctl.questions.provenance import PodSubject
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome
from kschedctl.scheduler.cycle.pod_group_decision import MemberDecision, PlacementDecision, PodGroupDecision, group_of
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.loaded_cluster import LoadedCluster


def pod_group_data(decision: PodGroupDecision) -> PodGroupData:
    """Return the decision for a group as data."""
    group = decision.group
    spec = group.group.spec if group.group is not None else None
    fits = decision.status.code is Code.SUCCESS
    untried = 0
    if decision.placements and decision.outcome is not GroupOutcome.SCHEDULED:
        # The members that were not tried in the fullest placement, without those like a failed one.
        tried = decision.fullest.members
        keys = {member.pod.key for member in tried}
        failed = [member.pod.spec for member in tried if not member.node]
        rest = [pod for pod in decision.group.unscheduled if pod.key not in keys] if tried else []
        untried = sum(pod.spec not in failed for pod in rest)
    return PodGroupData(
        namespace=group.namespace,
        name=group.name,
        min_count=spec.min_count if isinstance(spec, PodGroupSpec) and decision.framework.release.gangs else None,
        priority=group.priority,
        evicted_as_a_whole=spec is not None and spec.disrupts_all,
        topology_key=group.topology_key,
        outcome=decision.outcome,
        message=decision.status.message if not fits else "",
        scheduled=len(group.scheduled(decision.cluster)),
        fitting=decision.n_fitting,
        members=_members(decision),
        untried=untried,
        placements=tuple(_placement(each, decision) for each in decision.placements if each.placement.name),
        victims=_victims(decision),
        condition=_condition(decision.condition),
        kind=group.kind,
        min_group_count=group.min_count if group.is_tree and group.is_gang else None,
        subgroups=tuple(_subgroups(decision)),
    )


def _subgroups(decision: PodGroupDecision) -> Iterator[SubgroupData]:
    """Yield the groups below the root of a tree, each before those below it."""
    messages = {
        id(each.group): each.status.message for each in decision.subgroups if each.status.code is not Code.SUCCESS
    }
    conditions = {id(info): condition for info, condition in decision.conditions_below}

    def below(info: PodGroupInfo, depth: int) -> Iterator[SubgroupData]:
        for child in info.children:
            leaves = [each for each in child.walk() if not each.is_tree]
            condition = conditions.get(id(child))
            yield SubgroupData(
                kind=child.kind,
                name=child.name,
                parent=info.name,
                depth=depth,
                least=child.min_count,
                members=len(child.scheduled(decision.cluster)) + len(child.unscheduled),
                fitting=sum(map(decision.fitting_in, leaves)),
                groups=len(child.children),
                groups_fitting=decision.fitting_in(child) if child.is_tree else 0,
                message=messages.get(id(child), ""),
                condition=_condition(condition),
            )
            yield from below(child, depth + 1)

    yield from below(decision.group, 1)


def _condition(condition: Condition | None) -> PodGroupConditionData | None:
    if condition is None:
        return None
    return PodGroupConditionData(condition.type, condition.status, condition.reason, condition.message)


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


def _placement(each: PlacementDecision, decision: PodGroupDecision) -> PodGroupPlacementData:
    fits = each.status.code is Code.SUCCESS
    chosen = decision.status.code is Code.SUCCESS and decision.chosen is each.placement
    stops = "" if fits else each.status.message
    failing: MemberDecision | None = next((member for member in each.members if not member.node), None)
    if not fits and failing is not None and failing.decision is not None:
        # The counts of nodes are in the table already.
        stops = failing.message.partition(": ")[2].partition(". ")[0].rstrip(".") or failing.message
    return PodGroupPlacementData(
        each.placement.name, len(each.placement.rows), fits, decision.n_fitting_in(each), stops, chosen
    )


def _victims(decision: PodGroupDecision) -> tuple[PodGroupVictimData, ...]:
    if not decision.victims:
        return ()
    from kschedctl.scheduler.preemption.victim_units import victim_units

    victims = np.array(decision.victims, dtype=np.int64)
    units = victim_units(decision.cluster, victims, decision.framework.release)
    out = []
    for unit, (priority, rank) in enumerate(zip(units.priority.tolist(), units.rank.tolist(), strict=True)):
        pods = units.pods[units.entries(unit)].tolist()
        group, kind = "", ""
        if len(pods) > 1:
            group, kind = units.groups[pods[0]], ("", "PodGroup", "CompositePodGroup")[rank]
        out.append(PodGroupVictimData(tuple(map(decision.cluster.pods.key, pods)), group, priority, kind))
    return tuple(out)


# The cause for which a pod group is not scheduled, in one clause.


def cause_in_group(decision: Decision, cause: str) -> str:
    """Return the cause for a pod; for a member of a group after the number of members that find a node.

    Args:
        cause: The cause for the pod, or for the first member that finds no node; may be empty.
    """
    group = group_of(decision)
    if group is None or decision.outcome is not Outcome.UNSCHEDULABLE:
        return cause
    return f"{count_words(group)}; {cause}" if cause else count_words(group)


def count_words(group: PodGroupDecision) -> str:
    """Return the number of members that find a node, the placement in which they do, and the number that is needed."""
    return pod_group_data(group).count


# New members of pod groups in the cluster: kube-scheduler decides for a group when its members exist.


def with_new_members(cluster: LoadedCluster, asked: Sequence[PodSubject]) -> tuple[LoadedCluster, Sequence[PodSubject]]:
    """Return the cluster with the new members of pod groups that a question is about, and the question's pods.

    A pod that stands for a workload of the cluster is replaced by a pending one of that workload, if there is any.

    Raises ManifestError if an API server would refuse one of the pods.
    """
    if cluster.scheduler.release.pod_groups is None or not any(one.pod.spec.pod_group_name for one in asked):
        return cluster, asked
    # Few pods are members of groups.
    from kschedctl.trials.whatif.pods import fresh_names

    added: list[Pod] = []
    with_claims = cluster
    pods: list[PodSubject] = []
    for one in asked:
        known = (one.pod.namespace, one.pod.name) in cluster.pods.index
        if not one.pod.spec.pod_group_name or one.pod.spec.node_name or known:
            pods.append(one)
            continue
        pod = cluster.admit(one.pod, where=one.where).pod
        pending = _pending_like(cluster, pod)
        pods.append(one if pending is None else replace(one, pod=pending))
        if pending is None and pod.spec.pod_group_name:
            others = fresh_names(pod, one.replicas, cluster.pods.index) if one.replicas > 1 else []
            for name in [pod.name, *(name for name in others if name != pod.name)][: one.replicas]:
                with_claims, replica = with_claims.with_replica(pod, name)
                added.append(replica)
    return (with_claims.moved(with_claims.cluster.with_pods(added=added)) if added else cluster), pods


def _pending_like(cluster: LoadedCluster, pod: Pod) -> Pod | None:
    """Return a pending pod of the same workload and group."""
    pods = cluster.pods
    indices = group_members(cluster.cluster, pod.namespace, pod.spec.pod_group_name)
    own = workload_of(cluster.cluster, pod.metadata)
    pending = (pods.pod(index) for index in indices[pods.node_row[indices] == PENDING].tolist())
    return next((each for each in pending if workload_of(cluster.cluster, each.metadata) == own), None)
