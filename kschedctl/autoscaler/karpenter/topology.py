"""Spread constraints and pod affinities over nodes that exist and those to come (S/topology.go, S/topologygroup.go)."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from kschedctl.autoscaler.karpenter.pods import Stage, WaitingPod, untolerated
from kschedctl.autoscaler.karpenter.state import StateNode
from kschedctl.autoscaler.requirements import (
    Requirement,
    Requirements,
    added,
    are_compatible,
    intersection,
    of_expressions,
    of_labels,
    requirement,
)
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.core import Taint
from kschedctl.objects.meta import LabelSelector, LabelSelectorRequirement
from kschedctl.objects.pod import Pod, PodAffinity, PodAffinityTerm, PodSpec, TopologySpreadConstraint
from kschedctl.objects.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    Selector,
    SelectorError,
    matches,
    parse_label_selector,
)
from kschedctl.objects.well_known import HOSTNAME

T = TypeVar("T")

SPREAD: Final = "topology spread"
AFFINITY: Final = "pod affinity"
ANTI_AFFINITY: Final = "pod anti-affinity"
_RANKS: Final = {SPREAD: 0, AFFINITY: 1, ANTI_AFFINITY: 2}
_HONOR: Final = "Honor"
_IGNORE: Final = "Ignore"
_UNLIMITED: Final = 2**31 - 1
_MOST_SHOWN: Final = 25

_ANY_POD: Final = PodSpec()

#: Domains of a topology key, each with the taints of the pools that have it.
Domains = Mapping[str, Collection[tuple[Taint, ...]]]


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """The nodes that count for a spread constraint; without policies all."""

    terms: tuple[Requirements, ...] = ()
    taints_policy: str = ""
    affinity_policy: str = ""
    spec: PodSpec = _ANY_POD

    @classmethod
    def of(cls, spec: PodSpec, constraint: TopologySpreadConstraint) -> "NodeFilter":
        selector = of_labels(spec.node_selector)
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
        if required is None:
            terms: tuple[Requirements, ...] = (selector,)
        else:
            terms = tuple(
                added(selector, of_expressions(term.match_expressions).values())
                for term in required.node_selector_terms
            )
        return cls(terms, constraint.node_taints_policy or _IGNORE, constraint.node_affinity_policy or _HONOR, spec)

    def admits(self, taints: Sequence[Taint], labels: Requirements) -> bool:
        """Report whether a node counts."""
        if self.affinity_policy == _HONOR and self.terms and not any(are_compatible(labels, t) for t in self.terms):
            return False
        return self.taints_policy != _HONOR or not untolerated(self.spec, taints)

    @property
    def identity(self) -> object:
        """Equal for filters that Karpenter takes for the same: it compares the keys of requirements, but no values."""
        terms = _odd(frozenset(term) for term in self.terms)
        return terms, self.taints_policy, self.affinity_policy, _odd(self.spec.tolerations) if self.terms else None


def _odd(items: Iterable[T]) -> frozenset[T]:
    """Return the items that occur an odd number of times: two equal ones cancel each other in Karpenter's hash."""
    return frozenset(item for item, n in Counter(items).items() if n % 2)


