"""The Score of InterPodAffinity: weights of preferred terms, summed per topology domain.

Normalised in float64: ``100 * (score - min) / (max - min)``, truncated; 0 for all nodes if all scores are equal.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.explanation import Arithmetic, Step, sum_expression
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE
from kschedctl.scheduler.plugins.inter_pod_affinity.terms import (
    ExistingTerms,
    PodAndNamespaceLabels,
    PodTerms,
    classes_matching,
)


class Contributions:
    """The weight that each pod class adds per topology key, and the classes that matched."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self.weights: dict[str, Int64Array] = {}
        self.matched: dict[str, Int64Array] = {}

    def add(self, key: str, class_ids: Int64Array, weights: Int64Array | int) -> None:
        total = self.weights.setdefault(key, np.zeros(self._n_classes, dtype=np.int64))
        matched = self.matched.setdefault(key, np.zeros(self._n_classes, dtype=np.int64))
        np.add.at(total, class_ids, weights)
        matched[class_ids] = 1


def contributions_per_class(
    cluster: Cluster, existing: ExistingTerms, terms: PodTerms, pod: Pod, *, hard_pod_affinity_weight: int
) -> Contributions:
    """Weigh all classes of pods by the preferred terms of the pod and of existing pods.

    Args:
        hard_pod_affinity_weight: The weight of each required affinity term of an existing pod that matches the pod;
            0 ignores these terms.
    """
    labels, n_classes = PodAndNamespaceLabels.of(cluster, pod), len(cluster.pods.classes)
    contributions = Contributions(n_classes)
    for term, weight in terms.preferred:
        contributions.add(term.topology_key, np.flatnonzero(classes_matching(cluster, term)), weight)
    if hard_pod_affinity_weight > 0:
        for key, (class_ids, _) in existing.required_affinity(labels, n_classes).items():
            contributions.add(key, class_ids, hard_pod_affinity_weight)
    for key, (class_ids, weights) in existing.preferred(labels, n_classes).items():
        contributions.add(key, class_ids, weights)
    return contributions


def affinity_scores(cluster: Cluster, contributions: Contributions) -> Int64Array | None:
    """Score every node by the pods of its domains; return ``None`` if no pod contributes."""
    scores = np.zeros(len(cluster.nodes), dtype=np.int64)
    anything = False
    for key, per_class in contributions.weights.items():
        column = cluster.nodes.labels[key]
        present = column.present
        anything |= bool(cluster.pods.sum_per_node(contributions.matched[key])[present].any())
        by_domain = np.zeros(len(column.values) + 1, dtype=np.int64)
        np.add.at(by_domain, column.codes[present], cluster.pods.sum_per_node(per_class)[present])
        scores += by_domain[column.codes]
    return scores if anything else None


class ScoresWithCopies:
    """The raw scores of all nodes, updated for every copy of the pod that is placed.

    scores: Int64, shape (n_nodes,).

    Args:
        scores: The scores without the copies.
        terms: The pod's terms, namespaces merged.
        own: The terms of a copy that match the pod (``terms_of_copies``).
        hard_pod_affinity_weight: As in ``contributions_per_class``.
    """

    def __init__(
        self,
        cluster: Cluster,
        scores: Int64Array,
        terms: PodTerms,
        own: PodTerms,
        pod: Pod,
        *,
        hard_pod_affinity_weight: int,
    ) -> None:
        self.scores = scores.copy()
        more: Counter[str] = Counter()
        for term, weight in (*(each for each in terms.preferred if each[0].matches(pod, {})), *own.preferred):
            more[term.topology_key] += weight
        for term in own.required_affinity:
            more[term.topology_key] += max(hard_pod_affinity_weight, 0)
        #: The domain of each node, and what a copy adds to the scores of its domain.
        self._growing = [(cluster.nodes.labels[key].codes, weight) for key, weight in more.items() if weight]

    def place(self, row: int) -> None:
        """Place one more copy on a node."""
        for domains, weight in self._growing:
            if domains[row] >= 0:
                self.scores[domains == domains[row]] += weight

    def follow(self, cluster: Cluster, contributions: Contributions, moved: MovedPods) -> None:
        """Take in pods that came to nodes or left them."""
        for key, per_class in contributions.weights.items():
            column = cluster.nodes.labels[key]
            more = moved.per_domain(per_class, column.codes, len(column.values))
            more[-1] = 0
            self.scores += more[column.codes]


