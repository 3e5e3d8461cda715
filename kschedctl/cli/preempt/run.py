"""What ``preempt`` does once its options are read: load, decide, print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from kschedctl.cli.asking import PodOptions, provenance
from kschedctl.cli.grouping import Answered
from kschedctl.cli.grouping import answers as grouped
from kschedctl.cli.output import Form, OutputForm
from kschedctl.cli.selection import Asked, named_pod
from kschedctl.cli.streams import write
from kschedctl.cli.terminal import captured, open_console
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.report.preempt.answer import PreemptionView, preemption_answer
from kschedctl.report.preempt.data import Preemption, PreemptionList
from kschedctl.report.preempt.text import PreemptView, print_preemption, print_preemptions
from kschedctl.report.preempt.threat import print_threat, threat_answer
from kschedctl.scheduler.pending import pending_pods


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptOptions:
    """The options of ``preempt``, read."""

    which: PodOptions
    min_candidate_nodes: int | None
    offset: int
    no_color: bool
    seed: int | None


@dataclass(frozen=True, slots=True)
class PreemptOutcome:
    """What the exit code goes by.

    Attributes
    ----------
    complete : bool
        Whether everything that bears on the answers is known.
    helped : bool
        Whether all pods would be scheduled, now or once their victims are gone; of a victim, whether it is safe.
    violates_budget : bool
        Whether any eviction breaks a disruption budget.
    """

    complete: bool
    helped: bool
    violates_budget: bool


class Preempting:
    """One run of ``preempt``.

    Parameters
    ----------
    options : PreemptOptions
        What is asked.
    form : OutputForm
        How it is answered.
    """

    def __init__(self, options: PreemptOptions, form: OutputForm) -> None:
        self._options = options
        self._form = form

    def run(self) -> PreemptOutcome:
        """Answer for all pods."""
        which = self._options.which
        cluster, asked = which.load()
        asked = asked or (which.select(cluster) if which.selector else self._pending(cluster))
        single = len(asked) == 1 and which.named
        found = list(grouped(cluster, asked, self._options.seed))
        asked = [one.asked for one in found]
        answers = [self._answer(cluster, one) for one in found]
        if self._form.is_text:
            self._print_text(asked, answers)
        else:
            names = "".join(f"{v.name}\n" for a in answers for c in a.chosen for v in c.victims)
            write(self._form.render(answers[0] if single else PreemptionList(items=tuple(answers)), names))
        return PreemptOutcome(
            all(answer.complete for answer in answers),
            all(answer.helped for answer in answers),
            any(answer.verdict.violates_budget for answer in answers),
        )

    def threat(self, victim: str) -> PreemptOutcome:
        """Answer who would evict a pod."""
        which = self._options.which
        cluster = which.cluster.load()
        asked = named_pod(cluster.pods, victim, which.namespace, everywhere=which.all_namespaces)
        rests_on = provenance(cluster, asked.pod, None)
        answer = threat_answer(cluster.threat(asked.pod.key), asked.pod, rests_on, cluster.cluster)
        if self._form.is_text:
            first = [Asked(asked.pod, (taker.name,)) for taker in answer.takers[:1]]
            command = which.command("preempt", *first)
            console = open_console(no_color=self._options.no_color)
            write(captured(console, lambda c: print_threat(c, answer, datetime.now(UTC), command)))
        else:
            write(self._form.render(answer, "".join(f"{taker.name}\n" for taker in answer.takers)))
        violates = any(taker.violates_budget for taker in answer.takers)
        return PreemptOutcome(complete=True, helped=not answer.takers, violates_budget=violates)

    def _pending(self, cluster: SchedulingCluster) -> list[Asked]:
        """The pending pods that one of the profiles is responsible for, highest priority first."""
        namespace = self._options.which.namespace
        found = []
        for index in pending_pods(cluster.cluster):
            pod = cluster.pods.pod(index)
            if (
                not namespace or pod.namespace == namespace
            ) and pod.spec.scheduler_name in cluster.configuration.profiles:
                found.append(Asked(pod, (pod.key,)))
        if not found:
            where = f" in namespace {namespace}" if namespace else ""
            raise InputError(f"no pod is pending{where}", hint="name one: NAMESPACE/NAME, or a manifest")
        return found

    def _answer(self, cluster: SchedulingCluster, answered: Answered) -> Preemption:
        decision, base = answered.decision, answered.explanation
        options = self._options
        view = PreemptionView(min_candidate_nodes=options.min_candidate_nodes, offset=options.offset, seed=options.seed)
        answer = preemption_answer(decision, base, view, lambda candidate: cluster.aftermath(decision, candidate))
        return answered.standing(answer)

    def _print_text(self, asked: Sequence[Asked], answers: Sequence[Preemption]) -> None:
        console = open_console(no_color=self._options.no_color)
        wide = self._form.form is Form.WIDE
        which = self._options.which
        now = datetime.now(UTC)
        if len(answers) > 1 and not which.named and not wide:
            one = which.command("preempt", asked[0])
            every = f"{which.command('preempt')} -o wide"
            write(captured(console, lambda c: print_preemptions(c, answers, now, one, every)))
            return
        least, offset = self._options.min_candidate_nodes, self._options.offset
        searched = f" --min-candidate-nodes {least} --offset {offset}" if least is not None else ""
        for i, (one_asked, answer) in enumerate(zip(asked, answers, strict=True)):
            view = PreemptView(
                now=now,
                explain_command=which.command("explain", one_asked),
                preempt_command=f"{which.command('preempt', one_asked)}{searched}",
                every=wide,
            )
            write("\n\n" if i else "")
            write(captured(console, partial(print_preemption, answer=answer, view=view)))
