"""Pod affinity terms, parsed, and the table of those of the pods on nodes.

The API server merges ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selector; the scheduler reads only that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.api.meta import LabelSelector
from kschedctl.api.pod import Pod, PodAffinity, PodAffinityTerm
from kschedctl.api.selectors import Selector, SelectorError, matches, parse_label_selector
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.cluster import Cluster

_NO_LABELS: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Term:
    """A parsed term.

    Attributes
    ----------
    topology_key : str
        The label that makes domains.
    selector, namespace_selector : Selector or None
        Which pods, and which namespaces besides ``namespaces``; ``None`` for none.
    namespaces : frozenset of str
        The namespaces named.
    """

    topology_key: str
    selector: Selector | None
    namespaces: frozenset[str]
    namespace_selector: Selector | None

    def matches(self, pod: Pod, namespace_labels: dict[str, str]) -> bool:
        """Whether a pod in a namespace with these labels is meant."""
        namespace = pod.metadata.namespace
        if namespace not in self.namespaces and not _selects(self.namespace_selector, namespace_labels):
            return False
        return _selects(self.selector, pod.metadata.labels)


def _selects(selector: Selector | None, labels: dict[str, str]) -> bool:
    return selector is not None and matches(selector, labels)


def parse_term(term: PodAffinityTerm, namespace: str) -> Term:
    """Parse a term of a pod in a namespace.

    Raises
    ------
    SelectorError
        Where a selector is wrong.
    """
    # A term that names no namespace at all means the pod's own.
    namespaces = term.namespaces
    if not namespaces and term.namespace_selector is None:
        namespaces = (namespace,)
    return Term(term.topology_key, _parse(term.label_selector), frozenset(namespaces), _parse(term.namespace_selector))


def _parse(selector: LabelSelector | None) -> Selector | None:
    return None if selector is None else parse_label_selector(selector)


@dataclass(frozen=True, slots=True)
class PodTerms:
    """All terms of a pod; preferred ones with their weights, negative for anti-affinity."""

    required_affinity: tuple[Term, ...] = ()
    required_anti_affinity: tuple[Term, ...] = ()
    preferred: tuple[tuple[Term, int], ...] = ()


def parse_pod_terms(pod: Pod) -> PodTerms:
    """Parse all terms of a pod.

    Raises
    ------
    SelectorError
        Where a selector is wrong; its path begins at the kind of term.
    """
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return PodTerms()
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
    namespace = pod.metadata.namespace

    def required(terms: Iterable[PodAffinityTerm], kind: str) -> tuple[Term, ...]:
        try:
            return tuple(parse_term(term, namespace) for term in terms)
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


def merge_namespaces(cluster: Cluster, term: Term) -> Term:
    """A term of the pod to place, with the namespaces that its namespace selector finds.

    The selector stays: upstream goes on to match it against no labels at all, which a negative one passes.
    """
    if not term.namespace_selector:
        return term
    found = {name for name, labels in cluster.namespace_labels.items() if matches(term.namespace_selector, labels)}
    return Term(term.topology_key, term.selector, term.namespaces | found, term.namespace_selector)


def classes_matching(cluster: Cluster, term: Term) -> Mask:
    """Which pod classes a term of the pod to place means, namespaces merged: bool, shape (n_classes,)."""
    pods = cluster.pods
    if term.selector is None:
        return np.zeros(len(pods.classes), dtype=np.bool_)
    mask = pods.classes_matching(term.selector)
    if _selects(term.namespace_selector, _NO_LABELS):
        return mask
    return mask & pods.classes_in(term.namespaces)


@dataclass(frozen=True, slots=True)
class TermTable:
    """Terms of one kind over all pod classes, each distinct one once.

    Attributes
    ----------
    terms : tuple of Term
        The distinct terms.
    class_id, term_id, weight : ndarray of int64, shape (n_entries,)
        Which class has which term, and with which weight.
    """

    terms: tuple[Term, ...]
    class_id: Int64Array
    term_id: Int64Array
    weight: Int64Array

    @classmethod
    def of(cls, entries: Iterable[tuple[int, Term, int]]) -> TermTable:
        """Intern the terms of (class, term, weight) entries."""
        interned: dict[Term, int] = {}
        rows = [(class_id, interned.setdefault(term, len(interned)), weight) for class_id, term, weight in entries]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(tuple(interned), columns[:, 0], columns[:, 1], columns[:, 2])

    def matching(self, pod: Pod, namespace_labels: dict[str, str]) -> dict[str, tuple[Int64Array, Int64Array]]:
        """By topology key the classes and weights of the entries whose term means a pod."""
        by_key: dict[str, list[int]] = {}
        for i, term in enumerate(self.terms):
            if term.matches(pod, namespace_labels):
                by_key.setdefault(term.topology_key, []).append(i)
        out = {}
        for key, ids in by_key.items():
            at = np.isin(self.term_id, ids)
            out[key] = (self.class_id[at], self.weight[at])
        return out


@dataclass(frozen=True, slots=True)
class ExistingTerms:
    """The terms of all pod classes."""

    required_affinity: TermTable
    required_anti_affinity: TermTable
    preferred: TermTable

    @classmethod
    def of(cls, cluster: Cluster) -> ExistingTerms:
        """Parse the terms of every class that has any."""
        parsed = [
            (i, parse_pod_terms(pod_class.pod))
            for i, pod_class in enumerate(cluster.pods.classes)
            if pod_class.pod.spec.affinity is not None
        ]
        return cls(
            TermTable.of((i, term, 1) for i, terms in parsed for term in terms.required_affinity),
            TermTable.of((i, term, 1) for i, terms in parsed for term in terms.required_anti_affinity),
            TermTable.of((i, term, weight) for i, terms in parsed for term, weight in terms.preferred),
        )
