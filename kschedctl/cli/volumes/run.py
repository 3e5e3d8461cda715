"""What ``volumes`` does once its options are read: load, look, print."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from kschedctl.api.pod import Pod
from kschedctl.api.selectors import SelectorError
from kschedctl.cli.output import Form, OutputForm
from kschedctl.cli.streams import write
from kschedctl.cli.terminal import captured, open_console, program
from kschedctl.cli.volumes.subjects import Subject, SubjectOptions, all_claims, find_subjects
from kschedctl.errors import SnapshotError
from kschedctl.face import SchedulingCluster
from kschedctl.report.provenance import Provenance
from kschedctl.report.volumes.answer import claim_answer, pod_answer
from kschedctl.report.volumes.data import ClaimVolumes, PodVolumes, VolumesList
from kschedctl.report.volumes.text import VolumesView, print_claim, print_claims, print_pod
from kschedctl.scheduler.missing import Missing, missing_for_claims
from kschedctl.volumes.overview import VolumeOverview

if TYPE_CHECKING:
    from rich.console import Console

Answer = ClaimVolumes | PodVolumes
_VOLUME_KINDS: Final = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesOptions:
    """The options of ``volumes``, read."""

    which: SubjectOptions
    no_color: bool


class Inspecting:
    """One run of ``volumes``.

    Parameters
    ----------
    options : VolumesOptions
        What is asked.
    form : OutputForm
        How it is answered.
    """

    def __init__(self, options: VolumesOptions, form: OutputForm) -> None:
        self._options = options
        self._form = form

    def run(self) -> tuple[bool, bool]:
        """Answer for all claims and pods.

        Returns
        -------
        complete, usable : bool
            Whether everything that bears on the answers is known; whether every claim has a volume or may get one, and
            every pod has a node left.
        """
        options = self._options
        cluster, subjects = find_subjects(options.which)
        named = bool(subjects)
        subjects = subjects or [Subject(claim) for claim in all_claims(cluster, options.which)]
        overview = VolumeOverview(cluster.cluster)
        answers = [self._answer(cluster, overview, subject, named=named) for subject in subjects]
        if self._form.is_text:
            self._print_text(answers, subjects, named=named)
        else:
            single = len(answers) == 1 and named
            value = answers[0] if single else VolumesList(items=tuple(answers))
            write(self._form.render(value, _volume_names(answers)))
        return all(answer.complete for answer in answers), all(answer.usable for answer in answers)

    def _answer(self, cluster: SchedulingCluster, overview: VolumeOverview, asked: Subject, *, named: bool) -> Answer:
        subject = asked.subject
        try:
            if isinstance(subject, Pod):
                pod = cluster.find(subject, where=asked.where)
                missing = tuple(lack for lack in cluster.missing(pod) if lack.kind in _VOLUME_KINDS)
                return pod_answer(overview.pod(pod), cluster.cluster, _provenance(cluster, missing))
            rests_on = _provenance(cluster, tuple(missing_for_claims(cluster.cluster, (subject,))))
            nodes = overview.on_nodes(subject) if named else None
            return claim_answer(overview.claim(subject), nodes, cluster.cluster, rests_on)
        except SelectorError as error:
            raise SnapshotError(str(error), path=error.path) from None

    def _print_text(self, answers: Sequence[Answer], subjects: Sequence[Subject], *, named: bool) -> None:
        console = open_console(no_color=self._options.no_color)
        wide = self._form.form is Form.WIDE
        now = datetime.now(UTC)
        if not named:
            claims = [answer for answer in answers if isinstance(answer, ClaimVolumes)]
            view = VolumesView(now=now, questions=(("One of them", self._command((claims[0].claim.name,))),))
            write(captured(console, lambda c: print_claims(c, claims, view)))
            return
        for i, (asked, answer) in enumerate(zip(subjects, answers, strict=True)):
            questions = [("Every node and volume", f"{self._command(asked.arguments)} -o wide")]
            if wide or (isinstance(answer, PodVolumes) and not answer.claims):
                questions = []
            if isinstance(answer, PodVolumes):
                questions.append(("Where it goes", self._command(asked.arguments, "explain")))
            view = VolumesView(now=now, questions=tuple(questions), every=wide)
            write("\n\n" if i else "")
            write(captured(console, partial(_print_one, answer=answer, view=view)))

    def _command(self, arguments: Sequence[str], name: str = "volumes") -> str:
        return shlex.join([*program().split(), name, *arguments, *self._options.which.cluster.arguments()])


def _provenance(cluster: SchedulingCluster, missing: tuple[Missing, ...]) -> Provenance:
    return Provenance(
        release_choice=cluster.release_choice,
        paths=cluster.snapshot.paths,
        n_pods=len(cluster.pods),
        missing=missing,
        warnings=cluster.cluster.warnings,
        changes=cluster.snapshot.changes,
    )


def _print_one(console: Console, *, answer: Answer, view: VolumesView) -> None:
    if isinstance(answer, PodVolumes):
        print_pod(console, answer, view)
    else:
        print_claim(console, answer, view)


def _volume_names(answers: Sequence[Answer]) -> str:
    """The volumes that claims have or would get, a line each as kubectl names them."""
    claims = [c for a in answers for c in (a.claims if isinstance(a, PodVolumes) else (a.claim,))]
    return "".join(f"persistentvolume/{c.controller.volume}\n" for c in claims if c.controller.volume)
