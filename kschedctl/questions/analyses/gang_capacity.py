"""The part of ``capacity`` that counts whole pod groups: the pods of one copy, and the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kschedctl.cluster.pod_groups import group_members
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.template import check_number
from kschedctl.objects.pod import Pod, PodStatus
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.analyses.pod_groups.answer import pod_group_data
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.questions.answers.capacity import DomainCopiesData, GangCopiesData
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.capacity import Gang, GangCount, gang_capacity


def group_to_copy(cluster: LoadedCluster, pod: Pod) -> PodGroup | None:
    """Return the PodGroup with which a pod is scheduled; ``None`` if it is scheduled by itself, or there is none."""
    if cluster.scheduler.release.pod_groups is None or not pod.spec.pod_group_name:
        return None
    return cluster.cluster.get(PodGroup, pod.spec.pod_group_name, pod.namespace)


def gang_copies(
    cluster: LoadedCluster, group: PodGroup, asked: Sequence[PodSubject], most: int | None
) -> tuple[GangCount, GangCopiesData]:
    """Count the further copies of a group that fit whole, and describe one copy.

    Parameters
    ----------
    asked : sequence of PodSubject
        The pods of the request that name the group, one per workload.
    """
    gang = Gang(group, tuple(_members(cluster, group, asked)))
    found = gang_capacity(cluster.scheduler, gang, most)
    following = group_of(found.next)
    return found, GangCopiesData(
        namespace=group.namespace,
        name=group.name,
        asked=asked[0].pod.key,
        pods=len(gang.members),
        min_count=group.spec.min_count,
        domains=tuple(DomainCopiesData(name, copies) for name, copies in found.domains.items()),
        next=pod_group_data(following) if following is not None else None,
    )


def _members(cluster: LoadedCluster, group: PodGroup, asked: Sequence[PodSubject]) -> Iterator[Pod]:
    """Yield the pods of one copy; raise ``ManifestError`` if they are more than 10,000.

    These are the requested pods, with all replicas of their workloads. If they include a pod of the cluster, or are
    fewer than ``minCount``, the other pods of the group in the cluster are part of the copy as well.
    """
    n_asked = 0
    for one in asked:
        pod = cluster.admit(one.pod, where=one.where).pod
        replicas = one.workload.replicas if one.workload is not None else 1
        n_asked += max(replicas, 1)
        check_number(n_asked, one.where)
        yield from (_as_new(pod, f"-{number + 1}" if replicas > 1 else "") for number in range(max(replicas, 1)))
    pods = cluster.pods
    keys = {one.pod.key for one in asked}
    makers = {(one.workload.kind, one.workload.name) for one in asked if one.workload is not None}
    members = [pods.pod(index) for index in group_members(cluster.cluster, group.namespace, group.name).tolist()]
    if n_asked >= (group.spec.min_count or 0) and not any(pod.key in keys for pod in members):
        return
    for pod in members:
        kind, _, name = workload_of(cluster.cluster, pod.metadata)
        if pod.key not in keys and (kind, name) not in makers:
            yield _as_new(cluster.admit(pod).pod)


def _as_new(pod: Pod, suffix: str = "") -> Pod:
    metadata = replace(pod.metadata, name=f"{pod.metadata.name}{suffix}", uid="")
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=""), status=PodStatus())
