"""The Filter of InterPodAffinity: required terms, by match counts per topology domain."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.slots import MovedPods
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import Selector
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.explanation import CountedDomains, FilterCheck, most_populated
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status
from kschedctl.scheduler.plugins.inter_pod_affinity.terms import (
    AffinityTerm,
    ExistingTerms,
    PodAndNamespaceLabels,
    PodTerms,
    classes_matching,
)
from kschedctl.scheduler.plugins.topology import InDomain, NoTopologyLabel, term_remedies


class NoPodNear(InDomain, frozen=True):
    """The node's domain has no pod that the pod's required affinity selects."""

    #: The selector of the required pods; empty for any pod.
    selector: Selector

    @property
    def wanted(self) -> str:
        """The selector as text."""
        return " and ".join(map(str, self.selector)) or "any pod"

    def words(self) -> str:
        labels = f" with {self.wanted}" if self.selector else ""
        return f"no pod{labels} in {self.topology_key}={self.domain}"

    def data(self) -> dict[str, Any]:
        return {"topologyKey": self.topology_key, "domain": self.domain, "selector": self.wanted}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to prefer or drop a required term."""
        return term_remedies(context, self.topology_key)


class NominatedPodInTheWay(InDomain, frozen=True):
    """Anti-affinity with a pod that is nominated to the node."""

    def words(self) -> str:
        return f"a pod nominated to the node, by {self.topology_key}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop an anti-affinity term of the pod with this key, if there is one."""
        return term_remedies(context, self.topology_key)


class PodsInTheWay(InDomain, frozen=True):
    """Anti-affinity with pods in the node's domain, by a term of the pod or of these pods."""

    #: ``namespace/name`` of the first of the pods.
    pod: str
    #: The number of these pods.
    pods: int

    @property
    def who(self) -> str:
        """The pods and their domain, as text."""
        more = f" and {self.pods - 1} more" if self.pods > 1 else ""
        return f"{self.pod}{more} in {self.topology_key}={self.domain}"

    @property
    def can_move(self) -> bool:
        """True if a controller can recreate the pod in another domain than this one, in which it cannot be any more."""
        return False

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to delete the pod, if it is the only one and does not come back: it would be pending instead."""
        namespace, _, name = self.pod.partition("/")
        index = context.cluster.pods.index.get((namespace, name))
        if index is None or self.pods > 1:
            return
        ends = context.cluster.pods.records[index].metadata.deletion_timestamp is not None
        if ends or self.can_move or context.cluster.pods.owner(index) is None:
            yield from context.pod_removed(self.pod)


class OwnAntiAffinity(PodsInTheWay, frozen=True):
    """The pod's own anti-affinity matches pods in the domain."""

    @property
    def can_move(self) -> bool:
        return self.topology_key == HOSTNAME

    def words(self) -> str:
        return f"{self.who} matches the pod's anti-affinity"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to prefer or drop a term, or to delete the pod."""
        yield from term_remedies(context, self.topology_key)
        yield from super().remedies(context)


class ExistingAntiAffinity(PodsInTheWay, frozen=True):
    """The anti-affinity of pods in the domain matches the pod."""

    def words(self) -> str:
        return f"anti-affinity of {self.who} matches the pod"


REASON_EXISTING: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
REASON_AFFINITY: Final = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
_STATUSES: Final = (
    Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (REASON_AFFINITY,)),
    Status(Code.UNSCHEDULABLE, (REASON_ANTI_AFFINITY,)),
    Status(Code.UNSCHEDULABLE, (REASON_EXISTING,)),
)
_AFFINITY, _ANTI_AFFINITY, _EXISTING = range(3)
_NEAR: Final = "affinity"
#: The condition on a domain, by the kind of its counts.
_WANTED: Final = {
    _NEAR: "affinity: pods that match all its terms, by {key}",
    "anti-affinity": "anti-affinity: no pods that match its terms, by {key}",
    "existing": "no pods whose required anti-affinity matches the pod, by {key}",
}


class KeyCounts(msgspec.Struct, frozen=True):
    """The match counts by domain of one topology key."""

    #: The kind of the terms: the pod's ``affinity`` or ``anti-affinity``, or ``existing`` for the anti-affinity of
    #: pods on nodes.
    kind: str
    #: The topology key.
    key: str
    #: The label of every node.
    column: LabelColumn
    #: The number of matches per pod of each class.
    per_class: Int64Array
    #: The number of matches per domain.
    counts: Int64Array

    @classmethod
    def of(cls, cluster: Cluster, kind: str, key: str, per_class: Int64Array) -> "KeyCounts":
        """Sum the matches of the pods on nodes by domain."""
        column = cluster.nodes.labels[key]
        counts = np.zeros(len(column.values), dtype=np.int64)
        present = column.present
        np.add.at(counts, column.codes[present], cluster.pods.sum_per_node(per_class)[present])
        return cls(kind, key, column, per_class, counts)

    def in_worlds(self, nodes: Overlay) -> Int64Array:
        """Return the matches in the domain of each world's node, 0 without the label: int64, shape (n_worlds,)."""
        domain = self.column.codes[nodes.rows]
        delta = nodes.delta(("InterPodAffinity", self.kind, self.key), self.per_class)
        return np.where(domain >= 0, np.append(self.counts, 0)[domain] + delta, 0)


