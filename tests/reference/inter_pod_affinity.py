"""Reference of InterPodAffinity: term by term, pod by pod, node by node."""

from collections import Counter
from collections.abc import Mapping, Sequence

from kschedctl.objects.core import Node
from kschedctl.objects.meta import Labels, LabelSelector
from kschedctl.objects.pod import Pod, PodAffinity, PodAffinityTerm
from kschedctl.objects.selectors import matches, parse_label_selector

Namespaces = Mapping[str, Labels]


def _selects(selector: LabelSelector | None, labels: Labels) -> bool:
    return selector is not None and matches(parse_label_selector(selector), labels)


def _means(term: PodAffinityTerm, owner: Pod, other: Pod, namespaces: Namespaces) -> bool:
    """Report whether a term of ``owner`` matches another pod, apart from the topology."""
    names = term.namespaces
    if not names and term.namespace_selector is None:
        names = (owner.namespace,)
    named = other.namespace in names or _selects(term.namespace_selector, namespaces.get(other.namespace, {}))
    return named and _selects(term.label_selector, other.metadata.labels)


def _near(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_affinity) or PodAffinity()


def _far(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_anti_affinity) or PodAffinity()


def verdicts(pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod], namespaces: Namespaces) -> dict[str, str]:
    """Return the filter's verdict by node: ``fits``, ``affinity``, ``anti-affinity`` or ``existing``."""
    labels = {node.name: node.metadata.labels for node in nodes}
    running = [other for other in pods if other.spec.node_name in labels]
    near = _near(pod).required_during_scheduling_ignored_during_execution
    far = _far(pod).required_during_scheduling_ignored_during_execution
    wanted: Counter[tuple[str, str]] = Counter()
    unwanted: Counter[tuple[str, str]] = Counter()
    existing: Counter[tuple[str, str]] = Counter()
    for other in running:
        here = labels[other.spec.node_name]
        if near and all(_means(term, pod, other, namespaces) for term in near):
            wanted.update((t.topology_key, here[t.topology_key]) for t in near if t.topology_key in here)
        unwanted.update(
            (t.topology_key, here[t.topology_key])
            for t in far
            if t.topology_key in here and _means(t, pod, other, namespaces)
        )
        existing.update(
            (t.topology_key, here[t.topology_key])
            for t in _far(other).required_during_scheduling_ignored_during_execution
            if t.topology_key in here and _means(t, other, pod, namespaces)
        )
    first = not wanted and all(_means(term, pod, pod, namespaces) for term in near)
    out = {}
    for node in nodes:
        has = node.metadata.labels
        if any(t.topology_key not in has for t in near) or not (
            first or all(wanted[t.topology_key, has[t.topology_key]] for t in near)
        ):
            out[node.name] = "affinity"
        elif any(unwanted[t.topology_key, has.get(t.topology_key, "")] for t in far):
            out[node.name] = "anti-affinity"
        elif any(existing[label] for label in has.items()):
            out[node.name] = "existing"
        else:
            out[node.name] = "fits"
    return out


def scores(
    pod: Pod, nodes: Sequence[Node], pods: Sequence[Pod], namespaces: Namespaces, feasible: Sequence[Node]
) -> dict[str, int] | None:
    """Return the normalized score by feasible node; ``None`` if no term matches any pod."""
    labels = {node.name: node.metadata.labels for node in nodes}
    weights: dict[tuple[str, str], int] = {}

    def add(term: PodAffinityTerm, weight: int, owner: Pod, meant: Pod, here: Labels) -> None:
        if term.topology_key in here and _means(term, owner, meant, namespaces):
            domain = (term.topology_key, here[term.topology_key])
            weights[domain] = weights.get(domain, 0) + weight

    for other in pods:
        here = labels.get(other.spec.node_name)
        if here is None:
            continue
        for owner, meant in ((pod, other), (other, pod)):
            for affinity, sign in ((_near(owner), 1), (_far(owner), -1)):
                for weighted in affinity.preferred_during_scheduling_ignored_during_execution:
                    add(weighted.pod_affinity_term, sign * weighted.weight, owner, meant, here)
        for term in _near(other).required_during_scheduling_ignored_during_execution:
            add(term, 1, other, pod, here)
    if not weights:
        return None
    raw = {node.name: sum(weights.get(label, 0) for label in node.metadata.labels.items()) for node in feasible}
    most, least = max(raw.values()), min(raw.values())
    if most == least:
        return dict.fromkeys(raw, 0)
    return {name: int(100 * ((score - least) / (most - least))) for name, score in raw.items()}
