"""The names that forms offer: those of the cluster's objects, by the field that takes them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kschedctl.objects.well_known import zone_of
from kschedctl.questions.inventory.analysis import pods_by_workload
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.targets import known_namespaces

#: The most names of a list, in the order of the names; a browser looks through all of them at each key.
_MOST: Final = 1000


def _zones(cluster: LoadedCluster) -> Iterable[str]:
    return set(filter(None, (zone_of(node.metadata.labels) for node in cluster.nodes.objects)))


def _workloads(cluster: LoadedCluster) -> Iterable[str]:
    return (f"{kind} {namespace}/{name}" for kind, namespace, name in pods_by_workload(cluster.cluster))


_NAMES: Final[Mapping[str, Callable[[LoadedCluster], Iterable[str]]]] = {
    "namespace": lambda cluster: known_namespaces(cluster.cluster),
    "node": lambda cluster: cluster.nodes.row,
    "pod": lambda cluster: (f"{namespace}/{name}" for namespace, name in cluster.pods.index),
    "workload": _workloads,
    "zone": _zones,
}


def known_names(cluster: LoadedCluster, fields: Iterable[str]) -> dict[str, list[str]]:
    """Return the names to choose from, by field; fields that take no names of objects are left out."""
    return {name: sorted(_NAMES[name](cluster))[:_MOST] for name in fields if name in _NAMES}