class FilterState(msgspec.Struct, frozen=True):
    """The match counts of required terms."""

    #: The counts of the pod's required affinity, one entry per topology key.
    affinity: tuple[KeyCounts, ...]
    #: The counts of the pod's required anti-affinity, one entry per topology key.
    anti_affinity: tuple[KeyCounts, ...]
    #: The counts of the required anti-affinity of pods on nodes, one entry per topology key.
    existing: tuple[KeyCounts, ...]
    #: True if the pod has required affinity and matches all its terms, so that it may be the first of its series.
    matches_itself: bool

    @property
    def empty(self) -> bool:
        """True if no domain has a match of the kind ``existing``."""
        return not any(counts.counts.any() for counts in self.existing)


#: The matches of a pod without required terms, which match no pod either.
NO_MATCH: Final = FilterState((), (), (), matches_itself=False)


class MatchesPerClass(msgspec.Struct, frozen=True):
    """The number of matches of required terms per pod of each class, by topology key."""

    affinity: dict[str, Int64Array]
    anti_affinity: dict[str, Int64Array]
    existing: dict[str, Int64Array]


def matches_per_class(cluster: Cluster, existing: ExistingTerms, terms: PodTerms, pod: Pod) -> MatchesPerClass:
    """Match the required terms, the pod's and those of existing pods, with all classes of pods."""
    n_classes = len(cluster.pods.classes)
    # An existing pod counts for required affinity only if it matches every term.
    all_terms = np.full(n_classes, bool(terms.required_affinity))
    for term in terms.required_affinity:
        all_terms &= classes_matching(cluster, term)
    near = all_terms.astype(np.int64)
    far: dict[str, Int64Array] = {}
    for term in terms.required_anti_affinity:
        far[term.topology_key] = far.get(term.topology_key, 0) + classes_matching(cluster, term).astype(np.int64)
    theirs: dict[str, Int64Array] = {}
    for key, (class_ids, weights) in existing.required_anti_affinity(
        PodAndNamespaceLabels.of(cluster, pod), n_classes
    ).items():
        theirs[key] = np.zeros(n_classes, dtype=np.int64)
        np.add.at(theirs[key], class_ids, weights)
    return MatchesPerClass({term.topology_key: near for term in terms.required_affinity}, far, theirs)


def prepare(cluster: Cluster, existing: ExistingTerms, terms: PodTerms, pod: Pod) -> FilterState:
    """Count the matches of required terms by topology key."""
    found = matches_per_class(cluster, existing, terms, pod)
    return FilterState(
        tuple(KeyCounts.of(cluster, "affinity", key, per_class) for key, per_class in found.affinity.items()),
        tuple(KeyCounts.of(cluster, "anti-affinity", key, per_class) for key, per_class in found.anti_affinity.items()),
        tuple(KeyCounts.of(cluster, "existing", key, per_class) for key, per_class in found.existing.items()),
        bool(terms.required_affinity) and all(term.matches(pod, {}) for term in terms.required_affinity),
    )


def reject_nodes(state: FilterState, nodes: Overlay, details: Callable[[int, KeyCounts], Reason]) -> Rejections:
    """Reject nodes by the pod's required affinity, then its anti-affinity, then the anti-affinity of existing pods.

    Args:
        details: Returns the reason for a node row and the counts that reject the node.
    """
    which = np.full(len(nodes), -1, dtype=np.int64)
    which[_crowded(state.existing, nodes)] = _EXISTING
    which[_crowded(state.anti_affinity, nodes)] = _ANTI_AFFINITY
    which[~_near(state, nodes)] = _AFFINITY
    groups = (state.affinity, state.anti_affinity, state.existing)

    @cache
    def matches(number: int, i: int) -> Int64Array:
        return groups[number][i].in_worlds(nodes)

    def reasons(position: int) -> tuple[Reason, ...]:
        number = int(which[position])
        row = int(nodes.rows[position])
        for i, counts in enumerate(groups[number]):
            found = int(matches(number, i)[position])
            if (found <= 0) if number == _AFFINITY else (found > 0):
                return (details(row, counts),)
        return (Reason(_STATUSES[number].reasons[0]),)

    return Rejections.choose(which, _STATUSES, reasons)


