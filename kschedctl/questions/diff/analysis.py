"""The analysis behind ``diff``: the changes for pods between a cluster and another one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from kschedctl.cluster.placed_pods import pending_pods, queue_order
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import InputError, ManifestError
from kschedctl.common.wording import counted, listed
from kschedctl.objects.defaults import DEFAULT_NAMESPACE
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.differences import differing_rules, with_values_of
from kschedctl.objects.releases.release import Release
from kschedctl.questions.diff.alike_changes import AlikeChanges
from kschedctl.questions.diff.answer import OUTCOME_PARTS, AnswerPart, Diff, PodChangeData, ReleaseRuleData, SideOutcome
from kschedctl.questions.diff.changed_nodes import NodeCause, changed_nodes, node_cures
from kschedctl.questions.diff.pod_change import Summary, compare, differing_parts, node_changes
from kschedctl.questions.diff.rules import Rules, RuleSearch
from kschedctl.questions.diff.sides import Key, Side, SideAnswer
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import PodSubject
from kschedctl.questions.run_results import group_loss_data
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.sources.snapshot.pod_choice import is_manifest
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.aftermath import group_losses
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

#: The rules behind changes that the first line names.
_MOST_RULES: Final = 3


def summary(changed: Sequence[PodChangeData], n_pods: int) -> str:
    """Count the compared pods that lose their place and those that change otherwise, in one or two sentences."""
    of = counted(n_pods, "pod")
    if not changed:
        return f"Nothing changes for {of}."
    worse = sum(pod.worse for pod in changed)
    elsewhere = sum(not pod.worse and pod.changes_outcome for pod in changed)
    alike = len(changed) - worse - elsewhere
    if n_pods == 1:
        details = "" if worse or elsewhere else "does not change its node, only details: "
        return f"{changed[0].key} {details}{changed[0].summary[0]}."
    if alike == len(changed):
        return f"No pod changes its node; {alike} of {of} {'changes' if alike == 1 else 'change'} only in details."
    counts = [
        (worse, "would fit on no node"),
        (elsewhere, "has another outcome" if elsewhere == 1 else "have another outcome"),
        (alike, "changes only in details" if alike == 1 else "change only in details"),
    ]
    (first, does), *rest = [(number, words) for number, words in counts if number]
    return ", ".join([f"{first} of {of} {does}", *(f"{number} {words}" for number, words in rest)]) + "."


def _named(rules: Sequence[ReleaseRuleData]) -> Iterator[str]:
    """Yield a sentence with the rules behind the changes; none without rules."""
    if rules:
        names = [each.name for each in rules]
        noun = "The rule" if len(rules) == 1 else "The rules"
        yield f"{noun} behind it: {listed(names, most=_MOST_RULES)}."


#: The number of changes of nodes in the first line, and of ways to take them back.
_MOST_CAUSES: Final = 2
_MOST_CURES: Final = 5

T = TypeVar("T")
#: For up to 50 pods, the nodes of every change are listed; for more, only those of the first change of each kind.
_FEW = 50
_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRequest:
    """A question about the changes for pods between a cluster and another one."""

    #: The other cluster: the second side.
    other: LoadedCluster
    #: The pods that are compared; a side may lack them.
    pods: tuple[Key, ...]
    #: The pods to create in each side; they replace the clusters' own pods.
    new_pods: tuple[Mapping[Key, PodSubject], Mapping[Key, PodSubject]] = ({}, {})
    #: The file with the scheduler's configuration of each side; empty for none.
    configs: tuple[str, str] = ("", "")

    @classmethod
    def of(
        cls,
        cluster: LoadedCluster,
        other: LoadedCluster,
        pods: Iterable[Pod | Mapping[str, Any] | str | Path] | None = None,
    ) -> "DiffRequest":
        """Return the question about pods; by default about all pods that are pending on either side.

        Raises ManifestError if neither side has a named pod, or a pod given as data is invalid.
        """
        sides = cluster, other
        if pods is None:
            every = (side.pods.records[index] for side in sides for index in pending_pods(side.cluster))
            return cls(
                other=other, pods=tuple(dict.fromkeys((own.metadata.namespace, own.metadata.name) for own in every))
            )
        keys: dict[Key, None] = {}
        new_pods: tuple[dict[Key, PodSubject], dict[Key, PodSubject]] = {}, {}
        for pod in pods:
            if isinstance(pod, str) and not is_manifest(pod):
                keys[_key_of(sides, pod)] = None
                continue
            for side, own in zip(sides, new_pods, strict=True):
                found, where = side.written_pod(pod)
                key = found.namespace or DEFAULT_NAMESPACE, found.name
                own[key] = PodSubject(found, where=where)
                keys[key] = None
        return cls(other=other, pods=tuple(keys), new_pods=new_pods)


def _key_of(sides: Iterable[LoadedCluster], name: str) -> Key:
    pod = next(filter(None, found_on(sides, lambda side: side.named_pod(name))))
    return pod.namespace, pod.name


def found_on(sides: Iterable[LoadedCluster], find: Callable[[LoadedCluster], T]) -> list[T | None]:
    """Return the result of ``find`` for each side, ``None`` where it raises; at least one side must succeed.

    Raises ManifestError the first side's error, if no side succeeds.
    """
    found: list[T | None] = []
    errors = []
    for side in sides:
        try:
            found.append(find(side))
        except ManifestError as error:
            errors.append(error)
            found.append(None)
    if len(errors) == len(found):
        raise errors[0]
    return found


def diff(cluster: LoadedCluster, request: DiffRequest, handle: AnalysisHandle) -> Diff:
    """Compare the decisions of two clusters for pods.

    Pods that lose their node are placed one after another, the most important first; each other pod is decided for by
    itself.
    """
    clusters = cluster, request.other
    before, after = (
        Side.of(request.pods, *each) for each in zip(clusters, request.configs, request.new_pods, strict=True)
    )
    pending: dict[Key, Decision] = {}
    rules = _Rules.of(before, after, use_known=len(request.pods) > _FEW)
    found = _changes(before, after, request.pods, handle, pending, rules)
    causes: list[NodeCause] = []
    if cluster.snapshot.paths != request.other.snapshot.paths and pending:
        with handle.busy("comparing nodes"):
            causes = changed_nodes(cluster, request.other, pending)
    changed = tuple(found[key] for key in request.pods if key in found)
    names = [side.nodes.row for side in clusters]
    entries = []
    for pod in changed:
        if pod.before.node_name and not pod.after.node_name:
            entries.append(TimelineEntry(_ANY_TIME, pod.key, TimelineEvent.EVICTED, pod.before.node_name, ""))
            if pod.after.outcome is SideOutcome.SCHEDULED:
                entries.append(TimelineEntry(_ANY_TIME, pod.key, TimelineEvent.SCHEDULED, pod.after.nodes[0], ""))
    entries.sort(key=lambda entry: entry.event is TimelineEvent.SCHEDULED)
    release, behind = request.other.release_choice.release, rules.data(changed)
    return Diff(
        before=before.data(),
        after=after.data(),
        summary=" ".join(
            (summary(changed, len(request.pods)), *(f"{each.text}." for each in causes[:_MOST_CAUSES]), *_named(behind))
        ),
        causes=tuple(each.data() for each in causes),
        rules=behind,
        suggestions=tuple(islice(node_cures(request.other, causes), _MOST_CURES)),
        pods=len(request.pods),
        changed=changed,
        nodes_gone=tuple(name for name in names[0] if name not in names[1]),
        nodes_new=tuple(name for name in names[1] if name not in names[0]),
        groups=group_loss_data(group_losses(cluster.cluster, request.other.cluster, entries, release)),
    )


@dataclass(slots=True)
class _Rules:
    """The search for the rules behind changes, on the second side."""

    after: Side
    older: Release
    search: RuleSearch
    #: True to accept rules that were found for another pod.
    use_known: bool
    #: The second side's cluster with the old values of all rules, of one, or of others that were found together.
    clusters: dict[tuple[str, ...], LoadedCluster] = field(default_factory=dict)

    @classmethod
    def of(cls, before: Side, after: Side, *, use_known: bool) -> "_Rules":
        older, newer = (side.cluster.release_choice.release for side in (before, after))
        rules = differing_rules(older, newer)
        if older.pod_groups is None and newer.pod_groups is None:
            rules = tuple(rule for rule in rules if not rule.path.startswith("pod_group_rules."))
        return cls(after, older, RuleSearch(rules), use_known)

    def explained(self, key: Key, change: PodChangeData, known: SideAnswer | None) -> PodChangeData:
        """Return a change with the rules behind it.

        The old answer is that of the second side with all old rules, as the sides may differ in more than their rules.

        Args:
            known: The answer of the second side, if it is known.
        """
        old = self._answer(key, self.search.rules) if self.search.rules else None
        if old is None:
            return change
        parts = OUTCOME_PARTS if change.changes_outcome else frozenset(AnswerPart)

        def is_back(before: SideAnswer, after: SideAnswer) -> bool:
            differing = differing_parts(before.outcome, after.outcome, node_changes(before, after))
            return parts.isdisjoint(differing)

        if is_back(old, known or self.after.answer(key)):
            return change

        def brings_back(rules: Rules) -> bool:
            new = self._answer(key, rules) if rules != self.search.rules else old
            return new is not None and is_back(old, new)

        found = self.search.behind(brings_back, use_known=self.use_known)
        names = tuple(rule.words.name for rule in found.rules)
        return replace(change, rules=names, rules_together=found.together)

    def data(self, changed: Iterable[PodChangeData]) -> tuple[ReleaseRuleData, ...]:
        """Return the rules behind changes, those of most pods first."""
        pods = Counter(name for change in changed for name in change.rules)
        return tuple(
            ReleaseRuleData(
                name=rule.words.name,
                field=rule.path,
                before=rule.text(0),
                after=rule.text(1),
                since=rule.since,
                advice=rule.words.advice,
                pods=pods[rule.words.name],
            )
            for rule in sorted(self.search.rules, key=lambda rule: -pods[rule.words.name])
            if pods[rule.words.name]
        )

    def _answer(self, key: Key, rules: Rules) -> SideAnswer | None:
        """Return the second side's answer with the old values of some rules; ``None`` if it then refuses the pod."""
        paths = tuple(rule.path for rule in rules)
        try:
            cluster = self.clusters.get(paths) or self.after.cluster.with_release(self._mixed(rules))
            if len(rules) in (1, len(self.search.rules)):
                self.clusters[paths] = cluster
            return self.after.answer(key, cluster, trial=True)
        except InputError:
            return None

    def _mixed(self, rules: Rules) -> Release:
        """Return the newer release with the old values of some rules.

        Fields that are no rule about a pod, such as the names of gates, are those of the older release if most of the
        values are, unless it has no rules of pod groups.
        """
        newer = self.after.cluster.release_choice.release
        if rules == self.search.rules:
            return self.older
        if len(rules) == 1 or self.older.pod_group_rules is None:
            return with_values_of(newer, self.older, rules)
        return with_values_of(self.older, newer, tuple(each for each in self.search.rules if each not in rules))


