"""Proof of remedies: their changes are made, and the pod is decided for again."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import on_node, pod_at
from kschedctl.common.errors import KschedctlError
from kschedctl.common.wording import listed
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of
from kschedctl.scheduler.framework.remedy import IN_ZONE, Change, Patch, Remedy
from kschedctl.scheduler.framework.risk import RemedyScope
from kschedctl.scheduler.preemption.budgets import get_pod_disruption_budgets
from kschedctl.scheduler.preemption.result import Candidate
from kschedctl.trials.simulate.world import is_recreated, replacement
from kschedctl.trials.whatif.patches import make_changes
from kschedctl.trials.whatif.pods import move_pods, successor

if TYPE_CHECKING:
    from kschedctl.trials.simulate.rollout import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Remedies that were tried and help.

    Attributes
    ----------
    remedies : tuple of Remedy
        The remedies: one, or two that help together.
    before : Decision
        The decision without the changes.
    decision : Decision
        The decision with the changes made.
    evicts : tuple of str
        The pods that are lost, ``namespace/name``: deleted ones, or the victims of the preemption that follows.
    violates : tuple of str
        The disruption budgets that this breaks, ``namespace/name``.
    others : tuple of Suggestion
        Other ways to make the same change, which help too.
    rollout : Rollout or None
        The rollout that a change of the pod template starts; ``None`` if none was tried.
    """

    remedies: tuple[Remedy, ...]
    before: Decision
    decision: Decision
    evicts: tuple[str, ...] = ()
    violates: tuple[str, ...] = ()
    others: tuple[Suggestion, ...] = ()
    rollout: Rollout | None = None

    @property
    def summary(self) -> str:
        """The changes in a few words, with the other ways."""
        told = ", and ".join(remedy.summary for remedy in self.remedies)
        sides = [other.remedies[0].side or other.summary for other in self.others]
        if sides and told.endswith(self.remedies[-1].side) and all(each.startswith(IN_ZONE) for each in sides):
            zones = [each.removeprefix(IN_ZONE) for each in (self.remedies[-1].side, *sides)]
            return f"{told.removesuffix(self.remedies[-1].side)}{IN_ZONE}{listed(zones, 'or')}"
        return f"{told}, or {listed(sides, 'or')}" if sides else told

    @property
    def side_of(self) -> Hashable:
        """The change of which this is one way; ``None`` if there are no other ways."""
        return self.remedies[0].side_of if len(self.remedies) == 1 else None

    @property
    def scope(self) -> RemedyScope:
        """The widest scope of the remedies."""
        return max((remedy.scope for remedy in self.remedies), key=list(RemedyScope).index)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all remedies, as data."""
        return tuple(change for remedy in self.remedies for change in remedy.changes)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The best nodes for the pod after the changes, or the nodes that preemption nominates for it."""
        if self.decision.schedulable:
            return self.decision.best
        preemption = self.decision.preemption
        return preemption.nominated if preemption is not None else ()


def decide_after(decision: Decision, remedies: Iterable[Remedy], *, follows: bool = False) -> Decision | None:
    """Decide for the same pod with remedies applied; return ``None`` if they cannot be applied.

    Args:
        follows: True to make the changes by controllers that follow as well.
    """
    changes = [change for remedy in remedies for change in (*remedy.changes, *(remedy.follows if follows else ()))]
    group = group_of(decision)
    if group is not None:
        return _decide_group_after(decision, group, changes)
    try:
        after = make_changes(decision.cluster, decision.pod, changes)
    except KschedctlError:
        return None
    framework = decision.framework
    if after.cluster is not decision.cluster:
        framework = framework.moved(after.cluster)
    if decision.release.pod_groups and after.pod.spec.pod_group_name:
        from kschedctl.scheduler.cycle.group_decisions import decide_in_group

        # PreEnqueue held back the pod, so that its group was not tried.
        return decide_in_group(framework, after.pod)
    decided = schedule_pod(framework, after.pod)
    if decision.other_scheduler and after.pod.spec.scheduler_name == decision.pod.spec.scheduler_name:
        return dataclasses.replace(decided, other_scheduler=True)
    return decided


