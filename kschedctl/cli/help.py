"""Help that is written as every answer is: with an error where the disk is full, without one where nobody reads."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from kschedctl.cli.streams import write


def _show(context: Any, _parameter: Any, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        write(f"{context.get_help()}\n")
        context.exit()


def _written(option: Any) -> Any:
    if option is not None:
        option.callback = _show
    return option


class Command(TyperCommand):
    """A command with such help."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option ``--help``."""
        return _written(super().get_help_option(ctx))


class Group(TyperGroup):
    """A group of commands with such help."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option ``--help``."""
        return _written(super().get_help_option(ctx))