def _changes(
    before: Side,
    after: Side,
    pods: tuple[Key, ...],
    handle: AnalysisHandle,
    pending: dict[Key, Decision],
    rules: "_Rules",
) -> dict[Key, PodChangeData]:
    """Return the changes of pods, and add the decisions for those that fit only on the first side to ``pending``."""
    # The pods that lose their node are in the scheduler's queue order, as they compete for capacity.
    old, new_pods = before.cluster.pods, after.cluster.pods
    displaced = dict.fromkeys(
        sorted(
            (
                key
                for key in pods
                if (was := old.index.get(key)) is not None
                and (now := new_pods.index.get(key)) is not None
                and old.node_row[was] >= 0
                and new_pods.node_row[now] == PENDING
            ),
            key=lambda key: queue_order(new_pods.pod(new_pods.index[key])),
        )
    )
    keys = [*displaced, *(key for key in pods if key not in displaced)]
    seen: set[Summary] | None = None if len(keys) <= _FEW else set()
    alike = AlikeChanges((before, after), keys[len(displaced) :], handle)
    placed = after.cluster
    known: dict[object, PodChangeData | None] = {}
    found: dict[Key, PodChangeData] = {}
    for key in handle.track(keys, "comparing pods"):
        if key in displaced:
            new = after.answer(key, placed)
            change = _listed_once(compare(before.answer(key), new, seen), seen)
            if change is not None and new.decision is not None and _fits_no_more(change):
                pending[key] = new.decision
            if new.decision is not None and new.decision.schedulable:
                # The next pods find it bound; of equally good nodes, to the first by name.
                placed = placed.with_bound(new.decision, new.decision.best[0])
        else:
            kinds = before.kind(key), after.kind(key)
            if kinds not in known:
                together = alike.take(key, seen)
                if together is not None:
                    alone, change = None, together.change
                    before.report(together.basis[0])
                    after.report(together.basis[1])
                else:
                    alone = after.answer(key)
                    change = compare(before.answer(key), alone, seen)
                change = _listed_once(change, seen)
                if change is not None:
                    handle.check()
                    change = rules.explained(key, change, alone)
                known[kinds] = change
                if change is not None and alone is not None and alone.decision is not None and _fits_no_more(change):
                    pending[key] = alone.decision
            change = known[kinds]
        if change is not None:
            found[key] = replace(change, namespace=key[0], name=key[1])
    return found


def _listed_once(change: PodChangeData | None, seen: set[Summary] | None) -> PodChangeData | None:
    """Return a change without its nodes if an earlier one has the same summary; add it to those that were seen."""
    if change is None or seen is None:
        return change
    if change.summary in seen:
        return replace(change, nodes=None)
    seen.add(change.summary)
    return change


def _fits_no_more(change: PodChangeData) -> bool:
    """Report whether a pod fits on no node of the second side, and had or fitted a node or did not exist on the first.

    A running pod keeps its node, and fits nowhere once it is created again.
    """
    is_worse = change.worse or change.before.outcome in (SideOutcome.ABSENT, SideOutcome.SCHEDULED)
    return is_worse and change.after.outcome is SideOutcome.UNSCHEDULABLE
