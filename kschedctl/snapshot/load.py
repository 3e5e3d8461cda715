"""From the files of a snapshot to a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from kschedctl.api.meta import ApiObject
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.findings.location import Location
from kschedctl.snapshot.reading import SnapshotReader
from kschedctl.snapshot.summary import ReadSummary
from kschedctl.snapshot.written import WrittenObjects

_NODE: Final = "Node"


class ObjectReader(Protocol):
    """A source of objects, each with its place; the summary is complete once it is exhausted."""

    summary: ReadSummary

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster and what its files told besides.

    Attributes
    ----------
    paths : tuple of str
        What it was read from.
    scheduler_config : dict or None
        The KubeSchedulerConfiguration that came with it (an export of kube-scheduler-simulator has one).
    left_out : dict of str to int
        Objects of kinds that scheduling does not read, by kind.
    changes : tuple of str
        What was changed after the reading to see what then; a line each.
    nodes_told : bool
        Whether nodes were met, or that there are none.
    summary : ReadSummary
        What was met while it was read.
    written : WrittenObjects, optional
        What nodes and pods were read from, where it was kept.
    """

    cluster: Cluster
    paths: tuple[str, ...]
    scheduler_config: dict[str, Any] | None
    left_out: dict[str, int]
    changes: tuple[str, ...] = ()
    nodes_told: bool = True
    summary: ReadSummary = field(default_factory=ReadSummary)
    written: WrittenObjects | None = None


def load_snapshot(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    more: Iterable[tuple[ApiObject, Location]] = (),
    max_unpacked: int | None = None,
    written: WrittenObjects | None = None,
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
    max_unpacked : int, optional
        As for ``SnapshotReader``.
    written : WrittenObjects, optional
        As for ``SnapshotReader``.

    Raises
    ------
    SnapshotError
        Where something cannot be read; nothing is half-done.
    """
    reader = SnapshotReader(paths, stdin=stdin, max_unpacked=max_unpacked, written=written)
    return build_snapshot(reader, tuple(map(str, paths)), more=more)


def build_snapshot(
    reader: ObjectReader, paths: tuple[str, ...], *, more: Iterable[tuple[ApiObject, Location]] = ()
) -> Snapshot:
    """Make a cluster of the objects of a reader.

    Parameters
    ----------
    reader : ObjectReader
        Where they come from.
    paths : tuple of str
        What that is called.
    more : iterable of (object, place)
        Objects besides.

    Raises
    ------
    SnapshotError
        Where an object is not as its kind must be.
    """
    builder = ClusterBuilder()
    for obj, place in reader:
        builder.add(obj, place)
    for obj, place in more:
        builder.add(obj, place)
    summary = reader.summary
    cluster_has_nodes = _NODE in summary.looked_for or summary.n_of_kind[_NODE] > 0
    builder.warnings.extend(summary.not_listed.values())
    builder.unread.extend(summary.unread())
    builder.not_listed.update(summary.not_listed)
    return Snapshot(
        cluster=builder.build(server_version=summary.git_version, taken_at=taken_at(summary)),
        paths=paths,
        scheduler_config=summary.scheduler_config,
        left_out=dict(sorted(summary.left_out.items())),
        summary=summary,
        nodes_told=cluster_has_nodes,
    )


def taken_at(summary: ReadSummary) -> datetime | None:
    """The moment that a snapshot shows.

    As it says itself, else the newest time that something in it was seen at, else when the newest of its files was
    written, which copying them changes.
    """
    if summary.header is not None and summary.header.captured_at is not None:
        return summary.header.captured_at
    if summary.last_seen is not None:
        return summary.last_seen
    return datetime.fromtimestamp(summary.modified, UTC) if summary.modified is not None else None
