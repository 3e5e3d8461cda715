"""Shared parts of answers about simulations: evictions, losses of groups, causes, and utilisation."""

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from functools import cache
from itertools import islice
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.why.proof import Suggestion, recreation_consequences
from kschedctl.diagnosis.why.rollout_trial import rollout_in_words
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import commands_of
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import CPU, MEMORY, PODS, RequestRules, exact_quantity
from kschedctl.questions.answer_parts import CureData, GroupLossData
from kschedctl.questions.pod_groups import cause_in_group, pod_group_data
from kschedctl.questions.simulate.answer import EvictionData, SlowestPodData, UtilisationData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.trials.simulate.aftermath import GroupLoss
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.simulated_cluster import IN_PLACE_OF
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

#: The resources that are always reported, in this order; others only if something requests them.
_REPORTED: Final = (CPU, MEMORY, PODS)


def utilisation(
    before: Cluster, after: Cluster, rules: RequestRules, drained: Collection[str] = ()
) -> Iterator[UtilisationData]:
    """Yield the requests of each resource, over all nodes and by zone; the allocatable amount is that of afterwards.

    Args:
        drained: The nodes that do not count afterwards.
    """
    was, now = before.resources(rules), after.resources(rules)
    zones, zones_after = _zones(before), _zones(after)
    remains = np.array([name not in drained for name in after.nodes.names], dtype=np.bool_)
    names = sorted({str(zone) for zone in (*zones, *zones_after) if zone})
    groups = [
        ("", np.ones(len(zones), dtype=np.bool_), remains),
        *((zone, zones == zone, remains & (zones_after == zone)) for zone in names),
    ]
    others = [
        name
        for name in was.names
        if name not in _REPORTED and (was.requested[was.index[name]].any() or name in now.index)
    ]
    for zone, mask, mask_after in groups:
        for name in (*_REPORTED, *others):
            old = int(was.requested[was.index[name]][mask].sum())
            if name in now.index:
                offered = int(now.allocatable[now.index[name]][mask_after].sum())
                new = int(now.requested[now.index[name]][mask_after].sum())
            else:
                offered, new = int(was.allocatable[was.index[name]][mask].sum()), old
            if offered and (old or new):
                yield UtilisationData(zone, name, *(exact_quantity(name, amount) for amount in (offered, old, new)))


def _zones(cluster: Cluster) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.array(cluster.nodes.zones, dtype=np.str_)


# The pod groups that lose members in a simulation, as part of an answer.


def group_loss_data(losses: Iterable[GroupLoss]) -> tuple[GroupLossData, ...]:
    """Return the groups as data."""
    return tuple(
        GroupLossData(
            namespace=loss.namespace,
            name=loss.name,
            min_count=loss.pod_group.spec.min_count if loss.pod_group is not None else None,
            disrupted_as_a_whole=loss.pod_group is not None and loss.pod_group.spec.disrupts_all,
            evicted=tuple(loss.evicted),
            preempted=tuple(loss.preempted),
            before=loss.before,
            fewest=loss.fewest,
            after=len(loss.on_nodes),
        )
        for loss in losses
    )


def losses_in_words(groups: Iterable[GroupLossData]) -> Iterator[str]:
    """Yield the clause about the gangs of which fewer than ``minCount`` members are left."""
    short = [group for group in groups if group.is_short]
    if len(short) == 1:
        left = counted(short[0].after, "pod") if short[0].after else "no pod"
        yield f"{short[0].title} is left with {left}, {short[0].min_count} are needed"
    elif short:
        names = listed([f"{group.namespace}/{group.name}" for group in short], most=3)
        yield f"{counted(len(short), 'gang')} are left with fewer pods than needed: {names}"


# Evictions of a simulation, from its timeline: the pods created in place of the evicted ones, and the slowest.

_EVICTED = (TimelineEvent.EVICTED, TimelineEvent.PREEMPTED)


def preemption_evictions(timeline: Iterable[TimelineEntry]) -> tuple[EvictionData, ...]:
    """Return the pods that were evicted by preemption."""
    entries = list(timeline)
    return tuple(
        EvictionData(entry.pod, entry.node, entry.time, entry.why.removeprefix("by "), made_again, lost=lost)
        for entry, made_again, lost in _fates(entries)
        if entry.event is TimelineEvent.PREEMPTED
    )


def _fates(entries: list[TimelineEntry]) -> Iterator[tuple[TimelineEntry, str, bool]]:
    """Yield each eviction with the pod that is created in its place, and whether the pod is gone without one."""
    open_evictions: dict[str, int] = {}
    made: dict[int, str] = {}
    gone: set[int] = set()
    for i, entry in enumerate(entries):
        replaced = entry.why.removeprefix(IN_PLACE_OF) if entry.why.startswith(IN_PLACE_OF) else ""
        if entry.event in _EVICTED:
            open_evictions[entry.pod] = i
        elif entry.event is TimelineEvent.DELETED and entry.pod in open_evictions:
            gone.add(open_evictions[entry.pod])
        elif entry.event is TimelineEvent.CREATED and replaced in open_evictions:
            made[open_evictions[replaced]] = entry.pod
    for i, entry in enumerate(entries):
        if entry.event in _EVICTED:
            yield entry, made.get(i, ""), i in gone and i not in made


