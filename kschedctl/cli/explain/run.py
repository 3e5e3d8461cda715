"""What ``explain`` does once its options are read: load, decide, answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial

from kschedctl.api.wording import counted, similar
from kschedctl.cli.grouping import GroupAnswer
from kschedctl.cli.grouping import answers as grouped
from kschedctl.cli.manifests import Asked
from kschedctl.cli.selection import PodSelection
from kschedctl.cli.shell import command_line
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import GAP, Document
from kschedctl.report.envelope import Answer, Compound
from kschedctl.report.explain.data import Explanation, ExplanationList
from kschedctl.report.explain.text import View, document
from kschedctl.report.frame import each_alone
from kschedctl.report.render.form import Outcome, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of ``explain`` that are its own."""

    nodes: tuple[str, ...]
    every_node: bool
    why: bool
    admission: bool
    seed: int | None


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
        """Pod by pod, each as soon as it is decided for."""
        _, asked = self._loaded
        if len(asked) > 1:
            yield from each_alone(counted(len(asked), "pod"))
            yield GAP
        for i, (one, answer) in enumerate(self._answers()):
            if i:
                yield from (GAP, GAP)
            yield from document(answer, self._view(one.asked, wide=wide))

    def outcome(self) -> Outcome:
        """Whether all pods would be scheduled, and no quota refuses one."""
        return self._outcome

    @cached_property
    def _loaded(self) -> tuple[SchedulingCluster, list[Asked]]:
        cluster, asked = self._which.load()
        for name in self._options.nodes:
            if name not in cluster.nodes.row:
                raise _no_such_node(cluster, name)
        return cluster, asked

    @property
    def _single(self) -> bool:
        return len(self._loaded[1]) == 1 and self._which.named

    def _answers(self) -> Iterator[tuple[GroupAnswer, Explanation]]:
        cluster, asked = self._loaded
        for one in grouped(cluster, asked, self._options.seed):
            answer = one.standing(one.explanation)
            self._outcome = Outcome(
                yes=self._outcome.yes and answer.schedulable and answer.admitted,
                complete=self._outcome.complete and answer.complete,
            )
            yield one, answer

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
        )


def _no_such_node(cluster: SchedulingCluster, name: str) -> InputError:
    close = similar(name, cluster.nodes.names)
    hint = f"did you mean {', '.join(close)}?" if close else f"{command_line('explain', 'POD', '--nodes')} lists them"
    return InputError(f"the snapshot has no node {name}", path="--node", hint=hint)
