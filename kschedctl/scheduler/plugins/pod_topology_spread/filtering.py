"""The Filter of PodTopologySpread: hard constraints.

Rule on each node: matching pods in its domain + (1 if the pod matches itself) - the minimum over domains <= maxSkew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.counted_domains import CountedDomains, most_populated
from kschedctl.scheduler.framework.filter_check import FilterCheck
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.pod_topology_spread.constraints import (
    SpreadConstraint,
    nodes_included,
    nodes_with_all_keys,
    selected_classes,
)
from kschedctl.scheduler.plugins.topology import InDomain, NoTopologyLabel
from kschedctl.scheduler.plugins.topology_remedies import spread_remedies

REASON: Final = "node(s) didn't match pod topology spread constraints"
REASON_LABEL: Final = f"{REASON} (missing required label)"
_SKEW: Final = Status(Code.UNSCHEDULABLE, (REASON,))
_LABEL: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_LABEL,))
_NO_DOMAIN: Final = 2**31 - 1
#: The maximum number of domains whose counts are part of the operands. A larger table, e.g. one per host, is omitted.
_SHOWN_DOMAINS: Final = 50
#: The maximum number of domains whose counts are listed in a check.
_TOLD_DOMAINS: Final = 8


class SkewTooHigh(InDomain, frozen=True):
    """The node's domain would have too many matching pods with the pod.

    Attributes
    ----------
    matching : int
        The number of matching pods in the domain.
    minimum : int
        The minimum over all domains; 0 if there are fewer domains than ``minDomains``.
    skew : int
        ``matching`` + (1 if the pod matches itself) - ``minimum``.
    max_skew : int
        The largest skew allowed.
    domains : dict of str to int, optional
        The number of matching pods by domain, over the domains that count; not set if the label has more than 50
        values.
    """

    matching: int
    minimum: int
    skew: int
    max_skew: int
    domains: dict[str, int] | UnsetType = UNSET

    def words(self) -> str:
        """State the counts, the skew and the allowed skew."""
        where = f"{self.topology_key}={self.domain} has {self.matching} matching"
        return f"{where}, fewest {self.minimum}: skew {self.skew}, allowed {self.max_skew}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to raise ``maxSkew``, to make the constraint soft, or to drop it."""
        return spread_remedies(context, self.topology_key, self.skew)


