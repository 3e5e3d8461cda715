"""The soft half of InterPodAffinity: weights added up per topology domain.

Normalised in float64: ``100 * (score - min) / (max - min)``, truncated; 0 everywhere where all are equal.
"""

from __future__ import annotations

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.interface import MAX_NODE_SCORE
from kschedctl.plugins.inter_pod_affinity.terms import ExistingTerms, PodLabels, PodTerms, classes_matching


class _Contributions:
    """Per topology key what a pod of each class adds, and which classes matched at all."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self.weights: dict[str, Int64Array] = {}
        self.matched: dict[str, Int64Array] = {}

    def add(self, key: str, class_ids: Int64Array, weights: Int64Array | int) -> None:
        total = self.weights.setdefault(key, np.zeros(self._n_classes, dtype=np.int64))
        matched = self.matched.setdefault(key, np.zeros(self._n_classes, dtype=np.int64))
        np.add.at(total, class_ids, weights)
        matched[class_ids] = 1


def affinity_scores(
    cluster: Cluster, existing: ExistingTerms, terms: PodTerms, pod: Pod, *, hard_pod_affinity_weight: int
) -> Int64Array | None:
    """Score every node by preferred terms, the pod's and those of the pods on nodes.

    Parameters
    ----------
    existing : ExistingTerms
        The terms of the pods on nodes.
    terms : PodTerms
        The terms of the pod, namespaces merged.
    pod : Pod
        The pod to place.
    hard_pod_affinity_weight : int
        What a required affinity term of another pod is worth.

    Returns
    -------
    ndarray of int64, shape (n_nodes,), or None
        ``None`` where no term matches anything.
    """
    labels, n_classes = PodLabels.of(cluster, pod), len(cluster.pods.classes)
    contributions = _Contributions(n_classes)
    for term, weight in terms.preferred:
        contributions.add(term.topology_key, np.flatnonzero(classes_matching(cluster, term)), weight)
    if hard_pod_affinity_weight > 0:
        for key, (class_ids, _) in existing.required_affinity(labels, n_classes).items():
            contributions.add(key, class_ids, hard_pod_affinity_weight)
    for key, (class_ids, weights) in existing.preferred(labels, n_classes).items():
        contributions.add(key, class_ids, weights)
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


def normalize(scores: Int64Array) -> Int64Array:
    """Spread scores over 0..100.

    Examples
    --------
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
