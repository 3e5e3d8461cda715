"""The scheduling cycle of a pod group (upstream ``schedule_one_podgroup.go``).

All members are tried one after the other in one state of the cluster: a member that finds a node is assumed there, in a
derived cluster, and the next one sees it. With topology constraints this happens once per placement. Only the outcome
outlives an attempt: a group that does not succeed leaves no trace.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Rows
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.rules import PodGroupRules
from kschedctl.scheduler.cycle.alike_members import AlikeMembers, assumed, without_nominations
from kschedctl.scheduler.cycle.cycle import NO_NODES, schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_checks import members_problem
from kschedctl.scheduler.cycle.pod_group_decision import (
    GROUP_IS_UNSCHEDULABLE,
    GroupStatus,
    MemberDecision,
    PlacementDecision,
    PodGroupDecision,
    SubgroupDecision,
)
from kschedctl.scheduler.cycle.ranking import likeness_of
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import changed_objects
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin, PluginError, PodGroupPostFilterResult, PreFilterPlugin
from kschedctl.scheduler.framework.pod_groups import (
    CondemnedVictims,
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
#: The least share of placements, in percent, at which kube-scheduler ends its search.
_LEAST_SHARE: Final = 5


def first_best(pod: Pod, decision: Decision) -> str:
    """Return the first node by name: a best one, or a possible nomination; empty if the member finds none."""
    nominated = decision.post_filter.nominated if decision.post_filter is not None else ()
    return next(iter(decision.best or nominated), "")


def schedule_pod_group(framework: Framework, members: Sequence[Pod], pick: PickNode = first_best) -> PodGroupDecision:
    """Decide for a group of pods, or for a tree of groups.

    Args:
        framework: The profile of the first member.
        members: The members without a node, in the order in which they are tried; at least one. The first one names
            the group.
        pick: Breaks ties; by default the first node by name.
    """
    group = PodGroupInfo.tried_for(framework.cluster, framework.release, members)
    cluster = without_nominations(framework.cluster, members)
    return _Cycle(framework if cluster is framework.cluster else framework.moved(cluster), group, pick).decide()


class _Tried(msgspec.Struct, frozen=True):
    """A member's own part in one try of the group; ``preempts`` if the node is one where it evicts others first."""

    member: MemberDecision
    permit: Status = SUCCESS
    preempts: bool = False


class _Try(msgspec.Struct, frozen=True):
    """The result of one try of a group in one placement: for its members, or for the groups right below it."""

    group: PodGroupInfo
    placement: Placement
    status: GroupStatus
    tried: tuple[_Tried, ...] = ()
    #: The chosen try of each group below, in order, of those that were tried.
    children: "tuple[_Try, ...]" = ()
    waits: bool = False
    #: The number of placements that the generator returned.
    n_placements: int = 1
    #: The cluster as the next group sees it: with the members on their nodes, and the victims condemned for them.
    after: Framework | None = None
    condemned: CondemnedVictims | None = None

    @property
    def proposed(self) -> tuple[tuple[Pod, str], ...]:
        """The members with their nodes; of a tree those of groups that succeed below groups that succeed."""
        if self.group.is_tree:
            succeeded = (each for each in self.children if each.status.code is Code.SUCCESS)
            return tuple(pair for each in succeeded for pair in each.proposed)
        return tuple((each.member.pod, each.member.node) for each in self.tried if each.member.node)

    @property
    def of_groups(self) -> "dict[str, _Try]":
        """The tries of all groups of the tree that were tried, by what they are called in messages."""
        found = {self.group.entity: self}
        for child in self.children:
            found |= child.of_groups
        return found


