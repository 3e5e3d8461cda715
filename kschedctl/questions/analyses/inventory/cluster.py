"""The size of a cluster."""

from __future__ import annotations

import numpy as np

from kschedctl.cluster.records import PENDING
from kschedctl.common.wording import counted
from kschedctl.objects.core import Namespace
from kschedctl.questions.analyses.provenance import envelope, provenance
from kschedctl.questions.answers.inventory import ClusterSummary
from kschedctl.trials.completeness import every_unlisted
from kschedctl.trials.loaded_cluster import LoadedCluster


def cluster_summary(cluster: LoadedCluster) -> ClusterSummary:
    """Count the objects of a cluster."""
    loaded = cluster.cluster
    pending = int(np.count_nonzero(cluster.pods.node_row == PENDING))
    namespaces = {each.name for each in loaded.list(Namespace)} | {namespace for namespace, _ in cluster.pods.index}
    kinds = {"Node": len(cluster.nodes), "Pod": len(cluster.pods)}
    kinds |= {kind.__name__: len(list(loaded.list(kind))) for kind in loaded.kinds}
    size = f"{counted(len(cluster.nodes), 'node')}, {counted(len(cluster.pods), 'pod')}"
    return ClusterSummary(
        **envelope(loaded, provenance(cluster, every_unlisted(loaded, loaded.not_listed, "they are not counted"))),
        summary=f"{size}, {pending} of them pending",
        nodes=len(cluster.nodes),
        pods=len(cluster.pods),
        pending=pending,
        namespaces=tuple(sorted(namespaces)),
        kinds={kind: number for kind, number in sorted(kinds.items()) if number},
    )