class TopologyGroup:
    """Counts of the pods that a selector matches, by domain of a topology key."""

    def __init__(
        self,
        kind: str,
        key: str,
        namespaces: frozenset[str],
        selector: LabelSelector | None,
        counted: NodeFilter,
        max_skew: int = _UNLIMITED,
        min_domains: int | None = None,
    ) -> None:
        self.kind, self.key, self.namespaces, self.selector = kind, key, namespaces, selector
        self.counted, self.max_skew, self.min_domains = counted, max_skew, min_domains
        self.parsed = _parsed(selector)
        self.domains: dict[str, int] = {}
        self.empty: set[str] = set()
        self._selected: dict[object, bool] = {}
        text = selector_text(selector)
        #: The order in which constraints are looked at.
        self.rank = (
            _RANKS[kind],
            key,
            text,
            ",".join(sorted(namespaces)),
            max_skew,
            counted.taints_policy,
            counted.affinity_policy,
        )

    @property
    def identity(self) -> object:
        """Equal for groups that share their counts."""
        selector = None
        if self.selector is not None:
            expressions = frozenset(
                (each.key, each.operator, _odd(each.values)) for each in self.selector.match_expressions
            )
            selector = expressions, frozenset(self.selector.match_labels.items())
        return self.kind, self.key, self.namespaces, self.max_skew, self.counted.identity, selector

    def selects(self, pod: Pod) -> bool:
        """Report whether the group counts a pod, wherever it is."""
        labels = pod.metadata.labels
        key = pod.namespace, tuple(labels.items())
        known = self._selected.get(key)
        if known is None:
            known = self._selected[key] = (
                pod.namespace in self.namespaces and self.parsed is not None and matches(self.parsed, labels)
            )
        return known

    def register(self, domain: str) -> None:
        """Note a domain, without any pod so far."""
        if domain not in self.domains:
            self.domains[domain] = 0
            self.empty.add(domain)

    def record(self, domains: Iterable[str]) -> None:
        """Count a pod in each of some domains."""
        for domain in domains:
            self.domains[domain] = self.domains.get(domain, 0) + 1
            self.empty.discard(domain)

    def choice(self, pod: Pod, of_pod: Requirement, of_node: Requirement) -> Requirement:
        """Return the domains of a node in which a pod may be; ``DoesNotExist`` if in none."""
        if self.kind == SPREAD:
            return self._least_used(pod, of_pod, of_node)
        chosen = self._with_pods(pod, of_pod, of_node) if self.kind == AFFINITY else self._without(of_pod, of_node)
        return requirement(self.key, IN, sorted(chosen)) if chosen else requirement(self.key, DOES_NOT_EXIST)

    def _single(self, of_node: Requirement) -> str | None:
        """Return the host name of a node; ``None`` for another key. That of a new node is not among the domains."""
        return next(iter(of_node.values)) if self.key == HOSTNAME and len(of_node.values) == 1 else None

    def _possible(self, of_node: Requirement) -> Iterable[str]:
        if of_node.operator == IN:
            return sorted(domain for domain in of_node.values if domain in self.domains)
        return sorted(domain for domain in self.domains if of_node.has(domain))

    def _least_used(self, pod: Pod, of_pod: Requirement, of_node: Requirement) -> Requirement:
        own = int(self.selects(pod))
        host = self._single(of_node)
        if host is not None:
            fits = self.domains.get(host, 0) + own <= self.max_skew
            return requirement(self.key, IN, (host,)) if fits else requirement(self.key, DOES_NOT_EXIST)
        least = self._least(of_pod)
        valid = [
            (self.domains[d], d) for d in self._possible(of_node) if self.domains[d] + own - least <= self.max_skew
        ]
        return requirement(self.key, IN, (min(valid)[1],)) if valid else requirement(self.key, DOES_NOT_EXIST)

    def _least(self, of_pod: Requirement) -> int:
        # A new node is always a domain without pods.
        if self.key == HOSTNAME:
            return 0
        counts = [count for domain, count in self.domains.items() if of_pod.has(domain)]
        if not counts:
            return 0 if self.min_domains else _UNLIMITED
        return 0 if self.min_domains is not None and len(counts) < self.min_domains else min(counts)

    def _with_pods(self, pod: Pod, of_pod: Requirement, of_node: Requirement) -> set[str]:
        host = self._single(of_node)
        if host is not None:
            if not of_pod.has(host):
                return set()
            return {host} if self.domains.get(host, 0) > 0 or self._starts(pod, of_pod) else set()
        chosen = {d for d in self._possible(of_node) if self.domains[d] > 0 and of_pod.has(d)}
        if chosen or not self._starts(pod, of_pod):
            return chosen
        both = intersection(of_pod, of_node)
        every = sorted(self.domains)
        # Karpenter takes a domain that the node can have, and besides any one that the pod can have.
        first = [next((d for d in every if each.has(d)), None) for each in (both, of_pod)]
        return {domain for domain in first if domain is not None}

    def _starts(self, pod: Pod, of_pod: Requirement) -> bool:
        """Report whether a pod may be the first where it can be of those that its own term selects."""
        if not self.selects(pod):
            return False
        if len(self.domains) == len(self.empty):
            return True
        return not any(count > 0 and of_pod.has(domain) for domain, count in self.domains.items())

    def _without(self, of_pod: Requirement, of_node: Requirement) -> set[str]:
        host = self._single(of_node)
        if host is not None:
            return set() if self.domains.get(host, 0) else {host}
        if of_node.operator == IN and len(of_node.values) < len(self.empty):
            return {d for d in of_node.values if d in self.empty and of_pod.has(d)}
        return {d for d in self.empty if of_node.has(d) and of_pod.has(d)}

    def problem(self, of_pod: Requirement, of_node: Requirement) -> str:
        """Return Karpenter's words for why no domain is possible."""
        shown = sorted(self.domains.items())
        counts = ", ".join(f"{domain}: {count}" for domain, count in shown[:_MOST_SHOWN])
        if len(shown) > _MOST_SHOWN:
            counts += f" and {len(shown) - _MOST_SHOWN} other(s)"
        return (
            f"unsatisfiable topology constraint for {self.kind}, key={self.key} (counts = {counts}, "
            f"podDomains = {of_pod}, nodeDomains = {of_node}"
        )


