"""The entry points for reading the objects of a snapshot or a manifest, each with its location."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from kschedctl.api.meta import ApiObject
from kschedctl.errors import ManifestError
from kschedctl.findings.location import Location
from kschedctl.snapshot.manifest import ManifestSet
from kschedctl.snapshot.manifest_reading import ManifestReading
from kschedctl.snapshot.objects import Reading
from kschedctl.snapshot.original_objects import OriginalObjects
from kschedctl.snapshot.summary import ReadSummary
from kschedctl.snapshot.validation import Validation


class SnapshotReader:
    """A reader over the objects of a snapshot.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives; ``-`` is standard input.
    stdin : BinaryIO or None
        Standard input.
    max_unpacked : int, optional
        The maximum number of bytes to unpack, or to hold of a stream without a known end. By default 4 GiB, and a file
        of more than 64 MiB may be at most 250 times its packed size (``kschedctl.snapshot.unpacking``).
    written : OriginalObjects, optional
        The collection that records the originals of objects.

    Notes
    -----
    Iterating yields one object at a time with its location, in the order of the input. Memory holds the text of one
    file, not its objects. After an error, reading continues to find up to ``MAX_PROBLEMS`` (10) problems, and then one
    SnapshotError reports them all.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        stdin: BinaryIO | None = None,
        max_unpacked: int | None = None,
        written: OriginalObjects | None = None,
    ) -> None:
        self._paths = paths
        self._stdin = stdin
        self._max_unpacked = max_unpacked
        self._written = written
        self.summary = ReadSummary()

    def __iter__(self) -> Iterator[tuple[ApiObject, Location]]:
        return Reading(
            self._paths,
            self._stdin,
            self.summary,
            max_unpacked=self._max_unpacked,
            written=self._written,
        ).objects()


def read_manifest(
    path: str | Path,
    *,
    stdin: BinaryIO | None = None,
    allow_others: bool = False,
    max_unpacked: int | None = None,
    validation: Validation = Validation.STRICT,
) -> ManifestSet:
    """Read a manifest.

    Parameters
    ----------
    path : str or Path
        A file, folder or archive; ``-`` is standard input.
    stdin : BinaryIO or None
        Standard input.
    allow_others : bool
        True to allow objects of kinds that scheduling does not depend on, and skipped files that look like manifests;
        the result lists them. Otherwise they are errors.
    max_unpacked : int, optional
        As for ``SnapshotReader``.
    validation : Validation
        The handling of unknown and duplicate fields.

    Returns
    -------
    ManifestSet
        The content; it has no objects only if all of them are of kinds that were left out.

    Raises
    ------
    ManifestError
        For any problem that a snapshot can have, for kinds that scheduling does not depend on (without
        ``allow_others``), and for fields that an API server rejects.
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
