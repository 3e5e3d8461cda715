"""Eviction in a what-if: pods that lose their node are recreated as pending pods by their controller, or removed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pods import Pods
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.objects.releases.release import Release
from kschedctl.trials.whatif.pods import PodChanges, move_pods
from kschedctl.trials.whatif.workload_pods import successor

_STATEFUL_SET: Final = "StatefulSet"


@dataclass(frozen=True, slots=True)
class Evicted:
    """A cluster after an eviction.

    Attributes
    ----------
    n_pending : int
        The number of pods that their controller recreates; the new pods are pending.
    n_gone : int
        The number of pods that are removed without replacement.
    n_staying : int
        The number of pods that stay on their node.
    n_slices : int
        The number of ResourceSlices that were removed with the nodes.
    freed : tuple of str
        The ResourceClaims that lost their allocation or were deleted, as ``namespace/name``.
    """

    cluster: Cluster
    n_pending: int = 0
    n_gone: int = 0
    n_staying: int = 0
    n_slices: int = 0
    freed: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = (
            (self.n_pending, "is pending again", "are pending again"),
            (self.n_gone, "is removed", "are removed"),
            (self.n_staying, "stays", "stay"),
        )
        parts = [f"{counted(n, 'pod')} {one if n == 1 else several}" for n, one, several in said if n]
        parts = parts or ["no pod is on it"]
        if self.n_slices:
            parts.append(f"{counted(self.n_slices, 'ResourceSlice')} {'is' if self.n_slices == 1 else 'are'} removed")
        return ", ".join(parts)


def evict(cluster: Cluster, indices: Iterable[int], *, release: Release, node_bound_stay: bool) -> Evicted:
    """Evict pods from their nodes.

    Parameters
    ----------
    indices : iterable of int
        The pods, as indices into ``Cluster.pods``.
    release : Release
        The Kubernetes release whose API server admits the new pods.
    node_bound_stay : bool
        True to leave pods of DaemonSets and mirror pods on their node; False to remove them without replacement.
    """
    pods = cluster.pods
    removed, made_anew, n_staying = [], [], 0
    for index in indices:
        owner = pods.owner(index)
        node_bound = owner is not None and owner.kind in NODE_BOUND
        if node_bound and node_bound_stay:
            n_staying += 1
            continue
        removed.append(index)
        if owner is not None and not node_bound and not _replaced_already(pods, index, owner.kind):
            made_anew.append(successor(pods.pod(index), cluster, release=release))
    moved = move_pods(cluster, removed=removed, added=made_anew) if removed else PodChanges(cluster)
    return Evicted(moved.cluster, len(made_anew), len(removed) - len(made_anew), n_staying, freed=moved.freed)


def _replaced_already(pods: Pods, index: int, owner_kind: str) -> bool:
    """Report whether the controller has created the replacement already.

    A controller replaces a pod as soon as the pod is terminating. A StatefulSet waits until the pod is deleted.
    """
    return pods.records[index].metadata.deletion_timestamp is not None and owner_kind != _STATEFUL_SET
