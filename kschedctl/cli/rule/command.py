"""``kschedctl rule``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedctl.cli.command import command
from kschedctl.cli.options.output import OutputOptions
from kschedctl.report.render.form import Reply


@command
def rule(
    *,
    rules: Annotated[
        list[str], typer.Argument(metavar="RULE", help="A code, the beginning of one, or a name.", show_default=False)
    ],
    output: OutputOptions,
) -> Reply:
    """Say what a rule of lint finds, why that is wrong, where it stops and how to repair it, with examples."""
    from kschedctl.cli.rule.run import RuleReply

    return RuleReply(rules)