def _decide_group_after(decision: Decision, group: PodGroupDecision, changes: Sequence[Change]) -> Decision | None:
    """Decide for the whole group of a pod with changes made; return ``None`` if they cannot be made.

    Changes of the pod are made in all members of its PodGroup: they come from one template.
    """
    own = {"kind": "Pod", "name": decision.pod.name, "namespace": decision.pod.namespace}
    of_pod = [
        each for each in changes if isinstance(each, Patch) and all(getattr(each, k) == v for k, v in own.items())
    ]
    others, name = [each for each in changes if each not in of_pod], decision.pod.spec.pod_group_name
    try:
        cluster = make_changes(group.cluster, decision.pod, others).cluster
        members = [
            make_changes(
                cluster,
                member,
                [structs.replace(each, name=member.name) for each in of_pod if member.spec.pod_group_name == name],
            ).pod
            for member in group.group.unscheduled
            if (member.namespace, member.name) in cluster.pods.index
        ]
    except KschedctlError:
        return None
    if not members:
        return None
    from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group

    cluster = cluster.with_pods(added=members) if of_pod else cluster
    decided = schedule_pod_group(group.framework.moved(cluster), members)
    pod = next((member for member in members if member.name == decision.pod.name), members[0])
    return decided.of_member(pod)


def prove(before: Decision, remedies: tuple[Remedy, ...]) -> Suggestion | None:
    """Try remedies, without and with the changes by controllers that follow.

    Args:
        before: The decision for the pod without them.

    Returns: ``None`` if the pod would be neither scheduled nor placed by a preemption that is impossible without
        them.
    """
    after = decide_after(before, remedies)
    found = suggestion_if_helpful(before, remedies, after) if after is not None else None
    if found is None or not any(remedy.follows for remedy in remedies):
        return found
    later = decide_after(before, remedies, follows=True)
    return suggestion_if_helpful(before, remedies, later) if later is not None else None


def suggestion_if_helpful(before: Decision, remedies: tuple[Remedy, ...], after: Decision) -> Suggestion | None:
    """Return the suggestion that a decision after remedies proves, or ``None`` if they do not help.

    They help if the pod is scheduled. They also help if they delete no pod and preemption nominates a node that it does
    not nominate without them.
    """
    deleted = tuple(key for remedy in remedies for key in remedy.evicts)
    if after.schedulable:
        violates = broken_budgets(before.cluster, deleted)
        return Suggestion(remedies=remedies, before=before, decision=after, evicts=deleted, violates=violates)
    candidate = _candidate_of_decision(after)
    if candidate is None or _candidate_of_decision(before) is not None or deleted:
        return None
    pods = after.cluster.pods
    return Suggestion(
        remedies=remedies,
        before=before,
        decision=after,
        evicts=tuple(sorted(pods.key(victim.pod) for victim in candidate.victims)),
        violates=tuple(sorted({budget.name for victim in candidate.victims for budget in victim.violated})),
    )


def _candidate_of_decision(decision: Decision) -> Candidate | None:
    preemption = decision.preemption
    if preemption is None or not preemption.nominated or decision.outcome is Outcome.GATED:
        return None
    return preemption.candidate(preemption.nominated[0])


