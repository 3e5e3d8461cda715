"""The search for changes that let a pod be scheduled: the smallest single ones, else pairs that help only together.

Pairs are tried, too, if nothing but a node of a new size helps.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import msgspec
import numpy as np

from kschedctl.autoscaler.expansion import Expansion
from kschedctl.common.arrays import Int64Array, numbered_together
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.diagnosis import Advice, Situation
from kschedctl.diagnosis.evidence.node_autoscalers import expansion_of, name_of, remedies_of
from kschedctl.diagnosis.new_nodes import NEW_NODE
from kschedctl.diagnosis.testimony import undone_by_others
from kschedctl.diagnosis.why.cluster_remedies import (
    DAEMON_SET_PRIORITY,
    fewer_pods,
    freeing_deletions,
    group_remedies,
    new_nodes,
    nodes_in_reach_of_volumes,
    other_priorities,
    preemption_remedies,
)
from kschedctl.diagnosis.why.proof import Suggestion, decide_after, moves_the_problem, prove
from kschedctl.diagnosis.why.rollout_trial import starts_rollout, to_the_end
from kschedctl.objects.karpenter import NODE_POOL_LABEL
from kschedctl.objects.resources import PODS, pod_requests, scheduler_units
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status

# The remedies that the nodes' rejection reasons propose, each with the nodes that it could help.

#: With at most 60 rejecting nodes, every node's reasons are inspected; with more, a few nodes represent each group
#: of nodes that reject the pod for the same reasons. A cluster of more than 60 nodes counts as large.
FEW_NODES: Final = 60
#: The number of nodes that represent a group.
_REPRESENTATIVES: Final = 3


class CandidateRemedy(msgspec.Struct):
    """A remedy, and the plugins and nodes that propose it."""

    remedy: Remedy
    #: The plugins whose reasons propose it.
    cures: set[str] = msgspec.field(default_factory=set)
    #: The rows of the nodes whose reasons propose it; empty if the pod was rejected before any node was filtered.
    nodes: set[int] = msgspec.field(default_factory=set)


class Collected(msgspec.Struct, frozen=True):
    """The remedies that the reasons of a decision propose."""

    #: The remedies, without duplicates.
    candidates: tuple[CandidateRemedy, ...]
    #: For the row of each inspected node, the plugins that reject the pod there.
    refusing: dict[int, frozenset[str]]

    def promising(self, candidate: CandidateRemedy) -> bool:
        """Report whether a remedy may suffice for some node: only plugins that it cures reject the pod there."""
        if not candidate.nodes:
            return True
        return any(self.refusing[row] <= candidate.cures for row in candidate.nodes)


def collect(decision: Decision, rows: Collection[int] = ()) -> Collected:
    """Collect the remedies that the reasons of a decision propose, without those that others would undo.

    Args:
        rows: The rows of the nodes whose reasons are inspected, if they reject the pod; by default
            `representatives`.
    """
    found: dict[bytes, CandidateRemedy] = {}
    encoder = msgspec.json.Encoder(order="deterministic")
    undone = undone_by_others(Situation(decision))

    def take(remedy: Remedy, plugin: str, row: int) -> None:
        if undone(remedy):
            return
        candidate = found.setdefault(encoder.encode(remedy.changes), CandidateRemedy(remedy))
        candidate.cures.add(plugin)
        if row >= 0:
            candidate.nodes.add(row)

    for plugin, remedy in _before_nodes(decision):
        take(remedy, plugin, -1)
    refusing: dict[int, frozenset[str]] = {}
    for row in rows or representatives(decision):
        reasons = decision.verdict(row).reasons
        if not reasons:
            continue
        refusing[row] = frozenset(plugin for plugin, _ in reasons)
        context = RemedyContext(decision.pod, decision.cluster, decision.release, row)
        for plugin, said in reasons:
            for reason in said:
                for remedy in reason.operands.remedies(context) if reason.operands is not None else ():
                    take(remedy, plugin, row)
    return Collected(tuple(found.values()), refusing)


def _before_nodes(decision: Decision) -> Iterator[tuple[str, Remedy]]:
    """Yield the remedies of the plugins that rejected the pod, or narrowed the nodes down, before Filter ran."""
    context = RemedyContext(decision.pod, decision.cluster, decision.release)
    said: dict[str, Status] = {}
    gate, outcome = decision.pre_enqueue, decision.pre_filter
    if gate.code is not Code.SUCCESS:
        said[gate.plugin] = gate
    if outcome is not None:
        if outcome.status.code is not Code.SUCCESS:
            said[outcome.status.plugin] = outcome.status
        said |= dict.fromkeys(sorted(outcome.plugins), SUCCESS)
    for plugin, status in said.items():
        if plugin:
            for remedy in decision.framework.plugin(plugin).remedies(context, status):
                yield plugin, remedy


def representatives(decision: Decision) -> Iterator[int]:
    """Yield the rows of nodes that represent all rejecting nodes.

    These are all of them if there are at most 60. Else up to 3 are taken of each group with equal rejections, those
    with the smallest shortfall first.
    """
    statuses = decision.statuses
    if statuses is None:
        return
    rows = np.flatnonzero(statuses.code != 0)
    if len(rows) <= FEW_NODES:
        yield from rows.tolist()
        return
    rules = decision.framework.handle.request_rules
    columns = decision.cluster.resources(rules)
    shortfall = np.zeros(len(decision.cluster.nodes))
    for name, wanted in {**scheduler_units(pod_requests(decision.pod, rules)), PODS: 1}.items():
        index = columns.index.get(name)
        if index is not None and wanted > 0:
            shortfall += np.maximum(wanted - columns.allocatable[index] + columns.requested[index], 0) / wanted
    plugins, reasons = _reasons(statuses)
    # The numbers are from 0 on.
    first, kind_of = numbered_together(reasons[rows].T + 1, len(rows))
    said = [
        tuple((plugin, reason) for plugin, reason in zip(plugins, kind, strict=True) if reason >= 0)
        for kind in reasons[rows[first]].tolist()
    ]
    order = sorted(range(len(said)), key=lambda i: (len(said[i]), str(said[i])))
    for group in [rows[kind_of == i] for i in order]:
        # A stable sort keeps the order of rows between nodes that lack equally much.
        yield from group[np.argsort(shortfall[group], kind="stable")][:_REPRESENTATIVES].tolist()


def _reasons(statuses: NodeStatuses) -> tuple[tuple[str, ...], Int64Array]:
    """Return the filters, and the number of each filter's reason by node: -1 where it does not reject the node.

    Returns: plugins: the filters; reasons: the numbers; the run that decides a node's status counts
    """
    runs = [run for run in (statuses.snapshot, statuses.nominated) if run is not None]
    plugins = tuple(dict.fromkeys(plugin for run in runs for plugin in run.plugins))
    reasons = np.full((statuses.n_nodes, len(plugins)), -1, dtype=np.int64)
    for run in runs:
        decides = ~run.passed if run is statuses.nominated else np.ones(len(run.rows), dtype=np.bool_)
        for i, plugin in enumerate(plugins):
            said = run.rejections.get(plugin)
            if said is not None:
                reasons[run.rows[decides], i] = np.where(said.code != 0, said.reason, -1)[decides]
    return plugins, reasons


Cure = TypeVar("Cure", bound="Suggestion | Advice")

#: The default number of suggestions.
DEFAULT_MOST: Final = 5
#: On clusters of more than 60 nodes, at most 80 single remedies and then 80 steps of pairs are tried, to bound the
#: running time; on smaller clusters, 100 times as many.
_MOST_PROOFS: Final = 80
#: At most 20 rollouts are tried.
_MOST_ROLLOUTS: Final = 20
#: At most 4 ways of one change are reported.
_MOST_WAYS: Final = 4


class SearchResult(msgspec.Struct, frozen=True):
    """The result of a search."""

    #: The suggestions, those of lowest risk first.
    suggestions: tuple[Suggestion, ...]
    #: The number of changes that were tried.
    tried: int
    #: True if the search was not cut short by the limit on tries.
    exhausted: bool = True
    #: The cures that cannot be tried, from the diagnosis.
    advice: tuple[Advice, ...] = ()

    @property
    def ranked(self) -> tuple[Suggestion | Advice, ...]:
        """The suggestions and the cures that cannot be tried, those of lowest risk first.

        A mistake is corrected: nothing then has to leave, or to do without a constraint or its data.
        """
        tried = {one.summary for one in self.suggestions}
        advice = (one for one in self.advice if one.summary not in tried)
        return tuple(_with_corrections(sorted([*self.suggestions, *advice], key=_suggestion_rank)))

    @property
    def proven(self) -> tuple[Suggestion, ...]:
        """The suggestions alone, ranked in the same way."""
        return tuple(_with_corrections(sorted(self.suggestions, key=_suggestion_rank)))


def suggest(
    decision: Decision,
    most: int = DEFAULT_MOST,
    node: str = "",
    *,
    ways: bool = True,
    kept: Collection[str] = (),
    rollouts: bool = True,
) -> SearchResult:
    """Search for the smallest changes that let a pod be scheduled; each is made, and the pod decided for again.

    Args:
        decision: The decision for the pod without changes; if it is scheduled, nothing is searched for.
        node: The node that the pod is bound to in the snapshot; empty if it is pending.
        ways: True to try other ways of the changes that help, too.
        kept: The pods that no suggestion deletes, as ``namespace/name``, such as those that a simulation has just
            placed.
        rollouts: True to try changes of pod templates to the end of the rollout that they start.
    """
    if most <= 0 or (decision.error and decision.statuses is None):
        return SearchResult((), 0)
    diagnoses = diagnose(decision, node)
    advice = tuple(one for each in diagnoses for one in each.advice)
    if decision.schedulable:
        return SearchResult((), 0, advice=advice)
    # The reasons of nodes do not matter as long as no scheduler tries the pod.
    collected = collect(decision) if not decision.other_scheduler else Collected((), {})
    remedies = [remedy for each in diagnoses for remedy in each.remedies]
    # Where an autoscaler adds nodes, nobody does it by hand.
    scaled = any(each.expansion is not None and not each.expansion.is_open for each in diagnoses)
    remedies = [each for each in remedies if not (scaled and each.family == NEW_NODE)]
    if not decision.other_scheduler and not scaled and not any(remedy.model for remedy in remedies):
        remedies += nodes_in_reach_of_volumes(decision)
    known = {remedy.summary for remedy in remedies}
    others = [each for each in _everything(decision, collected, kept) if each.remedy.summary not in known]
    search = _Search(decision, most, rollouts=rollouts)
    ordered = list(_in_order(collected, [*map(CandidateRemedy, remedies), *others]))
    search.singles(ordered)
    if ways:
        search.other_ways(ordered)
    corrections = [each for each in remedies if each.risk is Risk.MISTAKE and not search.settles(each)]
    if corrections:
        # A mistake may hide another obstacle, or another mistake.
        search.begin_anew()
        search.pairs(map(CandidateRemedy, corrections), kept, worst=Risk.CAPACITY)
        if not any(map(search.has, corrections)):
            advice += (_incomplete(corrections[0]),)
    # A node of a size that the cluster does not have may not exist.
    if all(one.remedies[0].family == NEW_NODE and not one.remedies[0].model for one in search.found):
        search.begin_anew()
        # Those for the nodes with the fewest rejecting filters come first.
        n_refusing = {row: len(plugins) for row, plugins in collected.refusing.items()}
        firsts = sorted(
            (each for each in collected.candidates if not each.remedy.evicts),
            key=lambda each: (min((n_refusing[row] for row in each.nodes), default=0), each.remedy.risk),
        )
        search.pairs([each for _, each in sorted(_numbered(firsts), key=lambda one: one[0])], kept)
    found = tuple(_without_repeats(sorted(search.found, key=_suggestion_rank))[:most])
    return SearchResult(found, search.tried, not search.out_of_tries, advice)


def _incomplete(correction: Remedy) -> Advice:
    """Return a correction after which something else still keeps the pod from being scheduled."""
    return Advice(summary=correction.summary, risk=correction.risk, untried="something else then keeps the pod pending")


def _everything(
    decision: Decision, collected: Collected, kept: Collection[str], first: CandidateRemedy | None = None
) -> list[CandidateRemedy]:
    """Return all single remedies; on a large cluster, proposed ones that cannot suffice for any node are left out.

    Args:
        collected: The remedies that its reasons propose.
        kept: The pods that no remedy deletes.
        first: The remedy that has been made, for second remedies of a pair. Nodes are then added like those that
            proposed it, and the deletion of any one pod is left out, which there are too many of.
    """
    if decision.other_scheduler:
        return []
    small = len(decision.cluster.nodes) <= FEW_NODES
    # A round of an autoscaler over a large cluster is not run for each pair.
    asks_once = first is None or not name_of(decision.cluster)
    # What preemption is about to evict is not deleted by hand.
    preempts = decision.preemption is not None and bool(decision.preemption.nominated)
    group = group_of(decision)
    preempts |= group is not None and bool(group.victims)
    proposed = [
        each
        for each in collected.candidates
        if (small or collected.promising(each)) and not (preempts and each.remedy.evicts)
    ]
    others: Iterable[Remedy] = (
        *preemption_remedies(decision),
        *group_remedies(decision),
        *(remedy for row in collected.refusing for remedy in freeing_deletions(decision, row, kept) if not preempts),
        *(_added_nodes(decision, first.nodes if first is not None else ()) if small or asks_once else ()),
        *other_priorities(decision),
        *(fewer_pods(decision) if small and not preempts and first is None else ()),
    )
    # Several remedies may delete the same pods: the first is taken, and preemption, which needs no help, comes first.
    known: set[tuple[str, ...]] = set()
    out: list[CandidateRemedy] = []
    for each in (*map(CandidateRemedy, others), *proposed):
        if each.remedy.evicts not in known and not any(key in kept for key in each.remedy.evicts):
            out.append(each)
            known |= {each.remedy.evicts} - {()}
    return out


def _added_nodes(decision: Decision, like: Collection[int]) -> Iterable[Remedy]:
    """Return the remedies that add nodes: as an autoscaler would, or by hand where there is none or it is not known."""
    found = expansion_of(Situation(decision))
    if found is not None and not found.is_open:
        return remedies_of(found)
    return (each for each in new_nodes(decision, like) if found is None or not _is_refused(decision, found, each))


def _is_refused(decision: Decision, found: Expansion, copies: Remedy) -> bool:
    """Report whether a remedy copies a node of a NodePool, whose instance type Karpenter has tried."""
    if not copies.model or not found.refusals:
        return False
    labels = decision.cluster.nodes.objects[decision.cluster.nodes.row[copies.model]].metadata.labels
    return NODE_POOL_LABEL in labels


def _in_order(collected: Collected, candidates: Iterable[CandidateRemedy]) -> Iterator[Remedy]:
    """Return remedies from the smallest and safest; the first of every family comes before the second of any."""

    def rank(one: tuple[int, CandidateRemedy]) -> tuple[object, ...]:
        remedy = one[1].remedy
        return not collected.promising(one[1]), one[0], remedy.risk, remedy.within, remedy.summary

    ordered = sorted(candidates, key=lambda each: (each.remedy.within, each.remedy.summary))
    return (each.remedy for _, each in sorted(_numbered(ordered), key=rank))


def _numbered(candidates: Iterable[CandidateRemedy]) -> Iterator[tuple[int, CandidateRemedy]]:
    """Yield remedies with the number of those of the same family before them."""
    nth: Counter[Hashable] = Counter()
    for each in candidates:
        yield nth[each.remedy.family], each
        nth[each.remedy.family] += 1


def _risks(one: Suggestion | Advice) -> list[Risk]:
    return [one.risk] if isinstance(one, Advice) else [remedy.risk for remedy in one.remedies]


def _with_corrections(ranked: list[Cure]) -> list[Cure]:
    """Leave out what evicts pods, drops a constraint or needs a copy of data if the first cure corrects a mistake.

    Nodes that are reserved for others are then not opened for the pod either.
    """
    if ranked and Risk.MISTAKE in _risks(ranked[0]):
        return [
            one
            for one in ranked
            if max(_risks(one)) < Risk.DROPPED and Risk.EVICTION not in _risks(one) and not _opens_nodes(one)
        ]
    return ranked


def _opens_nodes(one: Suggestion | Advice) -> bool:
    """Report whether a cure tolerates or removes the taint of nodes that the pod does not select."""
    return isinstance(one, Suggestion) and any(
        remedy.risk is Risk.SHARED and isinstance(remedy.side_of, tuple) and remedy.side_of[0] == "taint"
        for remedy in one.remedies
    )


def _suggestion_rank(suggestion: Suggestion | Advice) -> tuple[object, ...]:
    """Return the sort key of a suggestion: low risk before high risk, few victims before many."""
    if isinstance(suggestion, Advice):
        return False, suggestion.risk, 0, 0.0, suggestion.summary
    remedies = suggestion.remedies
    risk = max(remedy.risk for remedy in remedies)
    waits = risk is Risk.WAIT
    return (
        bool(suggestion.violates) and not waits,
        max(risk, Risk.EVICTION) if suggestion.evicts and not waits else risk,
        len(suggestion.evicts),
        max(remedy.within for remedy in remedies),
        suggestion.summary,
    )


def _without_repeats(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Merge suggestions that are ways of one change into the first of them; of ways in the same words the first stays.

    Nodes like those of two zones are the same words if both are added in a third zone.
    """
    ways: dict[object, list[Suggestion]] = {}
    for i, one in enumerate(found):
        alike = (one.side_of, len(one.evicts), bool(one.violates))
        same = ways.setdefault(i if one.side_of is None else alike, [])
        side = one.remedies[0].side
        if not side or all(other.remedies[0].side != side for other in same):
            same.append(one)
    return [replace(first, others=tuple(others)) if others else first for first, *others in ways.values()]


