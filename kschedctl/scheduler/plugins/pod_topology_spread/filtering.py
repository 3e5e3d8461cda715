"""The Filter of PodTopologySpread: hard constraints.

Rule on each node: matching pods in its domain + (1 if the pod matches itself) - the minimum over domains <= maxSkew.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.pod import Pod, TopologySpreadConstraint
from kschedctl.objects.selectors import Selector, SelectorError, label_map_selector, matches, parse_label_selector
from kschedctl.objects.well_known import HOSTNAME, ZONE
from kschedctl.scheduler.framework.explanation import CountedDomains, FilterCheck, most_populated
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.taint_toleration import untolerated_taint
from kschedctl.scheduler.plugins.topology import InDomain, NoTopologyLabel, spread_remedies

# Parsed spread constraints, and the nodes and pods that count for them.

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"

#: The default constraints for pods that have none and that a Service or controller selects (defaultingType System).
SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5),
)


class SpreadConstraint(msgspec.Struct, frozen=True):
    """A parsed constraint."""

    #: The key of the label that defines the domains.
    topology_key: str
    #: The largest skew allowed.
    max_skew: int
    #: The number of domains below which the global minimum is 0; 1 by default.
    min_domains: int
    #: The selector of the counted pods; ``None`` selects no pod.
    selector: Selector | None
    #: False if the pods of the snapshot do not count: there is no selector, or an empty one in releases where it
    #: counts none.
    counts: bool
    #: True if only nodes that match the pod's node selector and affinity count.
    honor_affinity: bool
    #: True if only nodes whose taints the pod tolerates count.
    honor_taints: bool

    def selects(self, pod: Pod) -> bool:
        """Report whether the selector matches a pod, without a check of the pod's namespace."""
        return self.selector is not None and matches(self.selector, pod.metadata.labels)


def parse_constraints(
    constraints: Iterable[TopologySpreadConstraint],
    pod: Pod,
    action: str,
    *,
    match_label_keys: bool = True,
    empty_counts: bool = False,
    selector: Selector | None = None,
) -> tuple[SpreadConstraint, ...]:
    """Return the constraints with a given ``whenUnsatisfiable``, parsed.

    Args:
        constraints: The pod's own constraints, or the defaults.
        pod: The pod, whose labels ``matchLabelKeys`` refers to.
        action: ``DoNotSchedule`` or ``ScheduleAnyway``.
        match_label_keys: True if ``matchLabelKeys`` is honoured.
        empty_counts: True if a constraint with an empty selector counts the pods of the namespace.
        selector: A selector that replaces the constraints' own selectors.

    Raises PluginError if a selector is invalid.
    """
    out = []
    for constraint in constraints:
        if constraint.when_unsatisfiable != action:
            continue
        parsed = selector
        if selector is None and constraint.label_selector is not None:
            try:
                parsed = parse_label_selector(constraint.label_selector)
            except SelectorError as error:
                raise PluginError(f"labelSelector.{error.path}: {error}") from None
            if match_label_keys:
                labels = pod.metadata.labels
                own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
                parsed = (*label_map_selector(own), *parsed)
        out.append(
            SpreadConstraint(
                topology_key=constraint.topology_key,
                max_skew=constraint.max_skew,
                min_domains=1 if constraint.min_domains is None else constraint.min_domains,
                selector=parsed,
                counts=bool(parsed) or (empty_counts and parsed is not None),
                honor_affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
                honor_taints=constraint.node_taints_policy == "Honor",
            )
        )
    return tuple(out)


def selected_classes(cluster: Cluster, constraint: SpreadConstraint, namespace: str) -> tuple[Int64Array, Int64Array]:
    """Return the pod classes that a constraint selects.

    Returns: counted: 1 for the classes that count in the snapshot: not those of terminating pods; moved: 1 for the
        classes whose pods change the count when they are added or removed. Upstream checks neither termination nor the
        emptiness of the selector there.
    """
    pods = cluster.pods
    if constraint.selector is None:
        nothing = np.zeros(len(pods.classes), dtype=np.int64)
        return nothing, nothing
    moved = pods.classes_matching(constraint.selector) & pods.classes_in(frozenset({namespace}))
    counted = moved & ~pods.class_terminating if constraint.counts else np.zeros_like(moved)
    return counted.astype(np.int64), moved.astype(np.int64)


def nodes_with_all_keys(cluster: Cluster, constraints: Iterable[SpreadConstraint]) -> Mask:
    """Return the nodes that have the topology labels of all constraints: bool, shape (n_nodes,)."""
    mask = np.ones(len(cluster.nodes), dtype=np.bool_)
    for constraint in constraints:
        mask &= cluster.nodes.labels[constraint.topology_key].present
    return mask


