"""InterPodAffinity: the plugin class, which connects counting and scoring to the extension points."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import SelectorError, matches
from kschedctl.scheduler.framework.config.types import InterPodAffinityArgs
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    is_on_node,
    registered,
    same_pod,
)
from kschedctl.scheduler.framework.explanation import Arithmetic, CountedDomains, FilterCheck
from kschedctl.scheduler.framework.interface import (
    FilterPlugin,
    Handle,
    PlacedCopies,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    required_state,
)
from kschedctl.scheduler.framework.runtime import encoded
from kschedctl.scheduler.framework.status import SKIP, SUCCESS, Code, Rejections, Status
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import (
    NO_MATCH,
    FilterState,
    MatchesPerClass,
    MatchesWithCopies,
    MatchingPods,
    explain_domains,
    matches_per_class,
    prepare,
    reject_nodes,
    shown_domains,
    word_reason,
)
from kschedctl.scheduler.plugins.inter_pod_affinity.scoring import (
    Contributions,
    RescaledScore,
    ScoresWithCopies,
    affinity_scores,
    contributions_per_class,
    explain_scores,
    normalize,
)
from kschedctl.scheduler.plugins.inter_pod_affinity.terms import (
    AffinityTerm,
    ExistingTerms,
    PodTerms,
    merge_namespaces,
    parse_pod_terms,
    terms_of_copies,
)


class _FilterState(msgspec.Struct, frozen=True):
    counts: FilterState
    terms: PodTerms


class _ScoreState(msgspec.Struct, frozen=True):
    scores: Int64Array
    cluster: Cluster


class _PlacedCopies(PlacedCopies):
    """The nodes that required terms reject, and the scores by preferred ones.

    Args:
        scores: ``None`` if preferred terms are ignored.
        per_class: Returns what a pod of each class of a cluster adds to the matches and to the scores.
    """

    def __init__(
        self,
        matches: MatchesWithCopies,
        scores: ScoresWithCopies | None,
        per_class: Callable[[Cluster], tuple[MatchesPerClass, Contributions]],
    ) -> None:
        self._matches = matches
        self._scores = scores
        self._per_class = per_class
        self._n_classes = -1
        self.rejected = matches.rejected

    def place(self, row: int) -> None:
        self._matches.place(row)
        self.rejected = self._matches.rejected
        if self._scores is not None:
            self._scores.place(row)

    def follow(self, cluster: Cluster, moved: MovedPods) -> bool:
        found = None
        if self._n_classes != len(cluster.pods.classes):
            found, self._contributions = self._per_class(cluster)
            self._n_classes = len(cluster.pods.classes)
        self._matches.follow(cluster, found, moved)
        self.rejected = self._matches.rejected
        if self._scores is not None:
            self._scores.follow(cluster, self._contributions, moved)
        return True

    def scores(self, rows: Rows) -> Int64Array | None:
        return normalize(self._scores.scores[rows]) if self._scores is not None else None


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Upstream: plugins/interpodaffinity."""

    name = "InterPodAffinity"

    def __init__(self, args: msgspec.Struct | None, handle: Handle) -> None:
        super().__init__(args, handle)
        if not isinstance(args, InterPodAffinityArgs):
            raise TypeError(f"want args to be of type InterPodAffinityArgs, got {type(args).__name__}")
        self._args = args

    @cached_property
    def _existing(self) -> ExistingTerms:
        return ExistingTerms.of(self.handle.cluster)

    def _merged_terms(self, pod: Pod) -> PodTerms:
        terms = parse_pod_terms(pod)
        cluster = self.handle.cluster
        return PodTerms(
            tuple(merge_namespaces(cluster, term) for term in terms.required_affinity),
            tuple(merge_namespaces(cluster, term) for term in terms.required_anti_affinity),
            tuple((merge_namespaces(cluster, term), weight) for term, weight in terms.preferred),
        )

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = EventResource.POD if self.handle.release.queue.unscheduled_pods_wake else EventResource.ASSIGNED_POD
        own = registered(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
        of_pods = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        return (
            registered(pods, of_pods, self.after_pod_change),
            *(() if self.handle.release.queue.unscheduled_pods_wake else (own,)),
            registered(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, self.after_node_change),
        )

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Report whether an added, deleted or relabelled pod may let the pod fit."""
        if old is not None and new is not None and same_pod(pod, new):
            return True
        counts = self.handle.release.queue.nominated_pods_wake
        if any(other is not None and not is_on_node(other, or_nominated=counts) for other in (old, new)):
            return False
        try:
            terms = parse_pod_terms(pod)
            near, far = terms.required_affinity, terms.required_anti_affinity
            if new is not None and old is not None:
                if self._lacks_namespace((*near, *far), old, new):
                    return True
                met = not self._means(all, near, old) and self._means(all, near, new)
                return met or (self._parted(far, old) and not self._parted(far, new))
            if new is not None:
                return self._lacks_namespace(near, new) or self._means(all, near, new)
            if old is None or self._lacks_namespace(far, old) or self._parted(far, old):
                return True
            if not self.handle.release.queue.anti_affinity_of_deleted_pods_wakes:
                return False
            theirs = parse_pod_terms(old).required_anti_affinity
            return self._lacks_namespace(theirs, pod) or self._parted(theirs, pod)
        except SelectorError:
            # Upstream queues the pod if a hint returns an error.
            return True

    def _means(self, quantifier: Callable[[Iterable[bool]], bool], terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
        """Report whether all, or any, of the terms match a pod; False without terms."""
        knows = self.handle.release.queue.namespace_selectors_wake
        labels = self.handle.cluster.namespace_labels.get(pod.namespace, {}) if knows else {}
        return bool(terms) and quantifier(term.matches(pod, labels) for term in terms)

    def _lacks_namespace(self, terms: tuple[AffinityTerm, ...], *pods: Pod) -> bool:
        """Report whether a term depends on the labels of the pods' namespace, which does not exist."""
        if not self.handle.release.queue.namespace_selectors_wake:
            return False
        namespace = pods[0].namespace
        return namespace not in self.handle.cluster.namespace_labels and any(
            term.namespace_selector
            and namespace not in term.namespaces
            and any(matches(term.selector, pod.metadata.labels) for pod in pods if term.selector is not None)
            for term in terms
        )

    def _parted(self, terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
        return self._means(any if self.handle.release.queue.any_anti_affinity_term_wakes else all, terms, pod)

    def after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Report whether an added or relabelled node may create, join or leave a domain of the pod's required terms."""
        try:
            terms = parse_pod_terms(pod)
        except SelectorError:
            return True
        labels = new.metadata.labels
        if old is None:
            return bool(terms.required_anti_affinity) or any(t.topology_key in labels for t in terms.required_affinity)
        before = old.metadata.labels
        return any(
            labels.get(term.topology_key) not in (None, before.get(term.topology_key))
            for term in terms.required_affinity
        ) or any(
            before.get(term.topology_key) not in (None, labels.get(term.topology_key))
            for term in terms.required_anti_affinity
        )

    def sign_pod(self, pod: Pod) -> Hashable | None:
        """Sign the pod by its labels, or by nothing if the profile ignores preferred terms of existing pods.

        A pod with pod affinity or anti-affinity cannot be signed.
        """
        affinity = pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None):
            return None
        return () if self._args.ignore_preferred_terms_of_existing_pods else encoded(pod.metadata.labels)

    def reach_of_copies(self, pod: Pod) -> Reach:
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return Reach.NOTHING
        return Reach.CLUSTER

    def placed_copies(self, state: CycleState, pod: Pod) -> PlacedCopies | None:
        try:
            terms, own = self._merged_terms(pod), terms_of_copies(self.handle.cluster, pod)
        except SelectorError:
            return None
        cluster, weight = self.handle.cluster, self._args.hard_pod_affinity_weight
        n_nodes = len(cluster.nodes)
        found, scored = state.read(_FilterState), state.read(_ScoreState)
        # PreFilter skips a pod without any match so far.
        matches = MatchesWithCopies(cluster, found.counts if found is not None else NO_MATCH, terms, own, pod)
        scores = None
        if terms.preferred or not self._args.ignore_preferred_terms_of_existing_pods:
            # PreScore skips a pod without any match so far.
            raw = scored.scores if scored is not None else np.zeros(n_nodes, dtype=np.int64)
            scores = ScoresWithCopies(cluster, raw, terms, own, pod, hard_pod_affinity_weight=weight)

        def per_class(cluster: Cluster) -> tuple[MatchesPerClass, Contributions]:
            of_pods = cluster, ExistingTerms.of(cluster), terms, pod
            return matches_per_class(*of_pods), contributions_per_class(*of_pods, hard_pod_affinity_weight=weight)

        return _PlacedCopies(matches, scores, per_class)

    def hard_counts(self, pod: Pod) -> FilterState:
        """Return the match counts of required terms by domain, the pod's terms and those of existing pods.

        Raises SelectorError if a selector of the pod is invalid.
        """
        return prepare(self.handle.cluster, self._existing, self._merged_terms(pod), pod)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        try:
            terms = self._merged_terms(pod)
        except SelectorError as error:
            text = f"parsing pod: {error.path}: {error}"
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,)))
        counts = prepare(self.handle.cluster, self._existing, terms, pod)
        if counts.empty and not terms.required_affinity and not terms.required_anti_affinity:
            return PreFilterResult(SKIP)
        state.write(_FilterState(counts, terms))
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        found = required_state(
            state, _FilterState, 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
        )
        culprits = MatchingPods(self.handle.cluster)
        terms = found.terms.required_affinity
        return reject_nodes(found.counts, nodes, lambda row, counts: word_reason(culprits, row, counts, terms))

    def pre_score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
        try:
            terms = self._merged_terms(pod)
        except SelectorError as error:
            return Status(Code.ERROR, (f"failed to parse pod: {error.path}: {error}",))
        if self._args.ignore_preferred_terms_of_existing_pods and not terms.preferred:
            return SKIP
        weight = self._args.hard_pod_affinity_weight
        cluster = self.handle.cluster
        found = contributions_per_class(cluster, self._existing, terms, pod, hard_pod_affinity_weight=weight)
        scores = affinity_scores(cluster, found)
        if scores is None:
            return SKIP
        state.write(_ScoreState(scores, cluster))
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        found = required_state(
            state, _ScoreState, 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
        )
        return found.scores[rows]

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array) -> Int64Array:
        return normalize(scores)

    def depends_on_feasible_nodes(self, state: CycleState, pod: Pod) -> bool:
        return False

    def losses_can_hurt(self, state: CycleState, pod: Pod) -> bool:
        found = state.read(_FilterState)
        return found is not None and bool(found.terms.required_affinity)

    def alike_when_lost(self, state: CycleState, pod: Pod) -> Iterator[Int64Array]:
        found = state.read(_FilterState)
        groups = found.counts if found is not None else None
        for counts in (*groups.affinity, *groups.anti_affinity, *groups.existing) if groups is not None else ():
            yield counts.column.among_others
            yield self.handle.cluster.pods.sum_per_node(counts.per_class)

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        found = state.read(_FilterState)
        if found is None:
            return ()
        return explain_domains(found.counts, self.handle.cluster.overlay(np.array([row], dtype=np.int64)))

    def counted_domains(self, state: CycleState, pod: Pod) -> tuple[CountedDomains, ...]:
        found = state.read(_FilterState)
        return shown_domains(found.counts) if found is not None else ()

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        found = state.read(_ScoreState)
        # Score may see node objects sent back by an extender. PreScore summed the weights on the original cluster.
        cluster = found.cluster if found is not None else self.handle.cluster
        weight, existing = self._args.hard_pod_affinity_weight, ExistingTerms.of(cluster)
        return explain_scores(cluster, existing, self._merged_terms(pod), pod, row, hard_pod_affinity_weight=weight)

    def explain_normalize_score(self, state: CycleState, pod: Pod, scores: Int64Array, position: int) -> Arithmetic:
        return RescaledScore(int(scores[position]), int(scores.min()), int(scores.max()))
