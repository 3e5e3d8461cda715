"""The scheduling cycle of a pod group (upstream ``schedule_one_podgroup.go``).

All members are tried one after the other in one state of the cluster: a member that finds a node is assumed there, in a
derived cluster, and the next one sees it. With topology constraints this happens once per placement. Only the outcome
outlives an attempt: a group that does not succeed leaves no trace.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.common.arrays import Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import GROUP_PREEMPTION_POLICY, PodGroupRules
from kschedctl.scheduler.cycle.alike_members import AlikeMembers, assumed, without_nominations
from kschedctl.scheduler.cycle.cycle import NO_NODES, schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import (
    GROUP_IS_UNSCHEDULABLE,
    GroupStatus,
    MemberDecision,
    PlacementDecision,
    PodGroupDecision,
    group_of,
)
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import changed_objects
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import (
    CondemnedVictims,
    FilterPlugin,
    PluginError,
    PodGroupPostFilterResult,
    PreFilterPlugin,
)
from kschedctl.scheduler.framework.pod_groups import (
    Placement,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupInfo,
    not_modelled_in,
)
from kschedctl.scheduler.framework.runtime import Framework, run_permit, run_pre_bind, run_reserve
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status

#: Returns the node for a member, one of the best of its decision or, if it preempts, one of the possible nominations.
#: It is called for every search for a node, also for those that find none; it then returns an empty name.
PickNode = Callable[[Pod, Decision], str]

_WAITS_FOR_VICTIMS: Final = "pod group is waiting for preemption to complete"
_NO_PLACEMENT: Final = "no feasible placements found"
_NO_PREEMPTION_PLUGIN: Final = "default preemption plugin is not registered, workload aware preemption is disabled"
_NO_PREEMPTION_HERE: Final = "workload aware preemption is not supported for pod groups with scheduling constraints"
_DEFAULT_POLICY: Final = "PreemptLowerPriority"
#: The least share of placements, in percent, at which kube-scheduler ends its search.
_LEAST_SHARE: Final = 5


def first_best(pod: Pod, decision: Decision) -> str:
    """Return the first node by name: a best one, or a possible nomination; empty if the member finds none."""
    nominated = decision.post_filter.nominated if decision.post_filter is not None else ()
    return next(iter(decision.best or nominated), "")


def schedule_pod_group(
    framework: Framework, namespace: str, name: str, members: Sequence[Pod], pick: PickNode = first_best
) -> PodGroupDecision:
    """Decide for a group of pods.

    Args:
        framework: The profile of the first member.
        members: The members without a node, in the order in which they are tried; at least one.
        pick: Breaks ties; by default the first node by name.
    """
    group = PodGroupInfo.of(framework.cluster, namespace, name, members)
    cluster = without_nominations(framework.cluster, members)
    return _Cycle(framework if cluster is framework.cluster else framework.moved(cluster), group, pick).decide()


def members_problem(framework: Framework, group: PodGroupInfo) -> str:
    """Return the error with which every attempt at a group ends before a member is tried; empty if there is none.

    Args:
        framework: The profile of the first member.
        group: The group, with at least one member without a node.
    """
    release, rules, cluster = framework.release, framework.release.pod_groups, framework.cluster
    checks_members = rules is not None and rules.checks_members
    pods = list(group.unscheduled)
    first = pods[0]
    if checks_members:
        pods += [cluster.pods.pod(index) for index in group.scheduled(cluster).tolist()]
    spec = group.pod_group.spec if group.pod_group is not None else None
    if rules is not None and rules.checks_hierarchy:
        return _hierarchy_problem(group, pods)
    by_group = release.enabled(GROUP_PREEMPTION_POLICY)
    policy = (spec.preemption_policy if by_group and spec is not None else first.spec.preemption_policy) or ""
    policy = policy or _DEFAULT_POLICY
    for pod in pods:
        own, name = pod.spec, first.spec.scheduler_name
        if own.scheduler_name != name:
            together = "all pods in a single pod group should have the same .spec.schedulerName set"
            return f'{together}, got: "{own.scheduler_name}" and "{name}"'
        if not checks_members:
            continue
        if (own.priority or 0) != group.priority:
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                f"got {own.priority or 0} and {group.priority}"
            )
        if (own.preemption_policy or _DEFAULT_POLICY) != policy:
            as_group = " as the pod group's preemption policy" if by_group else ""
            return (
                f"all pods in a single pod group should have the same preemption policy{as_group}, "
                f"got {own.preemption_policy or _DEFAULT_POLICY} and {policy}"
            )
    return ""


def _hierarchy_problem(group: PodGroupInfo, pods: Sequence[Pod]) -> str:
    """Return what is wrong with the pods of a group (upstream ``validatePodGroupHierarchy``)."""
    first = pods[0]
    policy = group.preemption_policy or first.spec.preemption_policy or _DEFAULT_POLICY
    for pod in pods:
        own = pod.spec
        if own.scheduler_name != first.spec.scheduler_name:
            names = f'"{own.scheduler_name}" ("{pod.name}") and "{first.spec.scheduler_name}" ("{first.name}")'
            return f"all pods in a pod group hierarchy should have the same .spec.schedulerName set, got: {names}"
        if (own.priority or 0) != group.priority:
            return (
                "all pods in a pod group hierarchy should have the same priority as the root pod group's priority, "
                f'got {own.priority or 0} ("{pod.name}") and {group.priority} ("{group.entity}")'
            )
        if (own.preemption_policy or _DEFAULT_POLICY) != policy:
            return (
                "all pods in a pod group hierarchy should have the same preemption policy, "
                f'got {own.preemption_policy or _DEFAULT_POLICY} ("{pod.name}") and {policy}'
            )
    return ""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A member's own part in one try of the group; ``preempts`` if the node is one where it evicts others first."""

    member: MemberDecision
    permit: Status = SUCCESS
    preempts: bool = False