def slowest_to_stop(timeline: Iterable[TimelineEntry]) -> SlowestPodData | None:
    """Return the evicted pod that took longest to stop: its grace period; ``None`` if each was gone at once."""
    began: dict[str, TimelineEntry] = {}
    slowest: TimelineEntry | None = None
    longest = timedelta(0)
    for entry in timeline:
        if entry.event in _EVICTED:
            began[entry.pod] = entry
        elif entry.event is TimelineEvent.DELETED and entry.pod in began:
            start = began.pop(entry.pod)
            if entry.time - start.time > longest:
                slowest, longest = start, entry.time - start.time
    return SlowestPodData(slowest.pod, slowest.node, round(longest.total_seconds())) if slowest is not None else None


# The causes for which pods of a simulation are pending, from their last scheduling cycles.

#: At most this many decisions are diagnosed for one answer; the other pods have the scheduler's message alone.
_MOST: Final = 100
#: The controllers whose pods differ in what they need: a node or claims of their own.
_OWN_NEEDS: Final = frozenset({"DaemonSet", "StatefulSet"})


class PendingCauses:
    """The causes for which pods are pending. Pods of one workload with the same message are diagnosed once.

    last: The last cycle of each pod, by ``namespace/name``.

    Args:
        attempts: The scheduling cycles of a simulation, in order.
        decide: Returns the decision for a pod that had no cycle; ``None`` if there is none.
    """

    def __init__(
        self, attempts: Iterable[Attempt], decide: Callable[[str], Decision | None] = lambda key: None
    ) -> None:
        self.last = {attempt.pod: attempt for attempt in attempts}
        self._decide = cache(decide)
        self._known: dict[tuple[str, ...], str] = {}

    def decision(self, key: str) -> Decision | None:
        """Return the last decision for a pod; ``None`` if it was not tried.

        The decision for a member of a pod group is part of the decision for the group.
        """
        attempt = self.last.get(key)
        return attempt.part_of_group if attempt is not None else self._decide(key)

    def of(self, key: str) -> str:
        """Return the cause for a pod; empty if the pod was scheduled, was not tried, or too many were diagnosed."""
        decision = self.decision(key)
        if decision is None or decision.schedulable:
            return ""
        kind, namespace, name = workload_of(decision.cluster, decision.pod.metadata)
        message = self.last[key].message if key in self.last else ""
        alike = (message, kind, namespace, name) if kind not in _OWN_NEEDS else (key,)
        if alike not in self._known:
            if len(self._known) >= _MOST:
                return ""
            found = diagnose(decision)
            self._known[alike] = cause_in_group(decision, found[0].cause if found else "")
        return self._known[alike]

    def of_any(self, keys: Iterable[str]) -> str:
        """Return the cause for the first of some pods that has one; empty if none has."""
        return next((cause for key in keys if (cause := self.of(key))), "")

    def of_pod(self, pod: Pod) -> str:
        """Return the cause for a pod."""
        return self.of(pod.key)


# The cures for a pending pod, in the form that answers about several pods share.


def pod_cures(decision: Decision, most: int, kept: Collection[str] = ()) -> Iterator[CureData]:
    """Yield the cures of lowest risk for the pod of a decision, as ``explain`` suggests them.

    Args:
        kept: The pods that no cure deletes, as ``namespace/name``.
    """
    for one in islice(suggest(decision, most, ways=False, kept=kept).ranked, most):
        yield advice_cure(one) if isinstance(one, Advice) else suggested_cure(one)


def distinct_cures(cures: Iterable[CureData]) -> Iterator[CureData]:
    """Yield each change once, with its outcome for all the pods that it is a cure for."""
    together: dict[tuple[str, tuple[str, ...]], list[CureData]] = {}
    for cure in cures:
        together.setdefault((cure.summary, cure.commands), []).append(cure)
    for same in together.values():
        # Each outcome was tried without the others.
        outcomes = tuple(dict.fromkeys(cure.then for cure in same if cure.then))
        then = f"{'tried for each alone: ' if len(outcomes) > 1 else ''}{'; '.join(outcomes)}"
        yield replace(same[0], then=then, untried="" if outcomes else same[0].untried)


def advice_cure(advice: Advice) -> CureData:
    """Return a cure that cannot be tried."""
    return CureData(advice.summary, "", (advice.command,) if advice.command else (), advice.untried)


def suggested_cure(suggestion: Suggestion) -> CureData:
    """Return a suggestion for a pod, with the node that the pod then gets, or the outcome for its group."""
    before = suggestion.before
    where = f"{'one of ' if len(suggestion.nodes) > 1 else ''}{listed(suggestion.nodes)}"
    evicts = f"evicts {listed(suggestion.evicts)}, then " if suggestion.evicts else ""
    group = group_of(suggestion.decision)
    outcome = f"{before.pod.key} is scheduled to {where}"
    if group is not None:
        title, n_placed = pod_group_data(group).title, sum(bool(member.node) for member in group.members)
        members = f"{counted(n_placed, 'member')} of {title} {'is' if n_placed == 1 else 'are'}"
        outcome = f"{members if n_placed else f'{title} is'} scheduled"
    effects = (*rollout_in_words(suggestion), *recreation_consequences(suggestion))
    then = "; ".join((f"{evicts}{outcome}", *effects))
    return CureData(suggestion.summary, then, commands_of(before.cluster, suggestion.remedies))
