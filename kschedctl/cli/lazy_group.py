"""The command group of the program. It lists the commands from the registry, and imports only the one that is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import typer.main

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.help import Command, CommandGroup

#: The names in the order of the help: commands with subcommands come last, as typer orders them.
_NAMES: Final = sorted(COMMANDS, key=lambda name: COMMANDS[name].has_subcommands)


class LazyCommands(Mapping[str, Any]):
    """The commands by name, as typer runs them; each is imported when it is read."""

    def __getitem__(self, name: str) -> Any:
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


class LazyGroup(CommandGroup):
    """The group of the registered commands. Help, errors and the completion of command names import none of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = LazyCommands()

    def summaries(self, context: Any) -> Mapping[str, str]:
        """Return the first sentence of the help of each command, by name."""
        return {name: COMMANDS[name].summary for name in _NAMES}

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the completions of a command name, or of an option of the program."""
        commands = self.commands
        self.commands = {name: Command(name=name, help=text) for name, text in self.summaries(ctx).items()}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = commands


@cache
def _built(name: str) -> Any:
    """Import a command, and convert it for typer.

    Raises
    ------
    KeyError
        If there is no such command.
    """
    declared = COMMANDS[name].load()
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(declared, typer.Typer):
        app.add_typer(declared, name=name)
    else:
        app.command(name=name, cls=Command)(declared)
    return typer.main.get_group(app).commands[name]