def normalize(scores: Int64Array) -> Int64Array:
    """Scale scores linearly to 0..100; equal scores become 0.

    >>> normalize(np.array([-5, 0, 10]))
    array([  0,  33, 100])
    """
    if not len(scores):
        return scores
    lowest = int(scores.min())
    difference = int(scores.max()) - lowest
    if difference <= 0:
        return np.zeros_like(scores)
    return (float(MAX_NODE_SCORE) * ((scores - lowest).astype(np.float64) / float(difference))).astype(np.int64)


class AffinityPart(msgspec.Struct, frozen=True, rename="camel"):
    """The contribution of terms of one kind and weight to a node's score."""

    #: A description of the terms: those of the pod, listed, or those of existing pods.
    whose: str
    #: The key of the label that defines the domains.
    topology_key: str
    #: The node's domain.
    domain: str
    #: The number of pods in the domain that a term matches, or that have a term which matches the pod.
    pods: int
    #: The weight of the term.
    weight: int


class AffinityScore(Arithmetic, frozen=True):
    """The raw score of InterPodAffinity."""

    #: The nonzero contributions.
    parts: tuple[AffinityPart, ...]

    def formula(self) -> str:
        return "the sum over terms of matching pods in the node's domain * weight"

    def steps(self) -> Iterator[Step]:
        values = []
        for part in self.parts:
            values.append(part.pods * part.weight)
            name = f"{part.topology_key}={part.domain}"
            yield Step(name, f"{part.pods} * {_signed(part.weight)}", values[-1], part.whose)
        none = "" if self.parts else "no term matches a pod of its domains"
        yield Step("score", sum_expression(_signed(value) for value in values), sum(values), none)


class RescaledScore(Arithmetic, frozen=True):
    """A score of InterPodAffinity scaled to 0..100."""

    #: The node's raw score.
    score: int
    #: The lowest and the highest raw score of the scored nodes.
    lowest: int
    highest: int

    def formula(self) -> str:
        return "trunc(100 * ((score - lowest) / (highest - lowest)))"

    def steps(self) -> Iterator[Step]:
        if self.highest == self.lowest:
            yield Step("normalised", "0", 0, f"every node has {self.score}")
            return
        score, low, high = map(_signed, (self.score, self.lowest, self.highest))
        value = int(100.0 * ((self.score - self.lowest) / (self.highest - self.lowest)))
        note = f"raw scores range from {self.lowest} to {self.highest}"
        yield Step("normalised", f"trunc(100 * (({score} - {low}) / ({high} - {low})))", value, note)


def _signed(number: int) -> str:
    return str(number) if number >= 0 else f"({number})"


def explain_scores(
    cluster: Cluster, existing: ExistingTerms, terms: PodTerms, pod: Pod, row: int, *, hard_pod_affinity_weight: int
) -> AffinityScore:
    """Return the arithmetic of a node's raw score."""
    labels, n_classes = PodAndNamespaceLabels.of(cluster, pod), len(cluster.pods.classes)
    parts = []

    def add(whose: str, key: str, class_ids: Int64Array, weight: int) -> None:
        column = cluster.nodes.labels[key]
        code = int(column.codes[row])
        if code < 0:
            return
        per_class = np.zeros(n_classes, dtype=np.int64)
        np.add.at(per_class, class_ids, 1)
        there = int(cluster.pods.sum_per_node(per_class)[column.codes == code].sum())
        if there and weight:
            parts.append(AffinityPart(whose, key, column.values[code], there, weight))

    for term, weight in terms.preferred:
        kind = "affinity" if weight > 0 else "anti-affinity"
        told = ", ".join(map(str, term.selector or ())) or "any pod"
        add(
            f"pods that match the pod's preferred {kind}: {told}",
            term.topology_key,
            np.flatnonzero(classes_matching(cluster, term)),
            weight,
        )
    if hard_pod_affinity_weight > 0:
        for key, (class_ids, _) in existing.required_affinity(labels, n_classes).items():
            add("pods there that require affinity to the pod", key, class_ids, hard_pod_affinity_weight)
    for key, (class_ids, weights) in existing.preferred(labels, n_classes).items():
        for weight in np.unique(weights).tolist():
            kind = "affinity" if weight > 0 else "anti-affinity"
            add(f"pods there that prefer {kind} to the pod", key, class_ids[weights == weight], weight)
    return AffinityScore(tuple(parts))
