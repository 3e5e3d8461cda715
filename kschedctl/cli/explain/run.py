"""What ``explain`` does once its options are read: load, decide, answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Final

from msgspec import structs

from kschedctl.api.wording import counted, similar
from kschedctl.cli.explain.replicas import placed
from kschedctl.cli.grouping import GroupAnswer
from kschedctl.cli.grouping import answers as grouped
from kschedctl.cli.manifests import Asked
from kschedctl.cli.progress import tracked
from kschedctl.cli.provenance import provenance
from kschedctl.cli.selection import PodSelection
from kschedctl.cli.shell import command_line
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.report.document import GAP, Document
from kschedctl.report.envelope import Answer, Compound, Envelope, envelope
from kschedctl.report.explain.daemon_set import document as daemon_set
from kschedctl.report.explain.data import Explanation, ExplanationList
from kschedctl.report.explain.many import cause, together
from kschedctl.report.explain.many import document as many
from kschedctl.report.explain.preference import preference_data
from kschedctl.report.explain.story import story_data
from kschedctl.report.explain.suggestions import suggestion_data
from kschedctl.report.explain.text import View, document
from kschedctl.report.explain.withstanding import withstanding_data
from kschedctl.report.frame import each_alone
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.decision import Outcome as CycleOutcome
from kschedctl.scheduler.missing import Missing
from kschedctl.why.search import DEFAULT_MOST, suggest

#: So many selected pods are told one by one; of more there is a summary.
_FEW: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of ``explain`` that are its own."""

    nodes: tuple[str, ...]
    every_node: bool
    why: bool
    admission: bool
    suggest: int | None
    apply_suggestion: int | None
    seed: int | None
    prefer: str = ""
    withstand: bool = False

    @property
    def asks_more(self) -> bool:
        """Whether something is asked of each pod that no summary has."""
        return bool(self.nodes or self.prefer or self.withstand)