class _View(msgspec.Struct, frozen=True):
    """The cluster, the nodes and the condemned victims with which a group is tried."""

    framework: Framework
    within: Placement
    condemned: CondemnedVictims | None = None
    run_post_filter: bool = False


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
                self._framework,
                self._group,
                status,
                members,
                has_condition=self._rules.checks_members,
                is_invalid=True,
                subgroups=tuple(SubgroupDecision(each, status) for each in list(self._group.walk())[1:]),
            )
        everywhere = Placement("", self._framework.cluster.nodes.rows)
        view = _View(self._framework, everywhere, run_post_filter=self._rules.members_preempt)
        tries = self._tries(self._group, view)
        chosen = self._with_any_member(self._choose(view, tries))
        found = None
        outcomes = self._outcomes(chosen)
        if chosen.status.code.rejected and self._framework.release.groups_preempt and not chosen.waits:
            result = self._post_filter()
            code, reasons = result.status.code, result.status.reasons
            if code is Code.ERROR:
                outcomes = [replace(each, status=GroupStatus(Code.ERROR, reasons)) for each in outcomes]
            elif code is not Code.SUCCESS or self._rules.says_preemption:
                said = result.status.message
                outcomes = [replace(each, status=each.status.with_reason(said)) for each in outcomes]
            if code is Code.SUCCESS:
                found, outcomes = result, [replace(each, waits=True) for each in outcomes]
        return self._decision(tries, outcomes, found)

    # The tries of a group, one per placement.

    def _tries(self, group: PodGroupInfo, view: _View) -> list[_Try]:
        def tried_in(placement: Placement) -> _Try:
            here = replace(view, within=placement)
            if group.is_tree:
                return self._try_children(group, here)
            return self._try_until_permitted(here) if self._rules.permit_decides else self._try_members(group, here)

        if not view.framework.release.places_groups:
            return [tried_in(view.within)]
        try:
            placements = view.framework.run_placement_generate(group, view.within)
        except PluginError as error:
            return [_Try(group, view.within, GroupStatus(Code.ERROR, (str(error),)))]
        if not placements:
            return [_Try(group, view.within, GroupStatus(Code.UNSCHEDULABLE, (_NO_PLACEMENT,)))]
        tries: list[_Try] = []
        nominated = self._nominated_placement(placements)
        if nominated is not None:
            placements = (nominated, *(each for each in placements if each is not nominated))
        enough = self._enough_placements(placements)
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

    def _nominated_placement(self, placements: Sequence[Placement]) -> Placement | None:
        """Return the only placement with a node that a member is nominated to; it is tried before the others."""
        if not self._rules.nominated_placement_first or self._group.is_tree:
            return None
        nodes = self._framework.cluster.nodes.row
        names = (pod.status.nominated_node_name for pod in self._group.unscheduled)
        rows = [nodes[name] for name in names if name in nodes]
        found = [each for each in placements if np.isin(each.rows, rows).any()]
        return found[0] if len(found) == 1 else None

    def _enough_placements(self, placements: Sequence[Placement]) -> int:
        """Return the number of placements in which the group fits at which the search ends.

        kube-scheduler tries them in random order, and by default a share of them only; unless the configuration says
        otherwise, all are tried here.
        """
        if not self._rules.samples_placements:
            return len(placements)
        profile = self._framework.profile
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
        said = tuple(filter(None, reasons))
        return GroupStatus(Code.UNSCHEDULABLE, said, by_group=True, prefix=prefix, plugins=plugins)

    def _choose(self, view: _View, tries: Sequence[_Try]) -> _Try:
        """Return the try that counts: the one that failed with an error, the best success, or the first."""
        chosen, group = tries[-1], tries[-1].group
        no_placement = chosen.status.reasons == (_NO_PLACEMENT,)
        if chosen.status.code is Code.ERROR or not view.framework.release.places_groups or no_placement:
            return chosen
        successes = [each for each in tries if each.status.code is Code.SUCCESS or each.waits]
        if not successes:
            first = tries[0].status
            text = f"0/{chosen.n_placements} placements are available, first placement status: {first.error}"
            status = self._refusal(text, plugins=first.plugins)
            return replace(tries[0], status=replace(status, by_group=self._rules.checks_members))
        if len(successes) == 1:
            return successes[0]
        assignments = [PodGroupAssignments(each.placement, each.proposed) for each in successes]
        try:
            return successes[int(np.argmax(view.framework.run_placement_score(group, assignments)))]
        except PluginError as error:
            return _Try(group, successes[0].placement, GroupStatus(Code.ERROR, (str(error),)))

    def _with_any_member(self, chosen: _Try) -> _Try:
        """Return the try that counts for the root: kube-scheduler requires a node for at least one member."""
        if chosen.status.code is Code.SUCCESS and not chosen.proposed:
            return replace(chosen, status=self._refusal(self._rules.nothing_fits))
        return chosen

    def _feasible(self, group: PodGroupInfo, view: _View, progress: PlacementProgress) -> tuple[GroupStatus, bool]:
        """Return the status of a group after some steps, and whether the next one is worth while."""
        status = view.framework.run_placement_feasible(group, progress)
        if status.code is Code.SUCCESS:
            return GroupStatus(Code.SUCCESS), True
        if status.code is Code.ERROR:
            return GroupStatus(Code.ERROR, (f"failed to evaluate placement feasibility: {status.message}",)), False
        refusal = self._refusal(*status.reasons, plugins=frozenset({status.plugin}))
        return refusal, status.code is Code.WAIT

    def _try_children(self, group: PodGroupInfo, view: _View) -> _Try:
        """Try the groups right below a group, each in the cluster with the members of those before it."""
        children: list[_Try] = []
        scheduled, remaining = 0, len(group.children)
        status, goes_on = self._feasible(group, view, PlacementProgress(0, 0, remaining))
        for child in group.children if goes_on else ():
            result = self._choose(view, self._tries(child, view))
            children.append(result)
            if result.status.code is Code.ERROR:
                text = f'composite pod group "{group.name}" evaluation failed due to child "{child.name}" error: '
                status = GroupStatus(Code.ERROR, (text + result.status.message,))
                return _Try(group, view.within, status, children=tuple(children))
            remaining -= 1
            if result.status.code is Code.SUCCESS:
                scheduled += 1
                view = replace(view, framework=result.after or view.framework, condemned=result.condemned)
            progress = PlacementProgress(scheduled, len(children) - scheduled, remaining)
            status, goes_on = self._feasible(group, view, progress)
            if not goes_on:
                break
        return _Try(
            group, view.within, status, children=tuple(children), after=view.framework, condemned=view.condemned
        )

    def _try_members(self, group: PodGroupInfo, view: _View) -> _Try:
        framework, condemned, placement = view.framework, view.condemned, view.within
        scheduled, n_failed, remaining = len(group.scheduled(framework.cluster)), 0, len(group.unscheduled)
        status, goes_on = self._feasible(group, view, PlacementProgress(scheduled, n_failed, remaining))
        tried: list[_Tried] = []
        alike: AlikeMembers | None = None
        for pod in group.unscheduled if goes_on else ():
            prefer = condemned.cheapest if condemned is not None else None
            found = alike.decide(pod, remaining, prefer) if alike is not None else None
            if found is not None:
                each = _Tried(found)
            else:
                framework = alike.framework if alike is not None else framework
                each, framework = self._try_member(framework, pod, placement, prefer=prefer)
                member, alike = each.member, None
                # Members like this one are searched together, except after an error or if another rule picks.
                if self._pick is first_best and not (member.decision is None or member.is_error or member.refused_by):
                    is_choosy = condemned is not None
                    alike = AlikeMembers(member, member.decision, framework, placement.rows, is_choosy=is_choosy)
            tried.append(each)
            if each.member.is_error:
                return _Try(group, placement, _of_member(each), tuple(tried))
            if condemned is not None and each.member.node:
                condemned = condemned.after(framework.cluster.nodes.row[each.member.node])
            remaining -= 1
            scheduled += bool(each.member.node)
            n_failed += not each.member.node
            status, goes_on = self._feasible(group, view, PlacementProgress(scheduled, n_failed, remaining))
            if not goes_on:
                if status.code is Code.UNSCHEDULABLE and self._rules.prefixes_messages:
                    # A group that is given up half-way has the bare reason.
                    status = replace(status, by_group=False)
                break
        after = alike.framework if alike is not None and group is not self._group else framework
        return _Try(group, placement, status, tuple(tried), after=after, condemned=condemned)

    def _try_until_permitted(self, view: _View) -> _Try:
        framework, placement = view.framework, view.within
        status, waits, evicts = self._refusal(), False, False
        tried: list[_Tried] = []
        for pod in self._group.unscheduled:
            each, framework = self._try_member(framework, pod, placement, run_post_filter=view.run_post_filter)
            tried.append(each)
            if each.member.is_error:
                return _Try(self._group, placement, _of_member(each), tuple(tried))
            evicts |= each.preempts
            if each.member.node and each.permit.code is Code.SUCCESS:
                waits = evicts
                status = GroupStatus(Code.SUCCESS)
                if evicts:
                    status = GroupStatus(Code.UNSCHEDULABLE, (_WAITS_FOR_VICTIMS,), by_group=True)
        return _Try(self._group, placement, status, tuple(tried), waits=waits)

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
        decision.state.not_modelled += not_modelled_in(self._group, framework.release)
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
        view = _View(framework, Placement("", framework.cluster.nodes.rows), condemned)
        chosen = self._with_any_member(self._choose(view, self._tries(self._group, view)))
        reasons = (chosen.status.message,) if chosen.status.code is not Code.SUCCESS else ()
        return Status(chosen.status.code, reasons), chosen.proposed

    def fits(self, cluster: Cluster, proposed: Sequence[tuple[Pod, str]]) -> bool:
        """Report whether members fit on given nodes, one after the other."""
        for pod, node in proposed:
            if self._framework.moved(cluster).status_on(pod, node).code is not Code.SUCCESS:
                return False
            cluster = assumed(cluster, pod, node)
        return True

    def states_on_own_nodes(self, cluster: Cluster, proposed: Sequence[tuple[Pod, str]]) -> Sequence[CycleState] | None:
        """Return the states of members after PreFilter, if the pods of a node alone decide whether they fit there."""
        frameworks = self._framework, self._framework.moved(cluster)
        points = ((ExtensionPoint.PRE_FILTER, PreFilterPlugin), (ExtensionPoint.FILTER, FilterPlugin))
        plugins = dict.fromkeys(plugin for point, kind in points for plugin in self._framework.plugins(point, kind))
        declared = [each for each in plugins if each.reads is not None or each.prepares_from is not None]
        known: dict[Hashable, tuple[CycleState, frozenset[str] | None] | None] = {}
        states = []
        for pod, node in proposed:
            key = msgspec.msgpack.encode(likeness_of(pod)), *(plugin.own_part(pod) for plugin in declared)
            if key not in known:
                known[key] = _prepared_for_own_node(frameworks, pod)
            found = known[key]
            if found is None or (found[1] is not None and node not in found[1]):
                return None
            states.append(found[0])
        return states

    # The outcome for every group and every member.

    def _outcomes(self, root: _Try) -> list[_Try]:
        """Return a try for each group of the tree with the status that it ends with, before preemption.

        A group below one that failed shares its failure, unless it failed itself (upstream
        ``completeCompositePodGroupAlgorithmResult``).
        """
        tries = root.of_groups
        out: list[_Try] = []

        def complete(group: PodGroupInfo, failed: _Try | None) -> None:
            found = tries.get(group.entity)
            result = found or _Try(group, root.placement, GroupStatus(Code.SUCCESS))
            if failed is None:
                failed = result if result.status.code is not Code.SUCCESS else None
            elif result.status.code is Code.SUCCESS or (
                failed.status.code is Code.ERROR and result.status.code is not Code.ERROR
            ):
                result = replace(result, status=_below(failed))
            else:
                failed = result
            out.append(result)
            for child in group.children:
                complete(child, failed)

        complete(self._group, None)
        return [self._completed(each) if self._rules.checks_members else each for each in out]

    def _completed(self, chosen: _Try) -> _Try:
        """Return a try in which the members that were not tried have the status of the group, before preemption."""
        if chosen.group.is_tree:
            return chosen
        message, plugins = self._told_members(chosen)
        is_error = chosen.status.code is Code.ERROR
        rest = (
            _Tried(MemberDecision(pod, None, "", message, None, is_error, group_refused_by=plugins))
            for pod in chosen.group.unscheduled[len(chosen.tried) :]
        )
        return replace(chosen, tried=(*chosen.tried, *rest))

    def _told_members(self, chosen: _Try) -> tuple[str, frozenset[str]]:
        """Return what members are told that fail for the group's sake, and the plugins whose events wake them."""
        status, name = chosen.status, chosen.group.name
        if not self._rules.members_name_parent:
            return status.message, frozenset()
        if status.code is Code.ERROR:
            return f'parent pod group "{name}" encountered an error', frozenset()
        if not status.by_group:
            return status.message, frozenset()
        return f'parent pod group "{name}" is unschedulable', status.plugins

    def _decision(
        self, tries: Sequence[_Try], outcomes: Sequence[_Try], found: PodGroupPostFilterResult | None
    ) -> PodGroupDecision:
        root, *below = (self._completed(each) for each in outcomes)
        leaves = [each for each in (root, *below) if not each.group.is_tree]
        members = [self._member_outcome(each, leaf, found) for leaf in leaves for each in leaf.tried]
        placements = tuple(
            PlacementDecision(each.placement, each.status, tuple(tried.member for tried in _members_tried(each)))
            for each in tries
        )
        return PodGroupDecision(
            self._framework,
            self._group,
            root.status,
            tuple(members),
            placements=placements,
            chosen=root.placement,
            waits_for_victims=root.waits,
            victims=found.victims if found is not None else (),
            has_condition=self._group.group is not None,
            subgroups=tuple(SubgroupDecision(each.group, each.status) for each in below),
        )

    def _member_outcome(self, each: _Tried, chosen: _Try, found: PodGroupPostFilterResult | None) -> MemberDecision:
        """Return what becomes of a member (upstream ``submitPodGroupAlgorithmResult``)."""
        member, status = each.member, chosen.status
        nominated = member.nominated
        if found is not None and self._rules.stays_on_nodes:
            nominated = found.nominated.get(member.pod.key, nominated)
        told, plugins = self._told_members(chosen)
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