class _Search:
    """A search for remedies with a limited number of tries.

    out_of_tries: True if the search was cut short by the limit on tries.
    """

    def __init__(self, decision: Decision, most: int, *, rollouts: bool) -> None:
        self._decision = decision
        self._most = most
        self._tries_rollouts = rollouts
        #: The number of rollouts that may still be tried.
        self._rollouts = _MOST_ROLLOUTS
        self._budget = _MOST_PROOFS if len(decision.cluster.nodes) > FEW_NODES else 100 * _MOST_PROOFS
        self._used = 0
        self.found: list[Suggestion] = []
        self.tried = 0
        self.out_of_tries = False

    def begin_anew(self) -> None:
        """Reset the number of tries that count against the limit."""
        self._used = 0

    def singles(self, remedies: Iterable[Remedy]) -> None:
        """Try remedies one by one until enough of them help."""
        done: set[Hashable] = set()
        evicting: list[Suggestion] = []
        for remedy in remedies:
            if self._n_changes() >= self._most or not self._may_try():
                break
            if remedy.once and remedy.family in done:
                continue
            suggestion = self._to_the_end(prove(self._decision, (remedy,)))
            if suggestion is None:
                continue
            done.add(remedy.family)
            # Remedies that make preemption possible come after all that do not cause preemption, except for DaemonSets.
            direct = not suggestion.evicts or remedy.evicts or remedy.family == DAEMON_SET_PRIORITY
            (self.found if direct else evicting).append(suggestion)
        self.found += evicting[: max(self._most - self._n_changes(), 0)]

    def other_ways(self, remedies: Iterable[Remedy]) -> None:
        """Try the other ways of the changes that were found, up to 4 of each."""
        known = {id(one.remedies[0]) for one in self.found}
        number = Counter(one.side_of for one in self.found if one.side_of is not None)
        done = {one.remedies[0].family for one in self.found}
        for remedy in remedies:
            if remedy.once and remedy.family in done:
                continue
            if 0 < number[remedy.side_of] < _MOST_WAYS and id(remedy) not in known and self._may_try():
                suggestion = self._to_the_end(prove(self._decision, (remedy,)))
                if suggestion is not None and suggestion.evicts == remedy.evicts:
                    self.found.append(suggestion)
                    number[remedy.side_of] += 1
                    done.add(remedy.family)

    def has(self, remedy: Remedy) -> bool:
        """Report whether a remedy helps, alone or with another one."""
        return any(remedy in one.remedies for one in self.found)

    def settles(self, remedy: Remedy) -> bool:
        """Report whether a remedy helps, or another one of its family, of which one is enough."""
        families = {each.family for one in self.found for each in one.remedies}
        return self.has(remedy) or (remedy.once and remedy.family in families)

    def pairs(self, firsts: Iterable[CandidateRemedy], kept: Collection[str], worst: Risk = Risk.DATA) -> None:
        """Try pairs of remedies: a first one, and a second for what is left after it, on the nodes that proposed it.

        Args:
            kept: The pods that no remedy deletes.
            worst: The highest risk of a second remedy.
        """
        n_found = len(self.found)
        enough = {each.family for one in self.found for each in one.remedies if each.once}
        seen: set[frozenset[object]] = set()
        for candidate in firsts:
            first = candidate.remedy
            after = decide_after(self._decision, (first,)) if self._may_try() else None
            if after is None:
                continue
            left = collect(after, candidate.nodes)
            more = (each for one in diagnose(after) for each in one.remedies) if first.risk is Risk.MISTAKE else ()
            seconds = [
                each
                for each in (*map(CandidateRemedy, more), *_everything(after, left, kept, candidate))
                if left.promising(each) and each.remedy.risk <= worst and _goes_with(first, each.remedy)
                if not (each.remedy.once and each.remedy.family in enough)
            ]
            for second in _in_order(left, seconds):
                pair = frozenset((first.summary, second.summary))
                if pair in seen or not self._may_try():
                    continue
                seen.add(pair)
                suggestion = self._to_the_end(prove(self._decision, (first, second)))
                if suggestion is not None:
                    self.found.append(suggestion)
                    if len(self.found) - n_found >= self._most:
                        return

    def _to_the_end(self, suggestion: Suggestion | None) -> Suggestion | None:
        """Return a suggestion that helps to the end of the rollout that it starts, and not at another pod's cost."""
        if suggestion is None or moves_the_problem(suggestion):
            return None
        if not self._tries_rollouts:
            return suggestion
        if starts_rollout(suggestion):
            if not self._rollouts:
                self.out_of_tries = True
                return None
            self._rollouts -= 1
        return to_the_end(suggestion)

    def _n_changes(self) -> int:
        """Return the number of changes that were found, each with all of its ways."""
        return len(_without_repeats(self.found))

    def _may_try(self) -> bool:
        if self._used >= self._budget:
            self.out_of_tries = True
            return False
        self._used += 1
        self.tried += 1
        return True


def _goes_with(first: Remedy, second: Remedy) -> bool:
    """Report whether two remedies can help together.

    They do not if they change different nodes, as the pod needs only one, or if one of them is new; nor if they are
    variants of each other, which together could lower a request too far.
    """
    if first.family == second.family or (first.scope is RemedyScope.NODE and second.family == NEW_NODE):
        return False
    if first.scope is not RemedyScope.NODE or second.scope is not RemedyScope.NODE:
        return True
    return first.changes[0] != second.changes[0] and _changed_objects(first) == _changed_objects(second)


def _changed_objects(remedy: Remedy) -> set[str]:
    return {getattr(change, "name", "") for change in remedy.changes}