class DomainCounts(msgspec.Struct, frozen=True):
    """The matching pods of one hard constraint by topology domain.

    Attributes
    ----------
    constraint : SpreadConstraint
        The constraint.
    column : LabelColumn
        The topology label of every node.
    counts : ndarray of int64, shape (n_domains,)
        The number of matching pods per domain, over the nodes that count.
    exists : ndarray of bool, shape (n_domains,)
        True for domains with a node that counts.
    included : ndarray of bool, shape (n_nodes,)
        True for nodes that count.
    moved : ndarray of int64, shape (n_classes,)
        1 for pod classes that change the counts when added or removed.
    self_match : int
        1 if the constraint selects the pod itself, else 0.
    """

    constraint: SpreadConstraint
    column: LabelColumn
    counts: Int64Array
    exists: Mask
    included: Mask
    moved: Int64Array
    self_match: int

    def minima(self) -> tuple[int, int, int]:
        """Return the domain with the fewest matching pods, its count, and the lowest count of the other domains.

        A missing domain is -1, a missing count 2**31 - 1.
        """
        domains = np.flatnonzero(self.exists)
        if not len(domains):
            return -1, _NO_DOMAIN, _NO_DOMAIN
        counts = self.counts[domains]
        at = int(counts.argmin())
        others = np.delete(counts, at)
        return int(domains[at]), int(counts[at]), int(others.min()) if len(others) else _NO_DOMAIN

    def skew(self, nodes: Overlay) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return the counts and the skew with the pod placed, in each world.

        Returns
        -------
        matching, minimum, skew : ndarray of int64, shape (n_worlds,)
            The matching pods in the node's domain, the minimum over domains, and the skew with the pod. The values are
            meaningless for nodes without the label.
        """
        domain = self.column.codes[nodes.rows]
        delta = nodes.delta(("PodTopologySpread", self.constraint), self.moved) * self.included[nodes.rows]
        matching = np.append(self.counts, 0)[domain] + delta
        fewest_at, fewest, next_fewest = self.minima()
        # Only the node's own domain changes, so the minimum of the others is the lowest or the second lowest count.
        others = np.where(domain == fewest_at, next_fewest, fewest)
        minimum = np.where(np.append(self.exists, False)[domain], np.minimum(others, matching), fewest)
        if int(self.exists.sum()) < self.constraint.min_domains:
            minimum = np.zeros_like(minimum)
        return matching, minimum, matching + self.self_match - minimum


def count_domains(cluster: Cluster, constraints: Iterable[SpreadConstraint], pod: Pod) -> tuple[DomainCounts, ...]:
    """Count the matching pods of each constraint by domain.

    Parameters
    ----------
    constraints : iterable of SpreadConstraint
        The hard constraints. Only nodes with the labels of all of them count.
    pod : Pod
        The pod to place.
    """
    constraints = tuple(constraints)
    labelled = nodes_with_all_keys(cluster, constraints)
    out = []
    for constraint in constraints:
        included = labelled & nodes_included(cluster, constraint, pod)
        counted, moved = selected_classes(cluster, constraint, pod.metadata.namespace)
        column = cluster.nodes.labels[constraint.topology_key]
        codes = column.codes[included]
        counts = np.zeros(len(column.values), dtype=np.int64)
        np.add.at(counts, codes, cluster.pods.sum_per_node(counted)[included])
        exists = np.zeros(len(column.values), dtype=np.bool_)
        exists[codes] = True
        out.append(DomainCounts(constraint, column, counts, exists, included, moved, int(constraint.selects(pod))))
    return tuple(out)


def reject_nodes(domains: tuple[DomainCounts, ...], nodes: Overlay) -> Rejections:
    """Reject nodes by the first constraint whose label they lack or whose skew would be exceeded.

    Parameters
    ----------
    domains : tuple of DomainCounts
        One entry per hard constraint, in the pod's order.
    nodes : Overlay
        The worlds to filter.
    """
    skews = [counts.skew(nodes) for counts in domains]
    which = np.full(len(nodes), -1, dtype=np.int64)
    for i in range(len(domains) - 1, -1, -1):
        which[skews[i][2] > domains[i].constraint.max_skew] = 2 * i
        which[domains[i].column.codes[nodes.rows] < 0] = 2 * i + 1

    def details(position: int) -> tuple[Reason, ...]:
        i, missing = divmod(int(which[position]), 2)
        counts = domains[i]
        if missing:
            return (Reason(REASON_LABEL, NoTopologyLabel(counts.constraint.topology_key)),)
        domain = counts.column.values[counts.column.codes[nodes.rows[position]]]
        return (_skew_reason(counts, domain, *(int(values[position]) for values in skews[i])),)

    statuses = (_SKEW, _LABEL)
    code = np.array([_SKEW.code, _LABEL.code], dtype=np.int8)
    return Rejections(
        np.where(which < 0, 0, code[which % 2]).astype(np.int8), which % 2, lambda i: statuses[i].reasons, details
    )


def _skew_reason(counts: DomainCounts, domain: str, matching: int, minimum: int, skew: int) -> Reason:
    domains: dict[str, int] | UnsetType = UNSET
    if len(counts.column.values) <= _SHOWN_DOMAINS:
        domains = {v: int(counts.counts[i]) for i, v in enumerate(counts.column.values) if counts.exists[i]}
    wanted = counts.constraint
    return Reason(REASON, SkewTooHigh(wanted.topology_key, domain, matching, minimum, skew, wanted.max_skew, domains))


def explain_skew(counts: DomainCounts, nodes: Overlay) -> FilterCheck:
    """Return the check of a constraint on the only node of an overlay, with the matching pods by domain."""
    wanted = counts.constraint
    told = f"maxSkew {wanted.max_skew} over {wanted.topology_key}"
    code = int(counts.column.codes[nodes.rows[0]])
    if code < 0:
        return FilterCheck(told, "the node has no such label", False)
    matching, minimum, skew = (int(values[0]) for values in counts.skew(nodes))
    domains = {domain: int(counts.counts[i]) for i, domain in enumerate(counts.column.values) if counts.exists[i]}
    there = "; ".join(f"{domain} {n}" for domain, n in sorted(domains.items())) if len(domains) <= _TOLD_DOMAINS else ""
    own = " + 1 for this pod" if counts.self_match else ""
    found = f"{counts.column.values[code]} has {matching} matching{own}, fewest {minimum}: skew {skew}"
    return FilterCheck(told, found + (f" ({there})" if there else ""), skew <= wanted.max_skew)


def shown_domains(counts: DomainCounts) -> CountedDomains:
    """Return the matching pods of a constraint for an answer."""
    domains = np.flatnonzero(counts.exists)
    few = len(domains) < counts.constraint.min_domains
    return CountedDomains(
        topology_key=counts.constraint.topology_key,
        pods=most_populated(counts.column, counts.counts, domains),
        domains=len(domains),
        own=bool(counts.self_match),
        minimum=0 if few or not len(domains) else int(counts.counts[domains].min()),
        max_skew=counts.constraint.max_skew,
    )
