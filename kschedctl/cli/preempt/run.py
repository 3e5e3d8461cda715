"""What ``preempt`` does once its options are read: load, decide, answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.cli.grouping import GroupAnswer
from kschedctl.cli.grouping import answers as grouped
from kschedctl.cli.manifests import Asked
from kschedctl.cli.progress import tracked
from kschedctl.cli.selection import PodSelection
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import GAP, Document
from kschedctl.report.envelope import Answer, Compound
from kschedctl.report.preempt.answer import PreemptionView, preemption_answer
from kschedctl.report.preempt.data import Preemption, PreemptionList
from kschedctl.report.preempt.text import PreemptView, document, list_document
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.pending import queue_order


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptOptions:
    """The options of ``preempt`` that are its own."""

    min_candidate_nodes: int | None
    offset: int
    seed: int | None
    fail_on_violation: bool


class PreemptReply(Reply):
    """One run of ``preempt``.

    Parameters
    ----------
    which : PodSelection
        The pods.
    options : PreemptOptions
        How far is looked.
    """

    def __init__(self, which: PodSelection, options: PreemptOptions) -> None:
        self._which = which
        self._options = options

    def value(self) -> Answer | Compound:
        """The answer, or a list where several pods may be meant."""
        answers = [answer for _, answer in self._answers]
        single = self._which.named and len(answers) == 1
        return answers[0] if single else PreemptionList(items=tuple(answers))

    def document(self, *, wide: bool) -> Document:
        """A row per pod where they are selected, else pod by pod."""
        now = datetime.now(UTC)
        answers = self._answers
        if len(answers) > 1 and not self._which.named and not wide:
            one = self._which.command("preempt", answers[0][0])
            every = self._which.command("preempt", None, "-o", "wide")
            yield from list_document([answer for _, answer in answers], now, one, every)
            return
        options = self._options
        searched: tuple[str, ...] = ()
        if options.min_candidate_nodes is not None:
            searched = ("--min-candidate-nodes", str(options.min_candidate_nodes), "--offset", str(options.offset))
        for i, (asked, answer) in enumerate(answers):
            view = PreemptView(
                now=now,
                explain_command=self._which.command("explain", asked),
                wide_command=self._which.command("preempt", asked, *searched, "-o", "wide"),
                every=wide,
            )
            if i:
                yield from (GAP, GAP)
            yield from document(answer, view)

    def outcome(self) -> Outcome:
        """Whether all pods would be scheduled, now or once their victims are gone."""
        answers = [answer for _, answer in self._answers]
        violates = self._options.fail_on_violation and any(answer.verdict.violates_budget for answer in answers)
        return Outcome(
            yes=all(answer.helped for answer in answers) and not violates,
            complete=all(answer.complete for answer in answers),
        )

    @cached_property
    def _answers(self) -> list[tuple[Asked, Preemption]]:
        cluster, asked = self._which.load()
        if not self._which.named:
            asked = sorted(asked, key=lambda one: queue_order(one.pod))
        groups = grouped(cluster, tracked(asked, "deciding for pods"), self._options.seed)
        return [(one.asked, self._answer(cluster, one)) for one in groups]

    def _answer(self, cluster: SchedulingCluster, answered: GroupAnswer) -> Preemption:
        decision, base = answered.decision, answered.explanation
        options = self._options
        view = PreemptionView(min_candidate_nodes=options.min_candidate_nodes, offset=options.offset, seed=options.seed)
        answer = preemption_answer(decision, base, view, lambda candidate: cluster.aftermath(decision, candidate))
        return answered.standing(answer)
