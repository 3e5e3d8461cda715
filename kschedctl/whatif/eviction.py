"""What becomes of pods that lose their node: those that a controller makes anew wait for another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pods import Pods
from kschedctl.whatif.pods import Moved, move_pods
from kschedctl.workloads.replacement import NODE_BOUND, fresh_pod

_STATEFUL_SET: Final = "StatefulSet"


@dataclass(frozen=True, slots=True)
class Evicted:
    """A cluster after some pods lost their node.

    Attributes
    ----------
    n_pending, n_gone, n_staying : int
        How many of the pods wait for a node again, are gone for good, and stay where they are.
    n_slices : int
        How many ResourceSlices went with the nodes.
    freed : tuple of str
        The claims for devices that gave these back, ``namespace/name``.
    """

    cluster: Cluster
    n_pending: int = 0
    n_gone: int = 0
    n_staying: int = 0
    n_slices: int = 0
    freed: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = (
            (self.n_pending, "waits for a node again", "wait for a node again"),
            (self.n_gone, "is gone", "are gone"),
            (self.n_staying, "stays", "stay"),
        )
        parts = [f"{counted(n, 'pod')} {one if n == 1 else several}" for n, one, several in said if n]
        parts = parts or ["no pod is on it"]
        if self.n_slices:
            parts.append(f"{counted(self.n_slices, 'ResourceSlice')} {'is' if self.n_slices == 1 else 'are'} gone")
        return ", ".join(parts)


def evict(cluster: Cluster, indices: Iterable[int], *, node_bound_stay: bool) -> Evicted:
    """Take pods off their nodes.

    Parameters
    ----------
    indices : iterable of int
        The pods, as indices into ``Cluster.pods``.
    node_bound_stay : bool
        Whether pods of DaemonSets and mirror pods stay; else they are gone.
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
            made_anew.append(fresh_pod(pods.pod(index)))
    moved = move_pods(cluster, removed=removed, added=made_anew) if removed else Moved(cluster)
    return Evicted(moved.cluster, len(made_anew), len(removed) - len(made_anew), n_staying, freed=moved.freed)


def _replaced_already(pods: Pods, index: int, owner_kind: str) -> bool:
    """Whether the next pod was made when this one began to terminate; a StatefulSet waits for its end."""
    return pods.records[index].metadata.deletion_timestamp is not None and owner_kind != _STATEFUL_SET