def _below(failed: _Try) -> GroupStatus:
    """Return the status of a group below one that failed."""
    name, status = failed.group.name, failed.status
    if status.code is Code.ERROR:
        return GroupStatus(Code.ERROR, (f'ancestor composite pod group "{name}" encountered an error',))
    text = f'ancestor composite pod group "{name}" is unschedulable'
    return GroupStatus(status.code, (text,), by_group=True, prefix="", plugins=status.plugins)


def _members_tried(chosen: _Try) -> tuple[_Tried, ...]:
    """Return the members that were tried, of all groups below."""
    return (*chosen.tried, *(each for child in chosen.children for each in _members_tried(child)))


def _of_member(each: _Tried) -> GroupStatus:
    return GroupStatus(Code.ERROR, (f"failed to schedule other pod from a pod group: {each.member.message}",))


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


def _prepared_for_own_node(
    frameworks: Sequence[Framework], pod: Pod
) -> tuple[CycleState, frozenset[str] | None] | None:
    """Return the state of a pod after PreFilter, and the nodes that it allows.

    ``None`` unless every filter that some frameworks over clusters run for the pod looks at one node and its pods. A
    filter that PreFilter skips both with all pods and without those removed is skipped with any of them.
    """
    prepared = []
    for framework in frameworks:
        state = CycleState()
        try:
            outcome = framework.run_pre_filter(state, pod)
        except PluginError:
            return None
        if outcome.status.code is not Code.SUCCESS:
            return None
        prepared.append((state, outcome.node_names))
    framework, idle = frameworks[0], set.intersection(*(state.skip_filter_plugins for state, _ in prepared))
    prepares = set(framework.plugin_names(ExtensionPoint.PRE_FILTER, PreFilterPlugin))
    for name in framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin):
        plugin = framework.plugin_class(name)
        if name in idle:
            continue
        if plugin.reads is None or plugin.reads.pods is Reach.CLUSTER:
            return None
        # What PreFilter finds out about pods of any node changes with those of other nodes.
        if name in prepares and (plugin.prepares_from is None or plugin.prepares_from.pods is not Reach.NOTHING):
            return None
    return prepared[0]
