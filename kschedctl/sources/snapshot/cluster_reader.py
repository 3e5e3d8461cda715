"""A reader over the objects of a ``Cluster`` in memory, so that a modified cluster can be captured."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.findings import Location
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.snapshot.summary import ReadSummary


class ClusterReader:
    """A reader that yields every object of a cluster.

    Parameters
    ----------
    summary : ReadSummary
        The summary of the reading that the cluster came from.
    """

    def __init__(self, cluster: Cluster, summary: ReadSummary) -> None:
        self.summary = summary
        self._cluster = cluster

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]:
        cluster = self._cluster
        place = Location("the cluster")
        for node in cluster.nodes.objects:
            yield node, place
        for index, record in enumerate(cluster.pods.records):
            # The cluster stores a pod's node name outside its spec, which equal pods share.
            pod = cluster.pods.pod(index)
            yield replace(pod, spec=replace(pod.spec, node_name=record.node_name)), place
        for kind in cluster.kinds:
            for obj in cluster.list(kind):
                yield obj, place