def broken_budgets(cluster: Cluster, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the disruption budgets that break if the pods named ``namespace/name`` are evicted together."""
    index = cluster.pods.index
    namespaced = (key.partition("/") for key in keys)
    pods = np.array([index[namespace, name] for namespace, _, name in namespaced], dtype=np.int64)
    if not len(pods):
        return ()
    budgets = get_pod_disruption_budgets(cluster)
    return tuple(sorted(b.name for b in budgets if any(b.broken_by(cluster, pods, int(pod)) for pod in pods)))


# The outcome for pods that a suggestion deletes: their controllers recreate them, and the new pods need room, too.


def recreated_pods(cluster: Cluster, keys: Iterable[str], *, release: Release) -> dict[str, Pod]:
    """Return the new pods that controllers create for deleted pods, by the deleted pod's ``namespace/name``.

    Args:
        cluster: The cluster before the deletion.
        release: The Kubernetes release whose API server admits the new pods.
    """
    new: dict[str, Pod] = {}
    index = cluster.pods.index
    taken: set[tuple[str, str]] = set()
    for key in keys:
        namespace, _, name = key.partition("/")
        pod = pod_at(cluster, index[namespace, name])
        if is_recreated(pod):

            def is_taken(name: str, namespace: str = namespace) -> bool:
                return (namespace, name) in index or (namespace, name) in taken

            new[key] = replacement(successor(pod, cluster, release=release), is_taken)
            taken.add((namespace, new[key].name))
    return new


def pending_words(keys: Sequence[str]) -> Iterator[str]:
    """Yield the statement that the new pods of some deleted pods stay pending; nothing if there are none."""
    if keys:
        new, stay = ("the new pod", "stays") if len(keys) == 1 else ("the new pods", "stay")
        yield f"{new} of {listed(keys)} {stay} pending"


def lost_words(cluster: Cluster, keys: Iterable[str]) -> Iterator[str]:
    """Yield the statement that some evicted pods have no controller; nothing if all have one, or are ending anyway."""
    pods = cluster.pods
    evicted = ((key, pods.records[pods.index[key.partition("/")[::2]]].metadata) for key in keys)
    lost = [key for key, pod in evicted if pod.controller is None and pod.deletion_timestamp is None]
    if lost:
        verb, them = ("is", "it") if len(lost) == 1 else ("are", "them")
        yield f"{listed(lost)} {verb} lost for good: no controller recreates {them}"


def recreation_consequences(suggestion: Suggestion) -> Iterator[str]:
    """Yield the outcome for the pods that a suggestion evicts, once the pod that it helps has its node."""
    yield from lost_words(suggestion.before.cluster, suggestion.evicts)
    pending, preempting = _without_room(suggestion)
    yield from pending_words(pending)
    if preempting:
        new_pods, preempt = ("the new pod", "preempts") if len(preempting) == 1 else ("the new pods", "preempt")
        yield f"{new_pods} of {listed(preempting)} {preempt} other pods in turn"


def moves_the_problem(suggestion: Suggestion) -> bool:
    """Report whether a deletion only puts the new pod of a deleted one, which is as important, in the pod's place."""
    pods = suggestion.before.cluster.pods
    own = suggestion.before.pod.spec.priority or 0
    pending, _ = _without_room(suggestion)
    return any(pods.records[pods.index[key.partition("/")[::2]]].priority >= own for key in pending)


def _without_room(suggestion: Suggestion) -> tuple[list[str], list[str]]:
    """Return the deleted pods whose new pods stay pending, and those whose new pods preempt others."""
    after = suggestion.decision
    pending: list[str] = []
    preempting: list[str] = []
    keys = [key for remedy in suggestion.remedies for key in remedy.evicts]
    if not keys or not after.schedulable:
        return pending, preempting
    new = recreated_pods(suggestion.before.cluster, keys, release=suggestion.before.release)
    placed = after.cluster.with_pods(added=[on_node(after.pod, suggestion.nodes[0])])
    for key, pod in new.items():
        if pod.spec.scheduler_name != after.pod.spec.scheduler_name:
            continue
        cluster = move_pods(placed, added=[pod]).cluster
        stored = cluster.pods.pod(cluster.pods.index[pod.namespace, pod.name])
        again = schedule_pod(after.framework.moved(cluster), stored)
        if again.preemption is not None and again.preemption.nominated:
            preempting.append(key)
        elif not again.schedulable:
            pending.append(key)
    return pending, preempting