@dataclass(frozen=True, slots=True)
class _Try:
    """The result of one try of the group in one placement, for all members that were tried."""

    placement: Placement
    status: GroupStatus
    tried: tuple[_Tried, ...] = ()
    waits: bool = False
    #: The number of placements that the generator returned.
    n_placements: int = 1

    @property
    def proposed(self) -> tuple[tuple[Pod, str], ...]:
        return tuple((each.member.pod, each.member.node) for each in self.tried if each.member.node)


class _Cycle:
    def __init__(self, framework: Framework, group: PodGroupInfo, pick: PickNode) -> None:
        rules = framework.release.pod_groups
        assert rules is not None
        self._framework = framework
        self._rules: PodGroupRules = rules
        self._group = group
        self._pick = pick
        self.states: list[CycleState] = []

    def decide(self) -> PodGroupDecision:
        problem = members_problem(self._framework, self._group)
        if problem:
            status = GroupStatus(Code.ERROR, (problem,))
            members = tuple(
                MemberDecision(pod, message=problem, nominated="", is_error=True) for pod in self._group.unscheduled
            )
            return PodGroupDecision(
                self._framework, self._group, status, members, has_condition=self._rules.checks_members, is_invalid=True
            )
        tries = self._tries(self._framework, run_post_filter=self._rules.members_preempt)
        chosen = self._choose(self._framework, tries)
        found = None
        if self._rules.checks_members:
            chosen = self._completed(chosen)
        if chosen.status.code.rejected and self._framework.release.groups_preempt and not chosen.waits:
            result = self._post_filter()
            code, reasons = result.status.code, result.status.reasons
            if code is Code.ERROR:
                chosen = replace(chosen, status=GroupStatus(Code.ERROR, reasons))
            elif code is not Code.SUCCESS or self._rules.says_preemption:
                chosen = replace(chosen, status=chosen.status.with_reason(result.status.message))
            if code is Code.SUCCESS:
                found, chosen = result, replace(chosen, waits=True)
        return self._decision(tries, chosen, found)

    # The tries of the group, one per placement.

    def _tries(
        self, framework: Framework, *, run_post_filter: bool, condemned: CondemnedVictims | None = None
    ) -> list[_Try]:
        def tried_in(placement: Placement) -> _Try:
            if self._rules.permit_decides:
                return self._try_until_permitted(framework, placement, run_post_filter=run_post_filter)
            return self._try_while_feasible(framework, placement, condemned)

        everywhere = Placement("", framework.cluster.nodes.rows)
        if not framework.release.places_groups:
            return [tried_in(everywhere)]
        try:
            placements = framework.run_placement_generate(self._group)
        except PluginError as error:
            return [_Try(everywhere, GroupStatus(Code.ERROR, (str(error),)))]
        if not placements:
            return [_Try(everywhere, GroupStatus(Code.UNSCHEDULABLE, (_NO_PLACEMENT,)))]
        tries: list[_Try] = []
        nominated = self._nominated_placement(framework, placements)
        if nominated is not None:
            placements = (nominated, *(each for each in placements if each is not nominated))
        enough = self._enough_placements(framework, placements)
        for placement in placements:
            tries.append(tried_in(placement))
            succeeded = [each for each in tries if each.status.code is Code.SUCCESS or each.waits]
            if tries[-1].status.code is Code.ERROR or (placement is nominated and succeeded and tries[-1].proposed):
                break
            if placement is nominated and succeeded:
                text = "nominated placement is feasible but no pending pod was scheduled"
                tries[-1] = replace(tries[-1], status=self._refusal(text))
            elif len(succeeded) >= enough:
                break
        return [replace(each, n_placements=len(placements)) for each in tries]

    def _nominated_placement(self, framework: Framework, placements: Sequence[Placement]) -> Placement | None:
        """Return the only placement with a node that a member is nominated to; it is tried before the others."""
        if not self._rules.nominated_placement_first:
            return None
        nodes = framework.cluster.nodes.row
        names = (pod.status.nominated_node_name for pod in self._group.unscheduled)
        rows = [nodes[name] for name in names if name in nodes]
        found = [each for each in placements if np.isin(each.rows, rows).any()]
        return found[0] if len(found) == 1 else None

    def _enough_placements(self, framework: Framework, placements: Sequence[Placement]) -> int:
        """Return the number of placements in which the group fits at which the search ends.

        kube-scheduler tries them in random order, and by default a share of them only; unless the configuration says
        otherwise, all are tried here.
        """
        if not self._rules.samples_placements:
            return len(placements)
        profile = framework.profile
        if not profile.plugins.get(ExtensionPoint.PLACEMENT_SCORE):
            return 1
        percentage = profile.percentage_of_placements_to_score
        if percentage is None:
            return len(placements)
        if percentage == 0:
            percentage = max(_LEAST_SHARE, 100 - sum(len(each.rows) for each in placements) * 9 // 500)
        return max(1, len(placements) * percentage // 100)

    def _refusal(self, *reasons: str, plugins: frozenset[str] = frozenset()) -> GroupStatus:
        """Return the status of a group that is refused itself."""
        prefix = GROUP_IS_UNSCHEDULABLE if self._rules.prefixes_messages else ""
        return GroupStatus(
            Code.UNSCHEDULABLE, tuple(filter(None, reasons)), by_group=True, prefix=prefix, plugins=plugins
        )

    def _choose(self, framework: Framework, tries: Sequence[_Try]) -> _Try:
        """Return the try that counts: the one that failed with an error, the best success, or the first."""
        chosen = tries[-1]
        no_placement = chosen.status.reasons == (_NO_PLACEMENT,)
        if chosen.status.code is not Code.ERROR and framework.release.places_groups and not no_placement:
            successes = [each for each in tries if each.status.code is Code.SUCCESS or each.waits]
            if not successes:
                first = tries[0].status
                text = f"0/{chosen.n_placements} placements are available, first placement status: {first.error}"
                status = self._refusal(text, plugins=first.plugins)
                chosen = replace(tries[0], status=msgspec.structs.replace(status, by_group=self._rules.checks_members))
            elif len(successes) == 1:
                chosen = successes[0]
            else:
                assignments = [PodGroupAssignments(each.placement, each.proposed) for each in successes]
                try:
                    chosen = successes[int(np.argmax(framework.run_placement_score(self._group, assignments)))]
                except PluginError as error:
                    chosen = _Try(successes[0].placement, GroupStatus(Code.ERROR, (str(error),)))
        if chosen.status.code is Code.SUCCESS and not chosen.proposed:
            # kube-scheduler requires a node for at least one member.
            return replace(chosen, status=self._refusal(self._rules.nothing_fits))
        return chosen

    def _try_while_feasible(
        self, framework: Framework, placement: Placement, condemned: CondemnedVictims | None
    ) -> _Try:
        scheduled, remaining = len(self._group.scheduled(framework.cluster)), len(self._group.unscheduled)
        status = framework.run_placement_feasible(self._group, PlacementProgress(scheduled, 0, remaining))
        if status.code is Code.ERROR:
            return _Try(placement, _infeasible(status))
        if status.code is Code.UNSCHEDULABLE:
            return _Try(placement, self._refusal(*status.reasons, plugins=frozenset({status.plugin})))
        tried: list[_Tried] = []
        unschedulable = 0
        alike: AlikeMembers | None = None
        for pod in self._group.unscheduled:
            found = alike.decide(pod, remaining) if alike is not None else None
            if found is not None:
                each = _Tried(found)
            else:
                framework = alike.framework if alike is not None else framework
                prefer = condemned.cheapest if condemned is not None else None
                each, framework = self._try_member(framework, pod, placement, prefer=prefer)
                member, alike = each.member, None
                # Members like this one are searched together, except after an error or if another rule picks.
                searches_alike = self._pick is first_best and condemned is None
                if searches_alike and not (member.decision is None or member.is_error or member.refused_by):
                    alike = AlikeMembers(member, member.decision, framework, placement.rows)
            tried.append(each)
            if each.member.is_error:
                return _Try(placement, _of_member(each), tuple(tried))
            if condemned is not None and each.member.node:
                condemned = condemned.after(framework.cluster.nodes.row[each.member.node])
            remaining -= 1
            scheduled += bool(each.member.node)
            unschedulable += not each.member.node
            progress = PlacementProgress(scheduled, unschedulable, remaining)
            status = framework.run_placement_feasible(self._group, progress)
            if status.code is Code.ERROR:
                return _Try(placement, _infeasible(status), tuple(tried))
            if status.code is Code.UNSCHEDULABLE:
                break
        if status.code is Code.SUCCESS:
            return _Try(placement, GroupStatus(Code.SUCCESS), tuple(tried))
        refusal = self._refusal(*status.reasons, plugins=frozenset({status.plugin}))
        if status.code is Code.UNSCHEDULABLE and self._rules.prefixes_messages:
            refusal = msgspec.structs.replace(refusal, by_group=False)
        return _Try(placement, refusal, tuple(tried))

    def _try_until_permitted(self, framework: Framework, placement: Placement, *, run_post_filter: bool) -> _Try:
        status, waits, evicts = self._refusal(), False, False
        tried: list[_Tried] = []
        for pod in self._group.unscheduled:
            each, framework = self._try_member(framework, pod, placement, run_post_filter=run_post_filter)
            tried.append(each)
            if each.member.is_error:
                return _Try(placement, _of_member(each), tuple(tried))
            evicts |= each.preempts
            if each.member.node and each.permit.code is Code.SUCCESS:
                waits = evicts
                status = GroupStatus(Code.SUCCESS)
                if evicts:
                    status = GroupStatus(Code.UNSCHEDULABLE, (_WAITS_FOR_VICTIMS,), by_group=True)
        return _Try(placement, status, tuple(tried), waits)

    def _try_member(
        self,
        framework: Framework,
        pod: Pod,
        placement: Placement,
        *,
        run_post_filter: bool = False,
        prefer: Callable[[Rows], Rows] | None = None,
    ) -> tuple[_Tried, Framework]:
        """Try a member, and return the framework over the cluster in which it is assumed on its node."""
        # The members are out of the queue, which PreEnqueue guards.
        decision = schedule_pod(
            framework, pod, among=placement.rows, run_post_filter=run_post_filter, gate=SUCCESS, prefer=prefer
        )
        self.states.append(decision.state)
        decision.state.not_modelled += not_modelled_in(self._group)
        node = self._pick(pod, decision)
        result = decision.post_filter
        if not node:
            keeps = result is not None and not result.clears_nomination
            is_error = bool(decision.error) and decision.error != NO_NODES
            no_plugin = result is None and run_post_filter
            nominated = "" if decision.error or no_plugin or (result is not None and not keeps) else None
            text = decision.error or decision.message
            return _Tried(MemberDecision(pod, decision, "", text, nominated, is_error)), framework
        preempts = not decision.best
        member = MemberDecision(
            pod,
            decision,
            node,
            decision.message if preempts else "",
            node if preempts else None,
            preempts_on=node if preempts else "",
        )
        status = run_reserve(framework, decision.state, pod, node)
        if status.code is not Code.SUCCESS:
            return _Tried(_refused(member, status)), framework
        with_pod = framework.moved(_assumed_with_effects(framework, decision, pod, node))
        permit = SUCCESS
        if self._rules.permit_decides:
            permit, _ = run_permit(with_pod, decision.state, pod, node)
            if permit.code not in (Code.SUCCESS, Code.WAIT):
                return _Tried(_refused(member, permit)), framework
        return _Tried(member, permit, preempts), with_pod

    # Preemption by the group.

    def _post_filter(self) -> PodGroupPostFilterResult:
        if self._rules.queues_groups:
            return self._framework.run_pod_group_post_filter(self._group, self)
        plugin = self._framework.default_preemption
        if plugin is None:
            return PodGroupPostFilterResult(Status(Code.UNSCHEDULABLE, (_NO_PREEMPTION_PLUGIN,)))
        if self._group.pod_group is None:
            problem = f'failed to get pod group object: podgroup.scheduling.k8s.io "{self._group.name}" not found'
            return PodGroupPostFilterResult(Status(Code.ERROR, (problem,)))
        if self._group.topology_key:
            return PodGroupPostFilterResult(Status(Code.UNSCHEDULABLE, (_NO_PREEMPTION_HERE,)))
        return plugin.pod_group_post_filter(self._group, self)

    def run(
        self, cluster: Cluster, condemned: CondemnedVictims | None = None
    ) -> tuple[Status, Sequence[tuple[Pod, str]]]:
        """Try the whole group in a changed cluster."""
        framework = self._framework.moved(cluster)
        chosen = self._choose(framework, self._tries(framework, run_post_filter=False, condemned=condemned))
        reasons = (chosen.status.message,) if chosen.status.code is not Code.SUCCESS else ()
        return Status(chosen.status.code, reasons), chosen.proposed

    def fits(self, cluster: Cluster, proposed: Sequence[tuple[Pod, str]]) -> bool:
        """Report whether members fit on given nodes, one after the other."""
        for pod, node in proposed:
            if self._framework.moved(cluster).status_on(pod, node).code is not Code.SUCCESS:
                return False
            cluster = assumed(cluster, pod, node)
        return True

    def depends_on_own_node(self, cluster: Cluster, pods: Sequence[Pod]) -> bool:
        """Report whether the pods of a node alone decide whether members fit there."""
        kinds = {id(pod.spec): pod for pod in pods}.values()
        frameworks = self._framework, self._framework.moved(cluster)
        return all(_depends_on_own_node(frameworks, pod) for pod in kinds)

    # The outcome for every member.

    def _completed(self, chosen: _Try) -> _Try:
        """Return a try in which the members that were not tried have the status of the group, before preemption."""
        message, plugins = self._told_members(chosen.status)
        is_error = chosen.status.code is Code.ERROR
        rest = (
            _Tried(MemberDecision(pod, None, "", message, None, is_error, group_refused_by=plugins))
            for pod in self._group.unscheduled[len(chosen.tried) :]
        )
        return replace(chosen, tried=(*chosen.tried, *rest))

    def _told_members(self, status: GroupStatus) -> tuple[str, frozenset[str]]:
        """Return what members are told that fail for the group's sake, and the plugins whose events wake them."""
        if not self._rules.members_name_parent:
            return status.message, frozenset()
        if status.code is Code.ERROR:
            return f'parent pod group "{self._group.name}" encountered an error', frozenset()
        if not status.by_group:
            return status.message, frozenset()
        return f'parent pod group "{self._group.name}" is unschedulable', status.plugins

    def _decision(
        self, tries: Sequence[_Try], chosen: _Try, found: PodGroupPostFilterResult | None
    ) -> PodGroupDecision:
        chosen = self._completed(chosen)
        members = tuple(self._member_outcome(each, chosen, found) for each in chosen.tried)
        placements = tuple(
            PlacementDecision(each.placement, each.status, tuple(tried.member for tried in each.tried))
            for each in tries
        )
        return PodGroupDecision(
            self._framework,
            self._group,
            chosen.status,
            members,
            placements=placements,
            chosen=chosen.placement,
            waits_for_victims=chosen.waits,
            victims=found.victims if found is not None else (),
            has_condition=self._group.pod_group is not None,
        )

    def _member_outcome(self, each: _Tried, chosen: _Try, found: PodGroupPostFilterResult | None) -> MemberDecision:
        """Return what becomes of a member (upstream ``submitPodGroupAlgorithmResult``)."""
        member, status = each.member, chosen.status
        nominated = member.nominated
        if found is not None and self._rules.stays_on_nodes:
            nominated = found.nominated.get(member.pod.key, nominated)
        told, plugins = self._told_members(status)
        if status.code is Code.ERROR:
            message = member.message if member.is_error else told
            return replace(member, node="", message=message, nominated="", is_error=True, fits=bool(member.node))
        if not member.node:
            return replace(member, nominated=nominated)
        if status.code is Code.SUCCESS and not each.preempts:
            return replace(member, fits=True)
        if chosen.waits:
            if each.preempts:
                return replace(member, node="")
            if not self._rules.stays_on_nodes:
                nominated = member.node
            return replace(member, node="", message=told, nominated=nominated, fits=True, group_refused_by=plugins)
        if self._rules.members_name_parent:
            message = told
        else:
            reason = each.permit.message if self._rules.permit_decides else status.message
            message = GroupStatus(Code.UNSCHEDULABLE, (reason,), by_group=True).message
        return replace(member, node="", message=message, nominated="", fits=True, group_refused_by=plugins)


def _of_member(each: _Tried) -> GroupStatus:
    return GroupStatus(Code.ERROR, (f"failed to schedule other pod from a pod group: {each.member.message}",))


def _infeasible(status: Status) -> GroupStatus:
    return GroupStatus(Code.ERROR, (f"failed to evaluate placement feasibility: {status.message}",))


def _refused(member: MemberDecision, status: Status) -> MemberDecision:
    """Return a member that Reserve or Permit refuses on the node that it found."""
    is_error = not status.code.rejected
    message = status.message if is_error else f"0/1 nodes are available: 1 {status.message}."
    return replace(member, node="", message=message, nominated="", is_error=is_error, refused_by=status.plugin)


def _assumed_with_effects(framework: Framework, decision: Decision, pod: Pod, node: str) -> Cluster:
    """Return the cluster with a member on its node and with the claims that it would bind there."""
    cluster = assumed(framework.cluster, pod, node)
    if not decision.best:
        return cluster
    state = decision.state
    n_before = len(state.effects)
    status = run_pre_bind(framework, state, pod, node)
    effects = state.effects[n_before:]
    del state.effects[n_before:]
    changed = changed_objects(effects) if status.code is Code.SUCCESS else []
    return cluster.with_added(changed) if changed else cluster


def _depends_on_own_node(frameworks: Sequence[Framework], pod: Pod) -> bool:
    """Report whether every filter that some frameworks over clusters run for a pod looks at one node and its pods.

    A filter that PreFilter skips both with all pods and without those removed is skipped with any of them.
    """
    skipped: list[set[str]] = []
    for framework in frameworks:
        state = CycleState()
        try:
            framework.run_pre_filter(state, pod)
        except PluginError:
            return False
        skipped.append(state.skip_filter_plugins)
    framework, idle = frameworks[0], set.intersection(*skipped)
    prepares = set(framework.plugin_names(ExtensionPoint.PRE_FILTER, PreFilterPlugin))
    for name in framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin):
        plugin = framework.plugin_class(name)
        needs = [plugin.reads, *((plugin.prepares_from,) if name in prepares else ())]
        if name not in idle and any(each is None or each.pods is Reach.CLUSTER for each in needs):
            return False
    return True


# Decisions for members of pod groups: kube-scheduler tries a group as a whole, so its members are decided together.


def decide_in_group(framework: Framework, pod: Pod) -> Decision:
    """Decide for a pod as a member of its group, together with the group's other pending members.

    Args:
        framework: The pod's profile.
        pod: The pod, defaulted; without a node. It need not be in the cluster.

    Returns: The decision for the pod if its group is scheduled, else that for the first member that finds no node.
        It has ``group``. If PreEnqueue holds the pod or its group back, the decision for the pod alone.
    """
    framework = framework.moved(framework.cluster.with_pods(added=[pod]))
    members = pending_members(framework, pod)
    rules = framework.release.pod_groups
    held = {member.key: framework.run_pre_enqueue(member) for member in members}
    if rules is not None and rules.queues_groups:
        gate = next((status for status in held.values() if status.code is not Code.SUCCESS), None)
        if gate is not None:
            return dataclasses.replace(schedule_pod(framework, pod, run_post_filter=False), pre_enqueue=gate)
    elif held[pod.key].code is not Code.SUCCESS:
        return schedule_pod(framework, pod)
    free = [member for member in members if held[member.key].code is Code.SUCCESS]
    return decide_group(framework, free).of_member(pod)


def decide_group(framework: Framework, members: Sequence[Pod]) -> PodGroupDecision:
    """Decide for a group with the given members, the first of which names it."""
    first = members[0]
    return schedule_pod_group(framework, first.namespace, first.spec.pod_group_name, members)


def pending_members(framework: Framework, pod: Pod) -> list[Pod]:
    """Return the pending members of a pod's group in the order in which kube-scheduler tries them.

    The order is that of priority, then of creation, then of names.
    """
    pods = framework.cluster.pods
    indices = group_members(framework.cluster, pod.namespace, pod.spec.pod_group_name)
    pending = [pods.pod(index) for index in indices[pods.node_row[indices] == PENDING].tolist()]
    known = [each for each in pending if each.spec.scheduler_name in framework.handle.scheduler_names]
    return sorted(known, key=_order_of_attempts)


def _order_of_attempts(pod: Pod) -> tuple[int, float, str]:
    created = pod.metadata.creation_timestamp
    return -(pod.spec.priority or 0), created.timestamp() if created is not None else float("inf"), pod.name


# Decisions for many pods of one cluster, of which each pod group is decided for once.


class DecidedGroups:
    """Decisions for the pods of one cluster.

    Args:
        decide: Decides for a pod as kube-scheduler tries it: by itself, or with its group.
    """

    def __init__(self, decide: Callable[[Pod], Decision]) -> None:
        self._decide = decide
        self._known: dict[str, PodGroupDecision] = {}

    def decide(self, pod: Pod) -> Decision:
        """Decide for a pod, or return its part of a decision that was made for another member of its group."""
        known = self._known.get(pod.key)
        if known is not None:
            return known.of_member(pod)
        decision = self._decide(pod)
        group = group_of(decision)
        if group is not None:
            self._known.update((member.pod.key, group) for member in group.members)
        return decision
