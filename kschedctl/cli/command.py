"""The wrapper of every command: it reads the options, runs the command, prints the answer and sets the exit code."""

import dataclasses
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import typer

from kschedctl.cli.options.cluster import ClusterOptions, DecidingOptions
from kschedctl.cli.options.declared import declared_parameters, unfolded
from kschedctl.cli.options.shared import AllNamespacesOption, EveryNamespaceOption, OutputOptions
from kschedctl.cli.options.whatif import ClusterWhatIfOptions, WhatIfOptions
from kschedctl.cli.streams import ExitCode, open_console, write
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.questions.answer import AnswerOutcome
    from kschedctl.questions.frame import View


def command(answer: "Callable[..., CommandResult | None]", name: str = "", text: str = "") -> Callable[..., None]:
    """Convert a function to a command that typer can read.

    Args:
        answer: A function with the options as keyword parameters, single or in groups, among them ``output``. It
            returns the result, or ``None`` if one of its subcommands answers.
        name: The full command name, such as ``leader simulate``; by default the function's name.
        text: The help; by default the function's docstring, or the text of its request.
    """
    run = unfolded(answer)
    kinds = {name: parameter.annotation for name, parameter in declared_parameters(answer).items()}
    requests = (kind for kind in kinds.values() if isinstance(kind, type) and issubclass(kind, AnalysisRequest))
    run.__doc__ = text or run.__doc__ or next(requests).text()
    options: type[OutputOptions] = kinds["output"]

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


def asking(kind: type[AnalysisRequest[Any]], name: str) -> Callable[..., None]:
    """Return the command that asks the question of a request about a cluster with nodes and pods."""

    def ask(
        *,
        request: Any,
        all_namespaces: EveryNamespaceOption = False,
        cluster: ClusterOptions,
        what_ifs: WhatIfOptions,
        output: OutputOptions,
    ) -> Any:
        # The engine is imported once the options are known to be right.
        from kschedctl.cli.command_result import CommandResult
        from kschedctl.cli.progress import TerminalHandle

        if all_namespaces and "namespace" in kind.options():
            request = dataclasses.replace(request, namespace="")
        handle = TerminalHandle()
        if "namespace" in kind.options() and not (request.namespace or all_namespaces or cluster.source().paths):
            handle.note("all namespaces are shown, as with -A; -n NAMESPACE shows one")
        loaded = cluster.request(what_ifs).load_with_pods(handle)
        return CommandResult(answer=request.answer(loaded, handle), cluster=loaded)

    ask.__name__, ask.__doc__ = name, kind.text()
    ask.__annotations__["request"] = kind
    if kind.decides:
        ask.__annotations__["cluster"] = DecidingOptions
    else:
        ask.__annotations__["what_ifs"] = ClusterWhatIfOptions
    if "namespace" in kind.options():
        ask.__annotations__["all_namespaces"] = AllNamespacesOption
    return command(ask)


def drawable(shown: "CommandResult") -> "View":
    """Return the view of a result with the nodes of its cluster, and their descriptions, for charts."""
    if shown.cluster is None or "Node" in shown.cluster.cluster.not_listed:
        return shown.view
    from msgspec.structs import replace

    from kschedctl.questions.handle import AnalysisHandle
    from kschedctl.questions.nodes.analysis import describe_node, nodes_overview
    from kschedctl.questions.nodes.request import NodesRequest

    overview = nodes_overview(shown.cluster, NodesRequest(), AnalysisHandle())
    return replace(shown.view, overview=overview, describe=partial(describe_node, shown.cluster))


def leave(outcome: "AnswerOutcome", *, strict: bool) -> None:
    """Exit with the exit code of an outcome.

    Args:
        strict: True to exit with ``ExitCode.INCOMPLETE`` if the answer is incomplete.

    Raises typer.Exit if the outcome is negative, interrupted or, with ``strict``, incomplete.
    """
    if outcome.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if strict and not outcome.complete:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if not outcome.yes:
        raise typer.Exit(ExitCode.NO)