class MatchesWithCopies:
    """The nodes that required terms reject, updated for every copy of the pod that is placed.

    rejected: True for the rejected nodes: bool, shape (n_nodes,). It is replaced by another array when it changes.

    Args:
        state: The matches without the copies.
        terms: The pod's terms, namespaces merged.
        own: The terms of a copy that match the pod (``terms_of_copies``).
    """

    def __init__(self, cluster: Cluster, state: FilterState, terms: PodTerms, own: PodTerms, pod: Pod) -> None:
        self._nodes = cluster.overlay()
        far = Counter(term.topology_key for term in terms.required_anti_affinity if term.matches(pod, {}))
        theirs = Counter(term.topology_key for term in own.required_anti_affinity)
        nobody = np.zeros(len(cluster.pods.classes), dtype=np.int64)
        known = {counts.key for counts in state.existing}
        new = tuple(KeyCounts.of(cluster, "existing", key, nobody) for key in theirs if key not in known)
        #: The counts that grow with a copy, and the matches that it adds to its domain.
        self._growing: list[tuple[KeyCounts, int]] = []

        def growing(counts: KeyCounts, n_matches: int) -> KeyCounts:
            own = structs.replace(counts, counts=counts.counts.copy())
            if n_matches:
                self._growing.append((own, n_matches))
            return own

        self._state = FilterState(
            tuple(growing(counts, int(state.matches_itself)) for counts in state.affinity),
            tuple(growing(counts, far[counts.key]) for counts in state.anti_affinity),
            tuple(growing(counts, theirs[counts.key]) for counts in (*state.existing, *new)),
            state.matches_itself,
        )
        self._reject()

    def _reject(self) -> None:
        state, nodes = self._state, self._nodes
        self.rejected: Mask = ~_near(state, nodes) | _crowded((*state.anti_affinity, *state.existing), nodes)

    def place(self, row: int) -> None:
        """Place one more copy on a node that is not rejected."""
        is_first = False
        for counts, n_matches in self._growing:
            domain = counts.column.codes[row]
            if domain >= 0:
                is_first |= not counts.counts[domain]
                counts.counts[domain] += n_matches
        if is_first:
            self._reject()

    def follow(self, cluster: Cluster, found: MatchesPerClass | None, moved: MovedPods) -> None:
        """Take in pods that came to nodes or left them.

        Args:
            found: The matches per class, if there are other classes than before.
        """
        state = self._state
        if found is not None:
            nobody = np.zeros(len(cluster.pods.classes), dtype=np.int64)
            theirs = {counts.key: counts for counts in state.existing}
            for key in found.existing:
                if key not in theirs:
                    # Only pods of new classes have such terms, and none of them was on a node before.
                    theirs[key] = KeyCounts.of(cluster, "existing", key, nobody)
            self._state = state = FilterState(
                tuple(structs.replace(each, per_class=found.affinity[each.key]) for each in state.affinity),
                tuple(structs.replace(each, per_class=found.anti_affinity[each.key]) for each in state.anti_affinity),
                tuple(
                    structs.replace(each, per_class=found.existing.get(each.key, nobody)) for each in theirs.values()
                ),
                state.matches_itself,
            )
        before, differs = self.rejected, False
        for counts in (*state.affinity, *state.anti_affinity, *state.existing):
            more = moved.per_domain(counts.per_class, counts.column.codes, len(counts.counts))[:-1]
            counts.counts[:] += more
            differs |= bool(more.any())
        if differs:
            self._reject()
        if np.array_equal(before, self.rejected):
            self.rejected = before


def _crowded(groups: tuple[KeyCounts, ...], nodes: Overlay) -> Mask:
    """Return the worlds in which a domain of the node has a match: bool, shape (n_worlds,)."""
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for counts in groups:
        mask |= counts.in_worlds(nodes) > 0
    return mask


