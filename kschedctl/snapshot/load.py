"""Loading of a snapshot's files into a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from kschedctl.api.meta import ApiObject
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.findings.location import Location
from kschedctl.snapshot.original_objects import OriginalObjects
from kschedctl.snapshot.reading import SnapshotReader
from kschedctl.snapshot.summary import ReadSummary

_NODE: Final = "Node"


class ObjectReader(Protocol):
    """A source of objects, each with its location; the summary is complete once the reader is exhausted."""

    summary: ReadSummary

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster and the other content of its files.

    Attributes
    ----------
    paths : tuple of str
        The paths it was read from.
    scheduler_config : dict or None
        The KubeSchedulerConfiguration in the files (an export of kube-scheduler-simulator has one).
    left_out : dict of str to int
        The number of objects of kinds that scheduling does not depend on, by kind.
    changes : tuple of str
        The what-if changes made after reading, one line per change.
    made_pending : frozenset of str
        The pods that are pending because of these changes, as ``namespace/name``: new pods, and evicted ones.
    nodes_told : bool
        True if the files contain nodes, or state that there are none.
    summary : ReadSummary
        The summary of the reading.
    written : OriginalObjects, optional
        The originals of nodes and pods, if they were recorded.
    """

    cluster: Cluster
    paths: tuple[str, ...]
    scheduler_config: dict[str, Any] | None
    left_out: dict[str, int]
    changes: tuple[str, ...] = ()
    made_pending: frozenset[str] = frozenset()
    nodes_told: bool = True
    summary: ReadSummary = field(default_factory=ReadSummary)
    written: OriginalObjects | None = None


def load_snapshot(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    more: Iterable[tuple[ApiObject, Location]] = (),
    max_unpacked: int | None = None,
    written: OriginalObjects | None = None,
    cluster: str = "",
) -> Snapshot:
    """Load a cluster from files.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives; ``-`` is standard input.
    stdin : BinaryIO, optional
        Standard input.
    more : iterable of (object, place)
        Additional objects for the cluster.
    max_unpacked : int, optional
        As for ``SnapshotReader``.
    written, cluster : OriginalObjects and str, optional
        As for ``SnapshotReader``.

    Raises
    ------
    SnapshotError
        If anything cannot be read; there is no partial result.
    """
    reader = SnapshotReader(paths, stdin=stdin, max_unpacked=max_unpacked, written=written, cluster=cluster)
    return build_snapshot(reader, tuple(map(str, paths)), more=more)


def build_snapshot(
    reader: ObjectReader, paths: tuple[str, ...], *, more: Iterable[tuple[ApiObject, Location]] = ()
) -> Snapshot:
    """Build a cluster from the objects of a reader.

    Parameters
    ----------
    reader : ObjectReader
        The source of the objects.
    paths : tuple of str
        The names of the source.
    more : iterable of (object, place)
        Additional objects for the cluster.

    Raises
    ------
    SnapshotError
        If an object is invalid.
    """
    builder = ClusterBuilder()
    for obj, place in reader:
        builder.add(obj, place)
    for obj, place in more:
        builder.add(obj, place)
    summary = reader.summary
    builder.unread.extend(summary.unread())
    builder.listed.update(summary.listed)
    builder.not_listed.update(summary.not_listed)
    return Snapshot(
        cluster=builder.build(
            server_version=summary.git_version,
            taken_at=summary.taken_at,
        ),
        paths=paths,
        scheduler_config=summary.scheduler_config,
        left_out=dict(sorted(summary.left_out.items())),
        summary=summary,
        nodes_told=_NODE in summary.listed or _NODE in summary.not_listed or summary.n_of_kind[_NODE] > 0,
    )
