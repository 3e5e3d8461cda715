"""Reference of the search for feasible nodes: one start and one node at a time."""

from collections.abc import Sequence

from kschedctl.objects.core import Node


def search_order(nodes: Sequence[Node]) -> list[str]:
    """Return the names of the nodes in the order of the search: the zones take turns."""
    tree: dict[tuple[str, str], list[str]] = {}
    for node in sorted(nodes, key=lambda node: node.name):
        labels = node.metadata.labels
        zone = labels.get("failure-domain.beta.kubernetes.io/zone", labels.get("topology.kubernetes.io/zone", ""))
        region = labels.get("failure-domain.beta.kubernetes.io/region", labels.get("topology.kubernetes.io/region", ""))
        tree.setdefault((region, zone), []).append(node.name)
    order: list[str] = []
    while any(tree.values()):
        order += [names.pop(0) for names in tree.values() if names]
    return order


def search(order: Sequence[str], feasible: set[str], start: int, n_to_find: int) -> tuple[list[str], int]:
    """Return the feasible nodes that the search finds, and the start of the next one.

    The search ends at the first feasible node that is one too many.
    """
    found: list[str] = []
    processed = 0
    for i in range(len(order)):
        name = order[(start + i) % len(order)]
        if name in feasible and len(found) == n_to_find:
            break
        processed += 1
        if name in feasible:
            found.append(name)
    return found, (start + processed) % len(order)