def nodes_included(cluster: Cluster, constraint: SpreadConstraint, pod: Pod) -> Mask:
    """Return the nodes that count by a constraint's inclusion policies (KEP-3094): bool, shape (n_nodes,)."""
    nodes = cluster.nodes
    mask = np.ones(len(nodes), dtype=np.bool_)
    if constraint.honor_affinity:
        mask &= nodes_matching_pod(nodes, pod.spec)
    if constraint.honor_taints:
        clean = [untolerated_taint(taints, pod.spec.tolerations) is None for taints in nodes.taint_lists]
        mask &= np.array(clean, dtype=np.bool_)[nodes.taint_list]
    return mask


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
    """The node's domain would have too many matching pods with the pod."""

    #: The number of matching pods in the domain.
    matching: int
    #: The minimum over all domains; 0 if there are fewer domains than ``minDomains``.
    minimum: int
    #: ``matching`` + (1 if the pod matches itself) - ``minimum``.
    skew: int
    #: The largest skew allowed.
    max_skew: int
    #: The number of matching pods by domain, over the domains that count; not set if the label has more than 50
    #: values.
    domains: dict[str, int] | UnsetType = UNSET

    def words(self) -> str:
        where = f"{self.topology_key}={self.domain} has {self.matching} matching"
        return f"{where}, fewest {self.minimum}: skew {self.skew}, allowed {self.max_skew}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to raise ``maxSkew``, to make the constraint soft, or to drop it."""
        return spread_remedies(context, self.topology_key, self.skew)


class DomainCounts(msgspec.Struct, frozen=True):
    """The matching pods of one hard constraint by topology domain."""

    constraint: SpreadConstraint
    #: The topology label of every node.
    column: LabelColumn
    #: The number of matching pods per domain, over the nodes that count.
    counts: Int64Array
    #: True for domains with a node that counts.
    exists: Mask
    #: True for nodes that count.
    included: Mask
    #: 1 for pod classes that change the counts when added or removed.
    moved: Int64Array
    #: 1 if the constraint selects the pod itself, else 0.
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

        Returns: The matching pods in the node's domain, the minimum over domains, and the skew with the pod. The
            values are meaningless for nodes without the label.
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

    Args:
        constraints: The hard constraints. Only nodes with the labels of all of them count.
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


class SkewWithCopies:
    """The nodes that a hard constraint rejects, updated for every copy of the pod that is placed.

    rejected: True for the rejected nodes: bool, shape (n_nodes,). It is replaced by another array when it changes.

    Args:
        found: The matching pods without the copies.
    """

    def __init__(self, found: DomainCounts) -> None:
        self._found = found
        self._counts = found.counts.copy()
        self._domains = np.flatnonzero(found.exists)
        self._set_limit()

    def _set_limit(self) -> None:
        """Find the largest count with which a domain takes a copy, and the nodes of the domains above it."""
        found = self._found
        self._fewest = int(self._counts[self._domains].min(initial=_NO_DOMAIN))
        minimum = 0 if len(self._domains) < found.constraint.min_domains else self._fewest
        self._limit = found.constraint.max_skew + minimum - found.self_match
        self.rejected: Mask = np.append(self._counts > self._limit, True)[found.column.codes]

    def place(self, row: int) -> None:
        """Place one more copy on a node that is not rejected."""
        found = self._found
        if not (found.self_match and found.constraint.counts and found.included[row]):
            return
        domain = found.column.codes[row]
        self._counts[domain] += 1
        count = int(self._counts[domain])
        # The other domains change only if the fewest matching pods were in this one alone.
        if count > self._limit or (
            count == self._fewest + 1 and not np.any(self._counts[self._domains] == self._fewest)
        ):
            self._set_limit()

    def follow(self, cluster: Cluster, namespace: str, moved: MovedPods) -> None:
        """Take in pods that came to nodes or left them."""
        found, before = self._found, self.rejected
        counted, _ = selected_classes(cluster, found.constraint, namespace)
        domains = np.where(found.included, found.column.codes, -1)
        self._counts += moved.per_domain(counted, domains, len(self._counts))[:-1]
        self._set_limit()
        if np.array_equal(before, self.rejected):
            self.rejected = before


def reject_nodes(domains: tuple[DomainCounts, ...], nodes: Overlay) -> Rejections:
    """Reject nodes by the first constraint whose label they lack or whose skew would be exceeded.

    Args:
        domains: One entry per hard constraint, in the pod's order.
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
        wanted, values = counts.constraint, counts.column.values
        shown: dict[str, int] | UnsetType = UNSET
        if len(values) <= _SHOWN_DOMAINS:
            shown = {value: int(counts.counts[j]) for j, value in enumerate(values) if counts.exists[j]}
        domain = values[counts.column.codes[nodes.rows[position]]]
        matching, minimum, skew = (int(column[position]) for column in skews[i])
        told = SkewTooHigh(wanted.topology_key, domain, matching, minimum, skew, wanted.max_skew, shown)
        return (Reason(REASON, told),)

    statuses = (_SKEW, _LABEL)
    code = np.array([_SKEW.code, _LABEL.code], dtype=np.int8)
    return Rejections(
        np.where(which < 0, 0, code[which % 2]).astype(np.int8), which % 2, lambda i: statuses[i].reasons, details
    )


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
