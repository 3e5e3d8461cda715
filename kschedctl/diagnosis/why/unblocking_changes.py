"""The few changes that would schedule most pending pods, each proven by a simulation of the whole queue."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pod_at
from kschedctl.cluster.pod_groups import group_members
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.pending_groups import PendingGroup
from kschedctl.diagnosis.why.proof import broken_budgets, recreated_pods
from kschedctl.diagnosis.why.rollout_trial import try_rollout
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import commands_of, through_templates
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.remedy import Change, ObjectDeletion, Patch, Remedy, RemedyContext
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.plugins.node_resources.remedies import MOST_LOWERED, request_remedies, requested
from kschedctl.trials.simulate.capacity import copies_that_fit
from kschedctl.trials.simulate.simulated_cluster import ending_pods
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import World
from kschedctl.trials.whatif.patches import make_changes
from kschedctl.trials.whatif.pods import move_pods

# Pending pods grouped by cause: pods of one workload that are rejected for the same reasons, or of one pod group.


#: The default number of changes that are proven and shown.
MOST: Final = 3
#: Remedies are searched for the 20 largest groups.
_MOST_GROUPS: Final = 20
#: Up to 8 suggestions for the first pod of a group are extended to all of its pods.
_PER_GROUP: Final = 8
#: At most 100 nodes are added.
_MOST_NODES: Final = 100
#: The number of bisection steps for the largest request with which a group fits.
_STEPS: Final = 12
#: The number of extra tries: the search ends after ``most`` + 3 candidates, whether or not they place pods.
_IN_VAIN: Final = 3


@dataclass(frozen=True, slots=True)
class Unblocking:
    """A change after which more pending pods are placed."""

    #: The change in a few words.
    summary: str
    #: The scope of the change: the pod, a node, or something else of the cluster.
    scope: RemedyScope
    #: The change as data.
    changes: tuple[Change, ...]
    #: The patches of the workload's template that replace those of its pods; empty if there are none.
    through: tuple[Patch, ...]
    #: The commands that make the changes, one line per command.
    commands: tuple[str, ...]
    #: The pods that are deleted for it, and the disruption budgets that this breaks, ``namespace/name``.
    evicts: tuple[str, ...]
    #: The pods that are deleted for it, and the disruption budgets that this breaks, ``namespace/name``.
    violates: tuple[str, ...]
    #: The deleted pods whose controller creates a new pod that stays pending, ``namespace/name``.
    unplaced: tuple[str, ...]
    #: The pods that are placed with this change and not without it, ``namespace/name``; the changes listed before
    #: it are made in both cases.
    placed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnblockingResult:
    """The result of a search for changes that place pending pods."""

    #: The pods that are placed without any change, ``namespace/name``.
    anyway: tuple[str, ...]
    #: The pods of ``anyway`` that are placed only once pods that are being deleted are gone.
    once_ended: tuple[str, ...]
    #: The decision for the first unplaced pod of each group, by the pod's ``namespace/name``; the pods of
    #: ``anyway`` are already in place.
    later: Mapping[str, Decision]
    #: The changes that place more pods, in the order in which the search accepted them; each is made on top of the
    #: earlier ones.
    changes: tuple[Unblocking, ...]
    #: The pods that are placed if all of the changes are made, and not without any.
    together: tuple[str, ...]


@dataclass(slots=True)
class _Candidate:
    remedy: Remedy
    changes: tuple[Change, ...]
    groups: set[int]
    hoped: int = 0


def unblock(scheduler: Scheduler, groups: Sequence[PendingGroup], most: int = MOST) -> UnblockingResult:
    """Search for the changes that place most pending pods."""
    scheduler, groups = _evicting_nobody(scheduler, groups)
    waiting = [pod for group in groups for pod in group.pods]
    anyway, cluster = _played(scheduler, waiting)
    at_once = anyway
    if next(ending_pods(scheduler.cluster), None) is not None:
        at_once, _ = _played(scheduler, waiting, World(grace=False))
    # Remedies are searched for with those pods in place that are scheduled without any change.
    settled = scheduler.moved(cluster)
    rest = [dataclasses.replace(g, pods=tuple(pod for pod in g.pods if pod.key not in anyway)) for g in groups]
    later = {i: settled.decide_as_scheduled(group.pods[0]) for i, group in enumerate(rest) if group.pods}
    hopeful = [
        i for i, said in later.items() if dataclasses.replace(rest[i], decision=said).hopeful and not groups[i].preempts
    ]
    candidates = _extended_suggestions(settled, rest, {i: later[i] for i in hopeful[:_MOST_GROUPS]}, anyway)
    group_of = {pod.key: i for i, group in enumerate(groups) for pod in group.pods}
    left = Counter(group_of[pod.key] for pod in waiting if pod.key not in anyway)
    found: list[Unblocking] = []
    made: tuple[Change, ...] = ()
    together: frozenset[str] = frozenset()
    for _ in range(most + _IN_VAIN):
        useful = [one for one in candidates if any(left[i] > 0 for i in one.groups)]
        if len(found) >= most or not useful:
            break
        best = max(useful, key=lambda one: _worth(one, left))
        candidates.remove(best)
        changes = (*made, *best.changes)
        after = _placed_after(scheduler, (*changes, *best.remedy.follows), waiting)
        placed = after.placed - anyway
        if len(placed) > len(together) and _lasts(scheduler, best, rest, later):
            remedy, cluster = best.remedy, scheduler.cluster
            through: tuple[Patch, ...] = ()
            if remedy.scope is RemedyScope.POD:
                through = through_templates(cluster, rest[min(best.groups)].pods[0], (remedy,))
            # The remedy is that of one pod; all pods of the group get the same patch.
            all_alike = dataclasses.replace(remedy, changes=best.changes)
            found.append(
                Unblocking(
                    summary=remedy.summary,
                    scope=remedy.scope,
                    changes=best.changes,
                    through=through,
                    commands=commands_of(cluster, [all_alike], through),
                    evicts=remedy.evicts,
                    violates=broken_budgets(cluster, remedy.evicts),
                    unplaced=tuple(key for key in remedy.evicts if key in after.unplaced),
                    placed=tuple(sorted(placed - together)),
                )
            )
            left -= Counter(group_of[key] for key in placed - together)
            made, together = changes, placed
    turned_away = {rest[i].pods[0].key: said for i, said in later.items()}
    return UnblockingResult(
        tuple(sorted(anyway)), tuple(sorted(anyway - at_once)), turned_away, tuple(found), tuple(sorted(together))
    )


def _lasts(
    scheduler: Scheduler, candidate: _Candidate, groups: Sequence[PendingGroup], decisions: Mapping[int, Decision]
) -> bool:
    """Report whether a change of a pod template still helps at the end of the rollout that it starts."""
    number = min(candidate.groups)
    pod = groups[number].pods[0]
    if candidate.remedy.scope is not RemedyScope.POD or decisions[number].pod.name != pod.name:
        return True
    changed = make_changes(scheduler.cluster, pod, candidate.remedy.changes).pod
    rollout = try_rollout(decisions[number], (candidate.remedy,), changed)
    return rollout is None or rollout.finished or rollout.available > rollout.before


def _worth(candidate: _Candidate, left: Counter[int]) -> tuple[object, ...]:
    remedy = candidate.remedy
    new = min(candidate.hoped, sum(left[i] for i in candidate.groups))
    return new, not remedy.evicts, -remedy.risk, -remedy.within, remedy.summary


def _evicting_nobody(
    scheduler: Scheduler, groups: Sequence[PendingGroup]
) -> tuple[Scheduler, tuple[PendingGroup, ...]]:
    """Return the scheduler and groups with pods that never preempt, without groups that have no responsible profile.

    All members of a PodGroup must have the same policy, those on nodes too; so must the group, where its own counts.
    """
    specs: dict[int, PodSpec] = {}

    def never(pod: Pod) -> Pod:
        return replace(pod, spec=specs.setdefault(id(pod.spec), replace(pod.spec, preemption_policy="Never")))

    out: list[PendingGroup] = []
    pod_groups: list[PodGroup] = []
    members: dict[str, Pod] = {}
    cluster = scheduler.cluster
    for group in groups:
        if group.decision is not None:
            out.append(dataclasses.replace(group, pods=tuple(map(never, group.pods))))
        if group.is_pod_group:
            pods = (pod_at(cluster, index) for index in group_members(cluster, *group.workload[1:]).tolist())
            members |= {pod.key: never(pod) for pod in pods}
            pod_group = cluster.get(PodGroup, group.workload[2], group.workload[1])
            if pod_group is not None:
                pod_groups.append(replace(pod_group, spec=replace(pod_group.spec, preemption_policy="Never")))
    members |= {pod.key: pod for group in out for pod in group.pods}
    cluster = cluster.with_pods(added=list(members.values()))
    return scheduler.moved(cluster.with_added(pod_groups) if pod_groups else cluster), tuple(out)


def _extended_suggestions(
    scheduler: Scheduler, groups: Sequence[PendingGroup], hopeful: Mapping[int, Decision], kept: Collection[str]
) -> list[_Candidate]:
    """Return the suggestions for the first pod of each group, extended to all of its pods.

    The pods in ``kept``, which are scheduled without any change, are not deleted.
    """
    found: dict[bytes, _Candidate] = {}
    for number, decision in hopeful.items():
        group = groups[number]
        for suggestion in suggest(decision, _PER_GROUP, ways=False, kept=kept).proven:
            if len(suggestion.remedies) > 1 or suggestion.remedies[0].family == "preemption":
                continue
            remedy = _for_all(scheduler, group, decision, suggestion.remedies[0])
            # Priority alone frees no capacity.
            if remedy.risk is Risk.EVICTION and not remedy.evicts:
                continue
            changes, decided = remedy.changes, decision.pod
            if remedy.scope is RemedyScope.POD:
                # Those of the decided pod are made in each pod of the group that has the same spec.
                first = next((pod for pod in group.pods if pod.name == decided.name), group.pods[0])
                alike = [pod for pod in group.pods if pod.spec is first.spec]
                own = [change for change in changes if isinstance(change, Patch) and change.name == decided.name]
                siblings = [change for change in changes if change not in own]
                changes = (*(replace(change, name=pod.name) for pod in alike for change in own), *siblings)
            hoped = _hoped(scheduler, group, decision, remedy)
            one = found.setdefault(msgspec.json.encode(changes), _Candidate(remedy, changes, set()))
            if hoped:
                one.groups.add(number)
                one.hoped += hoped
    return [one for one in found.values() if one.groups]


def _for_all(scheduler: Scheduler, group: PendingGroup, decision: Decision, remedy: Remedy) -> Remedy:
    """Return a remedy for one pod as one for all of its group: enough nodes, at most 100, or a small enough request."""
    n_pods = len(group.pods)
    if n_pods == 1 or group.is_pod_group:
        return remedy
    if remedy.model:
        each = _hoped(scheduler, group, decision, remedy)
        number = min(ceil(n_pods / each), _MOST_NODES) if each else 1
        if number == 1:
            return remedy
        return nodes_like(decision.cluster, remedy.model, number, within=remedy.within + number)
    if remedy.resource:
        resource = remedy.resource
        context = RemedyContext(decision.pod, decision.cluster, decision.release)
        n_pods, best = len(group.pods), remedy
        if _hoped(scheduler, group, decision, remedy) >= n_pods:
            return remedy
        low, high = 0.0 if remedy.risk is Risk.MISTAKE else 1 - MOST_LOWERED, 1 - remedy.within
        wanted = requested(decision.pod, decision.release, resource)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            amount = int(wanted * middle)
            digits = max(len(str(amount)) - 2, 0)
            unit: int = 10**digits
            lower = next(iter(request_remedies(context, resource, amount // unit * unit)), None)
            if lower is None:
                break
            if _hoped(scheduler, group, decision, lower) >= n_pods:
                low, best = middle, lower
            else:
                high = middle
        return best
    return remedy


def _hoped(scheduler: Scheduler, group: PendingGroup, decision: Decision, remedy: Remedy) -> int:
    """Return the number of pods of a group that would fit one after another if no other pod were pending.

    A remedy for a member of a PodGroup is a remedy for all.
    """
    if group.is_pod_group:
        return len(group.pods)
    after = make_changes(decision.cluster, decision.pod, (*remedy.changes, *remedy.follows))
    moved = scheduler.moved(after.cluster)
    pod = after.pod

    def copy(number: int) -> MadePod:
        return MadePod(replace(pod, metadata=replace(pod.metadata, name=f"{pod.name}-{number}", uid="")))

    return copies_that_fit(moved, copy, len(group.pods))


@dataclass(frozen=True, slots=True)
class _Placed:
    """The pods that are placed after some changes, and the deleted pods whose new pod is not placed."""

    placed: frozenset[str]
    unplaced: frozenset[str]


def _placed_after(scheduler: Scheduler, changes: Iterable[Change], waiting: Sequence[Pod]) -> _Placed:
    """Simulate the queue after some changes; controllers recreate the pods that the changes delete."""
    by_key = {pod.key: pod for pod in waiting}
    own: list[Patch] = []
    others: list[Change] = []
    for change in changes:
        key = f"{change.namespace}/{change.name}" if isinstance(change, Patch) and change.kind == "Pod" else ""
        if isinstance(change, Patch) and key in by_key:
            own.append(change)
        else:
            others.append(change)
    cluster = make_changes(scheduler.cluster, Pod(), others).cluster
    specs: dict[tuple[int, bytes], Pod] = {}
    for change in own:
        pod = by_key[f"{change.namespace}/{change.name}"]
        alike = id(pod.spec), msgspec.json.encode(change.patch)
        if alike not in specs:
            specs[alike] = make_changes(scheduler.cluster, pod, [change]).pod
        by_key[pod.key] = replace(pod, spec=specs[alike].spec)
    if own:
        cluster = cluster.with_pods(added=[by_key[f"{change.namespace}/{change.name}"] for change in own])
    deletions = [change.delete for change in others if isinstance(change, ObjectDeletion)]
    deleted = [f"{key.namespace}/{key.name}" for key in deletions if key.kind == Pod.__name__]
    new = recreated_pods(scheduler.cluster, deleted, release=scheduler.release)
    if new:
        cluster = move_pods(cluster, added=new.values()).cluster
    placed = _played(scheduler.moved(cluster), [*waiting, *new.values()])[0]
    unplaced = frozenset(key for key, pod in new.items() if pod.key not in placed)
    return _Placed(frozenset(pod.key for pod in waiting) & placed, unplaced)


def _played(scheduler: Scheduler, waiting: Iterable[Pod], world: World | None = None) -> tuple[frozenset[str], Cluster]:
    """Simulate the queue; return the pending pods that it places, and the cluster at the end."""
    simulation = Simulation(scheduler, world=world)
    simulation.enqueue_pending()
    for _ in simulation:
        pass
    pods = simulation.cluster.pods
    index = pods.index
    rows = ((pod.key, index.get((pod.namespace, pod.name))) for pod in waiting)
    return frozenset(key for key, at in rows if at is not None and pods.node_row[at] >= 0), simulation.cluster
