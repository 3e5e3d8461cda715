"""What ``verify`` does once its options are read: load, compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.whatif import NO_WHAT_IFS
from kschedctl.cli.progress import tracked
from kschedctl.cli.provenance import provenance
from kschedctl.cli.shell import command_line
from kschedctl.cli.verify.record import Wanted
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
    wanted : Wanted, optional
        The case that is to be written.
    """

    def __init__(self, chosen: ChosenCluster, wanted: Wanted | None = None) -> None:
        self._chosen = chosen
        self._wanted = wanted

    def value(self) -> Answer:
        """The comparison."""
        return self._found

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        return document(self._found, datetime.now(UTC), wide=wide, questions=tuple(self._questions()))

    def outcome(self) -> Outcome:
        """Whether nothing differs."""
        return Outcome(yes=self._found.equal, complete=self._found.complete)

    @cached_property
    def _found(self) -> VerificationData:
        wanted = self._wanted
        if wanted is not None:
            wanted.check((*self._chosen.inputs, *((self._chosen.config,) if self._chosen.config else ())))
        cluster, before = self._clusters
        found = self._chosen.needing_nodes(cluster).verify(before, tracked)
        recorded = wanted.write(cluster, found, self._chosen.feature_gates) if wanted is not None else None
        rests_on = provenance(cluster, missing_for_any(cluster.cluster))
        return verification_data(found, cluster.cluster, rests_on, recorded)

    def _questions(self) -> Iterator[tuple[str, str]]:
        if not self._found.equal and self._wanted is None:
            words = "verify", *self._chosen.arguments(), "--record", "case.json"
            yield "A case to hand in", command_line(*words)

    @cached_property
    def _clusters(self) -> tuple[SchedulingCluster, SchedulingCluster | None]:
        """The cluster, and what it was before the what-ifs where there are any."""
        chosen, snapshot = self._chosen, self._chosen.read()
        before = replace(chosen, what_ifs=NO_WHAT_IFS).over(snapshot) if chosen.what_ifs.given else None
        return chosen.over(snapshot), before
