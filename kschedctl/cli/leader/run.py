"""What ``leader`` does once its options are read: load, look."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property

from kschedctl.api.coordination import Lease
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.provenance import provenance
from kschedctl.cli.shell import command_line
from kschedctl.findings.finding import ObjectRef, Severity
from kschedctl.leaderelection.checks import check_config, check_elections, settings_of
from kschedctl.leaderelection.overview import elections
from kschedctl.report.document import Document
from kschedctl.report.envelope import Answer
from kschedctl.report.frame import AnswerView
from kschedctl.report.leader.answer import overview_answer
from kschedctl.report.leader.data import LeaderOverview
from kschedctl.report.leader.text import overview_document
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.missing import Missing, require_listed

_LEASE = "Lease"


class LeaderReply(Reply):
    """One run of ``leader``.

    Parameters
    ----------
    cluster : ChosenCluster
        The cluster, and the scheduler's configuration.
    """

    def __init__(self, cluster: ChosenCluster) -> None:
        self._chosen = cluster

    def value(self) -> Answer:
        """All elections."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        questions: tuple[tuple[str, str], ...] = ()
        if self._answer.elections and not wide:
            times = (*self._chosen.rules(),) if self._chosen.config else ()
            questions = (
                ("Who calls itself what, since when", command_line("leader", *self._chosen.arguments(), "-o", "wide")),
                ("What if the leader is cut off", command_line("leader", "simulate", *times, "--partition", "40s-70s")),
            )
        shown = AnswerView(now=datetime.now(UTC), questions=questions, every=wide)
        return overview_document(self._answer, shown)

    def outcome(self) -> Outcome:
        """Whether every election has a leader."""
        return Outcome(yes=self._answer.fine, complete=self._answer.complete)

    @cached_property
    def _answer(self) -> LeaderOverview:
        cluster = self._chosen.load()
        require_listed(cluster.cluster, _LEASE)
        config = cluster.configuration.settings.leader_election
        found = elections(cluster.cluster, settings_of(config))
        findings = [*check_elections(cluster.cluster, found)]
        if self._chosen.config:
            findings += check_config(config, found)
        missing: tuple[Missing, ...] = ()
        if next(iter(cluster.cluster.list(Lease)), None) is None:
            lack = "the snapshot has no Leases"
            about, effect = ObjectRef(_LEASE), "who leads is not known (kubectl get leases -A -o yaml prints them)"
            missing = (Missing(lack, object=about, rule="Missing", severity=Severity.WARNING, effect=effect),)
        return overview_answer(cluster.cluster, found, findings, config, provenance(cluster, missing))
