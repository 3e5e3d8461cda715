"""The registry of commands says what the commands themselves declare."""

import inspect
from collections.abc import Callable

import pytest
import typer

from kschedctl.cli.commands import COMMANDS, GROUPS, LazyCommands, declared_command
from kschedctl.cli.help import summary


@pytest.mark.parametrize("name", COMMANDS)
def test_entry_is_what_the_command_declares(name: str) -> None:
    declared = declared_command(name)
    assert (name in GROUPS) == isinstance(declared, typer.Typer)
    answer: Callable[..., None] | None
    if isinstance(declared, typer.Typer):
        assert declared.registered_callback is not None
        answer = declared.registered_callback.callback
    else:
        answer = declared
    assert answer is not None
    assert answer.__name__ == name
    assert COMMANDS[name] == summary(inspect.getdoc(answer) or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_built_from_its_entry(name: str) -> None:
    command = LazyCommands()[name]
    assert command.name == name
    assert summary(command.help) == COMMANDS[name]
    assert hasattr(command, "commands") == (name in GROUPS)


def test_unknown_names_have_no_command() -> None:
    commands = LazyCommands()
    assert "nonsense" not in commands
    assert set(commands) == set(COMMANDS)
    assert len(commands) == len(COMMANDS)
