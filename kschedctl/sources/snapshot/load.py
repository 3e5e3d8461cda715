"""Loading of a snapshot's files into a cluster."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, Protocol, cast

import msgspec

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.stored_objects import StoredObjects
from kschedctl.common.errors import ManifestError, SnapshotError
from kschedctl.common.findings import Location
from kschedctl.common.wording import listed
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.snapshot.archives import Unpacking
from kschedctl.sources.snapshot.clusters import chosen
from kschedctl.sources.snapshot.files import STDIN, Source, read_sources
from kschedctl.sources.snapshot.manifest import ManifestReading, ManifestSet
from kschedctl.sources.snapshot.objects import MOST_CLUSTERS, Read, Reading
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.sources.snapshot.parallel_reading import ParallelReading
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.sources.snapshot.validation import Validation

# The entry points for reading the objects of a snapshot or a manifest, each with its location.


@dataclass(eq=False)
class SnapshotReader:
    """A reader over the objects of a snapshot.

    Args:
        paths: Files, folders and archives; ``-`` is standard input.
        max_unpacked: The maximum number of bytes to unpack, or to hold of a stream without a known end. By default
            4 GiB, and a file of more than 64 MiB may be at most 250 times its packed size
            (``kschedctl.sources.snapshot.archives``).
        cluster: The name of a cluster, or its path inside, if folders and archives of ``paths`` hold several. Files
            that are named themselves are read in any case.

    Iterating yields one object at a time with its location, in the order of the input. Memory holds the text of one
    file, not its objects. After an error, reading continues to find up to ``MAX_PROBLEMS`` (10) problems, and then one
    SnapshotError reports them all.
    """

    paths: Sequence[str | Path]
    _: KW_ONLY
    stdin: BinaryIO | None = None
    max_unpacked: int | None = None
    written: OriginalObjects | None = None
    cluster: str = ""
    summary: ReadSummary = field(init=False, default_factory=ReadSummary)

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]:
        # Only a parallel reading returns stored objects.
        return cast("Iterator[tuple[ApiObject, Location]]", self._reading().objects())

    def in_parts(self) -> Iterator[Read]:
        """Read the same objects; processes read large parts of the input, unless originals are recorded."""
        return self._reading(ParallelReading).objects()

    def _reading(self, kind: type[Reading] = Reading) -> Reading:
        cluster = find_cluster(self.paths, self.cluster, self.max_unpacked) if self.cluster else ""
        return kind(
            self.paths, self.stdin, self.summary, max_unpacked=self.max_unpacked, written=self.written, cluster=cluster
        )


def find_cluster(paths: Sequence[str | Path], name: str, max_unpacked: int | None = None) -> str:
    """Return the path of a cluster inside the folders and archives at the given paths.

    Args:
        paths: Files, folders and archives. Standard input can be read only once, so that clusters are not looked
            for in it.
        name: The path, or its last part.

    Raises SnapshotError if there is no such cluster, or several have the name.
    """
    path = PurePosixPath(name).as_posix().strip("/")
    sources = read_sources(paths, None, ReadSummary(), Unpacking(max_unpacked), cluster=path)
    if STDIN in map(str, paths) or any(isinstance(source, Source) and source.inside for source in sources):
        return path
    reading = _read_all(paths, max_unpacked)
    by_root = reading.clusters()
    known = list(dict.fromkeys(each for clusters in by_root.values() for each in clusters))
    found = [each for root, clusters in by_root.items() for each in chosen(path, clusters, reading.parts[root])]
    if len(found) == 1:
        return found[0]
    where = ", ".join(map(str, paths))
    if found:
        raise SnapshotError(f'"{name}" can be {listed(found, "or")}', where=where, hint="give the path inside")
    hint = f"the clusters are {listed(known, most=MOST_CLUSTERS)}" if known else "it is one cluster: omit --cluster"
    raise SnapshotError(f'there is no cluster "{name}"', where=where, hint=hint)


def names_of_clusters(paths: Sequence[str | Path], max_unpacked: int | None = None) -> list[str]:
    """Return the paths of the clusters inside folders and archives that hold several of them."""
    return [each for found in _read_all(paths, max_unpacked).clusters().values() for each in found]


def _read_all(paths: Sequence[str | Path], max_unpacked: int | None) -> Reading:
    """Read all clusters at the given paths, to find out which there are."""
    reading = Reading(paths, None, ReadSummary(), max_unpacked=max_unpacked)
    # Broken files of one cluster do not matter to another one.
    with suppress(SnapshotError):
        for _ in reading.objects():
            pass
    return reading


def read_manifest(
    path: str | Path,
    *,
    stdin: BinaryIO | None = None,
    allow_others: bool = False,
    max_unpacked: int | None = None,
    validation: Validation = Validation.STRICT,
) -> ManifestSet:
    """Read a manifest.

    Args:
        path: A file, folder or archive; ``-`` is standard input.
        allow_others: True to allow objects of kinds that scheduling does not depend on, and skipped files that look
            like manifests; the result lists them. Otherwise they are errors.
        validation: The handling of unknown and duplicate fields.

    Returns: The content; it has no objects only if all of them are of kinds that were left out.

    Raises ManifestError for any problem that a snapshot can have, for kinds that scheduling does not depend on
        (without ``allow_others``), and for fields that an API server rejects.
    """
    reading = ManifestReading(path, stdin, validation=validation, allow_others=allow_others, max_unpacked=max_unpacked)
    for _ in reading.objects():
        # ``ManifestReading`` collects them in ``read``.
        pass
    reading.summary.drop_markdown()
    unread = tuple(lack.what for lack in reading.summary.unread())
    if unread and not allow_others:
        raise ManifestError(unread[0], where=str(path), hint="name the files to read")
    return ManifestSet(tuple(reading.read), reading.summary.left_out, unread, tuple(reading.warnings))


_NODE: Final = "Node"


class ObjectReader(Protocol):
    """A source of objects, each with its location; the summary is complete once the reader is exhausted."""

    summary: ReadSummary

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]: ...


class Snapshot(msgspec.Struct, frozen=True):
    """A cluster and the other content of its files."""

    cluster: Cluster
    #: The paths it was read from.
    paths: tuple[str, ...]
    #: The KubeSchedulerConfiguration in the files (an export of kube-scheduler-simulator has one).
    scheduler_config: dict[str, Any] | None
    #: The number of objects of kinds that scheduling does not depend on, by kind.
    left_out: dict[str, int]
    #: The what-if changes made after reading, one line per change.
    changes: tuple[str, ...] = ()
    #: The pods that are pending because of these changes, as ``namespace/name``: new pods, and evicted ones.
    made_pending: frozenset[str] = frozenset()
    #: True if the files contain nodes, or state that there are none.
    nodes_told: bool = True
    summary: ReadSummary = msgspec.field(default_factory=ReadSummary)
    #: The originals of nodes and pods, if they were recorded.
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

    Args:
        paths: Files, folders and archives; ``-`` is standard input.

    Raises SnapshotError if anything cannot be read; there is no partial result.
    """
    reader = SnapshotReader(paths, stdin=stdin, max_unpacked=max_unpacked, written=written, cluster=cluster)
    return _snapshot_of(chain(reader.in_parts(), more), reader.summary, tuple(map(str, paths)))


def build_snapshot(
    reader: ObjectReader, paths: tuple[str, ...], *, more: Iterable[tuple[ApiObject, Location]] = ()
) -> Snapshot:
    """Build a cluster from the objects of a reader.

    Raises SnapshotError if an object is invalid.
    """
    return _snapshot_of(chain(reader, more), reader.summary, paths)


def _snapshot_of(objects: Iterable[Read], summary: ReadSummary, paths: tuple[str, ...]) -> Snapshot:
    builder = ClusterBuilder()
    for obj, place in objects:
        if isinstance(obj, StoredObjects):
            builder.add_stored(obj)
        else:
            builder.add(obj, place)
    builder.unread.extend(summary.unread())
    builder.warnings.extend(summary.ignored.values())
    builder.listed.update(summary.listed)
    builder.not_listed.update(summary.not_listed)
    return Snapshot(
        cluster=builder.build(server_version=summary.git_version, taken_at=summary.taken_at),
        paths=paths,
        scheduler_config=summary.scheduler_config,
        left_out=dict(sorted(summary.left_out.items())),
        summary=summary,
        nodes_told=_NODE in summary.listed or _NODE in summary.not_listed or summary.n_of_kind[_NODE] > 0,
    )
