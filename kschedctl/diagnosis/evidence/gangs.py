"""Groups of pods that other schedulers start together: PodGroups of Volcano and of scheduler-plugins."""

from collections.abc import Iterator
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.evidence.events import one_line
from kschedctl.objects.custom_resources import CoschedulingPodGroup, VolcanoPodGroup
from kschedctl.objects.meta import ObjectMeta

_ANNOTATIONS: Final = ("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name")
_LABELS: Final = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
)
#: The labels of jobs whose pods usually need one another.
_JOB_LABELS: Final = (
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "ray.io/cluster",
    "leaderworkerset.sigs.k8s.io/name",
)
_QUIET: Final = frozenset({"Running", "Scheduled", "Completed"})


class OtherGang(msgspec.Struct, frozen=True):
    """A group of pods of another scheduler, with the pods that exist."""

    namespace: str
    name: str
    #: The PodGroup; ``None`` if the cluster does not have it.
    group: VolcanoPodGroup | CoschedulingPodGroup | None
    #: The pods that exist, as indices into ``Cluster.pods``, in the order of the snapshot.
    members: tuple[int, ...]
    #: The pods of the group that have a node.
    placed: tuple[int, ...]

    @property
    def least(self) -> int:
        """The number of pods that must exist and fit together; 0 if it is not known."""
        return self.group.spec.min_member if self.group is not None else 0

    @property
    def said(self) -> str:
        """The words of the group's scheduler about it; empty if there are none."""
        if self.group is None or self.group.status.phase in _QUIET:
            return ""
        told = (each for each in self.group.status.conditions if each.status == "True" and each.message)
        return next((one_line(each.message) for each in told), "")


def gang_name(metadata: ObjectMeta, *, jobs: bool = False) -> str:
    """Return the name of the PodGroup of another scheduler that a pod belongs to; empty for none.

    Args:
        jobs: True to take the name of the pod's job if it has no PodGroup.
    """
    keys = (*_LABELS, *(_JOB_LABELS if jobs else ()))
    own = (*(metadata.annotations.get(key) for key in _ANNOTATIONS), *(metadata.labels.get(key) for key in keys))
    return next(filter(None, own), "")


def other_gang(cluster: Cluster, metadata: ObjectMeta) -> OtherGang | None:
    """Return the group of a pod; ``None`` if it belongs to none."""
    name = gang_name(metadata)
    if not name:
        return None
    alone = OtherGang(metadata.namespace, name, _group(cluster, metadata.namespace, name), (), ())
    return next(other_gangs(cluster, metadata.namespace, name), alone)


def other_gangs(cluster: Cluster, namespace: str = "", name: str = "", *, jobs: bool = False) -> Iterator[OtherGang]:
    """Yield the groups that pods belong to, in the order of their first pods.

    Args:
        namespace, name: The only group; empty for all.
        jobs: True to count the pods of a job without a PodGroup as a group, too.
    """
    members: dict[tuple[str, str], list[int]] = {}
    for index, record in enumerate(cluster.pods.records):
        metadata = record.metadata
        if namespace and metadata.namespace != namespace:
            continue
        found = gang_name(metadata, jobs=jobs)
        if found and name in ("", found) and metadata.deletion_timestamp is None:
            members.setdefault((metadata.namespace, found), []).append(index)
    for (space, group), indices in members.items():
        placed = tuple(index for index in indices if cluster.pods.records[index].node_name)
        yield OtherGang(space, group, _group(cluster, space, group), tuple(indices), placed)


def _group(cluster: Cluster, namespace: str, name: str) -> VolcanoPodGroup | CoschedulingPodGroup | None:
    return cluster.get(VolcanoPodGroup, name, namespace) or cluster.get(CoschedulingPodGroup, name, namespace)