def _parsed(selector: LabelSelector | None) -> Selector | None:
    """Return a parsed selector; ``None`` if it matches nothing."""
    if selector is None:
        return None
    try:
        return parse_label_selector(selector)
    except SelectorError:
        return None


def selector_text(selector: LabelSelector | None) -> str:
    """Return a selector as kubectl prints it (metav1.FormatLabelSelector)."""
    if selector is None:
        return "<none>"
    words = {"In": " in", "NotIn": " notin"}
    parts = [(key, f"{key}={value}") for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        listed = f"{each.key}{words.get(each.operator)} ({','.join(sorted(each.values))})"
        texts = {EXISTS: each.key, DOES_NOT_EXIST: f"!{each.key}"}
        parts.append((each.key, texts.get(each.operator, listed)))
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0])) or "<none>"


class Topology:
    """The groups of all pods of a round.

    Args:
        domains: Gives the domains that pools have for a topology key.
        prefers: False if preferences do not count.
        batch: The pods of the round, which are not counted where they are.
    """

    def __init__(
        self,
        cluster: Cluster,
        nodes: Sequence[StateNode],
        domains: Callable[[str], Domains],
        batch: Sequence[WaitingPod],
        *,
        prefers: bool,
    ) -> None:
        self._cluster, self._nodes, self._domains, self._prefers = cluster, nodes, domains, prefers
        self._groups: dict[object, TopologyGroup] = {}
        self._inverse: dict[object, TopologyGroup] = {}
        #: The groups whose constraints hold for a pod, and those of its own anti-affinity to others.
        self._owned: dict[WaitingPod, list[TopologyGroup]] = {}
        self._inverse_owned: dict[WaitingPod, list[TopologyGroup]] = {}
        self._none: list[TopologyGroup] = []
        self._of_stage: dict[tuple[int, str, object], list[TopologyGroup]] = {}
        self._matching: dict[object, list[TopologyGroup]] = {}
        self._bound = self._counted_pods({each.key for each in batch})
        self._track_bound_anti_affinity({each.key for each in batch})
        for each in batch:
            self.update(each, each.first)

    def _counted_pods(self, batch: set[str]) -> tuple[Int64Array, Int64Array]:
        """Return the class and the node row of each pod that counts where it is."""
        pods = self._cluster.pods
        counts = (pods.node_row >= 0) & ~pods.class_terminating[pods.class_id]
        for key in batch:
            namespace, _, name = key.partition("/")
            index = pods.index.get((namespace, name))
            if index is not None:
                counts[index] = False
        return pods.class_id[counts], pods.node_row[counts]

    def _track_bound_anti_affinity(self, batch: set[str]) -> None:
        pods, nodes = self._cluster.pods, self._cluster.nodes.objects
        having = np.array([bool(_terms(each.pod.spec, "pod_anti_affinity", preferred=False)) for each in pods.classes])
        if not having.any():
            return
        found = np.flatnonzero(having[pods.class_id] & (pods.node_row >= 0))
        for index in sorted(found.tolist(), key=pods.key):
            if pods.key(index) in batch:
                continue
            pod = pods.pod(index)
            labels = nodes[int(pods.node_row[index])].metadata.labels
            for group in self._inverse_groups(pod):
                if group.key in labels:
                    group.record((labels[group.key],))

    def update(self, waiting: WaitingPod, stage: Stage) -> None:
        """Give a pod the constraints of a stage, and take those of earlier stages from it."""
        pod = waiting.pod
        if _terms(stage.spec, "pod_anti_affinity", preferred=self._prefers):
            self._inverse_owned.setdefault(waiting, [])
            for group in self._inverse_groups(pod, stage.spec):
                if group not in self._inverse_owned[waiting]:
                    self._inverse_owned[waiting].append(group)
        key = id(stage), pod.namespace, tuple(pod.metadata.labels.items())
        known = self._of_stage.get(key)
        if known is None:
            known = self._of_stage[key] = list(dict.fromkeys(self._made(pod, stage.spec)))
        self._owned[waiting] = known

    def _made(self, pod: Pod, spec: PodSpec) -> Iterable[TopologyGroup]:
        for constraint in spec.topology_spread_constraints:
            if not self._prefers and constraint.when_unsatisfiable != "DoNotSchedule":
                continue
            selector = constraint.label_selector
            more = tuple(
                LabelSelectorRequirement(key=key, operator=IN, values=(pod.metadata.labels[key],))
                for key in constraint.match_label_keys
                if key in pod.metadata.labels
            )
            if more and selector is not None:
                selector = LabelSelector(
                    match_labels=selector.match_labels,
                    match_expressions=tuple(dict.fromkeys((*selector.match_expressions, *more))),
                )
            yield self._shared(
                TopologyGroup(
                    SPREAD,
                    constraint.topology_key,
                    frozenset({pod.namespace}),
                    selector,
                    NodeFilter.of(spec, constraint),
                    constraint.max_skew,
                    constraint.min_domains,
                ),
                spec,
            )
        for kind, name in ((AFFINITY, "pod_affinity"), (ANTI_AFFINITY, "pod_anti_affinity")):
            for term in _terms(spec, name, preferred=self._prefers):
                yield self._shared(self._group(kind, pod, term), spec)

    def _group(self, kind: str, pod: Pod, term: PodAffinityTerm) -> TopologyGroup:
        return TopologyGroup(kind, term.topology_key, self._namespaces(pod, term), term.label_selector, NodeFilter())

    def _namespaces(self, pod: Pod, term: PodAffinityTerm) -> frozenset[str]:
        if term.namespace_selector is None:
            return frozenset(term.namespaces or (pod.namespace,))
        selector = parse_label_selector(term.namespace_selector)
        labelled = self._cluster.namespace_labels.items()
        return frozenset(term.namespaces) | {name for name, labels in labelled if matches(selector, labels)}

    def _inverse_groups(self, pod: Pod, spec: PodSpec | None = None) -> Iterable[TopologyGroup]:
        spec = spec or pod.spec
        for term in _terms(spec, "pod_anti_affinity", preferred=False):
            group = self._group(ANTI_AFFINITY, pod, term)
            known = self._inverse.get(group.identity)
            if known is None:
                known = self._inverse[group.identity] = group
                self._matching.clear()
                self._open(group, spec)
            yield known

    def _shared(self, group: TopologyGroup, spec: PodSpec) -> TopologyGroup:
        known = self._groups.get(group.identity)
        if known is None:
            known = self._groups[group.identity] = group
            self._open(group, spec)
            self._count(group)
        return known

    def _open(self, group: TopologyGroup, spec: PodSpec) -> None:
        """Register the domains of the pools that a pod can use."""
        for domain, taints in self._domains(group.key).items():
            if group.counted.taints_policy == _IGNORE or any(not untolerated(spec, each) for each in taints):
                group.register(domain)

    def _count(self, group: TopologyGroup) -> None:
        nodes = self._cluster.nodes.objects
        for each in self._nodes:
            if each.node is None:
                continue
            domain = each.labels.get(group.key)
            node = each.node
            if domain is not None and group.counted.admits(node.spec.taints, of_labels(node.metadata.labels)):
                group.register(domain)
        pods = self._cluster.pods
        chosen = pods.classes_in(group.namespaces)
        # A term without a selector counts all pods, and selects none.
        if group.selector is not None:
            chosen = chosen & (pods.classes_matching(group.parsed) if group.parsed is not None else False)
        class_ids, rows = self._bound
        counts = np.bincount(rows[chosen[class_ids]], minlength=len(nodes))
        for row in np.flatnonzero(counts).tolist():
            labels = nodes[row].metadata.labels
            domain = labels.get(group.key, nodes[row].name if group.key == HOSTNAME else None)
            if domain is not None and group.counted.admits(nodes[row].spec.taints, of_labels(labels)):
                group.record((domain,))
                group.domains[domain] += int(counts[row]) - 1

    def register_host(self, name: str) -> None:
        """Note a node by its host name."""
        for group in (*self._groups.values(), *self._inverse.values()):
            if group.key == HOSTNAME:
                group.register(name)

    def is_free(self, waiting: WaitingPod) -> bool:
        """Report whether no constraint concerns a pod."""
        return not self._constraints(waiting)

    def _constraints(self, waiting: WaitingPod) -> list[TopologyGroup]:
        pod, owned = waiting.pod, self._owned.get(waiting, self._none)
        key = id(owned), pod.namespace, tuple(pod.metadata.labels.items())
        known = self._matching.get(key)
        if known is None:
            groups = [*owned, *(each for each in self._inverse.values() if each.selects(pod))]
            known = self._matching[key] = sorted(groups, key=lambda each: each.rank)
        return known

    def narrowed(self, waiting: WaitingPod, strict: Requirements, of_node: Requirements) -> tuple[Requirements, str]:
        """Return a node's requirements with the domains in which a pod may be, and the problem if there are none."""
        out = of_node
        for group in self._constraints(waiting):
            anything = requirement(group.key, EXISTS)
            pod_domains, node_domains = strict.get(group.key, anything), of_node.get(group.key, anything)
            chosen = group.choice(waiting.pod, pod_domains, node_domains)
            if not chosen.values:
                return out, group.problem(pod_domains, node_domains)
            out = added(out, (chosen,))
        return out, ""

    def record(self, waiting: WaitingPod, taints: Sequence[Taint], of_node: Requirements) -> None:
        """Count a pod that has been placed on a node."""
        for group in self._groups.values():
            if group.selects(waiting.pod) and group.counted.admits(taints, of_node):
                found = of_node.get(group.key)
                values = found.values if found is not None else frozenset()
                if group.kind == ANTI_AFFINITY or (len(values) == 1 and found is not None and not found.complement):
                    group.record(values)
        for group in self._inverse_owned.get(waiting, ()):
            found = of_node.get(group.key)
            group.record(found.values if found is not None else ())


def _terms(spec: PodSpec, name: str, *, preferred: bool) -> tuple[PodAffinityTerm, ...]:
    """Return the terms of ``pod_affinity`` or ``pod_anti_affinity``, with the preferred ones if they count."""
    own: PodAffinity | None = getattr(spec.affinity, name) if spec.affinity is not None else None
    if own is None:
        return ()
    soft = own.preferred_during_scheduling_ignored_during_execution if preferred else ()
    return (*own.required_during_scheduling_ignored_during_execution, *(each.pod_affinity_term for each in soft))
