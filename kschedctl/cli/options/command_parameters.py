"""The declared options of a command, from which suggested next commands are written."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache

import typer

from kschedctl.cli.commands import COMMANDS


@cache
def parameters_of(command: str) -> Mapping[str, inspect.Parameter]:
    """Return the declared options of a command, such as ``explain`` or ``leader simulate``; only it is imported."""
    name, _, below = command.partition(" ")
    found = COMMANDS[name].load()
    callback: Callable[..., None] | None = None
    if not isinstance(found, typer.Typer):
        callback = found
    elif below:
        every = found.registered_commands
        callback = next(each.callback for each in every if each.callback and each.callback.__name__ == below)
    elif found.registered_callback is not None:
        callback = found.registered_callback.callback
    assert callback is not None
    # Parameters that typer itself passes, such as the context, are no options.
    return {
        name: parameter
        for name, parameter in inspect.signature(callback).parameters.items()
        if hasattr(parameter.annotation, "__metadata__")
    }
