"""Overlays in which nodes have other pods than in the sample, for checks of a plugin's Filter.

A world is one position of an overlay: a node with hypothetical pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PENDING
from kschedctl.common.arrays import Int64Array
from kschedctl.testing.samples import SampleChange


def changed_overlays(cluster: Cluster) -> Iterator[tuple[str, Overlay]]:
    """Yield overlays in which every node has other pods, each with a description of the change.

    Parameters
    ----------
    cluster : Cluster
        The cluster. Its pending pods are the pods that are added.
    """
    rows = cluster.nodes.rows
    on_node = [cluster.pods.on_node(row) for row in rows.tolist()]
    waiting = np.flatnonzero(cluster.pods.node_row == PENDING)

    def overlay(removed: Iterable[Int64Array], added: Iterable[int]) -> Overlay:
        out = cluster.overlay()
        for row, pods in enumerate(removed):
            out.remove(np.full(len(pods), row, dtype=np.int64), pods)
        for pod in added:
            out.add(rows, np.full(len(rows), pod, dtype=np.int64))
        return out

    yield "its pods removed", overlay(on_node, ())
    yield "its first pod removed", overlay([pods[:1] for pods in on_node], ())
    for pod in waiting.tolist():
        yield f"{cluster.pods.key(pod)} added", overlay((), (pod,))
        yield f"{cluster.pods.key(pod)} in place of its pods", overlay(on_node, (pod,))


def changes_of(cluster: Cluster, overlay: Overlay) -> list[SampleChange]:
    """Return the change in each world of an overlay.

    Parameters
    ----------
    overlay : Overlay
        An overlay of the cluster.
    """
    removed: list[set[str]] = [set() for _ in overlay.rows]
    added: list[set[str]] = [set() for _ in overlay.rows]
    for worlds, pods, sign in overlay.changes():
        for world, pod in zip(worlds.tolist(), pods.tolist(), strict=True):
            (added if sign > 0 else removed)[world].add(cluster.pods.key(pod))
    names = [cluster.nodes.names[row] for row in overlay.rows]
    return [SampleChange(*change) for change in zip(names, map(frozenset, removed), map(frozenset, added), strict=True)]
