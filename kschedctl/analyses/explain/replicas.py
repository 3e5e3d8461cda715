"""How many replicas of a workload fit, one after another, each beside those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kschedctl.analyses.asked_pod import AskedPod
from kschedctl.analyses.handle import Handle
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.whatif.workload_pods import fresh_names

#: Beyond this many replicas the others are not tried.
MOST: Final = 500


def count_placed(cluster: LoadedCluster, members: Sequence[AskedPod], handle: Handle) -> int | None:
    """Count how many pods of a workload fit, one after another.

    Of several nodes that chance decides among a pod goes to the first by name. What else comes of a bound pod, such as
    a volume that is made for it, is not there for the next one.

    Parameters
    ----------
    members : sequence of AskedPod
        Its pods that differ in more than their name, each with the number of replicas.

    Returns
    -------
    int or None
        ``None`` where there is nothing to place one after another: a pod for each of some nodes, or one pod at most.
    """
    if any(one.node for one in members) or sum(one.replicas for one in members) < 2:
        return None
    # One that is wanted once has a name of its own, such as an ordinal's.
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
            # The others are like it, or come after it.
            return n_placed
        cluster = cluster.with_bound(decision, decision.best[0])
        n_placed += 1
    return n_placed if len(pods) <= MOST and sum(one.replicas for one in members) <= MOST else None