def _near(state: FilterState, nodes: Overlay) -> Mask:
    """Return the worlds in which required affinity holds: bool, shape (n_worlds,)."""
    labelled = np.ones(len(nodes), dtype=np.bool_)
    met = np.ones(len(nodes), dtype=np.bool_)
    # The number of domains with matches in the whole cluster, in each world.
    populated = np.zeros(len(nodes), dtype=np.int64)
    for counts in state.affinity:
        domain = counts.column.codes[nodes.rows]
        found = counts.in_worlds(nodes)
        labelled &= domain >= 0
        met &= found > 0
        before = np.append(counts.counts, 0)[domain] != 0
        populated += np.count_nonzero(counts.counts) - before + (found != 0)
    # If no pod matches, a pod that matches its own affinity may go to any node with the labels, as upstream.
    first = (populated == 0) & state.matches_itself
    allowed: Mask = labelled & (met | first)
    return allowed


class MatchingPods:
    """The pods on nodes that cause matches, by topology domain; each table is built on first use."""

    def __init__(self, cluster: Cluster) -> None:
        self._pods = cluster.pods
        self._tables: dict[tuple[str, str], tuple[Int64Array, Int64Array]] = {}

    def in_domain(self, counts: KeyCounts, code: int) -> Int64Array:
        """Return the indices of the pods that cause the matches in a domain."""
        table = self._tables.get((counts.kind, counts.key))
        if table is None:
            pods = self._pods.assigned
            pods = pods[counts.per_class[self._pods.class_id[pods]] > 0]
            domains = counts.column.codes[self._pods.node_row[pods]]
            order = np.argsort(domains, kind="stable")
            table = self._tables[counts.kind, counts.key] = (pods[order], domains[order])
        pods, domains = table
        begin, end = np.searchsorted(domains, (code, code + 1))
        return pods[begin:end]

    def key(self, index: int) -> str:
        """Return ``namespace/name`` of a pod."""
        return self._pods.key(index)


def word_reason(culprits: MatchingPods, row: int, counts: KeyCounts, terms: tuple[AffinityTerm, ...]) -> Reason:
    """Return the reason for a rejected node, with the pod that blocks its domain or the term without a match.

    Args:
        terms: The pod's required affinity terms.
    """
    key = counts.key
    code = int(counts.column.codes[row])
    if code < 0:
        return Reason(REASON_AFFINITY, NoTopologyLabel(key))
    domain = counts.column.values[code]
    if counts.kind == "affinity":
        term = next(term for term in terms if term.topology_key == key)
        return Reason(REASON_AFFINITY, NoPodNear(key, domain, term.selector or ()))
    own = counts.kind == "anti-affinity"
    text = REASON_ANTI_AFFINITY if own else REASON_EXISTING
    found = culprits.in_domain(counts, code)
    if not len(found):
        return Reason(text, NominatedPodInTheWay(key, domain))
    kind = OwnAntiAffinity if own else ExistingAntiAffinity
    return Reason(text, kind(key, domain, culprits.key(int(found[0])), len(found)))


def explain_domains(state: FilterState, nodes: Overlay) -> tuple[FilterCheck, ...]:
    """Return one check per key of the required terms, on the only node of an overlay."""
    row = int(nodes.rows[0])
    checks = []
    # If no pod matches, a pod that matches its own affinity may go to any node with the labels.
    first = state.matches_itself and not any(counts.counts.any() for counts in state.affinity)
    for counts in (*state.affinity, *state.anti_affinity, *state.existing):
        code = int(counts.column.codes[row])
        found = int(counts.in_worlds(nodes)[0])
        wanted, is_near = _WANTED[counts.kind].format(key=counts.key), counts.kind == _NEAR
        if code < 0:
            checks.append(FilterCheck(wanted, f"the node has no label {counts.key}", not is_near))
            continue
        told = f"{counts.key}={counts.column.values[code]} has {found}"
        if is_near and not found and first:
            told += "; no pod matches anywhere, so the first pod that matches itself is allowed"
        checks.append(FilterCheck(wanted, told, (found > 0 or first) if is_near else found <= 0))
    return tuple(checks)


def shown_domains(state: FilterState) -> tuple[CountedDomains, ...]:
    """Return the matches of the pod's required affinity for an answer, one entry per topology key."""
    found = []
    for counts in state.affinity:
        domains = np.unique(counts.column.codes[counts.column.present])
        pods = most_populated(counts.column, counts.counts, domains)
        entry = CountedDomains(topology_key=counts.key, pods=pods, domains=len(domains), own=state.matches_itself)
        found.append(entry)
    return tuple(found)
