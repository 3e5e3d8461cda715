"""The entry to reading: the objects of a snapshot or a manifest, each with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from kschedctl.api.meta import ApiObject
from kschedctl.api.schema.strict import REPEATED, UNKNOWN
from kschedctl.errors import ManifestError, SnapshotError
from kschedctl.findings.finding import Finding
from kschedctl.findings.location import Location
from kschedctl.snapshot.new_objects import NewObject
from kschedctl.snapshot.objects import Reading
from kschedctl.snapshot.positions import position_of
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
            SnapshotError,
            other_kinds_are_errors=False,
            max_unpacked=self._max_unpacked,
            written=self._written,
        ).objects()


def read_manifest(
    path: str | Path,
    *,
    stdin: BinaryIO | None = None,
    left_out: Counter[str] | None = None,
    unread: list[str] | None = None,
    max_unpacked: int | None = None,
    validation: Validation = Validation.STRICT,
    warnings: list[Finding] | None = None,
    written: WrittenObjects | None = None,
    new: list[NewObject] | None = None,
) -> list[tuple[ApiObject, Location]]:
    """The objects of a manifest.

    Parameters
    ----------
    path : str or Path
        A file, folder or archive; ``-`` is standard input.
    stdin : BinaryIO or None
        Standard input.
    left_out : Counter, optional
        Is added to: the objects of kinds that scheduling does not read, by kind. They are errors without it.
    unread : list of str, optional
        Is added to: what looks like manifests and was not read. It is an error without it.
    max_unpacked : int, optional
        As for ``SnapshotReader``.
    validation : Validation
        What becomes of fields that an API server does not know, or that are given twice.
    warnings : list of Finding, optional
        Is added to: such fields where they are not refused.
    written : WrittenObjects, optional
        As for ``SnapshotReader``.
    new : list of NewObject, optional
        Is added to: the objects as they were written, for what an API server says of their values.

    Returns
    -------
    list of (object, place)
        Empty only where all that is there was left out.

    Raises
    ------
    ManifestError
        For every problem that a snapshot can have, for kinds that scheduling does not read, and for fields that an
        API server refuses.
    """
    summary = ReadSummary()
    counted = left_out is not None
    reading = Reading(
        [path],
        stdin,
        summary,
        ManifestError,
        other_kinds_are_errors=not counted,
        may_hold_others_alone=counted,
        max_unpacked=max_unpacked,
        validation=validation,
        written=written,
        new=[] if new is None else new,
    )
    try:
        found = list(reading.objects())
    except ManifestError as error:
        raise ManifestError.together(map(_placed, error.findings)) from None
    doubts = [lack.what for lack in summary.unread()]
    if unread is not None:
        unread += doubts
    elif doubts:
        raise ManifestError(doubts[0], where=str(path), hint="name the files that are meant")
    if left_out is not None:
        left_out.update(summary.left_out)
    if warnings is not None:
        warnings += map(_placed, summary.warnings)
    return found


def _placed(finding: Finding) -> Finding:
    """A finding about a field's name with the line and column of that, where they can be told."""
    if finding.rule not in (UNKNOWN, REPEATED) or finding.position is not None:
        return finding
    return replace(finding, position=position_of(finding, key=True))
