"""What ``verify`` does once its options are read: load, compare."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.whatif import NO_WHAT_IFS
from kschedctl.cli.progress import tracked
from kschedctl.cli.provenance import provenance
from kschedctl.face import SchedulingCluster
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
        cluster, before = self._clusters
        rests_on = provenance(cluster, missing_for_any(cluster.cluster))
        return verification_data(self._chosen.needing_nodes(cluster).verify(before, tracked), cluster.cluster, rests_on)

    @cached_property
    def _clusters(self) -> tuple[SchedulingCluster, SchedulingCluster | None]:
        """The cluster, and what it was before the what-ifs where there are any."""
        chosen, snapshot = self._chosen, self._chosen.source.read()
        before = replace(chosen, what_ifs=NO_WHAT_IFS).over(snapshot) if chosen.what_ifs.given else None
        return chosen.over(snapshot), before
