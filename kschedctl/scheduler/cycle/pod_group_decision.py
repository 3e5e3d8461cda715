"""The decision that kube-scheduler would make for a pod group: for the group, its placements and its members."""

from dataclasses import dataclass, fields, replace
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Condition
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision, DeferredDecision
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.framework.node_statuses import ExtenderVerdict
from kschedctl.scheduler.framework.pod_groups import Placement, PodGroupInfo
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code, Reason, Status

GROUP_IS_UNSCHEDULABLE: Final = "pod group is unschedulable"


class GroupStatus(msgspec.Struct, frozen=True):
    """The status of a group."""

    #: Success, Unschedulable or Error.
    code: Code
    #: The reasons, in kube-scheduler's words.
    reasons: tuple[str, ...] = ()
    #: True if the group itself was refused, and not a member.
    by_group: bool = False
    #: The beginning of the message of such a status; empty since 1.38.
    prefix: str = GROUP_IS_UNSCHEDULABLE
    #: The plugins that refused the group.
    plugins: frozenset[str] = frozenset()

    @property
    def message(self) -> str:
        """The reasons, joined with commas."""
        return ", ".join((self.prefix, *self.reasons) if self.by_group and self.prefix else self.reasons)

    @property
    def error(self) -> str:
        """The text that stands for this status inside another one."""
        return self.prefix if self.by_group and self.prefix else self.message

    def with_reason(self, reason: str) -> "GroupStatus":
        """Return the status with one more reason."""
        return msgspec.structs.replace(self, reasons=(*self.reasons, reason))


class MemberDecision(msgspec.Struct, frozen=True):
    """The decision for one member."""

    #: The member.
    pod: Pod
    #: The search for its node, over the cluster with the members before it; ``None`` if it was not tried.
    search: Decision | DeferredDecision | None = None
    #: The node that it found; in the final decision, that it is bound to.
    node: str = ""
    #: The message of its FailedScheduling event; empty if it is bound.
    message: str = ""
    #: Its new nomination, empty if it loses its nomination; ``None`` if that stays as it is.
    nominated: str | None = None
    #: True if the message is an error.
    is_error: bool = False
    #: True if it found a node, if need be by evicting pods, and the group decided what becomes of it.
    fits: bool = False
    #: The Reserve or Permit plugin that refused it on its node; empty without one.
    refused_by: str = ""
    #: The node on which it evicts pods for itself; empty if it does not.
    preempts_on: str = ""
    #: The plugins that refused its group, whose events wake it if it fails for the group's sake.
    group_refused_by: frozenset[str] = frozenset()

    @property
    def decision(self) -> Decision | None:
        """The search for its node; ``None`` if the member was not tried."""
        return self.search.decision if isinstance(self.search, DeferredDecision) else self.search


class PlacementDecision(msgspec.Struct, frozen=True):
    """One try of the group in a placement."""

    #: The placement; all nodes without a topology constraint.
    placement: Placement
    #: Success if the group fits.
    status: GroupStatus
    #: The members that were tried, in order.
    members: tuple[MemberDecision, ...]


class SubgroupDecision(msgspec.Struct, frozen=True):
    """The decision for a group of a tree, below the root."""

    group: PodGroupInfo
    status: GroupStatus


