"""The entry to reading: the objects of a snapshot or a manifest, each with its place."""

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
from kschedctl.snapshot.summary import ReadSummary
from kschedctl.snapshot.validation import Validation
from kschedctl.snapshot.written import WrittenObjects


class SnapshotReader:
    """The objects of a snapshot.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives; ``-`` is standard input.
    stdin : BinaryIO or None
        Standard input.
    max_unpacked : int, optional
        The most bytes that are unpacked, or held of what has no known end; ``kschedctl.snapshot.unpacking`` has the
        default, which also limits how many times its size a file may become.
    written : WrittenObjects, optional
        Is given what objects are read from.

    Notes
    -----
    Iterating yields each object with its place, in the order of the input, one at a time: the text of one file is
    held, not its objects. An error does not end the reading at once: further problems are looked for, up to
    ``MAX_PROBLEMS``, and then one SnapshotError reports them all.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        stdin: BinaryIO | None = None,
        max_unpacked: int | None = None,
        written: WrittenObjects | None = None,
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
        Whether there may be objects of kinds that scheduling does not read, and files that look like manifests and are
        not read; what is returned names them. Otherwise they are errors.
    max_unpacked : int, optional
        As for ``SnapshotReader``.
    validation : Validation
        What becomes of fields that an API server does not know, or that are given twice.

    Returns
    -------
    ManifestSet
        Without objects only where all that is there was left out.

    Raises
    ------
    ManifestError
        For every problem that a snapshot can have, for kinds that scheduling does not read, and for fields that an
        API server refuses.
    """
    reading = ManifestReading(path, stdin, validation=validation, allow_others=allow_others, max_unpacked=max_unpacked)
    for _ in reading.objects():
        # They are kept with what else is known of them.
        pass
    unread = tuple(lack.what for lack in reading.summary.unread())
    if unread and not allow_others:
        raise ManifestError(unread[0], where=str(path), hint="name the files that are meant")
    return ManifestSet(tuple(reading.read), reading.summary.left_out, unread, tuple(reading.warnings))
