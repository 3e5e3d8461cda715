"""What ``snapshot info`` does: read, count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.options.cluster import STDIN
from kschedctl.cli.streams import stdin
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.report.snapshot.answer import snapshot_info
from kschedctl.report.snapshot.data import SnapshotInfo
from kschedctl.report.snapshot.text import document
from kschedctl.snapshot.reading import SnapshotReader


class SnapshotInfoReply(Reply):
    """One run of ``snapshot info``.

    Parameters
    ----------
    paths : sequence of str
        Files, folders and archives; ``-`` is standard input.
    max_unpacked : int, optional
        The most bytes that are unpacked.
    """

    def __init__(self, paths: Sequence[str], max_unpacked: int | None = None) -> None:
        self._paths = paths
        self._max_unpacked = max_unpacked

    def value(self) -> Compound:
        """What is in it."""
        return self._info

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        return document(self._info, datetime.now(UTC))

    def outcome(self) -> Outcome:
        """Whether anything is not told."""
        return Outcome(complete=not self._info.warnings)

    @cached_property
    def _info(self) -> SnapshotInfo:
        standard_input = stdin() if STDIN in self._paths else None
        reader = SnapshotReader(self._paths, stdin=standard_input, max_unpacked=self._max_unpacked)
        counts = Counter(type(obj) for obj, _ in reader)
        return snapshot_info(self._paths, counts, reader.summary)
