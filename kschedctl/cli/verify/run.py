"""What ``verify`` does once its options are read: load, compare."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.provenance import provenance
from kschedctl.report.document import Document
from kschedctl.report.envelope import Answer
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.report.verify.answer import verification_data
from kschedctl.report.verify.data import VerificationData
from kschedctl.report.verify.text import document
from kschedctl.scheduler.missing import missing_for_any


class VerifyReply(Reply):
    """One run of ``verify``.

    Parameters
    ----------
    chosen : ChosenCluster
        The cluster.
    """

    def __init__(self, chosen: ChosenCluster) -> None:
        self._chosen = chosen

    def value(self) -> Answer:
        """The comparison."""
        return self._found

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        return document(self._found, datetime.now(UTC), wide=wide)

    def outcome(self) -> Outcome:
        """Whether nothing differs."""
        return Outcome(yes=self._found.equal, complete=self._found.complete)

    @cached_property
    def _found(self) -> VerificationData:
        cluster = self._chosen.load()
        rests_on = provenance(cluster, missing_for_any(cluster.cluster))
        return verification_data(self._chosen.needing_nodes(cluster).verify(), cluster.cluster, rests_on)
