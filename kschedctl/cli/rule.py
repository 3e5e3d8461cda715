"""``kschedctl rule``."""

from typing import TYPE_CHECKING, Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.shared import OutputOptions

if TYPE_CHECKING:
    from kschedctl.cli.command_result import CommandResult


@command
def rule(
    *,
    rules: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RULE", help="Rule code, prefix of a code, or rule name. Default: all rules.", show_default=False
        ),
    ] = None,
    output: OutputOptions,
) -> "CommandResult":
    """Show lint rules: what they find, why it is wrong, where it takes effect, and how to repair it, with examples.

    Several rules are a list, with -o wide their whole pages.
    """
    from kschedctl.cli.command_result import CommandResult
    from kschedctl.linter.selection import rules_of
    from kschedctl.questions.lint.analysis import pages

    found = dict.fromkeys(each for word in rules or ("KS",) for each in rules_of(word))
    return CommandResult(answer=pages(sorted(found, key=lambda each: each.code)))
