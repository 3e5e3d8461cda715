"""The number of replicas of a workload that fit, one after another, each beside those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kschedctl.analyses.handle import AnalysisHandle
from kschedctl.analyses.subjects import PodSubject
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.whatif.workload_pods import fresh_names

#: At most 500 replicas are tried.
MOST: Final = 500


def count_placed(cluster: LoadedCluster, members: Sequence[PodSubject], handle: AnalysisHandle) -> int | None:
    """Count the pods of a workload that fit, one after another.

    Of equally good nodes, a pod is bound to the first by name. Other effects of a bound pod, such as a volume that is
    provisioned for it, are not visible to the next pod.

    Parameters
    ----------
    members : sequence of PodSubject
        The pods of the workload that differ in more than their name, each with its number of replicas.

    Returns
    -------
    int or None
        ``None`` if nothing is placed one after another (a DaemonSet, or at most one pod), or if more than 500 replicas
        are wanted and all that were tried fit.
    """
    if any(one.node for one in members) or sum(one.replicas for one in members) < 2:
        return None
    # A pod of which there is one replica has a name of its own, such as one with an ordinal.
    pods = [
        (one, name)
        for one in members
        for name in (
            fresh_names(one.pod, min(one.replicas, MOST), cluster.pods.index) if one.replicas > 1 else [one.pod.name]
        )
    ]
    n_placed = 0
    for one, name in handle.track(pods[:MOST], "placing replicas"):
        cluster, pod = cluster.with_replica(one.pod, name)
        decision = cluster.decide_admitted(cluster.admit(pod, where=one.where).pod)
        if not decision.schedulable:
            # The remaining pods are equal to it, or come after it.
            return n_placed
        cluster = cluster.with_bound(decision, decision.best[0])
        n_placed += 1
    return n_placed if len(pods) <= MOST and sum(one.replicas for one in members) <= MOST else None
