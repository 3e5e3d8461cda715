"""What ``explain`` does once its options are read: load, decide, print."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from kschedctl.api.wording import counted, similar
from kschedctl.cli.asking import PodOptions
from kschedctl.cli.grouping import answers as grouped
from kschedctl.cli.output import Form, OutputForm
from kschedctl.cli.selection import Asked
from kschedctl.cli.streams import write
from kschedctl.cli.terminal import captured, open_console
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.report.explain.data import Explanation, ExplanationList
from kschedctl.report.frame import print_each_alone

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of ``explain``, read."""

    which: PodOptions
    nodes: tuple[str, ...]
    every_node: bool
    why: bool
    admission: bool
    no_color: bool
    seed: int | None


class Answering:
    """One run of ``explain``.

    Parameters
    ----------
    options : ExplainOptions
        What is asked.
    form : OutputForm
        How it is answered.
    """

    def __init__(self, options: ExplainOptions, form: OutputForm) -> None:
        self._options = options
        self._form = form

    def run(self) -> tuple[bool, bool]:
        """Answer for all pods.

        Returns
        -------
        complete, schedulable : bool
            Whether everything that bears on the answers is known, and whether all pods would be scheduled and no quota
            refuses one.
        """
        options = self._options
        cluster, asked = options.which.load()
        for name in options.nodes:
            if name not in cluster.nodes.row:
                raise _no_such_node(cluster, name)
        asked = asked or options.which.select(cluster)
        # kubectl prints one object for one that is named, and a list for what may be several.
        single = len(asked) == 1 and options.which.named
        complete = schedulable = True
        answers: list[Explanation] = []
        if self._form.is_text and len(asked) > 1:
            write(captured(self._console, lambda console: print_each_alone(console, counted(len(asked), "pod"))) + "\n")
        for i, one in enumerate(grouped(cluster, asked, options.seed)):
            answer = one.standing(one.explanation)
            complete &= answer.complete
            schedulable &= answer.schedulable and not answer.admission.quota_refusals
            if self._form.is_text:
                write(("\n\n" if i else "") + self._text(answer, one.asked))
            else:
                answers.append(answer)
        if answers:
            self._print_data(answers, single=single)
        return complete, schedulable

    def _print_data(self, answers: list[Explanation], *, single: bool) -> None:
        from kschedctl.report.render import data

        value = answers[0] if single else ExplanationList(items=tuple(answers))
        write(self._form.render(value, data.as_names(answers, single=single)))

    def _text(self, answer: Explanation, asked: Asked) -> str:
        from kschedctl.report.explain.text import View, print_explanation

        wide = self._form.form is Form.WIDE
        view = View(
            now=datetime.now(UTC),
            command=self._options.which.command("explain", asked),
            preempt_command=self._options.which.command("preempt", asked),
            nodes=self._options.nodes,
            every_node=self._options.every_node or wide,
            why=self._options.why or wide,
            admission=self._options.admission,
        )
        return captured(self._console, lambda console: print_explanation(console, answer, view))

    @cached_property
    def _console(self) -> Console:
        return open_console(no_color=self._options.no_color)


def _no_such_node(cluster: SchedulingCluster, name: str) -> InputError:
    close = similar(name, cluster.nodes.names)
    hint = f"did you mean {', '.join(close)}?" if close else "kschedctl explain POD --nodes lists them"
    return InputError(f"the snapshot has no node {name}", path="--node", hint=hint)
