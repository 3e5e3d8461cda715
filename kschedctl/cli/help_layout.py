"""The layout of the help sections. Typer's own rich help would take more time than everything else in the help.

Typer either has its own copy of Click or uses the installed one, so contexts and formatters have no single type.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from kschedctl.cli.examples import EXAMPLES
from kschedctl.cli.shell import program

_REPEATABLE: Final = "Repeatable."


def write_options(command: Any, context: Any, formatter: Any) -> None:
    """Write arguments and options in the order of their groups; options without a group come last."""
    sections: dict[str, list[tuple[str, str]]] = defaultdict(list)
    own = []
    for parameter in sorted(command.get_params(context), key=lambda each: each.param_type_name != "argument"):
        record = option_record(parameter, context)
        group = getattr(parameter, "rich_help_panel", None)
        if record is not None and group:
            sections[group].append(record)
        elif record is not None:
            own.append(record)
    title = f"Only in {context.info_name}" if sections else "Options"
    for name, records in {**sections, title: own}.items():
        with formatter.section(name):
            formatter.write_dl(records)


def write_commands(group: Any, context: Any, formatter: Any) -> None:
    """Write the subcommands of a group, each with the first sentence of its help."""
    with formatter.section("Commands"):
        formatter.write_dl([*group.summaries(context).items()])


def write_examples(context: Any, formatter: Any) -> None:
    """Write the examples of a command, each on one line that can be copied."""
    path = context.command_path.partition(" ")[2] if context.parent else ""
    with formatter.section("Examples"):
        for example in EXAMPLES.get(path, ()):
            formatter.write_text(example.what)
            with formatter.indentation():
                # A wrapped command cannot be copied.
                line = f"{program()} {example.arguments}"
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def option_record(parameter: Any, context: Any) -> tuple[str, str] | None:
    """Return the notation of a parameter and its help text."""
    record = parameter.get_help_record(context)
    if record is None:
        return None
    written, meaning = record
    if parameter.param_type_name == "argument":
        several = "..." if parameter.nargs == -1 and not parameter.metavar.endswith("...") else ""
        return f"{parameter.metavar}{several}", meaning
    return written, f"{meaning} {_REPEATABLE}" if parameter.multiple else meaning


def summary(text: str) -> str:
    """Return the first sentence of a text, at most its first paragraph."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    sentence, dot, _ = paragraph.partition(". ")
    return sentence + dot.strip()
