"""The Score of PodTopologySpread: soft constraints.

Score: ``matching pods in the domain x log(domains + 2) + maxSkew - 1`` per constraint, summed in float64 and rounded
half away from zero; normalised so that few matching pods give a high score.
"""

import math
from collections.abc import Iterator

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array, Mask, round_half_away
from kschedctl.common.wording import counted
from kschedctl.objects.pod import Pod
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.explanation import Arithmetic, Step, sum_expression
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import (
    SpreadConstraint,
    nodes_included,
    nodes_with_all_keys,
    selected_classes,
)


class ConstraintCounts(msgspec.Struct, frozen=True):
    """The counts of one soft constraint."""

    constraint: SpreadConstraint
    #: The number of matching pods in the domain of each node.
    matching: Int64Array
    #: The number of domains that contain feasible nodes.
    size: int


class SpreadScores(msgspec.Struct, frozen=True):
    """The scores of the feasible nodes."""

    #: The counts behind the scores, one entry per constraint.
    counts: tuple[ConstraintCounts, ...]
    #: The raw score of each node of the cluster; 0 for ignored nodes.
    scores: Int64Array
    #: True for nodes without a required topology label.
    ignored: Mask


class MatchingPerDomain(msgspec.Struct, frozen=True):
    """The part of the scores that does not depend on which nodes are feasible."""

    #: The cluster whose nodes are scored.
    cluster: Cluster
    #: The soft constraints.
    constraints: tuple[SpreadConstraint, ...]
    #: False for the ignored nodes.
    labelled: Mask
    #: The number of matching pods in the domain of each node, per constraint.
    matching: tuple[Int64Array, ...]


def count_matching(
    cluster: Cluster,
    constraints: tuple[SpreadConstraint, ...],
    pod: Pod,
    *,
    require_all: bool,
    by_host: Cluster | None = None,
) -> MatchingPerDomain:
    """Count the matching pods by domain.

    Args:
        require_all: True if nodes without the label of any constraint are ignored; False for the system's defaults.
        by_host: The cluster whose pods count for the key ``kubernetes.io/hostname``; by default ``cluster``.
    """
    nodes = cluster.nodes
    labelled = nodes_with_all_keys(cluster, constraints) if require_all else np.ones(len(nodes), dtype=np.bool_)
    counts = []
    for constraint in constraints:
        if constraint.topology_key == HOSTNAME:
            counts.append(_matching(by_host or cluster, constraint, pod))
            continue
        # Nodes without the label form one domain, unless they are ignored.
        column = nodes.labels[constraint.topology_key]
        included = labelled & nodes_included(cluster, constraint, pod)
        by_domain = np.zeros(len(column.values) + 1, dtype=np.int64)
        np.add.at(by_domain, column.codes[included], _matching(cluster, constraint, pod)[included])
        counts.append(by_domain[column.codes])
    return MatchingPerDomain(cluster, constraints, labelled, tuple(counts))


def spread_scores(per_domain: MatchingPerDomain, rows: Int64Array) -> SpreadScores:
    """Score feasible nodes by soft constraints.

    Args:
        rows: The rows of the feasible nodes.
    """
    labelled = per_domain.labelled
    candidates = rows[labelled[rows]]
    total = np.zeros(len(labelled))
    counts = []
    for constraint, matching in zip(per_domain.constraints, per_domain.matching, strict=True):
        column = per_domain.cluster.nodes.labels[constraint.topology_key]
        size = len(candidates)
        if constraint.topology_key != HOSTNAME:
            seen = np.zeros(len(column.values) + 1, dtype=np.bool_)
            seen[column.codes[candidates]] = True
            size = int(np.count_nonzero(seen))
        weight = math.log(size + 2)
        counts.append(ConstraintCounts(constraint, matching, size))
        total += np.where(column.present, matching * weight + float(constraint.max_skew - 1), 0.0)
    total[~labelled] = 0.0
    return SpreadScores(tuple(counts), round_half_away(total), ~labelled)


class MatchingWithCopies:
    """The matching pods per domain, updated for every copy of the pod that is placed.

    per_domain: The matching pods with the copies that were placed so far; valid only until the next one is placed.

    Args:
        per_domain: The matching pods without the copies.
    """

    def __init__(self, per_domain: MatchingPerDomain, pod: Pod) -> None:
        self.per_domain = structs.replace(per_domain, matching=tuple(each.copy() for each in per_domain.matching))
        cluster, labelled = per_domain.cluster, per_domain.labelled
        #: The matching pods of the constraints that count a copy, by hostname or by another key. For another key: the
        #: domain of each node as well, and true for nodes that count.
        self._by_host: list[Int64Array] = []
        self._by_domain: list[tuple[Int64Array, Int64Array, Mask]] = []
        for constraint, matching in zip(per_domain.constraints, self.per_domain.matching, strict=True):
            if not (constraint.counts and constraint.selects(pod)):
                continue
            if constraint.topology_key == HOSTNAME:
                self._by_host.append(matching)
            else:
                included = labelled & nodes_included(cluster, constraint, pod)
                self._by_domain.append((matching, cluster.nodes.labels[constraint.topology_key].codes, included))

    def place(self, row: int) -> None:
        """Place one more copy on a node."""
        for matching in self._by_host:
            matching[row] += 1
        for matching, domains, included in self._by_domain:
            if included[row]:
                matching[domains == domains[row]] += 1

    def follow(self, cluster: Cluster, pod: Pod, moved: MovedPods) -> None:
        """Take in pods that came to nodes or left them."""
        labelled, nodes = self.per_domain.labelled, cluster.nodes
        for constraint, matching in zip(self.per_domain.constraints, self.per_domain.matching, strict=True):
            counted, _ = selected_classes(cluster, constraint, pod.metadata.namespace)
            if constraint.topology_key == HOSTNAME:
                matching += moved.per_domain(counted, nodes.rows, len(nodes))[:-1]
                continue
            column = nodes.labels[constraint.topology_key]
            included = labelled & nodes_included(cluster, constraint, pod)
            some = included[moved.row]
            among = MovedPods(moved.class_id[some], moved.row[some], moved.change[some])
            matching += among.per_domain(counted, column.codes, len(column.values))[column.codes]


