"""New members of pod groups in the cluster: kube-scheduler decides for a group when its members exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.trials.loaded_cluster import LoadedCluster


def with_new_members(cluster: LoadedCluster, asked: Sequence[PodSubject]) -> tuple[LoadedCluster, Sequence[PodSubject]]:
    """Return the cluster with the new members of pod groups that a question is about, and the question's pods.

    A pod that stands for a workload of the cluster is replaced by a pending one of that workload, if there is any.

    Raises
    ------
    ManifestError
        If an API server would refuse one of the pods.
    """
    if cluster.scheduler.release.pod_groups is None or not any(one.pod.spec.pod_group_name for one in asked):
        return cluster, asked
    # Few pods are members of groups.
    from kschedctl.trials.whatif.pods import fresh_names

    added: list[Pod] = []
    with_claims = cluster
    pods: list[PodSubject] = []
    for one in asked:
        known = (one.pod.namespace, one.pod.name) in cluster.pods.index
        if not one.pod.spec.pod_group_name or one.pod.spec.node_name or known:
            pods.append(one)
            continue
        pod = cluster.admit(one.pod, where=one.where).pod
        pending = _pending_like(cluster, pod)
        pods.append(one if pending is None else replace(one, pod=pending))
        if pending is None and pod.spec.pod_group_name:
            others = fresh_names(pod, one.replicas, cluster.pods.index) if one.replicas > 1 else []
            for name in [pod.name, *(name for name in others if name != pod.name)][: one.replicas]:
                with_claims, replica = with_claims.with_replica(pod, name)
                added.append(replica)
    return (with_claims.moved(with_claims.cluster.with_pods(added=added)) if added else cluster), pods


def _pending_like(cluster: LoadedCluster, pod: Pod) -> Pod | None:
    """Return a pending pod of the same workload and group."""
    pods = cluster.pods
    indices = group_members(cluster.cluster, pod.namespace, pod.spec.pod_group_name)
    own = workload_of(cluster.cluster, pod.metadata)
    pending = (pods.pod(index) for index in indices[pods.node_row[indices] == PENDING].tolist())
    return next((each for each in pending if workload_of(cluster.cluster, each.metadata) == own), None)
