"""``preempt --victim``: who would evict a given pod."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.manifests import Asked
from kschedctl.cli.provenance import provenance
from kschedctl.cli.selection import PodSelection
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import Document
from kschedctl.report.envelope import Answer
from kschedctl.report.preempt.data import Threat
from kschedctl.report.preempt.threat import threat_answer, threat_document
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.missing import missing_for_any, require_listed


class ThreatReply(Reply):
    """One run of ``preempt --victim``.

    Parameters
    ----------
    which : PodSelection
        The cluster, and where the pod is meant to be.
    victim : str
        The pod, as an argument names it.
    fail_on_violation : bool
        Whether the exit code tells of a disruption budget that would be violated.
    """

    def __init__(self, which: PodSelection, victim: str, *, fail_on_violation: bool) -> None:
        self._which = which
        self._victim = victim
        self._fail_on_violation = fail_on_violation

    def value(self) -> Answer:
        """Who would evict it."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        taker = self._answer.takers[0].name if self._answer.takers else ""
        pod = self._asked.pod
        command = self._which.command("preempt", Asked(pod, (taker,)) if taker else None)
        return threat_document(self._answer, datetime.now(UTC), command)

    def outcome(self) -> Outcome:
        """Whether nobody would."""
        takers = self._answer.takers
        violates = self._fail_on_violation and any(taker.violates_budget for taker in takers)
        return Outcome(yes=not takers and not violates, complete=self._answer.complete)

    @cached_property
    def _cluster(self) -> SchedulingCluster:
        return self._which.cluster.needing_nodes(self._which.cluster.load())

    @cached_property
    def _asked(self) -> Asked:
        require_listed(self._cluster.cluster, "Pod")
        return self._which.named_pod(self._cluster.pods, self._victim)

    @cached_property
    def _answer(self) -> Threat:
        cluster, asked = self._cluster, self._asked
        found = cluster.threat(asked.pod.key)
        victim = cluster.find(asked.pod)
        rests_on = provenance(cluster, missing_for_any(cluster.cluster), pod=asked.pod)
        return threat_answer(found, victim, rests_on, cluster.cluster, node_name=cluster.node_name(victim))