class ExplainReply(Reply):
    """One run of ``explain``.

    Parameters
    ----------
    which : PodSelection
        The pods.
    options : ExplainOptions
        What is asked about them.
    """

    def __init__(self, which: PodSelection, options: ExplainOptions) -> None:
        self._which = which
        self._options = options
        self._outcome = Outcome()

    def value(self) -> Answer | Compound:
        """The answer, or a list where several pods may be meant, as kubectl prints objects."""
        answers = [answer for _, answer in self._answers()]
        return answers[0] if self._single else ExplanationList(items=tuple(answers))

    def document(self, *, wide: bool) -> Document:
        """Pod by pod, each as soon as it is decided for; of many that are selected a summary."""
        _, asked = self._loaded
        if len(asked) > _FEW and not self._which.named and not wide and not self._options.asks_more:
            yield from self._summary()
            return
        alone = not wide and all(one.node and one.workload == asked[0].workload for one in asked)
        if alone:
            yield from self._daemon_set()
            return
        if len(asked) > 1:
            yield from each_alone(counted(len(asked), "pod"))
            yield GAP
        for i, (one, answer) in enumerate(self._answers()):
            if i:
                yield from (GAP, GAP)
            yield from document(answer, self._view(one.asked, wide=wide))

    def _summary(self) -> Document:
        cluster, asked = self._loaded
        decided: list[tuple[str, CycleOutcome, str]] = []
        known: dict[object, tuple[CycleOutcome, str, bool]] = {}
        missing: dict[Missing, None] = {}
        not_modelled: dict[NotModelled, None] = {}
        for one in tracked(asked, "deciding for pods"):
            kind = cluster.kind(one.pod)
            if kind not in known:
                admitted = cluster.admit(one.pod)
                decision = cluster.decide(admitted.pod)
                missing |= dict.fromkeys(cluster.missing(one.pod, decision))
                not_modelled |= dict.fromkeys(decision.not_modelled)
                known[kind] = decision.outcome, cause(decision), not admitted.quota_refusals
            outcome, why, admitted_too = known[kind]
            decided.append((one.pod.key, outcome, why))
            self._outcome = replace(
                self._outcome, yes=self._outcome.yes and outcome is CycleOutcome.SCHEDULED and admitted_too
            )
        fates = together(decided)
        basis = Envelope(**envelope(cluster.cluster, provenance(cluster, tuple(missing)), not_modelled))
        self._outcome = replace(self._outcome, complete=basis.complete)
        first = next(one for one in asked if one.pod.key == fates[0].pods[0])
        questions = [
            ("One of them", self._which.command("explain", first)),
            ("All in full", self._which.command("explain", None, "-o", "wide")),
        ]
        yield from many(fates, basis, datetime.now(UTC), questions)

    def _daemon_set(self) -> Document:
        found = list(self._answers())
        nodes = [node for one, _ in found for node in one.own_nodes]
        asked = found[0][0].asked
        questions = [("Pod by pod", self._which.command("explain", asked, "-o", "wide"))]
        if any(answer.preemption is not None and answer.preemption.nominated for _, answer in found):
            questions.insert(0, ("Who would be evicted", self._which.command("preempt", asked)))
        yield from daemon_set([answer for _, answer in found], nodes, datetime.now(UTC), questions)

    def outcome(self) -> Outcome:
        """Whether all pods would be scheduled, and no quota refuses one."""
        return self._outcome

    @cached_property
    def _loaded(self) -> tuple[SchedulingCluster, list[Asked]]:
        cluster, asked = self._which.load()
        for option, name in (
            *(("--node", name) for name in self._options.nodes),
            *((("--prefer", self._options.prefer),) if self._options.prefer else ()),
        ):
            if name not in cluster.nodes.row:
                raise _no_such_node(cluster, name, option)
        return cluster, asked

    @property
    def _single(self) -> bool:
        return len(self._loaded[1]) == 1 and self._which.named

    def _answers(self) -> Iterator[tuple[GroupAnswer, Explanation]]:
        cluster, asked = self._loaded
        for one in grouped(cluster, asked, self._options.seed, placed):
            answer = one.standing(self._with_asked(cluster, *self._suggested(one)))
            self._outcome = Outcome(
                yes=self._outcome.yes and answer.schedulable and answer.admitted and _all_placed(answer),
                complete=self._outcome.complete and answer.complete,
            )
            yield one, answer

    def _suggested(self, one: GroupAnswer) -> tuple[Explanation, Decision]:
        """The answer with what would make the pod fit, or as if one of that were made, and the decision behind it."""
        options = self._options
        most = options.suggest
        wanted = options.apply_suggestion or 0
        if most is None:
            few = len(self._loaded[1]) <= _FEW and not one.asked.node
            most = DEFAULT_MOST if few or wanted else 0
        if not most and not wanted:
            return one.explanation, one.decision
        searched = suggest(one.decision, most)
        # Who asks about a node wants to know what would help there.
        there = [each for each in searched.suggestions if set(each.nodes) & set(options.nodes)]
        found = there or searched.suggestions
        if not wanted:
            data = tuple(map(suggestion_data, found))
            told = structs.replace(one.explanation, suggestions=data, suggestions_tried=searched.tried)
            return told if searched.exhausted else structs.replace(told, suggestions_exhausted=False), one.decision
        if wanted > len(found):
            raise _no_such_suggestion(one, wanted, len(found))
        made = found[wanted - 1]
        if one.workload is not None:
            # How many fit was counted as things are.
            one.workload = structs.replace(one.workload, placed=None)
        return one.explain(made.decision, made.summary), made.decision

    def _with_asked(self, cluster: SchedulingCluster, answer: Explanation, decision: Decision) -> Explanation:
        """The answer with what options ask for besides."""
        options, there = self._options, decision.cluster.nodes.row
        if options.why and options.nodes:
            rows = [there[name] for name in options.nodes if name in there]
            answer = structs.replace(answer, stories=tuple(story_data(decision, row) for row in rows))
        if options.prefer:
            answer = structs.replace(answer, preference=preference_data(cluster.prefer(decision, options.prefer)))
        if options.withstand:
            found = cluster.withstand(decision)
            answer = structs.replace(answer, withstanding=withstanding_data(found) if found is not None else None)
        return answer

    def _view(self, asked: Asked, *, wide: bool) -> View:
        options = self._options
        return View(
            now=datetime.now(UTC),
            command=partial(self._which.command, "explain", asked),
            preempt_command=self._which.command("preempt", asked),
            nodes=options.nodes,
            every_node=options.every_node or wide,
            why=options.why or wide,
            admission=options.admission,
            suggest=("--suggest", str(options.suggest)) if options.suggest else (),
            withstand=options.withstand,
        )


def _all_placed(answer: Explanation) -> bool:
    return answer.workload is None or answer.workload.all_placed


def _no_such_suggestion(one: GroupAnswer, wanted: int, n_found: int) -> InputError:
    pod = one.decision.pod.key
    if one.decision.schedulable:
        return InputError(f"{pod} fits: there is nothing to suggest", path="--apply-suggestion")
    problem = f"there {'is' if n_found == 1 else 'are'} {counted(n_found, 'suggestion')} for {pod}"
    return InputError(problem, path="--apply-suggestion", hint=f"--suggest {wanted} looks for as many")


def _no_such_node(cluster: SchedulingCluster, name: str, option: str) -> InputError:
    close = similar(name, cluster.nodes.names)
    hint = f"did you mean {', '.join(close)}?" if close else f"{command_line('explain', 'POD', '--nodes')} lists them"
    return InputError(f"the snapshot has no node {name}", path=option, hint=hint)
