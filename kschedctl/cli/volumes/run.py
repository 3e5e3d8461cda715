"""What ``volumes`` does once its options are read: load, look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.api.pod import Pod
from kschedctl.api.selectors import SelectorError
from kschedctl.cli.provenance import provenance
from kschedctl.cli.shell import command_line
from kschedctl.cli.volumes.subjects import Subject, SubjectSelection
from kschedctl.errors import SnapshotError
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import GAP, Document
from kschedctl.report.envelope import Answer, Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.report.volumes.answer import claim_answer, pod_answer
from kschedctl.report.volumes.data import ClaimVolumes, PodVolumes, VolumesList
from kschedctl.report.volumes.text import claim_document, list_document, pod_document
from kschedctl.scheduler.missing import CLAIM_KINDS, missing_for_claims
from kschedctl.volumeview.overview import VolumeOverview


class VolumesReply(Reply):
    """One run of ``volumes``.

    Parameters
    ----------
    which : SubjectSelection
        The claims and pods.
    """

    def __init__(self, which: SubjectSelection) -> None:
        self._which = which

    def value(self) -> Answer | Compound:
        """The answer, or a list where several claims or pods may be meant."""
        answers = [answer for _, answer in self._answers]
        return answers[0] if len(answers) == 1 and self._which.named else VolumesList(items=tuple(answers))

    def document(self, *, wide: bool) -> Document:
        """A row per claim where they are selected, else one by one."""
        now = datetime.now(UTC)
        if not self._which.named:
            claims = [answer for _, answer in self._answers if isinstance(answer, ClaimVolumes)]
            question = ("One of them", self._command("volumes", (claims[0].claim.name,)))
            yield from list_document(claims, AnswerView(now=now, questions=(question,)))
            return
        for i, (asked, answer) in enumerate(self._answers):
            if i:
                yield from (GAP, GAP)
            questions = [("Every node and volume", self._command("volumes", asked.arguments, "-o", "wide"))]
            if wide or (isinstance(answer, PodVolumes) and not answer.claims):
                questions = []
            if isinstance(answer, PodVolumes):
                questions.append(("Where it goes", self._command("explain", asked.arguments)))
                yield from pod_document(answer, AnswerView(now=now, questions=tuple(questions), every=wide))
            else:
                yield from claim_document(answer, AnswerView(now=now, questions=tuple(questions), every=wide))

    def outcome(self) -> Outcome:
        """Whether every claim has a volume or may get one, and every pod has a node left."""
        answers = [answer for _, answer in self._answers]
        return Outcome(yes=all(a.usable for a in answers), complete=all(a.complete for a in answers))

    @cached_property
    def _answers(self) -> list[tuple[Subject, ClaimVolumes | PodVolumes]]:
        cluster, subjects = self._which.load()
        overview = VolumeOverview(cluster.cluster)
        return [(subject, self._answer(cluster, overview, subject)) for subject in subjects]

    def _answer(
        self, cluster: SchedulingCluster, overview: VolumeOverview, asked: Subject
    ) -> ClaimVolumes | PodVolumes:
        subject = asked.subject
        try:
            if isinstance(subject, Pod):
                pod = cluster.find(subject, where=asked.where)
                missing = tuple(lack for lack in cluster.missing(pod) if lack.kind in CLAIM_KINDS)
                return pod_answer(overview.pod(pod), cluster.cluster, provenance(cluster, missing))
            rests_on = provenance(cluster, missing_for_claims(cluster.cluster, (subject,)))
            nodes = overview.on_nodes(subject) if self._which.named else None
            return claim_answer(overview.claim(subject), nodes, cluster.cluster, rests_on)
        except SelectorError as error:
            raise SnapshotError(str(error), path=error.path) from None

    def _command(self, name: str, arguments: Sequence[str], *words: str) -> str:
        return command_line(name, *arguments, *self._which.cluster.arguments(), *words)
