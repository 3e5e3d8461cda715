"""Reference of NodeAffinity: node by node."""

from collections.abc import Sequence

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import NodeSelectorRequirement, NodeSelectorTerm


def _holds(requirement: NodeSelectorRequirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(requirement.values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(requirement.values[0])
    raise ValueError(requirement.operator)


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Report whether a node satisfies a term."""
    if not term.match_expressions and not term.match_fields:
        return False
    labels = node.metadata.labels
    return all(_holds(r, labels.get(r.key)) for r in term.match_expressions) and all(
        _holds(r, node.name) for r in term.match_fields
    )


def fits(pod: Pod, node: Node) -> bool:
    """Report whether a node satisfies the pod's node selector and one of its required terms."""
    if any(node.metadata.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return required is None or any(term_matches(term, node) for term in required.node_selector_terms)


def scores(pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
    """Return the normalized score by node."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
    sums = {node.name: sum(t.weight for t in terms if term_matches(t.preference, node)) for node in nodes}
    most = max(sums.values())
    return {name: 100 * total // most if most else 0 for name, total in sums.items()}