def _matching(cluster: Cluster, constraint: SpreadConstraint, pod: Pod) -> Int64Array:
    """Return the number of pods that a constraint counts, by node."""
    counted, _ = selected_classes(cluster, constraint, pod.metadata.namespace)
    return cluster.pods.sum_per_node(counted)


def normalize(scores: Int64Array, ignored: Mask) -> Int64Array:
    """Reverse scores, so that the lowest raw score is best: ``100 * (max + min - score) / max``.

    Args:
        ignored: True for nodes that get 0 and do not count for ``min`` and ``max``.

    >>> normalize(np.array([2, 4, 0]), np.array([False, False, True]))
    array([100,  50,   0])
    """
    counted = scores[~ignored]
    highest = int(counted.max(initial=0))
    if highest == 0:
        return np.where(ignored, 0, MAX_NODE_SCORE)
    return np.where(ignored, 0, MAX_NODE_SCORE * (highest + int(counted.min()) - scores) // highest)


class SpreadTerm(msgspec.Struct, frozen=True, rename="camel"):
    """The contribution of one soft constraint to a node's score."""

    #: The key of the label that defines the domains.
    topology_key: str
    #: The node's domain; ``None`` if it has no such label.
    domain: str | None
    #: The number of matching pods in the domain.
    matching: int
    #: The number of domains that contain feasible nodes.
    size: int
    #: The constraint's ``maxSkew``.
    max_skew: int

    @property
    def expression(self) -> str:
        """The contribution before rounding, as an expression."""
        return f"{self.matching} * log({self.size} + 2) + ({self.max_skew} - 1)"

    @property
    def value(self) -> float:
        """The contribution before rounding."""
        return self.matching * math.log(self.size + 2) + float(self.max_skew - 1)


class SpreadScore(Arithmetic, frozen=True):
    """The raw score of PodTopologySpread."""

    #: True if the node lacks a required topology label, so that its score is 0.
    ignored: bool
    #: The soft constraints.
    terms: tuple[SpreadTerm, ...]
    #: The score; low scores are good.
    score: int

    def formula(self) -> str:
        return "per constraint matching pods * log(domains + 2) + (maxSkew - 1); the sum, rounded; low is better"

    def steps(self) -> Iterator[Step]:
        for term in self.terms:
            if term.domain is None:
                yield Step(term.topology_key, "0", 0, "the node has no such label")
            else:
                note = f"{counted(term.matching, 'matching pod')} in {term.domain}, {counted(term.size, 'domain')}"
                yield Step(term.topology_key, term.expression, term.value, note)
        if self.ignored:
            yield Step("score", "0", 0, "the node lacks the label of a constraint")
            return
        there = [term.expression for term in self.terms if term.domain is not None]
        total = there[0] if len(there) == 1 else sum_expression(f"({term})" for term in there)
        yield Step("score", f"round({total})", self.score)


class ReversedScore(Arithmetic, frozen=True):
    """A score of PodTopologySpread reversed, so that the lowest raw score is best."""

    #: True if the node gets 0 and does not count for ``highest`` and ``lowest``.
    ignored: bool
    #: The raw score.
    score: int
    #: The highest and the lowest raw score of the nodes that count.
    highest: int
    lowest: int

    def formula(self) -> str:
        return "100 * (highest + lowest - score) // highest"

    def steps(self) -> Iterator[Step]:
        if self.ignored:
            yield Step("normalised", "0", 0, "the node lacks the label of a constraint")
        elif not self.highest:
            yield Step("normalised", "100", 100, "no node has more than 0")
        else:
            expression = f"100 * ({self.highest} + {self.lowest} - {self.score}) // {self.highest}"
            value = 100 * (self.highest + self.lowest - self.score) // self.highest
            yield Step("normalised", expression, value, f"raw scores range from {self.lowest} to {self.highest}")


def explain_scores(cluster: Cluster, found: SpreadScores, row: int) -> SpreadScore:
    """Return the arithmetic of a node's raw score."""
    labels = cluster.nodes.objects[row].metadata.labels
    terms = tuple(
        SpreadTerm(
            counts.constraint.topology_key,
            labels.get(counts.constraint.topology_key),
            int(counts.matching[row]),
            counts.size,
            counts.constraint.max_skew,
        )
        for counts in found.counts
    )
    return SpreadScore(bool(found.ignored[row]), terms, int(found.scores[row]))


def explain_normalized(scores: Int64Array, ignored: Mask, position: int) -> ReversedScore:
    """Return the arithmetic of ``normalize`` for one of the scores."""
    kept = scores[~ignored]
    lowest = int(kept.min()) if len(kept) else 0
    return ReversedScore(bool(ignored[position]), int(scores[position]), int(kept.max(initial=0)), lowest)
