"""The number of replicas of a workload that are admitted and fit, one after another, each beside those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kschedctl.controllers.admission.resource_quota import quota_refusals
from kschedctl.objects.resources import RequestRules
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.pods import fresh_names

#: At most 500 replicas are tried.
MOST: Final = 500


class Placed(NamedTuple):
    """The number of pods that fit one after another, and the message of the quota that refuses the next; else empty."""

    number: int | None
    refused: str = ""


def count_placed(cluster: LoadedCluster, members: Sequence[PodSubject], handle: AnalysisHandle) -> Placed:
    """Count the pods of a workload that are admitted and fit, one after another.

    Of equally good nodes, a pod is bound to the first by name. Other effects of a bound pod, such as a volume that is
    provisioned for it, are not visible to the next pod.

    Parameters
    ----------
    members : sequence of PodSubject
        The pods of the workload that differ in more than their name, each with its number of replicas.

    Returns
    -------
    Placed
        The number is ``None`` if nothing is placed one after another (a DaemonSet, at most one pod, or a quota refuses
        the first), or if more than 500 replicas are wanted and all that were tried fit.
    """
    if any(one.node for one in members) or sum(one.replicas for one in members) < 2:
        return Placed(None)
    # A pod of which there is one replica has a name of its own, such as one with an ordinal.
    pods = [
        (one, name)
        for one in members
        for name in (
            fresh_names(one.pod, min(one.replicas, MOST), cluster.pods.index) if one.replicas > 1 else [one.pod.name]
        )
    ]
    n_placed = n_new = 0
    start, rules = cluster.cluster, RequestRules.of(cluster.release_choice.release)
    for one, name in handle.track(pods[:MOST], "placing replicas"):
        cluster, pod = cluster.with_replica(one.pod, name)
        admitted = cluster.admit(pod, where=one.where).pod
        if (pod.namespace, pod.name) not in start.pods.index:
            refusals = quota_refusals(admitted, start, rules, after=n_new) if cluster.admission else ()
            if refusals:
                return Placed(n_placed or None, refusals[0].message)
            n_new += 1
        decision = cluster.decide_admitted(admitted)
        if not decision.schedulable:
            # The remaining pods are equal to it, or come after it.
            return Placed(n_placed)
        cluster = cluster.with_bound(decision, decision.best[0])
        n_placed += 1
    return Placed(n_placed if len(pods) <= MOST and sum(one.replicas for one in members) <= MOST else None)
