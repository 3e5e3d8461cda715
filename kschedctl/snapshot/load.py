"""From the files of a snapshot to a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from kschedctl.api.meta import ApiObject
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.snapshot.location import Location
from kschedctl.snapshot.reading import SnapshotReader


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster and what its files told besides.

    Attributes
    ----------
    cluster : Cluster
        The cluster.
    paths : tuple of str
        What it was read from.
    scheduler_config : dict or None
        The KubeSchedulerConfiguration that came with it (an export of kube-scheduler-simulator has one).
    left_out : dict of str to int
        Objects of kinds that scheduling does not read, by kind.
    """

    cluster: Cluster
    paths: tuple[str, ...]
    scheduler_config: dict[str, Any] | None
    left_out: dict[str, int]


def load_snapshot(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    more: Iterable[tuple[ApiObject, Location]] = (),
) -> Snapshot:
    """Read a cluster.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives; ``-`` is standard input.
    stdin : BinaryIO, optional
        Standard input.
    more : iterable of (object, place)
        Objects that are not in the files and shall be in the cluster.

    Raises
    ------
    SnapshotError
        Where something cannot be read; nothing is half-done.
    """
    builder = ClusterBuilder()
    reader = SnapshotReader(paths, stdin=stdin)
    for obj, place in reader:
        builder.add(obj, place)
    for obj, place in more:
        builder.add(obj, place)
    summary = reader.summary
    taken_at = datetime.fromtimestamp(summary.modified, UTC) if summary.modified is not None else None
    return Snapshot(
        cluster=builder.build(server_version=summary.git_version, taken_at=taken_at),
        paths=tuple(map(str, paths)),
        scheduler_config=summary.scheduler_config,
        left_out=dict(sorted(summary.left_out.items())),
    )
