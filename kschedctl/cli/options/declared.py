"""The options of all commands as they are declared, from which the commands of next questions are written."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import typer

#: By name, functions, and apps with commands of their own.
Commands: TypeAlias = Mapping[str, Callable[..., None] | typer.Typer]

_DECLARED: Final[dict[str, Callable[..., None] | typer.Typer]] = {}


def declare(commands: Commands) -> None:
    """Declare commands; ``kschedctl.cli.commands`` declares all that exist."""
    _DECLARED.update(commands)


def parameters_of(command: str) -> Mapping[str, inspect.Parameter]:
    """Return the options of a command, such as ``explain`` or ``leader simulate``, as they are declared."""
    name, _, below = command.partition(" ")
    found = _DECLARED[name]
    callback: Callable[..., None] | None = None
    if not isinstance(found, typer.Typer):
        callback = found
    elif below:
        every = found.registered_commands
        callback = next(each.callback for each in every if each.callback and each.callback.__name__ == below)
    elif found.registered_callback is not None:
        callback = found.registered_callback.callback
    assert callback is not None
    # What typer itself hands in, such as the context, is no option.
    return {
        name: parameter
        for name, parameter in inspect.signature(callback).parameters.items()
        if hasattr(parameter.annotation, "__metadata__")
    }
