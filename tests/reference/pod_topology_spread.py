"""Reference of PodTopologySpread: constraint by constraint, domain by domain, pod by pod."""

import math
from collections.abc import Sequence

from kschedctl.objects.core import Node
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.pod import Pod, TopologySpreadConstraint
from kschedctl.objects.selectors import matches, parse_label_selector
from tests.reference import node_affinity, taint_toleration

_HOSTNAME = "kubernetes.io/hostname"


def _selects(constraint: TopologySpreadConstraint, pod: Pod, other: Pod) -> bool:
    """Report whether a constraint of ``pod`` matches another pod."""
    selector = constraint.label_selector
    if selector is None or not matches(parse_label_selector(selector), other.metadata.labels):
        return False
    own = pod.metadata.labels
    return all(own[k] == other.metadata.labels.get(k) for k in constraint.match_label_keys if k in own)


def _matching(constraint: TopologySpreadConstraint, pod: Pod, pods: Sequence[Pod], node: Node) -> int:
    """Return the number of pods on a node that a constraint counts."""
    empty = constraint.label_selector in (None, LabelSelector())
    if empty and not set(constraint.match_label_keys) & set(pod.metadata.labels):
        return 0
    return sum(
        other.spec.node_name == node.name
        and other.namespace == pod.namespace
        and other.metadata.deletion_timestamp is None
        and _selects(constraint, pod, other)
        for other in pods
    )


def _included(constraint: TopologySpreadConstraint, pod: Pod, node: Node) -> bool:
    affine = constraint.node_affinity_policy == "Ignore" or node_affinity.fits(pod, node)
    clean = constraint.node_taints_policy != "Honor" or taint_toleration.fits(pod, node)
    return affine and clean


def _of(pod: Pod, action: str) -> list[TopologySpreadConstraint]:
    return [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == action]


def verdicts(pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod]) -> dict[str, str]:
    """Return the filter's verdict by node: ``fits``, ``skew`` or ``label``."""
    constraints = _of(pod, "DoNotSchedule")
    labelled = [node for node in nodes if all(c.topology_key in node.metadata.labels for c in constraints)]
    out = dict.fromkeys((node.name for node in nodes), "fits")
    for constraint in reversed(constraints):
        key = constraint.topology_key
        domains: dict[str, int] = {}
        for node in labelled:
            if _included(constraint, pod, node):
                value = node.metadata.labels[key]
                domains[value] = domains.get(value, 0) + _matching(constraint, pod, pods, node)
        fewest = min(domains.values(), default=2**31 - 1)
        if len(domains) < (1 if constraint.min_domains is None else constraint.min_domains):
            fewest = 0
        for node in nodes:
            if key not in node.metadata.labels:
                out[node.name] = "label"
                continue
            skew = domains.get(node.metadata.labels[key], 0) + _selects(constraint, pod, pod) - fewest
            if skew > constraint.max_skew:
                out[node.name] = "skew"
    return out


def scores(pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod], feasible: Sequence[Node]) -> dict[str, int]:
    """Return the normalized score by feasible node."""
    constraints = _of(pod, "ScheduleAnyway")
    labelled = [node for node in nodes if all(c.topology_key in node.metadata.labels for c in constraints)]
    candidates = [node for node in feasible if node in labelled]
    raw: dict[str, int] = {}
    for node in candidates:
        total = 0.0
        for constraint in constraints:
            key = constraint.topology_key
            value = node.metadata.labels[key]
            if key == _HOSTNAME:
                size, count = len(candidates), _matching(constraint, pod, pods, node)
            else:
                size = len({other.metadata.labels[key] for other in candidates})
                count = sum(
                    _matching(constraint, pod, pods, other)
                    for other in labelled
                    if other.metadata.labels[key] == value and _included(constraint, pod, other)
                )
            total += count * math.log(size + 2) + (constraint.max_skew - 1)
        raw[node.name] = math.floor(total + 0.5)
    most, least = max(raw.values(), default=0), min(raw.values(), default=0)
    scaled = {name: 100 * (most + least - score) // most if most else 100 for name, score in raw.items()}
    return {node.name: scaled.get(node.name, 0) for node in feasible}
