"""Parsed pod affinity terms, and tables of the terms of existing pods.

The API server merges ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selector; the scheduler uses only the
selector.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.slots import PodClasses
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.meta import Labels, LabelSelector
from kschedctl.objects.pod import Pod, PodAffinity, PodAffinityTerm
from kschedctl.objects.selectors import Selector, SelectorError, matches, parse_label_selector

_NO_LABELS: Final[Labels] = {}
#: The maximum number of distinct pod labels for which the matching terms are cached.
_MOST_KNOWN: Final = 1024


class AffinityTerm(msgspec.Struct, frozen=True):
    """A parsed term."""

    #: The key of the label that defines the domains.
    topology_key: str
    #: The selector of the pods; ``None`` selects no pod.
    selector: Selector | None
    #: The namespaces listed in the term.
    namespaces: frozenset[str]
    #: The selector of further namespaces; ``None`` selects no namespace.
    namespace_selector: Selector | None

    def matches(self, pod: Pod, namespace_labels: Labels) -> bool:
        """Report whether the term matches a pod, given the labels of the pod's namespace."""
        return self.means(pod.metadata.namespace, pod.metadata.labels, namespace_labels)

    def means(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Report whether the term matches a pod with these labels, in this namespace with ``namespace_labels``."""
        if namespace not in self.namespaces and not _selects(self.namespace_selector, namespace_labels):
            return False
        return _selects(self.selector, labels)


class PodAndNamespaceLabels(msgspec.Struct, frozen=True):
    """The properties of a pod that terms match: its namespace, its labels and the labels of the namespace."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    namespace_labels: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, cluster: Cluster, pod: Pod) -> "PodAndNamespaceLabels":
        namespace = pod.metadata.namespace
        of_namespace = cluster.namespace_labels.get(namespace, _NO_LABELS)
        return cls(namespace, tuple(pod.metadata.labels.items()), tuple(of_namespace.items()))


def _selects(selector: Selector | None, labels: Labels) -> bool:
    return selector is not None and matches(selector, labels)


def parse_term(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    """Parse a term of a pod in a namespace.

    Raises SelectorError if a selector is invalid.
    """
    # A term without namespaces and without a namespace selector applies to the pod's own namespace.
    namespaces = term.namespaces
    if not namespaces and term.namespace_selector is None:
        namespaces = (namespace,)
    return AffinityTerm(
        term.topology_key, _parse(term.label_selector), frozenset(namespaces), _parse(term.namespace_selector)
    )


def _parse(selector: LabelSelector | None) -> Selector | None:
    return None if selector is None else parse_label_selector(selector)


class PodTerms(msgspec.Struct, frozen=True):
    """The terms of a pod. The weights of preferred terms are negative for anti-affinity."""

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[tuple[AffinityTerm, int], ...] = ()


def parse_pod_terms(pod: Pod) -> PodTerms:
    """Parse all terms of a pod.

    Raises SelectorError if a selector is invalid. The error's path begins with the kind of term.
    """
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return PodTerms()
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()

    def required(terms: Iterable[PodAffinityTerm], kind: str) -> tuple[AffinityTerm, ...]:
        try:
            return tuple(parse_term(term, pod.metadata.namespace) for term in terms)
        except SelectorError as error:
            raise SelectorError(str(error), f"{kind}.{error.path}") from None

    return PodTerms(
        required(near.required_during_scheduling_ignored_during_execution, "requiredAffinityTerms"),
        required(far.required_during_scheduling_ignored_during_execution, "requiredAntiAffinityTerms"),
        tuple(
            (required((weighted.pod_affinity_term,), kind)[0], sign * weighted.weight)
            for terms, sign, kind in ((near, 1, "preferredAffinityTerms"), (far, -1, "preferredAntiAffinityTerms"))
            for weighted in terms.preferred_during_scheduling_ignored_during_execution
        ),
    )


def terms_of_copies(cluster: Cluster, pod: Pod) -> PodTerms:
    """Return the terms of a copy of the pod on a node that match the pod.

    Raises SelectorError if a selector is invalid.
    """
    terms = parse_pod_terms(pod)
    namespace_labels = cluster.namespace_labels.get(pod.namespace, _NO_LABELS)
    return PodTerms(
        tuple(term for term in terms.required_affinity if term.matches(pod, namespace_labels)),
        tuple(term for term in terms.required_anti_affinity if term.matches(pod, namespace_labels)),
        tuple((term, weight) for term, weight in terms.preferred if term.matches(pod, namespace_labels)),
    )


def merge_namespaces(cluster: Cluster, term: AffinityTerm) -> AffinityTerm:
    """Return a term of the pod to place, extended by the namespaces that its namespace selector matches.

    The namespace selector is kept: upstream also matches it against an empty set of labels, which satisfies a selector
    with negative requirements only.
    """
    if not term.namespace_selector:
        return term
    found = {name for name, labels in cluster.namespace_labels.items() if matches(term.namespace_selector, labels)}
    return AffinityTerm(term.topology_key, term.selector, term.namespaces | found, term.namespace_selector)


def classes_matching(cluster: Cluster, term: AffinityTerm) -> Mask:
    """Return the pod classes that a term of the pod matches, namespaces merged: bool, shape (n_classes,)."""
    pods = cluster.pods
    if term.selector is None:
        return np.zeros(len(pods.classes), dtype=np.bool_)
    mask = pods.classes_matching(term.selector)
    if _selects(term.namespace_selector, _NO_LABELS):
        return mask
    return mask & pods.classes_in(term.namespaces)


#: By topology key: the ids of the classes with a term, ascending, and the weights of these terms.
ByKey = dict[str, tuple[Int64Array, Int64Array]]


class TermTable:
    """The distinct terms of one kind over all pod classes. Classes are only added, never removed.

    class_id: One entry per class and term, with the term's weight; sorted by class.
    term_id: One entry per class and term, with the term's weight; sorted by class.
    weight: One entry per class and term, with the term's weight; sorted by class.
    """

    def __init__(self) -> None:
        self.terms: list[AffinityTerm] = []
        self.class_id = self.term_id = self.weight = np.zeros(0, dtype=np.int64)
        self._number: dict[AffinityTerm, int] = {}
        self._known: dict[PodAndNamespaceLabels, tuple[int, dict[str, list[int]]]] = {}
        self._matching: dict[PodAndNamespaceLabels, tuple[int, ByKey]] = {}

    def add(self, entries: Iterable[tuple[int, AffinityTerm, int]]) -> None:
        """Add the terms of (class, term, weight) entries, classes ascending."""
        rows = [
            (class_id, self._number.setdefault(term, len(self._number)), weight) for class_id, term, weight in entries
        ]
        if rows:
            columns = np.array(rows, dtype=np.int64)
            self.class_id = np.concatenate((self.class_id, columns[:, 0]))
            self.term_id = np.concatenate((self.term_id, columns[:, 1]))
            self.weight = np.concatenate((self.weight, columns[:, 2]))
            self.terms += list(self._number)[len(self.terms) :]

    def matching(self, pod: PodAndNamespaceLabels, n_classes: int) -> ByKey:
        """Return the entries whose term matches a pod, of the first ``n_classes`` classes."""
        n_entries, found = self._matching.get(pod, (-1, {}))
        if n_entries != len(self.term_id):
            found = {}
            n_asked, by_key = self._known.get(pod, (0, {}))
            labels, namespace_labels = dict(pod.labels), dict(pod.namespace_labels)
            for number in range(n_asked, len(self.terms)):
                term = self.terms[number]
                if term.means(pod.namespace, labels, namespace_labels):
                    by_key.setdefault(term.topology_key, []).append(number)
            self._known[pod] = len(self.terms), by_key
            for key, ids in by_key.items():
                at = np.isin(self.term_id, ids)
                found[key] = (self.class_id[at], self.weight[at])
            if len(self._matching) > _MOST_KNOWN:
                self._matching.clear()
                self._known.clear()
            self._matching[pod] = len(self.term_id), found
        if len(self.class_id) and self.class_id[-1] >= n_classes:
            ends = {key: int(np.searchsorted(class_ids, n_classes)) for key, (class_ids, _) in found.items()}
            return {
                key: (classes[: ends[key]], weights[: ends[key]])
                for key, (classes, weights) in found.items()
                if ends[key]
            }
        return found


class ExistingTerms:
    """The terms of all pod classes of a cluster and of the clusters derived from it."""

    def __init__(self, classes: PodClasses) -> None:
        self._classes = classes
        self._n_asked = 0
        self._required_affinity = TermTable()
        self._required_anti_affinity = TermTable()
        self._preferred = TermTable()

    @classmethod
    def of(cls, cluster: Cluster) -> "ExistingTerms":
        """Return the terms of a cluster's pod classes; each class is parsed once."""
        found = cluster.pods.class_table.companion(cls)
        found._catch_up()
        return found

    def _catch_up(self) -> None:
        new = self._classes.all[self._n_asked :]
        parsed = [
            (class_id, parse_pod_terms(pod_class.pod))
            for class_id, pod_class in enumerate(new, self._n_asked)
            if pod_class.pod.spec.affinity is not None
        ]
        self._n_asked += len(new)
        if parsed:
            self._required_affinity.add((i, term, 1) for i, terms in parsed for term in terms.required_affinity)
            self._required_anti_affinity.add(
                (i, term, 1) for i, terms in parsed for term in terms.required_anti_affinity
            )
            self._preferred.add((i, term, weight) for i, terms in parsed for term, weight in terms.preferred)

    def required_affinity(self, pod: PodAndNamespaceLabels, n_classes: int) -> ByKey:
        """Return the required affinity terms of the first ``n_classes`` classes that match a pod."""
        return self._required_affinity.matching(pod, n_classes)

    def required_anti_affinity(self, pod: PodAndNamespaceLabels, n_classes: int) -> ByKey:
        """Return the required anti-affinity terms of the first ``n_classes`` classes that match a pod."""
        return self._required_anti_affinity.matching(pod, n_classes)

    def preferred(self, pod: PodAndNamespaceLabels, n_classes: int) -> ByKey:
        """Return the preferred terms of the first ``n_classes`` classes that match a pod."""
        return self._preferred.matching(pod, n_classes)
