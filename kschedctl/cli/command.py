"""The wrapper of every command: it reads the options, runs the command, prints the answer and sets the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Protocol

import typer

from kschedctl.cli.options.shared import OutputOptions, declared_parameters, unfolded
from kschedctl.cli.streams import ExitCode, open_console, write
from kschedctl.questions.answer import Answer, AnswerList, AnswerOutcome, AnswerStream
from kschedctl.questions.frame import View
from kschedctl.trials.loaded_cluster import LoadedCluster

if TYPE_CHECKING:
    from kschedctl.questions.answer import AnswerOutcome
    from kschedctl.questions.frame import View


def command(answer: Callable[..., CommandResult | None], name: str = "") -> Callable[..., None]:
    """Convert a function to a command that typer can read.

    Parameters
    ----------
    answer : callable
        A function with the options as keyword parameters, single or in groups, among them ``output``. It returns the
        result, or ``None`` if one of its subcommands answers.
    name : str
        The full command name, such as ``leader simulate``; by default the function's name.
    """
    run = unfolded(answer)
    options: type[OutputOptions] = declared_parameters(answer)["output"].annotation

    @wraps(run)
    def command(**values: object) -> None:
        output = options.read(values)
        form, colors = output.form(), output.colors()
        shown: CommandResult | None = run(**values)
        if shown is None:
            return
        # Imported here because the help of a command does not need them.
        from kschedctl.cli.invocation import Invocation
        from kschedctl.output.forms import Medium

        invocation = Invocation(command=name or run.__name__, values=values, arguments=shown.arguments)
        medium = Medium(partial(open_console, colors), invocation.command_line)
        for text in form.render(shown.answer, drawable(shown) if form.draws else shown.view, medium):
            write(text)
        leave(shown.outcome or shown.answer.outcome, strict=output.strict)

    return command


def drawable(shown: CommandResult) -> View:
    """Return the view of a result with the nodes of its cluster, and their descriptions, for charts."""
    if shown.cluster is None or "Node" in shown.cluster.cluster.not_listed:
        return shown.view
    from kschedctl.questions.handle import AnalysisHandle
    from kschedctl.questions.nodes.analysis import NodesRequest, describe_node, nodes_overview

    overview = nodes_overview(shown.cluster, NodesRequest(), AnalysisHandle())
    return replace(shown.view, overview=overview, describe=partial(describe_node, shown.cluster))


def leave(outcome: AnswerOutcome, *, strict: bool) -> None:
    """Exit with the exit code of an outcome.

    Parameters
    ----------
    strict : bool
        True to exit with ``ExitCode.INCOMPLETE`` if the answer is incomplete.

    Raises
    ------
    typer.Exit
        If the outcome is negative, interrupted or, with ``strict``, incomplete.
    """
    if outcome.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if strict and not outcome.complete:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if not outcome.yes:
        raise typer.Exit(ExitCode.NO)


# The result of a command: an answer, and the part of it that is shown.


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """The result of a command.

    Attributes
    ----------
    answer : Answer or AnswerStream
        The answer.
    cluster : LoadedCluster or None
        The cluster, for charts of its nodes; ``None`` for answers without such charts.
    view : View
        The part of the answer that is shown in text output.
    outcome : AnswerOutcome or None
        The outcome that sets the exit code, if an option overrides that of the answer.
    arguments : mapping
        The options that select a single pod, by its name as namespace/name; empty for pods of the snapshot.
    """

    answer: Answer | AnswerStream[Any]
    cluster: LoadedCluster | None = None
    view: View = field(default_factory=View)
    outcome: AnswerOutcome | None = None
    arguments: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


class NamedSubject(Protocol):
    """A pod or another object that an answer is about."""

    @property
    def key(self) -> str:
        """The object's name, as namespace/name."""

    @property
    def arguments(self) -> Mapping[str, object]:
        """The options that select only this object; empty if its name is sufficient."""


def shown_list(
    answers: AnswerList, subjects: Iterable[NamedSubject], *, named: bool, cluster: LoadedCluster | None = None
) -> CommandResult:
    """Return the answers about pods or other objects as the result of a command.

    Parameters
    ----------
    named : bool
        True if the objects were named, not selected: a single answer is then not wrapped in a list.
    cluster : LoadedCluster or None
        The cluster, for charts of its nodes.
    """
    only = answers.answers[0] if named and len(answers.answers) == 1 else answers
    return CommandResult(answer=only, cluster=cluster, view=View(named=named), arguments=arguments_of(subjects))


def arguments_of(subjects: Iterable[NamedSubject]) -> dict[str, Mapping[str, object]]:
    """Return the options that select each object alone, by the object's name."""
    return {one.key: one.arguments for one in subjects if one.arguments}
