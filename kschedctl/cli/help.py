"""Help in sections, with examples; it is written like answers, so that a closed pipe is no error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

from kschedctl.cli.help_layout import summary, write_commands, write_examples, write_options
from kschedctl.cli.raw_arguments import GIVEN
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
    """A command whose help has sections and examples."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and store them in their original order in ``ctx.meta``."""
        ctx.meta[GIVEN] = tuple(args)
        return super().parse_args(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option ``--help``."""
        return _written(super().get_help_option(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group."""
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, then the epilog."""
        write_examples(ctx, formatter)
        super().format_epilog(ctx, formatter)


class CommandGroup(TyperGroup):
    """A command with subcommands whose help has sections and examples."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option ``--help``."""
        return _written(super().get_help_option(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group, then the subcommands."""
        write_options(self, ctx, formatter)
        write_commands(self, ctx, formatter)

    def summaries(self, context: Any) -> Mapping[str, str]:
        """Return the first sentence of the help of each subcommand, by name."""
        return {name: summary(command.help or "") for name, command in self.commands.items()}

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, then the epilog."""
        write_examples(ctx, formatter)
        super().format_epilog(ctx, formatter)