class PodGroupDecision(msgspec.Struct, frozen=True):
    """The decision for a group."""

    #: The profile's framework, with the cluster in which the group was tried.
    framework: Framework
    #: The group and the members that were tried.
    group: PodGroupInfo
    status: GroupStatus
    #: The members in the order of the attempt.
    members: tuple[MemberDecision, ...]
    #: The placements that were tried, in order; empty if the members could not be tried.
    placements: tuple[PlacementDecision, ...] = ()
    #: The placement that the decision is about.
    chosen: Placement | None = None
    #: True if pods are evicted for the group, or if the group waits for earlier victims.
    waits_for_victims: bool = False
    #: The pods to evict for the group as a whole, as indices into ``Cluster.pods``.
    victims: tuple[int, ...] = ()
    #: True if the attempt writes a condition on the PodGroup, provided that it changes.
    has_condition: bool = True
    #: True if the members or the groups do not agree, which ends the attempt before one is tried.
    is_invalid: bool = False
    #: The decisions for the groups of a tree below the root, each before those below it.
    subgroups: tuple[SubgroupDecision, ...] = ()

    @property
    def cluster(self) -> Cluster:
        """The cluster that the decision was made for."""
        return self.framework.cluster

    @property
    def outcome(self) -> GroupOutcome:
        """The outcome of the attempt."""
        if any(member.node for member in self.members):
            return GroupOutcome.SCHEDULED
        if any(member.is_error for member in self.members):
            return GroupOutcome.ERROR
        if self.victims or any(member.nominated for member in self.members):
            return GroupOutcome.PREEMPTING
        return GroupOutcome.UNSCHEDULABLE

    @property
    def n_fitting(self) -> int:
        """The number of members that find a node, in the placement in which most do."""
        most = max((self.n_fitting_in(each) for each in self.placements), default=0)
        return max(most, sum(bool(member.node) for member in self.members))

    def n_fitting_in(self, tried: PlacementDecision) -> int:
        """Return the number of members that find a node in a placement at the same time.

        A group of a tree that fails gives its nodes back: it counts with what it found unless a later one uses them.
        """
        placed = {member.pod.key for member in tried.members if member.node}

        def fitting(group: PodGroupInfo) -> tuple[int, bool]:
            if not group.is_tree:
                n = sum(pod.key in placed for pod in group.unscheduled)
                return n, n + len(group.scheduled(self.cluster)) >= group.min_count
            total = succeeded = in_part = 0
            for child in group.children:
                n, fits = fitting(child)
                total, succeeded, in_part = total + fits * n, succeeded + fits, 0 if fits else in_part or n
            is_enough = succeeded >= group.min_count
            return total + (0 if is_enough else in_part), is_enough

        return fitting(self.group)[0]

    def fitting_in(self, group: PodGroupInfo) -> int:
        """Return what a group of the tree has of what it needs, in the placement in which most members find a node.

        For a PodGroup that is the number of members with a node, else the number of groups right below it that have
        what they need.
        """
        if group.is_tree:
            return sum(self.fitting_in(child) >= child.min_count for child in group.children)
        tried = (*self.members, *(self.fullest.members if self.placements else ()))
        placed = {member.pod.key for member in tried if member.node}
        return len(group.scheduled(self.cluster)) + sum(pod.key in placed for pod in group.unscheduled)

    def of_member(self, pod: Pod) -> "DecisionInGroup":
        """Return the decision for a member, as part of this one.

        It is that of the member itself if the group is scheduled, else that of the first member that finds no node, in
        the placement in which most members do: the answer for one member is the answer for all. Of a tree, members of
        the pod's own group go first.
        """
        own = telling = next(member for member in self.members if member.pod.key == pod.key)
        if self.placements and (self.outcome is not GroupOutcome.SCHEDULED or (self.group.is_tree and not own.node)):
            failing = [member for member in self.fullest.members if member.search and not member.node]
            name = pod.spec.pod_group_name
            telling = next((one for one in failing if one.pod.spec.pod_group_name == name), (failing or [own])[0])
        found = telling.decision
        if found is None or own.is_error:
            found = Decision.untried(self.framework, own.pod, own.message, is_error=own.is_error)
        if found.pod.spec == own.pod.spec:
            # Members of one template are alike: the answer is the same, and further questions name the pod asked for.
            found = replace(found, pod=own.pod)
        if found.statuses is not None and found.statuses.outside is not None:
            key = self.group.topology_key
            said = Reason(f"not in the {key.rpartition('/')[2]} in which the group is tried")
            status = Status(Code.UNSCHEDULABLE, (said.text,), "TopologyPlacementGenerator")
            verdict = ExtenderVerdict(status, (said,), explicit=False)
            rows: list[int] = np.flatnonzero(found.statuses.outside).tolist()
            found = replace(
                found,
                statuses=found.statuses.with_extenders(
                    {**found.statuses.extender_verdicts, **dict.fromkeys(rows, verdict)}, found.statuses.elsewhere
                ),
            )
        best = found.best if own.node in found.best else (own.node,) if own.node else ()
        changed = replace(found, best=best, message="" if own.is_error else own.message)
        parts = {each.name: getattr(changed, each.name) for each in fields(Decision)}
        return DecisionInGroup(group=self, asked=own.pod, **parts)

    @property
    def fullest(self) -> PlacementDecision:
        """The placement in which most members find a node, the first of several; one was tried."""
        return max(self.placements, key=self.n_fitting_in)

    @property
    def condition(self) -> Condition | None:
        """The condition that the attempt writes on the group; ``None`` if it writes none."""
        return self._condition_of(self.group, self.status)

    @property
    def conditions_below(self) -> tuple[tuple[PodGroupInfo, Condition], ...]:
        """The conditions that the attempt writes on the groups of a tree below the root."""
        found = ((each.group, self._condition_of(each.group, each.status)) for each in self.subgroups)
        return tuple((group, condition) for group, condition in found if condition is not None)

    def _condition_of(self, info: PodGroupInfo, status: GroupStatus) -> Condition | None:
        """Return the condition that is written on a group; one that is True stays so (KEP-4671)."""
        rules, group = self.framework.release.pod_groups, info.group
        if not self.has_condition or rules is None or group is None:
            return None
        composite = "Composite" if info.is_tree else ""
        invalid = self.is_invalid and rules.checks_hierarchy
        reasons = {Code.SUCCESS: "Scheduled", Code.ERROR: f"{composite}PodGroupError" if invalid else "SchedulerError"}
        is_true = status.code is Code.SUCCESS
        new = Condition(
            type=f"{composite}{rules.condition}",
            status="True" if is_true else "False",
            reason=reasons.get(status.code, "Unschedulable"),
            message="" if is_true else status.message,
        )
        old = next((each for each in group.status.conditions if each.type == new.type), None)
        if old is not None and old.status == "True" and not is_true:
            return None
        same = old is not None and (old.status, old.reason, old.message) == (new.status, new.reason, new.message)
        return None if same else new


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DecisionInGroup(Decision):
    """The decision for a member of a pod group, as part of the decision for the group."""

    group: PodGroupDecision
    #: The member; ``pod`` is the one whose search is told, if they differ.
    asked: Pod


def group_of(decision: Decision) -> PodGroupDecision | None:
    """Return the decision for a pod's group; ``None`` for a pod that is tried by itself."""
    return decision.group if isinstance(decision, DecisionInGroup) else None
