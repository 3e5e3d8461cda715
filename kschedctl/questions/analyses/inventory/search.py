"""Search for objects by a part of their names."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import MAKERS
from kschedctl.objects.coordination import Lease, LeaseCandidate
from kschedctl.questions.analyses.inventory.workloads import pods_by_workload
from kschedctl.questions.analyses.provenance import envelope, provenance
from kschedctl.questions.answers.inventory import SearchItem, SearchResults
from kschedctl.trials.completeness import every_unlisted
from kschedctl.trials.loaded_cluster import LoadedCluster

#: The number of objects that a search returns.
MOST_FOUND: Final = 50
#: The kinds in the order in which equally good matches are shown; workloads come before their pods.
_FIRST: Final = ("Node", "Workload", "Pod", "PersistentVolumeClaim", "PodDisruptionBudget")


def search(cluster: LoadedCluster, text: str, most: int = MOST_FOUND) -> SearchResults:
    """Find objects whose names contain a text, in any case; ``namespace/name`` finds parts of both.

    Parameters
    ----------
    text : str
        The text; an empty one finds nothing.
    most : int
        The number of objects to return.
    """
    wanted = text.strip().lower()
    found = [(rank, item) for item in _items(cluster.cluster) if (rank := _rank(item, wanted)) is not None]
    best = nsmallest(most, found, key=lambda each: (each[0], each[1].namespace, each[1].name, each[1].kind))
    missing = every_unlisted(cluster.cluster, cluster.cluster.not_listed, "they are not found")
    return SearchResults(
        **envelope(cluster.cluster, provenance(cluster, missing)),
        summary=f'{counted(len(found), "object")} with "{text.strip()}" in the name' if wanted else "nothing to find",
        total=len(found),
        items=tuple(item for _, item in best),
    )


def _items(cluster: Cluster) -> Iterator[SearchItem]:
    for node in cluster.nodes.objects:
        yield SearchItem("Node", "", node.name)
    for kind, namespace, name in pods_by_workload(cluster):
        yield SearchItem(kind, namespace, name)
    for namespace, name in cluster.pods.index:
        yield SearchItem("Pod", namespace, name)
    for type_ in cluster.kinds:
        # Workloads are found with their pods; Leases are mostly heartbeats of nodes.
        if type_ not in MAKERS and type_ not in (Lease, LeaseCandidate):
            for obj in cluster.list(type_):
                yield SearchItem(type_.__name__, obj.namespace, obj.name)


def _rank(item: SearchItem, text: str) -> tuple[int, int] | None:
    """Return the rank of an object, the best is the lowest; ``None`` if it does not match."""
    name = item.name.lower()
    whole = f"{item.namespace.lower()}/{name}"
    if not text or text not in (whole if "/" in text else name):
        return None
    match = 0 if text in (name, whole) else 1 if name.startswith(text) or whole.startswith(text) else 2
    kind = item.kind if item.kind in _FIRST else "Workload" if item.kind in _WORKLOADS else ""
    return match, _FIRST.index(kind) if kind else len(_FIRST)


_WORKLOADS: Final = frozenset(kind.__name__ for kind in MAKERS)
