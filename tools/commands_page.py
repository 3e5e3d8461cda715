"""The reference section of docs/commands.md: all commands, made from their declarations."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import typer

from kschedctl.cli.commands import COMMANDS
from kschedctl.cli.help import examples_of, option_record
from kschedctl.cli.main import app
from kschedctl.questions.schema.schema import ANSWERS


class Option(NamedTuple):
    """An option or argument: its group in the help, the notation, and the meaning."""

    group: str
    notation: str
    meaning: str


def reference() -> str:
    """Return the section as Markdown."""
    named = {context.info_name: context for context in contexts()}
    by_command = {name: tuple(options(context)) for name, context in named.items()}
    uses = [option for several in by_command.values() for option in several if option.group]
    shared = {option: None for option in uses if uses.count(option) > 1}
    lines: list[str] = []
    for name, context in named.items():
        lines += _command(name, context, by_command[name], shared)
    lines += ["", "## Options of several commands"]
    for group in dict.fromkeys(option.group for option in shared):
        lines += ["", f"### {group}", "", *_table(option for option in shared if option.group == group)]
    return "\n".join(lines[1:])


def contexts() -> Iterator[Any]:
    """Yield a context per command and subcommand, named as on the command line, in the order of the help."""
    program: Any = typer.main.get_command(app)
    # Commands take -h from the program, and keep the help option of their first context.
    parent = program.make_context("kschedctl", [], resilient_parsing=True)
    for name in COMMANDS:
        command = program.commands[name]
        yield command.make_context(name, [], parent=parent, resilient_parsing=True)
        for below, subcommand in getattr(command, "commands", {}).items():
            yield subcommand.make_context(f"{name} {below}", [], parent=parent, resilient_parsing=True)


def options(context: Any) -> Iterator[Option]:
    """Yield the arguments, then the options of a command."""
    for parameter in sorted(context.command.get_params(context), key=lambda each: each.param_type_name != "argument"):
        record = option_record(parameter, context)
        if record is not None and parameter.name != "help":
            yield Option(getattr(parameter, "rich_help_panel", None) or "", *record)


def _command(name: str, context: Any, options: Sequence[Option], shared: Container[Option]) -> Iterator[str]:
    """Yield the section of a command."""
    yield from ("", f"## kschedctl {name}", "", _text(context.command.help))
    usage = " ".join(context.command.collect_usage_pieces(context))
    yield from ("", "```text", f"kschedctl {name} {usage}", "```")
    own = [option for option in options if option not in shared]
    if own:
        yield from ("", *_table(own))
    groups = dict.fromkeys(option.group for option in options if option in shared)
    if groups:
        yield from ("", "It also takes these [options of several commands](#options-of-several-commands):", "")
    for group in groups:
        of_group = [option.notation for option in options if option in shared and option.group == group]
        yield f"- [{group}](#{group.lower().replace(' ', '-')}): {', '.join(map(_flag, of_group))}"
    if name in ANSWERS:
        yield from ("", f"`-o json` prints [this answer](json.md#kschedctl-{name.replace(' ', '-')}).")
    yield from ("", "Examples:")
    for example in examples_of(name):
        yield from ("", _text(example.what), "", "```bash", f"kschedctl {example.arguments}", "```")


def _table(options: Iterable[Option]) -> Iterator[str]:
    yield from ("| option | meaning |", "|---|---|")
    for _, notation, meaning in options:
        code = notation.replace("|", r"\|")
        yield f"| `{code}` | {_text(meaning).replace('|', chr(92) + '|')} |"


def _flag(notation: str) -> str:
    """Return the longest name of an option, or the argument, as code."""
    names = [word.rstrip(",") for word in notation.split() if word.startswith("-")]
    return f"`{max(names, key=len) if names else notation}`"


def _text(text: str) -> str:
    """Return a text of the help as Markdown, with links to the pages that it names."""
    plain = re.sub(r"([*_<])", r"\\\1", text)
    return re.sub(r"\bdocs/([a-z-]+\.md)", r"[docs/\1](\1)", plain)
