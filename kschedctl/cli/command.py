"""From a function that answers to a command: options are read, the answer is printed, the outcome is the exit code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

import typer

from kschedctl.cli.exit_code import ExitCode
from kschedctl.cli.options.group import unfolded
from kschedctl.cli.options.output import OutputOptions
from kschedctl.cli.streams import write
from kschedctl.cli.terminal import open_console
from kschedctl.report.render.form import Reply


def command(answer: Callable[..., Reply | None]) -> Callable[..., None]:
    """Make a command that typer can read of a function.

    Parameters
    ----------
    answer : callable
        Has the options as keyword parameters, alone or in groups, an ``output`` among them, and returns the reply;
        nothing where a command below it is to answer.
    """
    run = unfolded(answer)
    options: type[OutputOptions] = inspect.signature(answer, eval_str=True).parameters["output"].annotation

    def command(**values: object) -> None:
        output = options.read(values)
        form, colors = output.form(), output.colors()
        reply: Reply | None = run(**values)
        if reply is None:
            return
        for text in form.render(reply, partial(open_console, colors)):
            write(text)
        outcome = reply.outcome()
        if outcome.interrupted:
            raise typer.Exit(ExitCode.INTERRUPTED)
        if output.strict and not outcome.complete:
            raise typer.Exit(ExitCode.INCOMPLETE)
        if not outcome.yes:
            raise typer.Exit(ExitCode.NO)

    command.__name__, command.__doc__, command.__module__ = run.__name__, run.__doc__, run.__module__
    command.__signature__ = run.__signature__  # type: ignore[attr-defined]
    command.__annotations__ = run.__annotations__
    return command
